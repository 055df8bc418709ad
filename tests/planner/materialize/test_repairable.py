"""What a day keeps for repairs: states from which rows can be taken back, read by any engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.include.engines import ENGINES
from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.contract import ArtifactOutput, Family, FamilyInput
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN
from forerun.planner.request import (
    ColumnStats,
    Committed,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)

ROWS = 500_000_000
POINTS = (TimePoint(weight=0.2, arrived=0.8), TimePoint(weight=0.2, arrived=0.9),
          TimePoint(weight=1.0))  # fmt: skip
SUM = "SELECT k, sum(v) AS total FROM facts GROUP BY k"
LEAST = "SELECT k, min(v) AS least FROM facts GROUP BY k"


def request_of(sql: str, *, repairable: bool) -> PlanRequest:
    """The first run of a day of many rows in few groups that works early."""
    facts = Source(
        name="facts",
        columns=tuple(SourceColumn(name=n, type=parse_type("BIGINT")) for n in ("k", "v")),
        changing=True,
        rows=ROWS,
        bytes=16 * ROWS,
        stats=(("k", ColumnStats(minimum="1", maximum="1000", distinct=1000.0)),),
    )
    return PlanRequest(
        report="totals",
        sql=sql,
        sources=(facts,),
        points=POINTS,
        repairable=repairable,
        settings=Settings(temporal="early"),
    )


def kept(request: PlanRequest) -> tuple[Family, ...]:
    found = plan(request).plan
    outputs = [stage.output for stage in found.run.stages]
    kept = [found.family(o.family) for o in outputs if isinstance(o, ArtifactOutput)]
    families = tuple(family for family in kept if family.title.startswith("states of"))
    assert families
    return families


def after(request: PlanRequest, run: int, families: tuple[Family, ...], **source: object):
    """The request of a later run, when these families were committed by the first one."""
    return replace(
        request,
        current=run,
        committed=(Committed(index=1, families=families),),
        sources=tuple(replace(one, **source) for one in request.sources),
        first_sources=request.sources,
    )


def reads(request: PlanRequest) -> set[str]:
    """The families that a run reads."""
    stages = plan(request).plan.run.stages
    return {i.family for s in stages for i in s.inputs if isinstance(i, FamilyInput)}


def writes(request: PlanRequest) -> set[str]:
    """The families that a run writes to."""
    outputs = (stage.output for stage in plan(request).plan.run.stages)
    return {output.family for output in outputs if isinstance(output, ArtifactOutput)}


def columns_of(family: Family) -> list[str]:
    return [column.name.rpartition("_")[0] for column in family.columns]


def test_sums_are_kept_with_a_count_where_repairs_are_expected():
    assert columns_of(kept(request_of(SUM, repairable=False))[0]) == ["k", "sum_sum", "__n"]
    assert columns_of(kept(request_of(SUM, repairable=True))[0]) == [
        "k", "sum_sum", "sum_count", "__n",
    ]  # fmt: skip


def test_what_cannot_take_rows_back_is_kept_as_ever():
    assert kept(request_of(LEAST, repairable=True)) == kept(request_of(LEAST, repairable=False))


@pytest.mark.parametrize("repairable", [True, False])
def test_rows_are_taken_back_from_states_of_that_form_only(repairable: bool):
    """The source takes rows back, which it did not when the states were written."""
    request = request_of(SUM, repairable=repairable)
    families = kept(request)
    taking = after(request, 3, families, change="changelog", retracted=0.001)
    ids = {family.id for family in families}
    assert bool(reads(taking) & ids) is repairable
    assert reads(after(request, 3, families)) & ids  # and where it only adds, from either


def test_states_of_another_form_are_not_read_with_the_columns_of_this_one():
    """A report that expects repairs from now on, in the middle of a day."""
    families = kept(request_of(SUM, repairable=False))
    request = after(request_of(SUM, repairable=True), 3, families)
    assert not reads(request) & {family.id for family in families}


def test_an_engine_without_buckets_reads_them_in_the_last_run_only():
    request = request_of(SUM, repairable=True)
    families = kept(request)
    assert [family.buckets > 0 for family in families] == [True]
    sail = Settings(temporal="early", prices=ENGINES["sail"].prices)
    last = replace(after(request, 3, families), settings=sail)
    assert reads(last) == {family.id for family in families}
    earlier = after(request, 2, families)
    ids = {family.id for family in families}
    assert writes(earlier) & ids  # a partition for the engine that has made the others
    assert not writes(replace(earlier, settings=sail)) & ids


JOINED = (
    "SELECT d.g, sum(f.v) AS total FROM facts f JOIN dims d ON f.k = d.k WHERE f.v > 9 GROUP BY d.g"
)
"""What is kept of it early is the few rows of facts that pass."""


def joined_request() -> PlanRequest:
    request = request_of(SUM, repairable=True)
    columns = tuple(SourceColumn(name=n, type=parse_type("BIGINT")) for n in ("k", "g"))
    rows = 20_000_000
    dims = Source(name="dims", columns=columns, changing=True, rows=rows, bytes=16 * rows)
    few = (("v", ColumnStats(minimum="1", maximum="10", distinct=10.0)),)
    (facts,) = request.sources
    settings = replace(request.settings, rules_off=("EagerAggregate",))  # sums are no rows
    sources = (replace(facts, stats=facts.stats + few), dims)
    return replace(request, sql=JOINED, sources=sources, settings=settings)


def rows_kept(request: PlanRequest) -> Family:
    found = plan(request).plan
    outputs = [stage.output for stage in found.run.stages]
    kept = [found.family(o.family) for o in outputs if isinstance(o, ArtifactOutput)]
    (family,) = [one for one in kept if one.title.startswith("selected facts rows")]
    assert not family.signed
    return family


def taking_back(request: PlanRequest, run: int, family: Family) -> PlanRequest:
    """A later run, in which facts takes rows back, and dims only grows."""
    facts, dims = request.sources
    later = after(request, run, (family,))
    return replace(later, sources=(replace(facts, change="changelog", retracted=0.001), dims))


@pytest.mark.parametrize("engine", ["spark", "sail"])
def test_rows_are_taken_back_from_plain_rows_that_are_kept(engine: str):
    """Each plain row counts once: it is read with the weight 1."""
    request = joined_request()
    family = rows_kept(request)
    prices = ENGINES[engine].prices
    last = replace(
        taking_back(request, 3, family), settings=replace(request.settings, prices=prices)
    )
    found = plan(last).plan
    assert found.method == "incremental"
    (sql,) = [s.sql for s in found.run.stages if FamilyInput(family=family.id) in s.inputs]
    assert f"1L AS `{WEIGHT_COLUMN}" in sql
    assert family in found.families


def test_nothing_is_appended_to_plain_rows_once_rows_are_taken_back():
    """A partition of weighted rows would make them another family's."""
    request = joined_request()
    family = rows_kept(request)
    assert family.id not in writes(taking_back(request, 2, family))
    grows = after(request, 2, (family,))
    assert family.id in writes(grows), "else it could not be seen here"


def test_other_rows_are_not_read_in_their_place():
    request = joined_request()
    family = rows_kept(request)
    other = replace(request, sql=JOINED.replace("> 9", "> 8"))
    assert not reads(taking_back(other, 3, family))
