"""How columns are called in generated SQL text."""

from __future__ import annotations

from forerun.planner.algebra.types import Column


def sql_name(column: Column) -> str:
    """The name of a column in generated SQL: unique in any query, because its id ends it."""
    return f"{column.name}_{column.id}"


def quote(identifier: str) -> str:
    """A Spark identifier in backticks, whatever it contains."""
    return "`" + identifier.replace("`", "``") + "`"
