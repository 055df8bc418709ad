"""The latest safe start: worked cases of the forecast, and how it follows a day in the store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from forerun.include.days.ledger import record_history
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.spec import RunPolicy, RunTime
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.times.safe_start import (
    AROUND_S,
    needed_for,
    newest_plan,
    read_safe_start,
    remaining_cost,
    safe_start,
)
from forerun.include.times.wall_forecast import SAFETY, START_S, WallForecast
from forerun.planner.contract import decode_plan
from forerun.planner.contract.seal import seal, unseal
from tests.airflow.reports import sales_report
from tests.include.days.day_cases import DayCase

DAY = date(2026, 3, 1)
DUE = datetime(2026, 3, 2, 6, tzinfo=UTC)
POLICY = sales_report().policy
FINAL = 3
ONCE = Retries(count=1, pauses_s=300.0)


def ran(wall_s: float, cost_s: float, *, run: int = FINAL, day: str = "2026-02-01") -> LedgerEntry:
    """A run that was estimated at ``cost_s`` and took ``wall_s``."""
    return LedgerEntry(
        report="revenue", day=day, generation="1", run=run, weight=1.0,
        estimated_cost=round(cost_s * 1e6), batch_cost=0, executor_cpu_s=0.0, process_cpu_s=0.0,
        wall_s=wall_s, arrived=(), state_bytes=0, committed_at="",
    )  # fmt: skip


def wall(cost_s: float | None, *history: LedgerEntry, policy: RunPolicy = POLICY) -> float:
    found, _ = WallForecast(history, policy).of(cost_s)
    assert found is not None
    return found


class TestForecast:
    def test_what_starts_an_application_is_not_scaled(self) -> None:
        # 15 s to start and 100 s for 200 estimated: of 600 estimated, 15 + 300.
        assert wall(600.0, ran(START_S + 100, 200.0)) == START_S + 300

    def test_a_cheaper_final_run_is_forecast_to_be_shorter(self) -> None:
        assert wall(100.0, ran(START_S + 100, 200.0)) == START_S + 50

    def test_a_run_that_only_started_says_nothing_about_large_ones(self) -> None:
        # Its 9 s would stay 9 s; but 600 CPU seconds on 2 cores take 300 s at best.
        assert wall(600.0, ran(9.0, 1.0)) == START_S + 300
        assert wall(1.5, ran(9.0, 0.5)) == 9.0

    def test_what_the_ledger_has_seen_is_believed_over_the_cores_that_were_given(self) -> None:
        # A cluster of 100 cores whose policy says 2: only the first day suffers.
        assert wall(20_000.0) == START_S + SAFETY * 10_000
        assert wall(30_000.0, ran(START_S + 200, 20_000.0)) == START_S + 300

    def test_one_bad_night_in_twelve_does_not_decide(self) -> None:
        nights = [ran(START_S + 100, 100.0) for _ in range(11)]
        assert wall(100.0, *nights, ran(START_S + 5000, 100.0)) == START_S + 100
        # Two are a habit, and of a handful of nights the worst counts.
        assert wall(100.0, *nights, *[ran(START_S + 5000, 100.0)] * 2) == START_S + 5000
        assert wall(100.0, *nights[:3], ran(START_S + 5000, 100.0)) == START_S + 5000

    def test_only_the_newest_fortnight_counts(self) -> None:
        old = [ran(START_S + 5000, 100.0) for _ in range(20)]
        new = [ran(START_S + 100, 100.0) for _ in range(14)]
        assert wall(100.0, *old, *new) == START_S + 100

    def test_final_runs_before_others(self) -> None:
        early = ran(START_S + 900, 100.0, run=1)
        assert wall(100.0, early, ran(START_S + 100, 100.0)) == START_S + 100
        assert wall(100.0, early) == START_S + 900

    def test_without_a_history_cpu_over_cores_with_a_safety_factor(self) -> None:
        assert wall(600.0) == START_S + SAFETY * 300
        assert wall(600.0, policy=replace(POLICY, cores=6)) == START_S + SAFETY * 100

    def test_a_day_without_a_plan_takes_what_others_took(self) -> None:
        assert wall(None, ran(77.0, 5.0), ran(70.0, 500.0)) == 77.0

    def test_with_nothing_known_there_is_no_forecast(self) -> None:
        assert WallForecast((), POLICY).of(None)[0] is None

    def test_runs_of_different_costs_tell_how_time_grows(self) -> None:
        # 40 s to start and 0.25 s for each CPU second; scaling the last run would say 15 + 85.
        days = [
            ran(40 + cost / 4, cost, run=run, day=f"2026-02-{10 + at}")
            for at in range(5)
            for run, cost in ((1, 100.0 + 20 * at), (FINAL, 300.0 - 15 * at))
        ]
        assert wall(200.0, *days) == pytest.approx(90, abs=1)
        _, why = WallForecast(days, POLICY).of(200.0)
        assert "a fit of the last 10 runs" in why
        # Far beyond what was seen, no less than all cores busy all the time.
        assert wall(3000.0, *days) == START_S + 1500

    def test_only_runs_that_had_their_application_alone_are_fitted(self) -> None:
        days = [ran(40 + cost / 4, cost, run=1) for cost in (50.0, 100.0, 200.0, 400.0)]
        shared = [replace(one, wall_s=5000.0, runs_in_application=3) for one in days]
        assert wall(200.0, *shared, *days) == pytest.approx(90, abs=1)
        other = [replace(one, wall_s=5000.0, engine="sail") for one in days]
        assert wall(200.0, *other, *days) == pytest.approx(90, abs=1)


class TestSafeStart:
    def test_tries_pauses_and_what_is_around_them(self) -> None:
        assert needed_for(1000.0, Retries(count=0, pauses_s=0.0)) == 1000 + AROUND_S
        assert needed_for(1000.0, Retries(count=2, pauses_s=70.0)) == 3 * 1000 + 70 + AROUND_S

    def test_a_long_final_run_moves_it_before_the_reserve(self) -> None:
        # 2 x 3600 s, 300 s between them, 60 s around: 126 minutes before six.
        safe = safe_start(sales_report(), DAY, 100.0, [ran(3600.0, 100.0)], ONCE)
        assert safe.at == DUE - timedelta(minutes=126)
        assert (safe.wall_s, safe.late_s) == (3600.0, 0.0)
        assert "the last run in the ledger" in safe.why

    def test_it_is_never_later_than_the_reserve(self) -> None:
        safe = safe_start(sales_report(), DAY, 1.0, [ran(20.0, 1.0)], ONCE)
        assert safe.at == DUE - timedelta(hours=1)
        longer = replace(POLICY, reserve="+03:00")
        assert safe_start(sales_report(policy=longer), DAY, None, (), ONCE).at == DUE - timedelta(
            hours=3
        )

    def test_what_does_not_fit_before_the_deadline_is_said(self) -> None:
        # The final run's own time is midnight, six hours before the deadline.
        safe = safe_start(sales_report(), DAY, 100.0, [ran(4 * 3600.0, 100.0)], ONCE)
        assert safe.at == sales_report().points(DAY)[-1]
        assert safe.late_s == 2 * 3600 + ONCE.pauses_s + AROUND_S


def test_it_follows_the_plans_and_the_ledger_of_a_day(tmp_path, store_uri) -> None:
    case = DayCase(tmp_path, store_uri)
    case.deliver("1", *((k % 5, k) for k in range(2000)))
    generation = case.open()
    day, first = case.day(generation), case.prepare(generation, 1)
    planned = decode_plan(case.store.get(first.plan_key))
    assert [run.opened for run in planned.runs] == [True, True]
    # Nothing is committed: what the early run would have done is the final run's.
    before = read_safe_start(day, ONCE)
    # Early work was asked for: of a tiny day the final run alone is dearer than batch.
    most = max(planned.batch_run_cost, planned.runs[-1].estimated_cost)
    whole = min(sum(run.estimated_cost for run in planned.runs), most) / 1e6
    assert before.wall_s == pytest.approx(START_S + SAFETY * whole / case.spec.policy.cores)
    case.commit(first)
    after = read_safe_start(day, ONCE)
    rest = planned.runs[-1].estimated_cost / 1e6
    assert after.wall_s == START_S + SAFETY * rest / case.spec.policy.cores <= before.wall_s
    second = case.prepare(generation, 2)  # enters run 1 in the ledger
    case.commit(second)
    record_history(day, day.chain())
    known = read_safe_start(day, ONCE)
    assert "from the last run in the ledger" in known.why


def test_what_is_left_is_never_more_than_batch_whatever_the_price_of_the_final_run(tmp_path):
    case = DayCase(tmp_path, (tmp_path / "store").as_uri())
    case.deliver("1", *((k % 5, k) for k in range(2000)))
    planned = case.prepare(case.open(), 1).result.plan
    early, final = planned.runs
    dear = replace(final, estimated_cost=planned.batch_cost)
    for weight in (1.0, 0.25):
        priced = replace(
            planned,
            runs=(early, replace(dear, weight=weight)),
            batch_cost=round(planned.batch_cost * weight),
        )
        assert priced.batch_run_cost == pytest.approx(planned.batch_cost)
        assert remaining_cost(priced, 0) == pytest.approx(planned.batch_cost / 1e6)
        less = replace(priced, runs=(early, replace(priced.runs[1], estimated_cost=1)))
        assert remaining_cost(less, 0) == pytest.approx((early.estimated_cost + 1) / 1e6)


def test_a_plan_of_another_version_is_passed_over(tmp_path) -> None:
    case = DayCase(tmp_path, (tmp_path / "store").as_uri())
    case.deliver("1", (1, 1), (2, 3))
    prepared = case.prepare(case.open(), 1)
    raw, _ = unseal(case.store.get(prepared.plan_key), "a plan")
    case.store.put(prepared.plan_key, seal({**raw, "version": 0}))
    assert newest_plan(case.store, prepared.at, case.spec.runs) is None


def test_a_policy_that_cannot_be_met_is_refused() -> None:
    from forerun.include.reports.spec import SpecError

    runs = (RunTime(at="24:00"),)
    with pytest.raises(SpecError, match="0 cores"):
        RunPolicy(runs=runs, cores=0)
