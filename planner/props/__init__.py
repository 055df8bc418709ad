"""Logical properties of relations: keys, dependencies, nullability and repeatability."""
