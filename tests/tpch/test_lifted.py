"""Days of TPC-H's queries by one query, on Sail: each day's rows are those of the plain query over
that day. Orders and their lines come by day, all other tables are the same on every day."""

from __future__ import annotations

import pytest

from forerun.planner.api import plan
from forerun.planner.contract.plan_v1 import DAY_COLUMN
from forerun.planner.errors import LiftError, NotLifted
from forerun.planner.request import Days, PlanRequest, TimePoint
from tests.oracles.bags import compare_bags, with_equal_scales
from tests.oracles.values import Row
from tests.planner.sql.tpch import COLUMNS, SOURCES, TEXTS, rows
from tests.properties.engines import PlainSailEngine
from tests.properties.sessions import sail_session

DAYS, ORDERS_A_DAY = 3, 50
DAILY = ("lineitem", "orders")
REFUSED = {
    "q02": NotLifted.NOTHING_DAILY,
    "q11": NotLifted.NOTHING_DAILY,
    "q16": NotLifted.NOTHING_DAILY,
}

TOTALS = {"q06", "q14", "q17", "q19"}
"""Queries of one row, which have none here for a day without rows."""

WITHOUT_ROWS = {"q20", "q21"}
"""Queries that select nothing of so few rows on any day."""


def day_of(row: Row) -> int:
    """The day that an order comes on, and its lines with it."""
    return int(row[0]) // ORDERS_A_DAY


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.stem)
def test_the_days_of_a_query(text) -> None:
    sql, tables, engine = text.read_text(), rows(), PlainSailEngine(sail_session())
    request = PlanRequest(
        report=text.stem,
        sql=sql,
        sources=SOURCES,
        points=(TimePoint(weight=1.0),),
        days=Days(count=DAYS, daily=DAILY),
    )
    if text.stem in REFUSED:
        with pytest.raises(LiftError) as refused:
            plan(request)
        assert refused.value.reason is REFUSED[text.stem]
        return
    (stage,) = plan(request).plan.run.stages
    expected = []
    for day in range(DAYS):
        for name, columns in COLUMNS.items():
            there = [r for r in tables[name] if name not in DAILY or day_of(r) == day]
            engine.bind(name, columns, there)
        expected.append(engine.query(sql))
    for name in DAILY:
        columns = (*COLUMNS[name], (DAY_COLUMN, "int"))
        engine.bind(name, columns, [(*row, day_of(row)) for row in tables[name]])
    for side in stage.small_sides:
        engine.bind(
            side.view, tuple((c.name, c.type) for c in side.columns), engine.query(side.sql)
        )
    found = engine.query(stage.sql)
    assert {row[-1] for row in found} <= set(range(DAYS))
    for day, wanted in enumerate(expected):
        mine = [row[:-1] for row in found if row[-1] == day]
        if not mine and text.stem in TOTALS:
            continue  # a day without rows is computed by itself
        compare_bags(*with_equal_scales(wanted, mine))
    assert any(expected) == (text.stem not in WITHOUT_ROWS)
