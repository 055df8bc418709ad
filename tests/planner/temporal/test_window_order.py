"""Windows over windows: what lies in their order is not sorted again, and what was stored is."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.relational import Window
from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.memo.memo import Memo
from forerun.planner.request import PlanRequest, Source, SourceColumn, TimePoint
from forerun.planner.sql.frontend import read_query
from forerun.planner.temporal.window_order import is_in_order, is_read_in_order

TABLE = Source(
    name="t",
    columns=tuple(SourceColumn(name=n, type=parse_type("BIGINT")) for n in "kgn"),
    changing=True,
    rows=20_000_000,
    bytes=200_000_000,
)
BELOW = "(SELECT k, g, n, lag(n) OVER (PARTITION BY k ORDER BY n) AS b FROM t) q"
ONE = f"SELECT k, g, n, b FROM {BELOW}"
OVER = {
    "PARTITION BY k ORDER BY n": True,
    "PARTITION BY k ORDER BY n DESC": False,
    "PARTITION BY k ORDER BY n, g": False,
    "PARTITION BY g ORDER BY n": False,
    "ORDER BY n": False,
}


def stacked(over: str) -> str:
    return f"SELECT k, g, n, b, count(b) OVER ({over}) AS c FROM {BELOW}"


def batch_cost(sql: str) -> float:
    points = (TimePoint(weight=1.0),)
    return plan(PlanRequest(report="r", sql=sql, sources=(TABLE,), points=points)).plan.batch_cost


@pytest.mark.parametrize("over", OVER)
def test_what_lies_in_the_order_is_not_sorted_again(over: str) -> None:
    more = batch_cost(stacked(over)) - batch_cost(ONE)
    other = batch_cost(stacked("PARTITION BY g ORDER BY k")) - batch_cost(ONE)
    assert (more < 0.4 * other) is OVER[over]


def test_of_several_orders_below_none_is_known() -> None:
    memo = Memo(frozenset({"t"}))
    below = BELOW.replace(" AS b", " AS b, sum(n) OVER (PARTITION BY g ORDER BY n) AS s")
    for by in "kg":
        sql = f"SELECT b, count(s) OVER (PARTITION BY {by} ORDER BY n) AS c FROM {below}"
        memo.add(read_query(sql, (TABLE,)).relation)
    made = [one.node for one in memo.expressions if isinstance(one.node, Window)]
    assert len(made) > 2
    assert not any(is_in_order(memo, one) for one in made)


@pytest.mark.parametrize("over", OVER)
def test_what_is_stored_in_between_is_sorted_again(over: str) -> None:
    memo = Memo(frozenset({"t"}))
    memo.add(read_query(stacked(over), (TABLE,)).relation)
    made = [one for one in memo.expressions if isinstance(one.node, Window)]
    assert [is_in_order(memo, one.node) for one in made if isinstance(one.node, Window)] == [
        False,
        OVER[over],
    ]
    assert [is_read_in_order(memo, one.group) for one in made] == [OVER[over], False]
