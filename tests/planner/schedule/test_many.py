"""Many reports under one ceiling: it is never exceeded, and deadlines come before prices."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule import many
from forerun.planner.schedule.arrivals import steady
from forerun.planner.schedule.batch_cost import linear_cost
from forerun.planner.schedule.cluster import NightCluster, TakenCores
from forerun.planner.schedule.congestion import CELL_S, Congestion
from forerun.planner.schedule.many import NightPlan, at_fixed_times, place_all, plan_night
from forerun.planner.schedule.night import NightReport, PlannedRun, ReportPlan, together
from forerun.planner.schedule.run_time_search import RunTimeSearch
from forerun.planner.schedule.step_curve import constant
from tests.benchmarks.nights import MIDNIGHT, generate_night
from tests.planner.schedule.nights import H, cluster, report


def _assert_holds(night: NightPlan, on: NightCluster) -> None:
    """Every run where rows, ceiling and blackouts let it be."""
    edges = {run.start for plan in night.plans for run in plan.runs} | set(on.ceiling.starts)
    for at in edges:
        busy = sum(
            plan.report.cores
            for plan in night.plans
            for run in plan.runs
            if run.start <= at + 1e-6 and at + 1e-5 < run.end
        )
        assert busy <= on.ceiling.at(at) + 1e-6
    for plan in night.plans:
        done, free = 0, on.start
        for run in plan.runs:
            assert run.start >= free - 1e-6
            assert on.is_open(run.start, run.end)
            done, free = done + run.rows, run.end
            assert plan.report.arrivals.rows_at(run.start) >= done
        assert done == plan.report.arrivals.total


def test_two_that_want_the_same_hour_share_it():
    reports = [report("a"), report("b"), report("c", deadline=26.5 * H)]
    found = plan_night(reports, cluster(cores=4.0))
    _assert_holds(found, cluster(cores=4.0))
    assert not found.missed
    assert found.peak == 4
    assert not place_all(at_fixed_times(reports, cluster(cores=4.0), [24 * H]), cluster()).missed


def test_where_batches_queue_too_long_early_work_makes_room():
    """Five hours of batches, and three until the deadline."""
    reports = [report(f"r{i}") for i in range(5)]
    on = cluster(cores=4.0)
    batch = place_all(at_fixed_times(reports, on, [24 * H]), on)
    assert len(batch.missed) == 2
    found = plan_night(reports, on)
    _assert_holds(found, on)
    assert not found.missed


def test_what_cannot_be_is_said_in_seconds_and_takes_nothing_along():
    reports = [report("late", deadline=24 * H + 60), *(report(f"r{i}") for i in range(3))]
    found = plan_night(reports, cluster(cores=4.0))
    assert [plan.report.name for plan in found.missed] == ["late"]
    assert found.missed[0].missing > 0
    _assert_holds(found, cluster(cores=4.0))


def test_the_same_night_gives_the_same_plan_in_any_order():
    night = generate_night(1, 40)
    first = plan_night(night.reports, night.cluster)
    assert plan_night(night.reports, night.cluster) == first
    turned = plan_night(night.reports[::-1], night.cluster)
    assert sum(len(p.runs) for p in turned.plans) > 0
    assert [p.report.name for p in turned.plans] == [r.name for r in night.reports[::-1]]


def test_every_report_is_counted_while_planning():
    seen = []
    plan_night([report("a"), report("b")], cluster(), on_report=lambda: seen.append(1))
    assert len(seen) == 2


def test_names_are_told_apart():
    with pytest.raises(ScheduleError, match="two reports r"):
        plan_night([report(), report()], cluster())


def test_a_night_without_reports():
    found = plan_night([], cluster())
    assert (found.plans, found.cost, found.peak) == ((), 0, 0)


def test_fixed_times_are_as_they_say():
    (plan,) = at_fixed_times([report()], cluster(), [14 * H, 19 * H, 24 * H])
    assert [run.start / H for run in plan.runs] == [14, 19, 24]
    assert [run.rows for run in plan.runs] == [1400, 500, 500]


def test_congestion_is_dearer_where_more_is_planned_than_the_ceiling():
    on = cluster(cores=4.0)
    congestion = Congestion(on)
    plan = RunTimeSearch(report(), on).best(on.prices)
    congestion.add(plan)
    assert not congestion.is_over(plan)
    congestion.add(plan)
    assert congestion.is_over(plan)
    assert congestion.over() == pytest.approx(4 * plan.runs[0].seconds)
    run = plan.runs[0]
    seen, plain = congestion.tariff(4.0), on.prices
    assert seen.integral(run.start, run.end) > plain.integral(run.start, run.end)
    elsewhere = run.end + CELL_S
    assert seen.integral(elsewhere, elsewhere + 600) == pytest.approx(600)
    congestion.add(plan, -1.0)
    congestion.add(plan, -1.0)
    assert congestion.over() == 0


def _overloaded(seed: int, reports: int) -> tuple[tuple[NightReport, ...], NightCluster]:
    """A generated night with the least ceiling there can be, 16 cores, and earlier deadlines: for
    most seeds not all of them can be met."""
    night = generate_night(seed, reports)
    part = random.Random(seed).uniform(0.1, 0.5)

    def earlier(one: NightReport) -> NightReport:
        complete = one.arrivals.complete_at
        return replace(one, deadline=complete + part * (one.deadline - complete))

    on = replace(night.cluster, ceiling=constant(night.cluster.start, night.cluster.end, 16.0))
    return tuple(map(earlier, night.reports)), on


@pytest.mark.parametrize("seed", range(8))
def test_no_night_has_more_missed_deadlines_than_all_at_midnight(seed):
    reports, on = _overloaded(seed, 40)
    found = plan_night(reports, on)
    _assert_holds(found, on)
    batch = place_all(at_fixed_times(reports, on, [MIDNIGHT]), on)
    assert len(found.missed) <= len(batch.missed)


def test_one_batch_each_is_handed_out_where_it_misses_less(monkeypatch):
    """As if early runs were all that is placed badly."""
    reports, on = _overloaded(9, 40)
    monkeypatch.setattr(
        many._Night,
        "wanted",
        lambda night, times, _: [_at_the_end(one.report, night.cluster) for one in times],
    )
    monkeypatch.setattr(many, "ROUNDS", 0)
    monkeypatch.setattr(many, "_place", lambda wanted, *_: wanted)
    found = plan_night(reports, on)
    assert not any(plan.runs[0].start == on.end - plan.runs[0].seconds for plan in found.plans)


def _at_the_end(asked: NightReport, on: NightCluster) -> ReportPlan:
    seconds = asked.batch_seconds
    run = PlannedRun(start=on.end - seconds, rows=asked.arrivals.total, seconds=seconds)
    return ReportPlan(report=asked, runs=(run,), cost=0.0)


@pytest.mark.parametrize("seed", [1, 3])
def test_what_was_late_goes_first_until_all_is_met(seed, monkeypatch):
    reports, on = _overloaded(seed, 60)
    found = plan_night(reports, on)
    assert found.repairs > 0
    assert not found.missed
    monkeypatch.setattr(many, "REPAIRS", 0)
    assert plan_night(reports, on).missed


def test_where_not_all_can_be_met_few_are_given_up():
    """Without giving any up, each late report makes the next one late."""
    reports, on = _overloaded(9, 120)
    found = plan_night(reports, on)
    batch = place_all(at_fixed_times(reports, on, [MIDNIGHT]), on)
    assert len(batch.missed) > 50
    assert 0 < len(found.missed) < len(batch.missed) / 5
    _assert_holds(found, on)


def _decided(found: NightPlan) -> list[NightReport]:
    """The reports of a night, each with the runs that it was given."""
    return [replace(plan.report, decided=plan.runs) for plan in found.plans]


def test_what_was_decided_holds_where_nobody_loses_time():
    """Also where it is not what would be planned now."""
    night = generate_night(1, 30)
    first = plan_night(night.reports, night.cluster)
    known = _decided(first)
    late = replace(known[3].decided[0], start=known[3].decided[0].start + 900)
    known[3] = replace(known[3], decided=(late, *known[3].decided[1:]))
    known[5] = replace(known[5], decided=())
    again = plan_night(known, night.cluster)
    assert again.moved == {known[5].name}
    assert again.plans[3].runs[0].start == late.start
    assert [run.start for run in again.plans[7].runs] == [r.start for r in known[7].decided]


def test_who_has_time_makes_room_for_who_has_not():
    """Two are decided as one batch each, the second right behind the first; then a third comes that
    is due before both have ended."""
    on = cluster(cores=4.0)
    given = [report(name, at_most=3, deadline=26.2 * H) for name in "ab"]
    two = _decided(plan_night(given, on))
    third = report("c", deadline=25.1 * H, at_most=1)
    found = plan_night([*two, third], on)
    assert not found.missed
    assert "a" in found.moved or "b" in found.moved
    _assert_holds(found, on)
    kept = plan_night([*(replace(one, keeps=True) for one in two), third], on)
    assert kept.moved == {"c"}


def test_cores_that_are_taken_are_nobodys():
    on = cluster(cores=4.0)
    held = TakenCores(start=24 * H, seconds=1800.0, cores=4.0)
    found = plan_night([report(at_most=1)], on, taken=[held])
    assert found.plans[0].runs[-1].start >= held.end
    assert plan_night([report(at_most=1)], on).plans[0].runs[-1].start == 24 * H


def test_a_group_is_one_report_that_starts_once_and_is_due_first():
    """Two reports with a minute's start each: together they start once; the rows of the one that
    works twice as much count twice."""
    small = report("small", deadline=27 * H, reserve=600.0)
    large = report(
        "large",
        cost=linear_cost(60.0, 2 * 3540 / 2400, per_batch=30.0),
        arrivals=steady(12 * H, 24 * H, 2400),
        deadline=26 * H,
        cores=8.0,
        at_most=3,
    )
    group = together("g", [small, large])
    assert group.batch_seconds == pytest.approx(60 + 3540 + 2 * 3540, rel=0.01)
    assert (group.deadline, group.cores, group.at_most) == (26 * H, 8.0, 3)
    assert group.deadline - group.reserve == 26 * H
    assert group.arrivals.complete_at == 24 * H
    assert group.arrivals.rows_at(12 * H) / group.arrivals.total == pytest.approx(0.5 / 3, rel=0.01)
    assert group.cost.final_aggregation(2) == pytest.approx(2 * small.cost.final_aggregation(2))
    found = plan_night([group], cluster(cores=8.0))
    assert not found.missed
    _assert_holds(found, cluster(cores=8.0))


def test_the_rest_of_a_day_has_fewer_rows_and_runs_and_merges_what_is_done():
    whole = report(at_most=4)
    rest = whole.rest(1000, 2)
    assert (rest.arrivals.total, rest.at_most) == (1400, 2)
    assert rest.cost.final_aggregation(1) == whole.cost.final_aggregation(3) > 0
    assert rest.batch_seconds == whole.cost.cost(1400)
