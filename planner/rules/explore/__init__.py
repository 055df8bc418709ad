"""Rewrites that are good or bad by the data: alternatives, from which cost chooses."""
