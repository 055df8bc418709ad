"""Statistics: how many rows, bytes and distinct values a relation is expected to have."""
