"""Parquet files: what their footers say, and how they are digested and sampled."""
