"""Logical properties of relations: candidate keys and columns that are never NULL."""
