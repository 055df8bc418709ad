"""Predicates of PostgreSQL that depend on nothing but the values of a row."""

from __future__ import annotations

_MOVING = {"now", "today", "tomorrow", "yesterday", "allballs", "epoch", "infinity", "-infinity"}
"""Texts that are moments of their own as dates and times."""


def is_of_row_alone(text: str) -> bool:
    """Return whether a predicate compares columns with constants, and does nothing else: then its
    answer for a row changes only when the row does. False for what cannot be read."""
    import sqlglot
    from sqlglot import exp

    known = (
        exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE,
        exp.Between, exp.In, exp.Is, exp.Like, exp.Neg, exp.Null, exp.Boolean, exp.Literal,
        exp.Column, exp.Identifier, exp.Cast, exp.DataType, exp.DataTypeParam,
    )  # fmt: skip
    try:
        (found,) = sqlglot.parse(text, dialect="postgres")
    except (sqlglot.errors.SqlglotError, ValueError):
        return False
    return found is not None and all(
        type(node) in known
        and not (isinstance(node, exp.Literal) and node.this.strip().lower() in _MOVING)
        for node in found.walk()
    )
