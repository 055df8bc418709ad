"""Measured, never asserted: each module is a command whose figures go to docs/lab/benchmarks.md."""
