"""Names of group keys above ROLLUP, CUBE and GROUPING SETS, where Spark does not find all of them.

Spark puts other columns in the place of the keys before it looks at HAVING and ORDER BY, and finds
only those that the SELECT list has, as soon as an aggregate function stands beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from forerun.planner.sql.query_block.grouping import aggregate_calls, call_name
from forerun.planner.sql.syntax.text import QueryText

_OF_SETS = ("grouping", "grouping_id")
"""Functions of the keys, which they have to find, too."""


def check_having(text: QueryText, having: exp.Expr, listed: Sequence[tuple[str, exp.Expr]]) -> None:
    """Refuse a condition of HAVING that Spark cannot resolve."""
    if aggregate_calls(having):
        _check(text, having, listed)


def check_order(
    text: QueryText, nodes: Sequence[exp.Expr], listed: Sequence[tuple[str, exp.Expr]]
) -> None:
    """Refuse keys of ORDER BY that Spark cannot resolve."""
    for node in nodes:
        _check(text, node, listed)


def _check(text: QueryText, node: exp.Expr, listed: Sequence[tuple[str, exp.Expr]]) -> None:
    names = {name.lower() for name, _ in listed}
    shown = {item.unnest() for _, item in listed}
    if node.unnest() in shown:
        return
    calls = aggregate_calls(node)
    of_rows = [call for call in calls if call_name(call) not in _OF_SETS]
    inside = {id(column) for call in of_rows for column in call.find_all(exp.Column)}
    for column in node.find_all(exp.Column):
        if id(column) not in inside and column.name.lower() not in names:
            raise _error(text, column)


def _error(text: QueryText, node: exp.Expr) -> Exception:
    hint = "add it to the SELECT list, or ask for it in a query around this one"
    return text.error(node, "Spark does not find this above ROLLUP, CUBE or GROUPING SETS", hint)
