"""Normalization: rewrites that always pay, applied before the memo without comparing costs."""
