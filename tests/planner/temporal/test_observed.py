"""Counted rows beat estimates, wherever they were counted; what lies above them follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.api import PlanResult, plan
from forerun.planner.memo.groups import View
from forerun.planner.request import (
    ColumnStats,
    Observed,
    PlanRequest,
    Source,
    SourceColumn,
    TimePoint,
)
from forerun.planner.temporal.observed import touched_groups
from forerun.planner.temporal.space import Slot

ROWS = 50_000_000
SALES = Source(
    name="sales",
    columns=tuple(
        SourceColumn(name=name, type=type_)
        for name, type_ in (("k", BIGINT), ("g", STRING), ("v", BIGINT))
    ),
    changing=True,
    rows=ROWS,
    stats=(("g", ColumnStats(distinct=1e6)), ("k", ColumnStats(distinct=5e7))),
)
POINTS = tuple(TimePoint(weight=w, arrived=a) for w, a in ((0.25, 0.5), (0.3, 0.8), (1.0, 1.0)))
FILTERED = "SELECT k, v FROM sales WHERE g LIKE 'a%'"
KEYED = "SELECT k, sum(v) AS s FROM sales GROUP BY k"
GROUPED = "SELECT g, sum(v) AS s FROM sales GROUP BY g"


def planned(sql: str, *observed: Observed) -> PlanResult:
    return plan(
        PlanRequest(report="r", sql=sql, sources=(SALES,), points=POINTS, observed=observed)
    )


def counted(found: PlanResult, view: View, *rows: int) -> Observed:
    """What runs at 50, 80 and 100 % of a day of the same size wrote of the query's own family."""
    families, space = found.families, found.space
    slot = slot_of(found, view)
    arrived = (25_000_000, 40_000_000, 50_000_000)
    return Observed(
        fingerprint=families.fingerprint((slot.index, space.keys[slot.index][0]), 1),
        partitions=tuple(((("sales", there),), n) for there, n in zip(arrived, rows, strict=False)),
    )


def slot_of(found: PlanResult, view: View) -> Slot:
    """Of the query's own rows, or of its aggregate."""
    space = found.space
    slots = [s for s in space.slots if s.view is view]
    return slots[0] if view is View.STATES else next(s for s in slots if s.whole == space.root)


def rows_of(found: PlanResult, run: int) -> float:
    return found.group_sizes.snapshot(found.space.root, run).rows


def test_a_counted_filter_is_not_estimated() -> None:
    guess = planned(FILTERED)
    seen = planned(FILTERED, counted(guess, View.ROWS, 10_000_000, 8_000_000))
    assert rows_of(guess, 2) == pytest.approx(0.05 * 40_000_000)
    assert rows_of(seen, 2) == pytest.approx(18_000_000)
    assert rows_of(seen, 1) == pytest.approx(18_000_000 * 25 / 40)
    assert rows_of(seen, 3) == pytest.approx(18_000_000 * 50 / 40)
    delta = slot_of(seen, View.ROWS).delta
    assert seen.group_sizes.step(delta, 2, 3).rows == pytest.approx(18_000_000 * 10 / 40)


def test_a_day_of_another_size_is_brought_to_this_one() -> None:
    guess = planned(FILTERED)
    one = counted(guess, View.ROWS, 250_000)
    half = tuple(((("sales", 2_500_000),), n) for _, n in one.partitions)
    assert rows_of(planned(FILTERED, replace(one, partitions=half)), 3) == pytest.approx(5_000_000)


def test_counted_groups_are_not_estimated() -> None:
    """As many groups as rows were expected, so that states are no smaller; there are 50."""
    guess = planned(KEYED)
    seen = planned(KEYED, counted(guess, View.STATES, 50, 50))
    assert rows_of(guess, 3) > 10_000_000
    assert rows_of(seen, 1) == pytest.approx(50)
    assert seen.plan.estimated_cost < 0.5 * guess.plan.estimated_cost


@pytest.mark.parametrize("apart", [0.0, 0.25, 1.0])
def test_how_groups_arrive_is_learned_from_the_groups_that_were_touched(apart: float) -> None:
    guess = planned(GROUPED)
    alone, together = touched_groups(rows_of(guess, 3), 15e6, 50e6)
    touched = round(apart * alone + (1 - apart) * together)
    seen = planned(GROUPED, counted(guess, View.STATES, round(rows_of(guess, 1)), touched))
    delta = slot_of(seen, View.STATES).delta
    assert seen.group_sizes.step(delta, 1, 2).rows == pytest.approx(touched, rel=0.01)
    assert guess.group_sizes.step(delta, 1, 2).rows != pytest.approx(touched, rel=0.01)


def test_what_was_counted_of_another_query_changes_nothing() -> None:
    guess = planned(FILTERED)
    other = planned("SELECT k, v FROM sales WHERE g LIKE 'b%'", counted(guess, View.ROWS, 5))
    assert rows_of(other, 3) == rows_of(guess, 3)
