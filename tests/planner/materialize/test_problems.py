"""Where the result is wanted, and what plans are compared by (Tempura 2.1 and 6.2)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner import api
from forerun.planner.contract.plan_v1 import ResultOutput
from forerun.planner.errors import RequestError
from forerun.planner.explain import tree
from forerun.planner.materialize.objective import ABOVE_ALL_COSTS, OBJECTIVES, PlanComparison
from forerun.planner.request import (
    PDW,
    ColumnStats,
    Committed,
    PlanRequest,
    Problem,
    Settings,
    TimePoint,
    ivm,
)
from tests.planner import sales
from tests.planner.starts import CHEAP_RUNS, OPEN

SALES = replace(sales.SALES, stats=(*sales.SALES.stats, ("k", ColumnStats(distinct=4e7))))
SUMS = "SELECT g, sum(v) AS s FROM sales GROUP BY g"
KEYS = "SELECT k, sum(v) AS s FROM sales GROUP BY k"
MEDIANS = "SELECT g, median(v) AS m FROM sales GROUP BY g"
WEIGHTS = (0.9, 0.95, 1.0)


def request(sql: str, problem: Problem, **more: object) -> PlanRequest:
    points = [TimePoint(weight=w, arrived=(i + 1) / 3) for i, w in enumerate(WEIGHTS)]
    return PlanRequest(
        report="r",
        sql=sql,
        sources=(SALES,),
        points=tuple(points),
        problem=problem,
        **{"settings": Settings(prices=CHEAP_RUNS), **more},
    )


def planned(sql: str, problem: Problem, **more: object) -> api.PlanResult:
    return api.plan(request(sql, problem, **more))


def gives_result(result: api.PlanResult) -> list[bool]:
    outputs = [[stage.output for stage in run.stages] for run in result.plan.runs]
    return [any(isinstance(o, ResultOutput) for o in of_run) for of_run in outputs]


@pytest.mark.parametrize(
    ("problem", "at"),
    [
        (Problem(results_at=(2,)), [False, True, True]),
        (Problem(results_at=(1, 3)), [True, False, True]),
        (ivm(3), [True, True, True]),
    ],
)
@pytest.mark.parametrize("sql", [SUMS, MEDIANS])
def test_the_result_is_there_where_it_is_wanted_and_nowhere_else(problem, at, sql):
    """Also where nothing is worth keeping, and every result is computed by itself (medians)."""
    result = planned(sql, problem)
    assert gives_result(result) == at
    assert [run.early_result for run in result.plan.runs] == [*at[:-1], False]
    assert all(run.opened for run, wanted in zip(result.plan.runs, at, strict=True) if wanted)
    assert result.plan.method == ("batch" if sql is MEDIANS else "incremental")
    assert result.plan.objective == problem.objective
    text = tree.render(result)
    assert text.count(", early result") == sum(at[:-1])


def test_an_early_result_is_one_more_reader_of_what_is_kept():
    """Keeping states does not repay two early runs at these prices; with the results of those runs
    wanted it does: the states are paid for once."""
    assert planned(SUMS, PDW).plan.method == "batch"
    wanted = planned(SUMS, Problem(results_at=(1, 2)))
    assert wanted.plan.families
    chosen = wanted.decision.chosen.extracted
    assert chosen is not None
    assert chosen.results == (0, 1, 2)
    assert wanted.plan.estimated_cost < wanted.plan.batch_cost
    for run in wanted.plan.runs:
        assert run.estimated_cost >= sum(stage.estimated_cost for stage in run.stages)


def test_batch_has_the_price_of_every_result_by_itself():
    alone = [
        planned(SUMS, PDW, method="batch").plan,
        planned(SUMS, Problem(results_at=(1,)), method="batch").plan,
        planned(SUMS, ivm(3), method="batch").plan,
    ]
    assert [sum(run.opened for run in one.runs) for one in alone] == [1, 2, 3]
    costs = [[run.estimated_cost for run in one.runs] for one in alone]
    assert costs[0][2] == costs[1][2] == costs[2][2] > 0
    assert costs[1][0] == costs[2][0] > 0
    for one in alone:
        weighted = sum(w * r.estimated_cost for w, r in zip(WEIGHTS, one.runs, strict=True))
        assert one.batch_cost == one.estimated_cost == pytest.approx(weighted, abs=2)


@pytest.mark.parametrize("sql", [SUMS, KEYS])
def test_with_the_last_run_first_it_is_as_cheap_as_can_be(sql):
    """Whatever early work costs; a weighted sum would rather leave it."""
    first = planned(sql, Problem(objective="last-run-first"))
    weighted = planned(sql, PDW)
    assert first.plan.runs[-1].estimated_cost <= weighted.plan.runs[-1].estimated_cost
    every = [one for one in (first.decision.chosen, *first.decision.rejected) if one.extracted]
    assert first.decision.chosen.rank == min(one.rank for one in every)
    assert [first.plan.runs[-1 - i].estimated_cost for i in range(3)] == [
        round(cost) for cost in first.decision.chosen.rank
    ]
    assert "compared by the last run first" in tree.render(first)
    assert "compared by" not in tree.render(weighted)


def test_each_run_of_a_day_still_gives_the_results_that_are_left():
    families = planned(SUMS, ivm(3)).plan.families
    later = planned(
        SUMS, ivm(3), current=2, committed=(Committed(index=1, families=families),)
    ).plan
    assert [run.early_result for run in later.runs] == [False, True, False]
    assert [run.base for run in later.runs[1:]] == [1, 2]
    assert later.runs[0].committed
    assert later.method == "incremental"


def test_the_weights_of_the_search_have_room_for_every_cost():
    goal = PlanComparison(request(SUMS, ivm(3)))
    assert [goal.weights[run] for run in (1, 2, 3)] == [1, ABOVE_ALL_COSTS, ABOVE_ALL_COSTS**2]
    assert goal.rank((1, 2, 3), (7.0, 5.0, 3.0)) == (3.0, 5.0, 7.0)
    assert goal.rank((1, 3), (7.0, 3.0)) == (3.0, 0.0, 7.0)


def test_every_objective_orders_plans_as_its_table_entry_says():
    for name, objective in OBJECTIVES.items():
        found = planned(SUMS, Problem(objective=name))
        assert found.plan.objective == objective.name == name
        chosen = found.decision.chosen
        points = found.request.points
        assert chosen.rank == objective.rank(points, chosen.opened, chosen.by_run)
        weights = objective.search_weights(points)
        assert all(isinstance(weights[run], int) and weights[run] > 0 for run in (1, 2, 3))
        assert (f"compared by {objective.title}" in tree.render(found)) != (
            objective.is_weighted_cost
        )


def test_an_objective_that_is_in_no_table_is_refused():
    with pytest.raises(RequestError, match="there is no objective 'fewest-bytes'") as caught:
        planned(SUMS, Problem(objective="fewest-bytes"))
    assert "last-run-first, weighted-sum" in caught.value.hint


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e6], ids=str)
@pytest.mark.parametrize("objective", sorted(OBJECTIVES))
def test_the_unit_of_prices_changes_no_plan(objective, unit):
    """Weights are prices: in cents or in millions of dollars the cheapest plan is the same one."""

    def stages(scale: float) -> list[object]:
        points = [
            TimePoint(weight=w * scale, arrived=arrived)
            for w, arrived in ((0.2, 0.4), (0.37, 0.9), (1.0, 1.0))
        ]
        problem = Problem(results_at=(2,), objective=objective)
        given = replace(request(SUMS, problem), points=tuple(points))
        plan = api.plan(given).plan
        return [plan.families, plan.method, [(run.opened, run.stages) for run in plan.runs]]

    assert stages(1.0)[1] == "incremental"
    assert stages(unit) == stages(1.0)


def test_what_is_forced_to_be_kept_is_kept_however_dear_that_is():
    """A penalty that an estimate can reach is no penalty: with 10**16 rows to write it was cheaper
    to pay it, and a report that was asked to work early did nothing early."""
    large = replace(
        SALES, rows=10**16, bytes=4 * 10**17, stats=(("k", ColumnStats(distinct=9e15)),)
    )
    early = Settings(temporal="early", prices=OPEN)
    for sql in (SUMS, KEYS):
        given = replace(request(sql, PDW, settings=early), sources=(large,))
        found = api.plan(given)
        chosen = found.decision.chosen.extracted
        assert chosen is not None
        assert chosen.penalized == 0
        assert chosen.keeps
        weighted = sum(
            w * run.estimated_cost for w, run in zip(WEIGHTS, found.plan.runs, strict=True)
        )
        assert found.plan.estimated_cost == pytest.approx(weighted)


@pytest.mark.parametrize("run", [0, 4, -1])
def test_a_result_at_no_run_is_refused(run):
    with pytest.raises(RequestError, match=f"a result is wanted at run {run} of a day of 3 runs"):
        planned(SUMS, Problem(results_at=(run,)))
