"""What spark-submit runs: the stages of one run. Knows the plan contract, never the planner."""
