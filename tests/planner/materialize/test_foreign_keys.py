"""A plan relies on a foreign key only where that pays with its lookup, and says so of each run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner.algebra.types import BIGINT
from forerun.planner.api import plan
from forerun.planner.contract import Plan, decode_plan, encode_plan
from forerun.planner.contract.plan_v1 import ForeignKey, ReliedForeignKey
from forerun.planner.errors import RequestError
from forerun.planner.request import (
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    SourceForeignKey,
    TimePoint,
)

KEY = ForeignKey(columns=("l",), parent="orders", parent_columns=("o",))
SQL = "SELECT day, sum(price) AS price FROM orders JOIN lines ON o = l WHERE shop = 3 GROUP BY day"


def sources(overlap: float, key: ForeignKey = KEY, **changes: object) -> tuple[Source, ...]:
    def table(name: str, rows: int, *names: str) -> Source:
        columns = tuple(SourceColumn(name=n, type=BIGINT) for n in names)
        return Source(name=name, columns=columns, changing=True, rows=rows, bytes=rows * 30)

    lines = table("lines", 4 * 10**8, "l", "price")
    declared = (SourceForeignKey(key=key, overlap=overlap),)
    orders = replace(table("orders", 10**8, "o", "shop", "day"), **changes)
    return orders, replace(lines, foreign_keys=declared)


def planned(given: tuple[Source, ...], **settings: object) -> Plan:
    points = (
        TimePoint(weight=0.25, arrived=0.6),
        TimePoint(weight=0.3, arrived=0.8),
        TimePoint(weight=1.0),
    )
    return plan(
        PlanRequest(
            report="r", sql=SQL, sources=given, points=points, settings=Settings(**settings)
        )
    ).plan


def relied(found: Plan) -> list[tuple[ReliedForeignKey, ...]]:
    return [run.relies_on for run in found.runs]


def test_a_lookup_that_is_cheap_is_relied_on_and_one_that_is_dear_is_not() -> None:
    cheap, dear = planned(sources(0.001)), planned(sources(1.0))
    one = ReliedForeignKey(source="lines", key=KEY)
    assert one in cheap.runs[-1].relies_on
    assert set(relied(dear)) == {()}
    assert cheap.estimated_cost < dear.estimated_cost
    assert decode_plan(encode_plan(cheap)) == cheap


def test_the_lookup_is_part_of_the_price() -> None:
    free, little = planned(sources(0.0)), planned(sources(0.02))
    assert relied(free) == relied(little)
    assert free.estimated_cost < little.estimated_cost


def test_the_first_run_and_batch_rely_on_nothing_and_the_rule_can_be_switched_off() -> None:
    assert planned(sources(0.0)).runs[0].relies_on == ()
    off = planned(sources(0.0), rules_off=("ForeignKeyDelta",))
    assert set(relied(off)) == {()}


def test_sources_that_take_rows_back_or_do_not_grow_have_none() -> None:
    for changes in ({"change": "changelog", "retracted": 0.1}, {"changing": False}):
        assert set(relied(planned(sources(0.0, **changes)))) == {()}


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (replace(KEY, parent="nothing"), "names the source nothing"),
        (replace(KEY, columns=("l", "price")), "names 1 columns of orders"),
        (replace(KEY, columns=("x",)), "no column lines.x"),
    ],
)
def test_a_foreign_key_of_what_is_not_there_is_refused(key: ForeignKey, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        planned(sources(1.0, key))
