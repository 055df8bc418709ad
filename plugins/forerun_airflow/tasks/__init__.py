"""The tasks of a report: open, wait, plan, submit, publish."""
