"""What other reports keep, as views of the planner: read where that is cheaper, never written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner import api
from forerun.planner.api import PlanResult
from forerun.planner.contract.plan_v1 import ArtifactOutput, BorrowedFrom, FamilyInput, SourceInput
from forerun.planner.errors import RequestError
from forerun.planner.explain.tree import render
from forerun.planner.materialize import portfolio
from forerun.planner.memo.memo import Memo
from forerun.planner.request import BorrowedView, Committed, PlanRequest, Settings, TimePoint
from forerun.planner.temporal.space import Space
from tests.planner.materialize.test_replanning import ROWS, SOLD, kept_by, sources
from tests.planner.starts import CHEAP_RUNS

OTHER = SOLD.replace("count(*) AS n", "max(r.cost) AS most")
POINTS = (TimePoint(weight=0.25, arrived=0.9), TimePoint(weight=1.0))


@pytest.fixture(scope="module")
def borrowed() -> tuple[BorrowedView, ...]:
    """What the first run of a report of this query keeps."""
    kept = kept_by(plan(SOLD), 1)
    assert {family.sources for family in kept} >= {("sales",), ("returns",)}
    origin = BorrowedFrom(family="", report="first", generation="3", run=1, stored_as="")
    return tuple(
        BorrowedView(family=f, origin=replace(origin, stored_as=f.id), run=1, bytes=1) for f in kept
    )


def plan(sql: str, **more: object) -> PlanResult:
    given = {"sources": sources(ROWS), "points": POINTS, **more}
    given = {"settings": Settings(prices=CHEAP_RUNS), **given}
    return api.plan(PlanRequest(report="r", sql=sql, **given))


def inputs(result: PlanResult) -> set[str]:
    given = [one for stage in result.plan.run.stages for one in stage.inputs]
    return {
        f"{one.source} {one.version}" if isinstance(one, SourceInput) else one.family
        for one in given
        if isinstance(one, SourceInput | FamilyInput)
    }


def test_the_final_run_alone_reads_what_is_there(borrowed: tuple[BorrowedView, ...]) -> None:
    one_run = {"points": (TimePoint(weight=1.0),)}
    batch = plan(OTHER, **one_run)
    assert batch.plan.method == "batch"
    result = plan(OTHER, **one_run, borrowed=borrowed)
    assert result.plan.estimated_cost < 0.6 * batch.plan.estimated_cost
    by_source = {one.family.sources: one for one in borrowed}
    wanted = [by_source[name] for name in (("sales",), ("returns",))]
    assert inputs(result) == {one.view.id for one in wanted}
    assert {(s.report, s.generation, s.run, s.stored_as) for s in result.plan.shared} == {
        ("first", "3", 1, one.family.id) for one in wanted
    }
    assert "from report first, run 1" in render(result)
    assert result.decision.chosen.held == ()


def test_what_is_of_the_base_is_read_with_what_came_since(
    borrowed: tuple[BorrowedView, ...],
) -> None:
    later = {"current": 2, "committed": (Committed(index=1, families=()),)}
    alone = plan(SOLD, **later)
    result = plan(SOLD, **later, borrowed=borrowed)
    assert result.plan.estimated_cost < alone.plan.estimated_cost
    views = {one.view.id for one in borrowed}
    read = inputs(result)
    assert read & views
    assert "sales snapshot" not in read
    outputs = [stage.output for run in result.plan.runs for stage in run.stages]
    written = {one.family for one in outputs if isinstance(one, ArtifactOutput)}
    assert not written & views


@pytest.mark.parametrize("run", [0, 2])
def test_views_of_other_runs_are_refused(borrowed: tuple[BorrowedView, ...], run: int) -> None:
    with pytest.raises(RequestError, match="of another run than this one and its base"):
        plan(OTHER, borrowed=(replace(borrowed[0], run=run),))


@pytest.mark.parametrize(
    "change",
    [
        {"method": "batch"},
        {
            "settings": Settings(
                session=(("spark.sql.session.timeZone", "Asia/Tokyo"),), prices=CHEAP_RUNS
            )
        },
        {"settings": Settings(state_budget=0, prices=CHEAP_RUNS)},
    ],
)
def test_where_nothing_is_read_of_others(
    borrowed: tuple[BorrowedView, ...], change: dict[str, object]
) -> None:
    result = plan(OTHER, points=(TimePoint(weight=1.0),), borrowed=borrowed, **change)
    assert result.plan.shared == ()


def test_the_same_plan_whatever_the_order_of_borrowed_views(
    borrowed: tuple[BorrowedView, ...],
) -> None:
    one_run = {"points": (TimePoint(weight=1.0),)}
    texts = {
        render(plan(OTHER, **one_run, borrowed=given))
        for given in (borrowed, tuple(reversed(borrowed)))
    }
    assert len(texts) == 1


def test_a_budget_is_not_spent_on_what_others_keep(borrowed: tuple[BorrowedView, ...]) -> None:
    result = plan(
        OTHER,
        points=(TimePoint(weight=1.0),),
        borrowed=borrowed,
        settings=Settings(state_budget=1, prices=CHEAP_RUNS),
    )
    assert result.plan.shared


def test_a_space_is_made_of_the_memo_as_it_stays(
    borrowed: tuple[BorrowedView, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Borrowed views are in the memo before the search looks at it; explaining adds nothing."""
    sizes: dict[int, tuple[int, ...]] = {}

    def size(memo: Memo) -> tuple[int, ...]:
        return len(memo.expressions), sum(1 for _ in memo.live_groups())

    class Watched(Space):
        def __init__(self, memo: Memo, *args: object, **more: object) -> None:
            super().__init__(memo, *args, **more)
            sizes[id(self)] = size(memo)

    monkeypatch.setattr(portfolio, "Space", Watched)
    result = plan(OTHER, points=(TimePoint(weight=1.0),), borrowed=borrowed)
    assert any(one.origin == "borrowed-view" for one in result.space.memo.expressions)
    assert render(result)
    assert render(plan(OTHER, method="batch"))
    assert sizes[id(result.space)] == size(result.space.memo)
