"""The times of one report: what prices, deadlines and blackouts make of them; all subsets."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, pairwise

import pytest

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.arrivals import steady
from forerun.planner.schedule.batch_cost import linear_cost
from forerun.planner.schedule.cluster import NightCluster
from forerun.planner.schedule.night import NightReport, PlannedRun, ReportPlan
from forerun.planner.schedule.run_time_search import RunTimeSearch
from forerun.planner.schedule.single import Feasible, schedule_single
from tests.benchmarks.nights import generate_night
from tests.planner.schedule.nights import H, cluster, report

DAY_IS_CHEAP = ((0, 20, 0.2), (20, 48, 1.0))
NIGHT_FALLS = ((0, 25, 1.0), (25, 48, 0.3))


def _best(asked: NightReport, on: NightCluster) -> ReportPlan:
    found = RunTimeSearch(asked, on).best(on.prices)
    assert sum(run.rows for run in found.runs) == asked.arrivals.total
    done, free = 0, 0.0
    for run in found.runs:
        assert run.start >= free - 1e-6
        done, free = done + run.rows, run.end
        assert asked.arrivals.rows_at(run.start) >= done
        assert on.is_open(run.start, run.end)
    return found


def test_with_flat_prices_one_run_is_cheapest():
    found = _best(report(), cluster())
    assert len(found.runs) == 1
    assert found.missing == 0
    assert found.cost == pytest.approx(4 * H)


def test_cheap_hours_by_day_make_early_runs():
    found = _best(report(), cluster(prices=DAY_IS_CHEAP))
    early = found.runs[:-1]
    assert early
    assert early[-1].end == pytest.approx(20 * H, abs=300)  # up to where it becomes dear
    assert found.cost < 0.55 * 4 * H


def test_a_price_that_falls_is_waited_for_as_long_as_the_deadline_allows():
    found = _best(report(), cluster(prices=NIGHT_FALLS))
    assert [run.start for run in found.runs] == [25 * H]
    early = _best(report(deadline=25.5 * H), cluster(prices=NIGHT_FALLS))
    assert early.missing == 0


def test_where_one_batch_is_too_late_early_runs_are_opened_though_they_cost_more():
    """The deadline comes half an hour after the last row, and a batch takes an hour."""
    found = _best(report(deadline=24.5 * H), cluster())
    assert len(found.runs) > 1
    assert found.missing == 0
    assert found.cost > 4 * H


def test_what_no_schedule_meets_is_as_little_late_as_it_can_be():
    found = _best(report(deadline=24 * H + 30, at_most=1), cluster())
    assert found.missing == pytest.approx(H - 30)


def test_a_reserve_is_kept_before_anything_is_saved():
    asked = report(reserve=1.5 * H)
    assert _best(asked, cluster(prices=NIGHT_FALLS)).runs[-1].end <= 25.5 * H + 1
    wanted = _best(report(reserve=9 * H), cluster(prices=NIGHT_FALLS))
    assert wanted.missing == 0  # not possible, and not an error


def test_nothing_runs_in_a_blackout():
    found = _best(report(), cluster(blackouts=((23.5, 25),)))
    assert found.runs[0].start == 25 * H
    split = _best(report(deadline=26 * H), cluster(blackouts=((24, 24.8),)))
    assert split.missing == 0


def test_what_can_never_run_is_refused():
    with pytest.raises(ScheduleError, match=r"report r needs 9 cores, and the ceiling is 8"):
        RunTimeSearch(report(cores=9.0), cluster())
    with pytest.raises(ScheduleError, match="ends after what is known"):
        RunTimeSearch(report(deadline=49 * H), cluster())
    for wrong in ({"cores": 0.0}, {"at_most": 0}, {"reserve": -1.0}):
        with pytest.raises(ScheduleError, match="report r needs cores"):
            report(**wrong)


def _subsets(times: RunTimeSearch, on: NightCluster) -> Iterator[ReportPlan]:
    """Every plan over the candidates, by a reading of its own."""
    asked = times.report
    for size in range(asked.at_most):
        for early in combinations(times._early, size):
            for final in times._finals:
                runs, done = [], 0
                for at in early:
                    rows = asked.arrivals.rows_at(at) - done
                    runs.append(PlannedRun(start=at, rows=rows, seconds=asked.cost.cost(rows)))
                    done += rows
                rest = asked.arrivals.total - done
                last = asked.cost.cost(rest) + asked.cost.final_aggregation(size + 1)
                runs.append(PlannedRun(start=final, rows=rest, seconds=last))
                apart = all(a.end <= b.start + 1e-6 for a, b in pairwise(runs))
                if not apart or any(r.rows <= 0 or not on.is_open(r.start, r.end) for r in runs):
                    continue
                cost = sum(asked.cores * on.prices.integral(r.start, r.end) for r in runs)
                yield ReportPlan(report=asked, runs=tuple(runs), cost=cost)


def test_the_chosen_subset_is_as_good_as_the_best_of_all():
    night = generate_night(3, 40)
    gaps = []
    for asked in night.reports:
        times = RunTimeSearch(asked, night.cluster)
        best = min(_subsets(times, night.cluster), key=lambda plan: plan.rank)
        found = times.best(night.cluster.prices)
        assert found.missing <= best.missing + 1e-6
        if found.missing == best.missing and found.short == pytest.approx(best.short, abs=0.01):
            gaps.append(found.cost / best.cost - 1)
    assert len(gaps) > 30
    assert sum(gaps) / len(gaps) < 0.005
    assert max(gaps) < 0.03


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_prices_a_plan_holds_and_is_no_dearer_than_batch(seed):
    draw = random.Random(seed)
    edges = sorted(draw.sample(range(1, 48), 5))
    prices = tuple(
        (a, b, draw.uniform(0.1, 2)) for a, b in zip([0, *edges], [*edges, 48], strict=True)
    )
    on = cluster(prices=prices, blackouts=((draw.randint(0, 30), 31),) if seed % 3 == 0 else ())
    asked = report(
        arrivals=steady(draw.uniform(0, 9) * H, draw.uniform(20, 26) * H, 5000),
        cost=linear_cost(
            draw.uniform(5, 300), draw.uniform(0.05, 1), per_batch=draw.uniform(0, 99)
        ),
        deadline=draw.uniform(26, 34) * H,
    )
    found = _best(asked, on)
    batch = RunTimeSearch(asked, on).earliest_batch(on.prices)
    assert found.rank <= batch.rank


@pytest.mark.parametrize("seed", range(30))
def test_a_deadline_that_one_report_alone_can_meet_is_met(seed):
    """By the batches of section 3.1, if no candidates do it and there are not too many of them."""
    draw = random.Random(seed)
    asked = report(
        arrivals=steady(0, 24 * H, 5000),
        cost=linear_cost(draw.uniform(5, 300), draw.uniform(0.5, 4), per_batch=draw.uniform(0, 20)),
        deadline=24 * H + draw.uniform(400, 3600),
        at_most=6,
    )
    alone = schedule_single(asked.cost, asked.arrivals, asked.deadline)
    found = _best(asked, cluster())
    assert len(found.runs) <= 6
    if isinstance(alone, Feasible) and len(alone.batches) <= 6:
        assert found.missing == 0
