"""The cost of work: integers, in millionths of a CPU second."""
