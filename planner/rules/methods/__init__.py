"""Incremental methods as rules over relations that are made of others (Tempura 4.2)."""
