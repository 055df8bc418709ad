"""Runs of a day: pinned, asked of the planner, planned, and what the ledger says of early work."""
