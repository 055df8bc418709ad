"""DISTRIBUTE BY, SORT BY and CLUSTER BY: in which task a row is written and where in its file. They
change no row, so nothing of them is in the algebra; the user's own text has them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from forerun.planner.algebra.scalar import Scalar
from forerun.planner.algebra.type_kinds import is_ordered
from forerun.planner.algebra.types import Column
from forerun.planner.sql.binding.binder import Binder
from forerun.planner.sql.query_block.conditions import SUBQUERIES
from forerun.planner.sql.query_block.grouping import aggregate_calls
from forerun.planner.sql.query_block.ordering import order_items, output_value
from forerun.planner.sql.syntax.text import PLACING

_TOGETHER = ({"distribute", "sort"}, *({clause} for clause in ("order", *PLACING)), set[str]())


def check_placing(
    binder: Binder, node: exp.Expr, items: Sequence[tuple[str, Scalar]], listed: Sequence[Column]
) -> None:
    """Refuse what Spark refuses of the clauses of a query: they see what ORDER BY sees."""
    given = {clause: node.args[clause] for clause in PLACING if node.args.get(clause)}
    if {*given, *({"order"} if node.args.get("order") else ())} not in _TOGETHER:
        what = "ORDER BY, SORT BY, DISTRIBUTE BY and CLUSTER BY together"
        last = next(reversed(given.values()))
        raise binder.text.error(last, what, "keep one, or DISTRIBUTE BY with SORT BY")
    for clause, part in given.items():
        for subquery in part.find_all(*SUBQUERIES):
            raise binder.text.unsupported(subquery, f"a subquery in {clause.upper()} BY")
        if clause == "sort":
            calls = [call for item in part.expressions for call in aggregate_calls(item)]
            if calls and "distribute" in given:
                what = "an aggregate function in SORT BY beside DISTRIBUTE BY"
                raise binder.text.error(calls[0], what, "list it, and sort by its name")
            order_items(binder, part, items, listed)
            continue
        for item in part.expressions:
            inner = item.this if isinstance(item, exp.Ordered) else item
            value = output_value(binder, inner, items, listed)
            if clause == "cluster" and not is_ordered(value.type):
                raise binder.text.error(inner, f"nothing is sorted by {value.type}")
