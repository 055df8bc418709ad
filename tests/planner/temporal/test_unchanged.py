"""What never changes is kept once, and what is complete is planned as what never changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner.algebra.types import BIGINT
from forerun.planner.api import PlanResult, plan
from forerun.planner.contract.plan_v1 import ArtifactOutput, Family, SourceInput
from forerun.planner.request import (
    ColumnStats,
    Committed,
    Method,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from tests.planner.starts import CHEAP_RUNS

QUERIES = {
    "derived table": """
        SELECT f.k, count(*) AS n, sum(f.x - d.a) AS s
        FROM fact f JOIN (SELECT k, avg(v) AS a FROM dim GROUP BY k) d ON f.k = d.k GROUP BY f.k""",
    "scalar": """
        SELECT f.k, count(*) AS n FROM fact f WHERE f.x > (SELECT avg(v) FROM dim) GROUP BY f.k""",
    "exists": """
        SELECT f.k, count(*) AS n FROM fact f
        WHERE EXISTS (SELECT 1 FROM dim d WHERE d.k = f.k AND d.v > 10) GROUP BY f.k""",
}
"""What is joined with 200 million rows that do not change (the audit's three cases)."""
JOINED = "SELECT f.k, sum(f.x) AS x, sum(d.v) AS v FROM fact f JOIN dim d ON f.k = d.k GROUP BY f.k"


def source(name: str, column: str, rows: int, *, changing: bool) -> Source:
    return Source(
        name=name,
        columns=tuple(SourceColumn(name=one, type=BIGINT) for one in ("k", column)),
        changing=changing,
        rows=rows,
        bytes=16 * rows,
        stats=(("k", ColumnStats(distinct=1e6, width=8.0)),),
    )


def day(sql: str, *complete: float, method: Method = "progressive", **more: object) -> PlanResult:
    """``complete``: how much of ``dim`` is there at each run, if it grows."""
    arrived = (0.58, 0.79, 1.0)
    shares = complete or (1.0,) * 3
    points = tuple(
        TimePoint(weight=weight, arrived=there, by_source=(("dim", share),))
        for weight, there, share in zip((0.25, 0.3, 1.0), arrived, shares, strict=True)
    )
    fact = source("fact", "x", 20_000_000, changing=True)
    dim = source("dim", "v", 200_000_000, changing=bool(complete))
    settings = Settings(prices=CHEAP_RUNS)
    request = PlanRequest(
        report="r", sql=sql, sources=(fact, dim), points=points, method=method, settings=settings
    )
    return plan(replace(request, **more))


def kept(found: PlanResult, run: int) -> tuple[Family, ...]:
    outputs = (stage.output for stage in found.plan.runs[run - 1].stages)
    return tuple(found.plan.family(o.family) for o in outputs if isinstance(o, ArtifactOutput))


def reads(found: PlanResult, run: int) -> set[tuple[str, str]]:
    inputs = (given for stage in found.plan.runs[run - 1].stages for given in stage.inputs)
    return {(given.source, given.version) for given in inputs if isinstance(given, SourceInput)}


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("method", ["auto", "progressive"])
def test_what_is_static_costs_no_more_than_if_it_grew_and_were_complete(
    name: str, method: Method
) -> None:
    static = day(QUERIES[name], method=method).plan
    complete = day(QUERIES[name], 1.0, 1.0, 1.0, method=method).plan
    assert static.method == complete.method == "incremental"
    assert static.estimated_cost <= 1.05 * complete.estimated_cost
    assert static.estimated_cost < 0.95 * static.batch_cost


@pytest.mark.parametrize("name", ["derived table", "scalar"])
def test_what_is_static_is_read_once_and_kept(name: str) -> None:
    found = day(QUERIES[name])
    assert ("dim", "snapshot") in reads(found, 1)
    assert [reads(found, run) for run in (2, 3)] == [{("fact", "delta")}] * 2
    assert [family.sources for family in kept(found, 1) if "fact" not in family.sources] == [
        ("dim",)
    ]


@pytest.mark.parametrize("whole", [1, 2])
def test_what_is_complete_is_planned_as_what_never_changes(whole: int) -> None:
    """From the run on in which it is complete, by forecast."""
    shares = tuple(1.0 if run >= whole else 0.5 for run in (1, 2, 3))
    found = day(JOINED, *shares)
    static = day(JOINED)
    runs = range(whole + 1, 4)
    assert [found.plan.runs[run - 1].unchanged for run in runs] == [("dim",)] * len(runs)
    assert all(("dim", "delta") not in reads(found, run) for run in runs)
    mine, others = (
        sum(one.plan.runs[run - 1].estimated_cost for run in runs) for one in (found, static)
    )
    assert mine <= 1.05 * others


def replanned(first: PlanResult, unchanged: tuple[str, ...], current: int, *shares: float):
    committed = tuple(
        Committed(index=run, families=kept(first, run), unchanged=unchanged if run > 1 else ())
        for run in range(1, current)
    )
    return day(JOINED, *shares, current=current, committed=committed, unchanged=unchanged)


def test_a_forecast_does_not_decide_what_has_come() -> None:
    """Forecast to be complete at run 1, and something has come before run 2."""
    first = day(JOINED, 1.0, 1.0, 1.0)
    found = replanned(first, (), 2, 1.0, 1.0, 1.0)
    assert found.plan.run.unchanged == ()
    assert ("dim", "delta") in reads(found, 2)


def test_pins_decide_what_has_come() -> None:
    """Forecast to grow until run 3, and nothing has come before run 2."""
    first = day(JOINED, 0.4, 0.8, 1.0)
    found = replanned(first, ("dim",), 2, 0.4, 0.8, 1.0)
    assert found.plan.run.unchanged == ("dim",)
    assert not any(name == "dim" for name, _ in reads(found, 2))
    assert found.plan.runs[2].unchanged == ()


def test_what_a_run_had_nothing_to_add_to_goes_on() -> None:
    """Run 2 wrote no partition of what is made of ``dim`` alone; run 3 reads what run 1 wrote. If
    something had come that run 2 left out, nothing of it could be read."""
    first = day(JOINED, 1.0, 1.0, 1.0)
    of_dim = {family.fingerprint for family in kept(first, 1) if family.sources == ("dim",)}
    assert of_dim
    assert not of_dim & {family.fingerprint for family in kept(first, 2)}
    found = replanned(first, ("dim",), 3, 1.0, 1.0, 1.0)
    assert of_dim <= {family.fingerprint for family in found.plan.families}
    gap = replanned(first, (), 3, 1.0, 1.0, 1.0)
    assert not of_dim & {family.fingerprint for family in gap.plan.families}


@pytest.mark.parametrize("outer", ["{0}", "SELECT k, count(*) AS n FROM ({0}) GROUP BY k"])
@pytest.mark.parametrize("complete", [(), (1.0, 1.0, 1.0), (0.5, 0.8, 1.0)])
def test_rows_that_a_query_lists_are_no_branch_without_rows(
    outer: str, complete: tuple[float, ...]
) -> None:
    sql = "SELECT k FROM fact UNION ALL SELECT k FROM dim UNION ALL VALUES (41L), (42L)"
    found = day(outer.format(sql), *complete).plan
    assert any("42L" in stage.sql for run in found.runs for stage in run.stages)
