"""Rewrites that are always good: they fire wherever they can and leave no alternatives."""
