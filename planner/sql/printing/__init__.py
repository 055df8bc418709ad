"""The algebra is printed as Spark SQL, in as few SELECT blocks as mean the same."""
