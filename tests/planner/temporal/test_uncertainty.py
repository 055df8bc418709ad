"""The interval against batch: doubts that both plans share cancel, those of one of them do not."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from forerun.planner.algebra.relational import Filter, walk
from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.api import PlanResult, plan
from forerun.planner.cost import constants as c
from forerun.planner.materialize import no_regret
from forerun.planner.request import (
    ColumnStats,
    Observed,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from forerun.planner.temporal.as_of import Span, instant
from forerun.planner.temporal.uncertainty import Uncertainty, spread
from tests.planner.starts import CHEAP_RUNS

POINTS = (TimePoint(weight=0.25, arrived=0.6), TimePoint(weight=1.0))


def source(name: str, rows: int, *columns: str, changing: bool = True) -> Source:
    return Source(
        name=name,
        columns=tuple(
            SourceColumn(name=n, type=STRING if n == "note" else BIGINT) for n in columns
        ),
        changing=changing,
        rows=rows,
        stats=tuple((n, ColumnStats(minimum="0", maximum="1000")) for n in columns if n != "note"),
    )


SALES = source("sales", 50_000_000, "g", "x", "note")
NAMES = source("names", 1001, "id", "town", changing=False)


def planned(sql: str, **more: object) -> PlanResult:
    return plan(PlanRequest(report="r", sql=sql, sources=(SALES, NAMES), points=POINTS, **more))


def uncertainty(found: PlanResult) -> Uncertainty:
    return Uncertainty(found.space, found.group_sizes, found.request)


def group_of(found: PlanResult, kind: type) -> int:
    node = next(n for n in walk(found.relation) if isinstance(n, kind))
    return found.space.memo.add(node)


def terms(sql: str, run: int = 1) -> list[float]:
    found = planned(sql)
    return sorted(uncertainty(found).of(group_of(found, Filter), instant(run)).values())


def test_what_is_counted_is_no_doubt_and_what_is_guessed_is_a_large_one() -> None:
    (bounds,) = terms("SELECT g FROM sales WHERE x < 100")
    (guess,) = terms("SELECT g FROM sales WHERE note LIKE '%ab%'")
    assert bounds == pytest.approx(0.9 * c.COLUMN_ERROR, rel=0.02)
    assert guess == pytest.approx(0.9 * c.GUESS_ERROR, rel=0.02)
    # Nearly all rows pass: there is not much to be wrong about.
    (most,) = terms("SELECT g FROM sales WHERE note NOT LIKE '%ab%'")
    assert most == pytest.approx(0.1 * c.GUESS_ERROR, rel=0.02)


def test_what_a_sample_tells_is_doubted_by_its_rows() -> None:
    """A tenth of the rows pass, as the guess has it: only how sure that is differs."""

    def doubted(rows: int) -> float:
        notes = tuple("ab" if i % 10 == 0 else "c" for i in range(rows))
        sampled = replace(SALES, sample=(("note", notes),))
        sql = "SELECT g FROM sales WHERE note LIKE '%ab%'"
        found = plan(PlanRequest(report="r", sql=sql, sources=(sampled,), points=POINTS))
        (size,) = uncertainty(found).of(group_of(found, Filter), instant(1)).values()
        return size

    assert doubted(1000) == pytest.approx(0.9 * math.sqrt(1 / 100.5 + 1 / 900.5), rel=0.01)
    assert doubted(100) == pytest.approx(0.9 * math.sqrt(1 / 10.5 + 1 / 90.5), rel=0.02)
    (guess,) = terms("SELECT g FROM sales WHERE note LIKE '%ab%'")
    assert doubted(1000) < doubted(100) < guess


def test_what_is_still_to_come_is_a_guess() -> None:
    now, later = (terms("SELECT g FROM sales WHERE x < 100", run) for run in (1, 2))
    assert (len(now), len(later)) == (1, 2)
    assert sum(later) - sum(now) == pytest.approx(0.4 * c.ARRIVAL_ERROR, rel=0.05)


def test_the_delta_doubts_what_came_alone() -> None:
    """Of the rows of a delta, only what is still to come: all of the error is in it."""
    found = planned("SELECT g, sum(x) AS s FROM sales GROUP BY g")
    (scan,) = [e for e in found.space.memo.expressions if str(e.node).startswith("Scan")][:1]
    tvr = found.space.memo.tvr_of(scan.group)
    assert tvr is not None
    delta = next(group for (version, _), group in tvr.edges.items() if version.name == "DELTA")
    (arrives,) = uncertainty(found).of(delta, Span(1, 2).step()).values()
    assert arrives == pytest.approx(c.ARRIVAL_ERROR)


def test_a_doubt_of_both_plans_cancels() -> None:
    assert spread({"a": 3.0, "b": 4.0}, {}) == 5.0
    assert spread({"a": 3.0, "b": 4.0}, {"a": 3.0}) == 4.0
    assert spread({"a": 3.0}, {"b": 4.0}) == 5.0
    assert math.isclose(spread({"a": 3.0}, {"a": 3.0}), 0.0)


GROUPED = "SELECT g, x, sum(x) AS s FROM sales WHERE {} GROUP BY g, x"


def dear(run_start: float) -> Settings:
    return Settings(prices=replace(CHEAP_RUNS, run_start=run_start))


def at_the_border(where: str) -> PlanResult:
    """With a fixed cost of a run that takes early work to the border of being worth it."""
    low, high = 0.0, 60e6
    for _ in range(12):
        middle = (low + high) / 2
        found = planned(GROUPED.format(where), settings=dear(middle))
        if found.decision.chosen.is_batch:
            high = middle
        else:
            low = middle
    return planned(GROUPED.format(where), settings=dear(low))


@pytest.mark.parametrize("where", ["x < 500", "note LIKE 'a%' OR x + g > 7"])
def test_early_work_is_done_below_a_part_of_the_spread(
    monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(no_regret, "SURE", 1.0)  # so large that the fixed bounds do not decide
    found = at_the_border(where)
    chosen, late = found.decision.chosen, found.decision.late
    assert not chosen.is_batch
    assert chosen.rank[0] < chosen.limit == pytest.approx(chosen.rank[0], rel=0.02)
    assert c.CLEAREST * late.rank[0] < chosen.limit < 0.999 * c.CLEARLY * late.rank[0]
    assert chosen.extracted is not None
    doubted = uncertainty(found).of_cost(chosen.extracted, {1: 0.25, 2: 1.0})
    # By how much batch would have to be doubted for itself, were nothing shared.
    most = math.hypot(*doubted.values()) + spread(doubted, {})
    assert 0 < late.rank[0] - chosen.limit < most


def test_a_count_takes_the_doubt() -> None:
    found = planned("SELECT g FROM sales WHERE note LIKE '%ab%'")
    group = found.space.memo.leader(group_of(found, Filter))
    slot = next(s for s in found.space.slots if found.space.memo.leader(s.tvr.new) == group)
    counted = Observed(
        fingerprint=found.families.fingerprint((slot.index, ()), 1),
        partitions=(((("names", 1001), ("sales", 30_000_000)), 12_345_678),),
    )
    again = plan(replace(found.request, observed=(counted,)))
    assert list(uncertainty(again).of(group_of(again, Filter), instant(1)).values()) == [
        c.COUNTED_ERROR
    ]
