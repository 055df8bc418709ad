"""EXISTS over an aggregate without GROUP BY, which has one row whatever it is over."""

from __future__ import annotations

from sqlglot import exp

from forerun.planner.algebra.aggregates.functions import is_aggregate
from forerun.planner.sql.query_block.grouping import call_name
from forerun.planner.sql.syntax.dialect import parse
from forerun.planner.sql.syntax.text import QueryText


def has_exists_over_one_row(sql: str) -> bool:
    """Return whether a query has such an EXISTS, which may leave no trace in its algebra. Raises
    :class:`forerun.planner.errors.SqlError` for a text that does not parse."""
    asked = (found.this for found in parse(QueryText(sql)).find_all(exp.Exists))
    return any(
        isinstance(query, exp.Select) and not query.args.get("group") and _aggregates(query)
        for query in asked
    )


def _aggregates(query: exp.Select) -> bool:
    parts = (part for item in query.expressions for part in item.walk())
    return any(is_aggregate(call_name(part) or "") for part in parts)
