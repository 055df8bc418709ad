"""What work costs: integers, in millionths of a CPU second."""
