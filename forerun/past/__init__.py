"""Repairs and backfills from the command line."""
