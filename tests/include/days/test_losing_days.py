"""Days that lost by early work send a report to batch, with the reason, until things have moved."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forerun.include.days.ledger import read_history
from forerun.include.reports.spec import RunPolicy, RunTime
from forerun.include.reports.values.fields import SpecError
from forerun.include.runs.losing_days import why_batch, why_measured
from forerun.include.runs.prepare import PreparedRun, prepare_run, publish_result
from forerun.include.state.layout import Generation, history_key
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.planner.explain import tree
from forerun.planner.request import Method, Settings, TimePoint
from tests.include.days.day_cases import DAY, NOW, DayCase
from tests.include.days.ledgers import batch, before, early_day, enter, losing, ran, winning
from tests.include.state.stored_kinds import GOLDENS, read
from tests.planner.starts import OPEN

THREE = (losing(before(3)), losing(before(2)), losing(before(1)))
NEWEST = tuple(range(3, 0, -1))
"""So many days ago were the days after which "totals" measures batch, if 3 are asked for."""
FREE = Settings(prices=OPEN)
"""Early work pays by estimate, as small as the data are."""
POINTS = (TimePoint(weight=0.25, arrived=0.5), TimePoint(weight=1.0))

_S, _COUNT = st.floats(0, allow_nan=False, allow_infinity=False), st.integers(0, 2**63 - 1)
ODD = st.builds(
    LedgerEntry, report=st.just("totals"), day=st.sampled_from([before(1), before(2)]),
    generation=st.sampled_from(["1", "2"]), run=st.integers(1, 3), weight=_S,
    estimated_cost=_COUNT, batch_cost=_COUNT, executor_cpu_s=_S, process_cpu_s=_S, wall_s=_S,
    arrived=st.tuples(st.tuples(st.just("orders"), _COUNT)), state_bytes=_COUNT,
    committed_at=st.just(""), method=st.sampled_from(["", "batch", "incremental"]),
)  # fmt: skip
"""Entries that nothing but a hand could have written."""


def verdict(*days: list[LedgerEntry], orders: float = 1000, losses: int = 3, **rows: float) -> str:
    history = [entry for day in days for entry in day]
    found = {"orders": orders, **rows}
    return why_batch(DAY, history, found, runs=2, losses=losses, opening_s=3.0)


class TestVerdict:
    def test_three_losing_days_are_enough_and_the_reason_has_the_figures(self) -> None:
        assert verdict(*THREE).startswith(
            "the last 3 days in stages of our own cost more than batch: 2026-02-26 40.5 for "
            "30.0 s, 2026-02-27 40.5 for 30.0 s, 2026-02-28 40.5 for 30.0 s (weighted CPU seconds"
        )

    def test_two_are_not(self) -> None:
        assert verdict(*THREE[1:]) == ""

    def test_a_report_says_how_many(self) -> None:
        assert verdict(*THREE[1:], losses=2)
        assert verdict(*THREE, losses=4) == ""
        assert verdict(*THREE, losses=0) == ""

    def test_a_win_between_them_starts_anew(self) -> None:
        won = (losing(before(4)), losing(before(3)), winning(before(2)), losing(before(1)))
        assert verdict(*won) == ""
        assert verdict(losing(before(6)), winning(before(5)), *THREE)

    def test_what_is_not_above_batch_has_not_lost(self) -> None:
        # 0.25 * (10 + 58) + 13 = 30 s, as batch.
        assert verdict(*(early_day(before(n), 58.0) for n in (3, 2, 1))) == ""
        assert verdict(*(early_day(before(n), 58.1) for n in (3, 2, 1)))

    def test_days_between_that_did_not_work_early_do_not_count(self) -> None:
        assert verdict(*THREE[:2], batch(before(1), 20.0)) == ""
        assert verdict(losing(before(5)), losing(before(4)), batch(before(3), 20.0), *THREE[2:])

    def test_own_batch_is_judged_by_what_the_text_took_and_says_nothing_of_it(self) -> None:
        own = [batch(before(n), 40.0, method="own-batch") for n in (3, 2, 1)]
        assert verdict(*own) == "", "nothing tells what the text would have taken"
        assert verdict(batch(before(4), 20.0), *own)
        assert verdict(batch(before(4), 45.0), *own) == ""

    def test_only_days_before_count(self) -> None:
        assert verdict(*THREE[1:], losing(DAY.isoformat())) == ""
        assert verdict(*THREE[1:], losing(before(-1))) == ""

    def test_a_day_that_was_cleared_counts_once_by_its_newest_generation(self) -> None:
        again = [losing(before(1), generation=str(n)) for n in (1, 2, 3)]
        assert verdict(losing(before(2)), *again) == ""
        assert verdict(*THREE[:2], *again)
        assert verdict(*THREE, winning(before(1), generation="2")) == ""

    def test_a_day_that_is_not_whole_or_not_measured_is_passed_over(self) -> None:
        for other in (
            THREE[2][:1],
            losing(before(1), process_cpu_s=0.0),
            [*THREE[2], ran(before(1), 3, 5.0, 5.0)],
        ):
            assert verdict(*THREE[:2], other) == ""
            assert verdict(losing(before(4)), *THREE[:2], other)

    def test_runs_that_did_too_little_say_nothing(self) -> None:
        # A final run of half a second that took a tenth of it; the early run took twice its work.
        days = [[ran(before(n), 1, 13.0, 20.0), ran(before(n), 2, 3.5, 0.05)] for n in (3, 2, 1)]
        assert verdict(*days) == ""
        little = [[replace(run, estimated_cost=3_900_000) for run in day] for day in THREE]
        assert verdict(*little) == ""


class TestBatchMeasured:
    def test_it_decides_in_place_of_what_the_days_themselves_let_suspect(self) -> None:
        # 10 s and 50 s for 20 s of work: by that, none of the three has lost.
        assert verdict(*THREE, batch(before(0), 50.0)) != ""
        assert verdict(losing(before(4)), *THREE[:2], batch(before(1), 50.0)) == ""
        assert "batch measured in 1 of its runs" in verdict(*THREE, batch(before(9), 20.0))

    def test_one_odd_day_does_not_decide(self) -> None:
        odd = (batch(before(6), 21.0), batch(before(5), 300.0), batch(before(4), 20.0))
        assert "40.5 for 31.0 s" in verdict(*odd, *THREE)

    def test_a_final_run_by_the_users_text_counts_too(self) -> None:
        day = [THREE[2][0], *batch(before(1), 50.0)]
        assert "batch measured in 1 of its runs" in verdict(*THREE[:2], day, losses=1)

    def test_an_entry_of_an_older_version_does_not_say_that_it_was_batch(self) -> None:
        assert "estimated" in verdict(*THREE, batch(before(9), 50.0, method=""))


class TestMeasuredOnceInAWhile:
    @staticmethod
    def why(*days: list[LedgerEntry], after: int = 3) -> str:
        return why_measured(DAY, [entry for day in days for entry in day], runs=2, after=after)

    def test_after_so_many_days_that_were_something_else(self) -> None:
        won = [winning(before(n)) for n in NEWEST]
        assert self.why(*won) == (
            f"batch is measured on this day: {len(NEWEST)} days were in stages of our own and it "
            "was never measured, so what they save is an estimate"
        )
        assert self.why(*won[1:]) == ""
        assert self.why(*won, after=0) == ""

    def test_a_day_that_was_batch_for_any_reason_counts_from_anew(self) -> None:
        won = [winning(before(n)) for n in NEWEST]
        assert self.why(batch(before(len(NEWEST)), 20.0), *won[1:]) == ""
        then = before(len(NEWEST) + 1)
        assert f"since {then}, when it" in self.why(batch(then, 20.0), *won)

    def test_neither_the_day_itself_nor_later_ones_count(self) -> None:
        assert self.why(*(winning(before(n - 1)) for n in NEWEST)) == ""

    def test_less_than_none_is_refused(self) -> None:
        with pytest.raises(SpecError, match="measures batch after -1 days"):
            RunPolicy(runs=(RunTime(at="12:00"),), measure_batch_after=-1)


class TestEngines:
    def test_one_that_does_not_tell_executors_apart_is_judged_by_its_processes(self) -> None:
        days = [early_day(before(n), 400.0, executor_cpu_s=0.0) for n in (3, 2, 1)]
        # 0.25 * 410 + 13 s. Of 410 s for 10 of work and 13 s for 3, the lower rate, for 20 of work.
        assert "115.5 for 86.7 s" in verdict(*days)

    def test_executors_on_other_machines_count(self) -> None:
        days = [losing(before(n), process_cpu_s=2.0) for n in (3, 2, 1)]
        # 0.25 * 100 + 3, and 20 for batch.
        assert "28.0 for 20.0 s" in verdict(*days)


class TestMoved:
    @pytest.mark.parametrize(("orders", "like"), [(1900, True), (2100, False), (550, True),
                                                  (450, False), (0, False)])  # fmt: skip
    def test_twice_or_half_the_rows_are_another_day(self, orders: float, like: bool) -> None:
        assert bool(verdict(*THREE, orders=orders)) == like

    def test_a_source_that_is_small_beside_the_others_does_not_matter(self) -> None:
        assert verdict(*THREE, shops=5)
        assert verdict(*THREE, shops=900) == ""

    def test_a_size_that_has_lost_too_is_known(self) -> None:
        large = losing(before(1), arrived=(("orders", 5000),))
        assert verdict(*THREE[:2], large, orders=5000)
        assert verdict(*THREE[:2], large, orders=1000)
        assert verdict(*THREE[:2], large, orders=20_000) == ""

    def test_a_fortnight_later_it_is_tried_again_and_one_more_loss_is_enough(self) -> None:
        at = [losing(before(n)) for n in (15, 14, 13)]
        assert verdict(*at)
        past = [losing(before(n)) for n in (16, 15, 14)]
        assert verdict(*past) == ""
        assert verdict(*past, losing(before(1)))
        assert verdict(*past, winning(before(1))) == ""


def test_entries_that_cannot_be_read_are_passed_over(tmp_path) -> None:
    store = DayCase(tmp_path, f"{tmp_path}/store").store
    enter(store, *THREE)
    store.put(history_key(Generation("totals", before(4), "1"), 2), b'{"record": "of 2030"}')
    assert verdict(list(read_history(store, "totals")))
    store.put(history_key(Generation("totals", before(2), "1"), 2), b"half of it")
    assert verdict(list(read_history(store, "totals"))) == ""


def test_entries_of_older_versions_are_read_and_say_nothing_of_their_method() -> None:
    old = read("LedgerEntry", (GOLDENS / "v2" / "LedgerEntry.json").read_bytes())
    assert isinstance(old, LedgerEntry)
    assert (old.method, old.batch_because) == ("", "")


def test_less_than_no_losing_days_are_refused() -> None:
    with pytest.raises(SpecError, match="batch after -1 losing days"):
        RunPolicy(runs=(RunTime(at="12:00"),), batch_after_losses=-1)


class TestPrepared:
    @pytest.fixture
    def case(self, tmp_path) -> DayCase:
        case = DayCase(tmp_path, f"{tmp_path}/store")
        case.deliver("1", *((i % 7, i) for i in range(500)))
        return case

    def prepared(
        self, case: DayCase, run: int, *, generation: str = "", method: Method = "auto"
    ) -> PreparedRun:
        day = case.day(generation or case.open())
        return prepare_run(day, run, now=NOW, method=method, points=POINTS, settings=FREE)

    def test_the_day_is_batch_with_the_reason_in_plan_and_ledger(self, case: DayCase) -> None:
        assert self.prepared(case, 1).result.plan.method == "incremental"
        enter(case.store, *THREE)
        first = self.prepared(case, 1)
        assert first.skip_reason == "the plan gives this run nothing to do"
        case.deliver("2", *((i % 7, i) for i in range(500)))
        final = self.prepared(case, 2)
        (stage,) = final.result.plan.run.stages
        assert stage.sql == case.spec.sql
        for found in (first.result, final.result):
            assert found.plan.batch_because.startswith("the last 3 days in stages of our own")
            assert f"no early work: {found.plan.batch_because}" in tree.render(found)
        case.commit(final)
        publish_result(case.day(final.at.generation), now=NOW)
        entry = read_history(case.store, "totals")[-1]
        assert (entry.method, entry.batch_because) == ("batch", final.result.plan.batch_because)

    def test_a_day_is_batch_to_measure_it(self, case: DayCase) -> None:
        enter(case.store, *(winning(before(n)) for n in NEWEST))
        assert self.prepared(case, 1).result.plan.method == "incremental"
        plan = self.prepared(replace(case, measure_batch_after=3), 1).result.plan
        assert plan.batch_because.startswith("batch is measured on this day: ")

    def test_a_day_with_other_amounts_is_tried_again(self, case: DayCase) -> None:
        enter(case.store, *THREE)
        case.deliver("2", *((i % 7, i) for i in range(700)))
        assert self.prepared(case, 1).result.plan.method == "incremental"

    def test_a_day_that_has_begun_goes_on(self, case: DayCase) -> None:
        generation = case.open()
        case.commit(self.prepared(case, 1, generation=generation))
        enter(case.store, *THREE)
        final = self.prepared(case, 2, generation=generation)
        assert final.result.plan.batch_because == ""

    def test_what_is_asked_for_by_name_is_done(self, case: DayCase) -> None:
        enter(case.store, *THREE)
        for method in ("im1", "progressive"):
            plan = self.prepared(case, 1, method=method).result.plan
            assert (plan.method, plan.batch_because) == ("incremental", "")
        assert self.prepared(case, 2, method="batch").result.plan.batch_because == ""

    @pytest.mark.parametrize("wanted", [{"results_at": (1,)}, {"problem": "ivm"}])
    def test_early_results_are_given(self, case: DayCase, wanted: dict[str, object]) -> None:
        early = replace(case, **wanted)
        enter(case.store, *THREE)
        plan = self.prepared(early, 1).result.plan
        assert plan.run.early_result
        assert plan.batch_because == ""

    @given(data=st.data())
    @settings(
        max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    def test_whatever_the_ledger_the_plan_is_the_one_without_it_or_the_users_text(
        self, case: DayCase, data: st.DataObject
    ) -> None:
        store = case.store
        for file in list(store.list("history/totals")):
            store.delete(file.key)
        free = self.prepared(case, 1).result.plan
        plain = self.prepared(case, 1, method="batch").result.plan
        kinds = st.sampled_from([losing, losing, losing, winning, lambda day: batch(day, 20.0)])
        for number in range(data.draw(st.integers(0, 6)), 0, -1):
            enter(store, data.draw(kinds)(before(number)))
        for entry in data.draw(st.lists(ODD, max_size=3)):
            enter(store, [entry])
        plan = self.prepared(case, 1).result.plan
        assert replace(plan, batch_because="") == (plain if plan.batch_because else free)
