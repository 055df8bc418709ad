"""Whether two results are equal, column by column."""
