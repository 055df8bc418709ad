"""Independent oracles: a row interpreter of the algebra and the comparison of bags.

Nothing here imports the planner except the algebra's value classes, so a mistake in the planner
cannot hide itself in its own judge.
"""
