"""Nights as they turn out: late sources, slow runs, failures, lost machines, and surprises."""

from __future__ import annotations

import random

import pytest

from forerun.planner.schedule.arrivals import arrival_curve, steady
from forerun.planner.schedule.cluster import NightCluster
from forerun.planner.schedule.many import at_fixed_times, plan_night
from forerun.planner.schedule.night import NightReport, PlannedRun, ReportPlan
from forerun.planner.schedule.night_course import NightCourse, Turnout, run_night
from forerun.planner.schedule.run_time_search import RunTimeSearch
from tests.benchmarks.nights import MIDNIGHT, as_it_was, generate_night
from tests.planner.schedule.nights import H, cluster, report

ON = cluster(cores=8.0, prices=((0, 20, 0.2), (20, 48, 1.0)))


def _run(on: NightCluster, *reports: NightReport, **turnouts: Turnout) -> NightCourse:
    plans = plan_night(reports, on).plans
    found = run_night(plans, on, turnouts)
    _assert_holds(found, on)
    return found


def _assert_holds(found: NightCourse, on: NightCluster) -> None:
    for course in found.reports:
        done = 0
        for one in course.tries:
            if one.outcome == "done":
                done += one.rows
            assert course.turnout.arrivals.rows_at(one.start) >= done
        assert done == course.turnout.arrivals.total
        assert course.tries[-1].final
    starts = [t.start for c in found.reports for t in c.tries]
    for at in starts:
        busy = sum(
            c.plan.report.cores
            for c in found.reports
            for t in c.tries
            if t.start <= at + 1e-6 and at + 1e-5 < t.end
        )
        assert busy <= on.ceiling.at(at) + 1e-6


def test_a_night_as_forecast_is_the_plan():
    asked = report()
    plan = RunTimeSearch(asked, ON).best(ON.prices)
    found = run_night([plan], ON, {})
    (course,) = found.reports
    assert [(t.start, t.rows) for t in course.tries] == [(r.start, r.rows) for r in plan.runs]
    assert course.finished == pytest.approx(plan.end)
    assert found.cost == pytest.approx(plan.cost)
    assert found.peak == 4


def test_a_late_source_is_waited_for_by_the_final_run_only():
    late = steady(0, 24 * H, 2400).shifted(H, since=10 * H)
    found = _run(ON, report(deadline=27 * H), r=Turnout(arrivals=late))
    (course,) = found.reports
    assert course.tries[-1].start >= 25 * H
    assert course.tries[0].start < 24 * H
    assert not found.missed


def test_a_source_that_is_early_makes_the_early_runs_superfluous():
    early = steady(0, 8 * H, 2400)
    found = _run(ON, report(), r=Turnout(arrivals=early))
    assert found.reports[0].finished <= 27 * H


def test_a_bigger_day_starts_its_final_run_earlier():
    """The price falls at 01:00, and a usual day waits for it; one of twice the rows cannot."""
    on = cluster(prices=((0, 25, 1.0), (25, 48, 0.3)))
    asked = report(deadline=26.5 * H, at_most=1)
    usual = _run(on, asked).reports[0]
    assert usual.tries[0].start == 25 * H
    bigger = _run(on, asked, r=Turnout(arrivals=steady(0, 24 * H, 4800))).reports[0]
    assert bigger.tries[0].start < 25 * H
    assert not bigger.missing


def test_a_slow_run_delays_what_waits_for_its_cores_and_nothing_starts_over_the_ceiling():
    on = cluster(cores=4.0)
    reports = [report("a", at_most=1), report("b", at_most=1, deadline=30 * H)]
    found = _run(on, *reports, a=Turnout(arrivals=reports[0].arrivals, slower=2.0))
    first, second = found.reports
    assert second.tries[0].start >= first.finished - 1e-6


def test_a_failed_run_is_tried_again_with_what_is_there_then():
    plan = RunTimeSearch(report(), ON).best(ON.prices)
    turnout = Turnout(arrivals=plan.report.arrivals, failed=frozenset({1}))
    (course,) = run_night([plan], ON, {"r": turnout}).reports
    assert [t.outcome for t in course.tries][:2] == ["failed", "done"]
    assert course.tries[1].start == pytest.approx(course.tries[0].end)
    assert course.tries[1].rows >= course.tries[0].rows
    assert course.done == 2400


def test_a_lost_machine_keeps_its_cores_until_the_lease_ends():
    on = cluster(cores=4.0)
    asked = report(at_most=1)
    turnout = Turnout(arrivals=asked.arrivals, lost=frozenset({1}), lease=1800.0)
    other = report("other", at_most=1, deadline=30 * H)
    found = _run(on, asked, other, r=turnout)
    lost, again = found.reports[0].tries
    assert (lost.outcome, lost.end - lost.start) == ("lost", 1800)
    assert again.start >= lost.end
    assert not found.missed


def test_what_is_late_whatever_happens_takes_no_other_deadline_along():
    on = cluster(cores=4.0)
    hopeless = report("hopeless", deadline=24.2 * H, at_most=1)
    fine = report("fine", deadline=25.3 * H, at_most=1)
    found = run_night(at_fixed_times([hopeless, fine], on, [24 * H]), on, {})
    assert [course.name for course in found.missed] == ["hopeless"]


@pytest.mark.parametrize("seed", range(4))
def test_surprises_cost_no_deadline_that_all_at_midnight_would_have_met(seed):
    night = generate_night(seed, 80)
    draw = random.Random(seed)
    turnouts = {}
    for one in night.reports:
        arrivals, slower = as_it_was(draw, one)
        failed = frozenset({1}) if draw.random() < 0.02 else frozenset()
        turnouts[one.name] = Turnout(arrivals=arrivals, slower=slower, failed=failed)
    found = run_night(plan_night(night.reports, night.cluster).plans, night.cluster, turnouts)
    _assert_holds(found, night.cluster)
    batch = run_night(
        at_fixed_times(night.reports, night.cluster, [MIDNIGHT]), night.cluster, turnouts
    )
    assert {c.name for c in found.missed} <= {c.name for c in batch.missed}


def test_an_early_run_whose_time_has_gone_is_skipped():
    """The first try holds its cores past the time of the second early run: one run does both."""
    asked = report(arrivals=steady(0, 24 * H, 2400))
    early = (
        PlannedRun(start=10 * H, rows=1000, seconds=asked.cost.cost(1000)),
        PlannedRun(start=11 * H, rows=100, seconds=asked.cost.cost(100)),
        PlannedRun(start=20 * H, rows=900, seconds=asked.cost.cost(900)),
    )
    last = PlannedRun(start=24 * H, rows=400, seconds=asked.cost.cost(400) + 120)
    plan = ReportPlan(report=asked, runs=(*early, last), cost=0.0)
    lost = Turnout(arrivals=asked.arrivals, lost=frozenset({1}), lease=2 * H)
    (course,) = run_night([plan], cluster(), {"r": lost}).reports
    assert [(one.start / H, one.rows) for one in course.tries] == [
        (10, 1000),
        (12, 1200),
        (20, 800),
        (24, 400),
    ]


@pytest.mark.parametrize(("at_most", "missed"), [(4, False), (1, True)])
def test_a_source_that_is_very_late_gets_one_more_early_run(at_most, missed):
    """All but some rows are there at 23:00, the last ones at 02:20; a final run over everything
    would then end an hour later, and the report is due at 03:00."""
    asked = report(reserve=0.5 * H, at_most=at_most)
    on = cluster()
    plan = RunTimeSearch(asked, on).best(on.prices)
    assert len(plan.runs) == 1
    arrivals = arrival_curve([(0, 0), (23 * H, 2300), (26.3 * H, 2300), (26.34 * H, 2400)])
    (course,) = run_night([plan], on, {"r": Turnout(arrivals=arrivals)}).reports
    assert bool(course.missing) is missed
    if not missed:
        first = 27 * H - asked.reserve - asked.cost.cost(2400)
        then = first + asked.cost.cost(2300)
        assert [(t.start, t.rows) for t in course.tries] == [(first, 2300), (then, 100)]


def test_decided_again_a_larger_day_has_one_more_early_run():
    """Three times the rows are known at the early run, which is when the price is about to rise.
    What comes after it is then too much for the final run alone, at any price."""
    asked = report(deadline=24.45 * H)
    plans = plan_night([asked], ON).plans
    assert [run.start < 20 * H for run in plans[0].runs][-2:] == [True, False]
    larger = {"r": Turnout(arrivals=steady(0, 24 * H, 7200))}
    assert run_night(plans, ON, larger).missed
    found = run_night(plans, ON, larger, again=True)
    _assert_holds(found, ON)
    assert not found.missed
    (course,) = found.reports
    assert any(20 * H < one.start < 24 * H for one in course.tries)


def test_decided_again_a_night_as_forecast_meets_what_its_plan_met():
    night = generate_night(3, 30)
    plans = plan_night(night.reports, night.cluster).plans
    found = run_night(plans, night.cluster, {}, again=True)
    _assert_holds(found, night.cluster)
    assert not found.missed
    assert found.cost < 1.1 * run_night(plans, night.cluster, {}).cost


@pytest.mark.parametrize("seed", range(3))
def test_decided_again_surprises_cost_no_deadline_that_all_at_midnight_would_have_met(seed):
    night, draw = generate_night(seed, 30), random.Random(seed)
    turnouts = {}
    for one in night.reports:
        arrivals, slower = as_it_was(draw, one)
        failed = frozenset({1}) if draw.random() < 0.1 else frozenset()
        turnouts[one.name] = Turnout(arrivals=arrivals, slower=slower, failed=failed)
    plans = plan_night(night.reports, night.cluster).plans
    found = run_night(plans, night.cluster, turnouts, again=True)
    _assert_holds(found, night.cluster)
    midnight = at_fixed_times(night.reports, night.cluster, [MIDNIGHT])
    batch = run_night(midnight, night.cluster, turnouts)
    assert {c.name for c in found.missed} <= {c.name for c in batch.missed}
