"""Rows of sources that are compared: two states of a table, versions of a row."""
