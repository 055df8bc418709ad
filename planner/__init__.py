"""The planner: pure functions from a report and what is known about its sources to a plan.

Nothing in this package reads a clock, a disk, the network or the environment.
"""
