"""What a plan relies on of its sources is checked by its runs, and that is part of its cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.api import plan
from forerun.planner.contract import Plan
from forerun.planner.cost import operators
from forerun.planner.cost.operators import Size
from forerun.planner.cost.prices import SPARK
from forerun.planner.request import Method, PlanRequest, Source, SourceColumn, TimePoint

ROWS = 40_000_000
POINTS = tuple(TimePoint(weight=w, arrived=a) for w, a in ((0.2, 0.5), (0.4, 0.8), (1.0, 1.0)))
SQL = """SELECT g, count(*) AS n FROM orders
         WHERE k NOT IN (SELECT k FROM refused) GROUP BY g"""


def planned(method: Method = "progressive", *, nullable: bool = False) -> Plan:
    columns = (
        SourceColumn(name="k", type=BIGINT, nullable=nullable),
        SourceColumn(name="g", type=STRING),
    )
    orders = Source(name="orders", columns=columns, changing=True, rows=ROWS, bytes=30 * ROWS)
    refused = Source(name="refused", columns=columns, rows=1_000_000, bytes=30_000_000)
    request = PlanRequest(
        report="r", sql=SQL, sources=(orders, refused), points=POINTS, method=method
    )
    return plan(request).plan


def beside_stages(found: Plan) -> list[int]:
    """What each run costs that none of its stages does."""
    return [run.estimated_cost - sum(s.estimated_cost for s in run.stages) for run in found.runs]


def checked(*rows: float) -> int:
    return sum(round(operators.read(Size(n, float(BIGINT.width)), SPARK)) for n in rows)


def test_each_run_checks_what_has_come_since_the_one_before() -> None:
    found = planned()
    assert {t.name: t.relies_not_null for t in found.sources} == {
        "orders": ("k",), "refused": ("k",)
    }  # fmt: skip
    expected = [checked(0.5 * ROWS, 1_000_000), checked(0.3 * ROWS), checked(0.2 * ROWS)]
    assert beside_stages(found) == pytest.approx(expected, abs=4)


def test_what_is_not_declared_is_not_checked_and_batch_relies_on_nothing() -> None:
    assert beside_stages(planned(nullable=True)) == pytest.approx([0, 0, 0], abs=4)
    assert beside_stages(planned("batch")) == [0, 0, round(SPARK.run_start)]


def looked_up(there: float) -> int:
    """All rows are read and hashed, and those moved and grouped that go, and come before."""
    alike = Size(2 * 0.1 * ROWS, 30.0)
    hashed = there * 2 * SPARK.expression_row
    moved = operators.exchange(alike, SPARK) + operators.group(alike.rows, alike.rows, SPARK)
    return round(operators.read(Size(there, 30.0), SPARK) + hashed + moved)


def test_rows_that_are_taken_back_are_looked_up_in_each_run_and_in_batch() -> None:
    columns = (SourceColumn(name="g", type=STRING), SourceColumn(name="v", type=BIGINT))
    orders = Source(
        name="orders", columns=columns, changing=True, change="changelog", retracted=0.1,
        rows=ROWS, bytes=30 * ROWS,
    )  # fmt: skip
    request = PlanRequest(
        report="r",
        sql="SELECT g, sum(v) AS s FROM orders GROUP BY g",
        sources=(orders,),
        points=POINTS,
        method="progressive",
    )
    expected = [looked_up(n * ROWS) for n in (0.5, 0.8, 1.0)]
    assert beside_stages(plan(request).plan) == pytest.approx(expected, abs=4)
    only_comes = replace(request, sources=(replace(orders, retracted=0.0),))
    assert beside_stages(plan(only_comes).plan) == pytest.approx([0, 0, 0], abs=4)
    lookup = plan(request).plan.batch_cost - plan(only_comes).plan.batch_cost
    assert lookup >= expected[-1]
