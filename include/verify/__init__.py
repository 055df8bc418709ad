"""Compare two results, column by column."""
