"""Incremental methods, each a set of memo rules; many decompose relations (Tempura 4.2)."""
