"""What other reports keep, as views of the planner: read where that is cheaper, never written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner import api
from planner.api import PlanResult
from planner.contract.plan_v1 import ArtifactOutput, FamilyInput, SharedFrom, SourceInput
from planner.errors import RequestError
from planner.explain.tree import render
from planner.request import Committed, PlanRequest, Settings, SharedFamily, TimePoint
from tests.planner.materialize.test_replanning import ROWS, SOLD, kept_by, sources

OTHER = SOLD.replace("count(*) AS n", "max(r.cost) AS most")
POINTS = (TimePoint(weight=0.25, arrived=0.9), TimePoint(weight=1.0))


@pytest.fixture(scope="module")
def offers() -> tuple[SharedFamily, ...]:
    """What the first run of a report of this query keeps."""
    kept = kept_by(plan(SOLD), 1)
    assert {family.sources for family in kept} >= {("sales",), ("returns",)}
    origin = SharedFrom(family="", report="first", generation="3", run=1, stored_as="")
    return tuple(
        SharedFamily(family=f, origin=replace(origin, stored_as=f.id), run=1, bytes=1) for f in kept
    )


def plan(sql: str, **more: object) -> PlanResult:
    given = {"sources": sources(ROWS), "points": POINTS, **more}
    return api.plan(PlanRequest(report="r", sql=sql, **given))


def inputs(result: PlanResult) -> set[str]:
    given = [one for stage in result.plan.run.stages for one in stage.inputs]
    return {
        f"{one.source} {one.version}" if isinstance(one, SourceInput) else one.family
        for one in given
        if isinstance(one, SourceInput | FamilyInput)
    }


def test_the_final_run_alone_reads_what_is_there(offers: tuple[SharedFamily, ...]) -> None:
    one_run = {"points": (TimePoint(weight=1.0),)}
    batch = plan(OTHER, **one_run)
    assert batch.plan.method == "batch"
    result = plan(OTHER, **one_run, shared=offers)
    assert result.plan.estimated_cost < 0.6 * batch.plan.estimated_cost
    by_source = {one.family.sources: one for one in offers}
    wanted = [by_source[name] for name in (("sales",), ("returns",))]
    assert inputs(result) == {one.view.id for one in wanted}
    assert {(s.report, s.generation, s.run, s.stored_as) for s in result.plan.shared} == {
        ("first", "3", 1, one.family.id) for one in wanted
    }
    assert "from report first, run 1" in render(result)
    assert result.decision.chosen.held == ()


def test_what_is_of_the_base_is_read_with_what_came_since(
    offers: tuple[SharedFamily, ...],
) -> None:
    later = {"current": 2, "committed": (Committed(index=1, families=()),)}
    alone = plan(SOLD, **later)
    result = plan(SOLD, **later, shared=offers)
    assert result.plan.estimated_cost < alone.plan.estimated_cost
    views = {one.view.id for one in offers}
    read = inputs(result)
    assert read & views
    assert "sales snapshot" not in read
    outputs = [stage.output for run in result.plan.runs for stage in run.stages]
    written = {one.family for one in outputs if isinstance(one, ArtifactOutput)}
    assert not written & views


@pytest.mark.parametrize("run", [0, 2])
def test_offers_of_other_runs_are_refused(offers: tuple[SharedFamily, ...], run: int) -> None:
    with pytest.raises(RequestError, match="of another run than this one and its base"):
        plan(OTHER, shared=(replace(offers[0], run=run),))


@pytest.mark.parametrize(
    "change",
    [
        {"method": "batch"},
        {"settings": Settings(session=(("spark.sql.session.timeZone", "Asia/Tokyo"),))},
        {"settings": Settings(state_budget=0)},
    ],
)
def test_where_nothing_is_read_of_others(
    offers: tuple[SharedFamily, ...], change: dict[str, object]
) -> None:
    result = plan(OTHER, points=(TimePoint(weight=1.0),), shared=offers, **change)
    assert result.plan.shared == ()


def test_the_same_plan_whatever_the_order_of_offers(offers: tuple[SharedFamily, ...]) -> None:
    one_run = {"points": (TimePoint(weight=1.0),)}
    texts = {
        render(plan(OTHER, **one_run, shared=given)) for given in (offers, tuple(reversed(offers)))
    }
    assert len(texts) == 1


def test_a_budget_is_not_spent_on_what_others_keep(offers: tuple[SharedFamily, ...]) -> None:
    result = plan(
        OTHER, points=(TimePoint(weight=1.0),), shared=offers, settings=Settings(state_budget=1)
    )
    assert result.plan.shared
