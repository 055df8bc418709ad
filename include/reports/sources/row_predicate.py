"""Predicates of PostgreSQL that depend on nothing but the values of a row."""

from __future__ import annotations

from typing import Any

_MOVING = {"now", "today", "tomorrow", "yesterday", "allballs", "epoch", "infinity", "-infinity"}
"""Texts that are moments of their own as dates and times."""
_OF_SESSION = {"user", "current_role", "system_user"}
"""Words that look like columns and are the name of who asks; in quotes they are columns."""
_OF_SYSTEM = {"xmin", "xmax", "cmin", "cmax", "ctid", "tableoid"}
"""Columns that each row has beside its values, of which some change when it is only locked."""


def is_of_row_alone(text: str) -> bool:
    """Return whether a predicate compares columns with constants, and does nothing else: then its
    answer for a row changes only when the row does. False for what cannot be read."""
    import sqlglot

    try:
        (found,) = sqlglot.parse(text, dialect="postgres")
    except (sqlglot.errors.SqlglotError, ValueError):
        return False
    return found is not None and all(map(_is_known, found.walk()))


def _is_known(node: Any) -> bool:
    from sqlglot import exp

    if isinstance(node, exp.Literal):
        return node.this.strip().lower() not in _MOVING
    if type(node) is exp.DataType:
        return bool(node.this != exp.DataType.Type.USERDEFINED)
    if isinstance(node, exp.Column):
        name = node.name.lower()
        return name not in _OF_SYSTEM and bool(node.this.quoted or name not in _OF_SESSION)
    return type(node) in (
        exp.And, exp.Or, exp.Not, exp.Paren, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE,
        exp.Between, exp.In, exp.Is, exp.Like, exp.Neg, exp.Null, exp.Boolean, exp.Identifier,
        exp.Cast, exp.DataTypeParam,
    )  # fmt: skip
