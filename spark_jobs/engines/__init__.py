"""The engines that run the SQL of stages: Spark, Sail, a Spark Connect server."""
