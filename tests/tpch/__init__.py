"""TPC-H: the 22 queries, and days of them."""
