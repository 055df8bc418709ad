"""Rewrites that pay or not depending on the data: they add alternatives, and cost decides."""
