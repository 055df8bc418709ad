"""Rewrites that are always good: they have no alternatives and no cost, and run to a fixpoint."""
