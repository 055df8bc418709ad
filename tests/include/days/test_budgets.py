"""Budgets and priorities of owners: early runs stop where a budget ends, and nobody is late for a
priority."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forerun.include.reports.values.fields import SpecError
from forerun.include.reports.values.hours import Hours
from forerun.include.state.records import decode, encode
from forerun.include.state.slots import Lease, Slots, Spent
from forerun.include.stores.opening import open_store
from forerun.include.times.leases import BudgetSpentError, Leases
from forerun.include.times.safe_start import read_run_seconds
from forerun.include.times.wall_forecast import START_S
from forerun.planner.contract.seal import seal
from tests.include.days.clocked_store import ClockedStore
from tests.include.days.day_cases import DayCase
from tests.include.days.test_leases import LEASE_S, TWO, wants

HOUR = 3600.0
DAY, NEXT = "1970-01-12", "1970-01-13"
"""The store's clock stands at 13:46:40 of the first; the second begins 36,800 s later."""
BUDGET = replace(TWO, budgets={"team": 1.0})


@pytest.fixture
def store() -> ClockedStore:
    return ClockedStore()


def work(store, leases, wanted, seconds) -> None:
    """Hold cores for so long, renewing them in time."""
    assert leases.take(wanted) == ""
    for _ in range(int(seconds // 100)):
        store.now += 100
        assert leases.renew(wanted)
    store.now += seconds % 100
    leases.release(wanted)


def used(store, leases, day=DAY) -> float:
    return leases.overview(store.now).slots.used("team", day, store.now)


def test_early_runs_of_an_owner_stop_where_its_budget_ends(store):
    leases = Leases(store, BUDGET)
    work(store, leases, wants("a", run_s=1500), 1500)
    work(store, leases, wants("b", run_s=900, cores=2), 900)
    assert used(store, leases) == pytest.approx((1500 + 2 * 900) / HOUR)
    with pytest.raises(BudgetSpentError) as caught:
        leases.take(wants("c", run_s=400))
    assert caught.value.message == (
        "early runs of team have 1 core hours times price on 1970-01-12: 0.92 are used, it is "
        "forecast to take 0.11"
    )
    with pytest.raises(BudgetSpentError):
        leases.look(wants("c", run_s=400))
    work(store, leases, wants("small", run_s=300), 300)
    with pytest.raises(BudgetSpentError):
        leases.take(wants("unknown"))
    assert leases.take(wants("other", owner="others", run_s=400)) == ""
    assert leases.take(wants("final", final=True, run_s=4000)) == ""


def test_what_runs_counts_as_its_forecast_and_holds_up_nobody_else(store):
    leases = Leases(store, BUDGET)
    leases.take(wants("a", run_s=3000))
    assert used(store, leases) == pytest.approx(3000 / HOUR)
    with pytest.raises(BudgetSpentError):
        leases.take(wants("b", 1_000.0, run_s=700))
    assert leases.take(wants("c", owner="others", run_s=700)) == "", "b is first, and passed over"
    leases.release(wants("a"))
    assert used(store, leases) == 0.0
    assert leases.take(wants("b", run_s=700)) == ""


def test_each_day_of_the_cluster_s_clock_has_its_own(store):
    leases = Leases(store, BUDGET)
    store.now += 36_000
    work(store, leases, wants("a", run_s=3600), 3600)
    assert used(store, leases) == 1.0, "all of it on the day on which it began"
    assert used(store, leases, NEXT) == 0.0
    assert leases.take(wants("b", run_s=3600)) == ""
    leases.release(wants("b"))
    elsewhere = Leases(store, replace(BUDGET, timezone="America/New_York"))
    with pytest.raises(BudgetSpentError, match="on 1970-01-12"):
        elsewhere.take(wants("c", run_s=1))
    for number in range(3):
        store.now += 24 * HOUR
        work(store, leases, wants(f"d{number}", run_s=60), 60)
    assert len(leases.overview(store.now).slots.spent) == 2, "older days are forgotten"


def test_it_is_paid_by_the_price_of_the_hour(store):
    prices = (
        Hours(start="00:00", end="15:00", value=0.5),
        Hours(start="15:00", end="24:00", value=4.0),
    )
    leases = Leases(store, replace(BUDGET, prices=prices))
    work(store, leases, wants("a", run_s=3600), 3600)
    assert used(store, leases) == 0.5
    store.now += HOUR
    with pytest.raises(BudgetSpentError):
        leases.take(wants("b", run_s=600))


def test_a_holder_that_dies_is_charged_to_the_end_of_its_lease(store):
    leases = Leases(store, BUDGET)
    leases.take(wants("dies", run_s=60))
    store.now += 10 * LEASE_S
    assert used(store, leases) == pytest.approx(LEASE_S / HOUR)
    leases.take(wants("next", run_s=60))
    found = decode(Slots, store.find(leases.keys.slots).data, "slots")
    assert found.spent == (Spent(owner="team", day=DAY, core_hours=LEASE_S / HOUR),)


def test_two_that_want_the_last_of_a_budget_at_the_same_moment(store):
    leases = Leases(store, BUDGET)
    store.between = lambda: leases.take(wants("a", run_s=2000))
    with pytest.raises(BudgetSpentError):
        leases.take(wants("b", run_s=2000))
    assert used(store, leases) == pytest.approx(2000 / HOUR)


class Night:
    """Runs of five reports that take what was forecast, unless they die. ``worked``: what early
    runs that have ended did take, added up beside the record."""

    def __init__(self) -> None:
        self.store, self.worked, self.died, self.tries = ClockedStore(), 0.0, 0.0, 0
        self.leases = Leases(self.store, BUDGET)
        self.held = {}

    def take(self, who, seconds, cores, final) -> None:
        self.tries += 1
        wanted = wants(f"{who}-{self.tries}", run_s=seconds, cores=cores, final=final)
        try:
            why = self.leases.take(wanted)
        except BudgetSpentError as error:
            assert not final, "final runs are never refused"
            why = error.message
        if why:
            self.leases.forget(wanted)
        else:
            self.held[who] = wanted, self.store.now

    def end(self, who, *, dies) -> None:
        wanted, since = self.held.pop(who)
        if not dies:
            self.leases.release(wanted)
        if not wanted.final:
            self.worked += wanted.cores * (self.store.now - since) / HOUR
            self.died += wanted.cores * LEASE_S / HOUR if dies else 0.0

    def go_on(self, seconds) -> None:
        until = self.store.now + seconds
        while self.store.now < until:
            ends = [since + one.run_s for one, since in self.held.values()]
            self.store.now = min(until, self.store.now + LEASE_S / 3, *ends)
            for who, (one, since) in list(self.held.items()):
                if self.store.now >= since + one.run_s:
                    self.end(who, dies=False)
                else:
                    assert self.leases.renew(one)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["take", "take", "take", "final", "die", "go on"]),
            st.integers(0, 4),
            st.sampled_from([200.0, 700.0, 1500.0]),
            st.integers(1, 2),
        ),
        max_size=40,
    )
)
def test_early_runs_that_take_what_was_forecast_never_take_more_than_the_budget(steps):
    """Whoever dies is charged up to a lease more than it worked; nothing is ever charged less."""
    night = Night()
    for what, who, seconds, cores in steps:
        if what == "go on":
            night.go_on(seconds)
        elif what != "die" and who not in night.held:
            night.take(who, seconds, cores, final=what == "final")
        elif what == "die" and who in night.held:
            night.end(who, dies=True)
        charged = used(night.store, night.leases)
        assert night.worked <= charged + 1e-9
        assert night.worked <= 1.0 + 1e-9
        assert charged <= 1.0 + night.died + 1e-9


def test_a_priority_goes_first_where_the_least_lax_can_wait_for_it(store):
    leases = Leases(store, replace(TWO, priorities={"board": 2, "sales": 1}))
    leases.take(wants("full", cores=2))
    least = wants("least", store.now + 5000)
    sales = wants("sales", store.now + 7000, owner="sales", run_s=100)
    board = wants("board", store.now + 8000, owner="board", run_s=2000)
    for one in (least, sales, board):
        leases.take(one)
    leases.release(wants("full", cores=2))
    assert "board 2026-03-01 run 1 goes first" in leases.take(least)
    assert "board 2026-03-01 run 1 goes first" in leases.take(sales)
    # Twice its forecast no longer fits before the latest start of the least lax one.
    store.now += 1001
    for one in (least, sales):
        leases.look(one)
    assert "sales 2026-03-01 run 1 goes first" in leases.take(board)
    leases.forget(sales)
    assert "least 2026-03-01 run 1 goes first" in leases.take(board)
    assert leases.take(least) == ""


def test_no_priority_goes_before_a_final_run_at_its_latest_start(store):
    leases = Leases(store, replace(TWO, priorities={"board": 2}))
    leases.take(wants("full", cores=2))
    final, board = (
        wants("final", store.now - 1, final=True, cores=2),
        wants("board", store.now - 5, owner="board", run_s=1),
    )
    leases.take(final)
    leases.take(board)
    leases.release(wants("full", cores=2))
    assert "final 2026-03-01 run 1 goes first" in leases.take(board)
    assert leases.take(final) == ""


def test_nor_one_whose_length_nobody_knows_or_that_nobody_waits_for(store):
    leases = Leases(store, replace(TWO, priorities={"board": 2}))
    leases.take(wants("full", cores=2))
    least = wants("least", store.now + 90_000)
    leases.take(wants("unknown", store.now + 95_000, owner="board"))
    leases.take(wants("old", None, owner="board", run_s=1))
    leases.take(least)
    leases.release(wants("full", cores=2))
    assert leases.take(least) == ""


def test_a_record_from_before_there_were_budgets_is_read(store):
    lease = {"token": "a", "name": "a", "cores": 1, "until": store.now + 10}
    store.put("clusters/night/slots.json", seal({
        "record": "Slots", "record_version": 2, "leases": [lease], "opens_at": 0.0,
    }))  # fmt: skip
    leases = Leases(store, BUDGET)
    assert "1 of the cores are free" in leases.take(wants("b", cores=2, run_s=60))
    leases.release(wants("a"))
    assert used(store, leases) == 0.0
    for record in (BUDGET, Lease(token="a", name="a", cores=1, until=1.0, owner="x"), Slots(
        spent=(Spent(owner="x", day=DAY, core_hours=0.5),)
    )):  # fmt: skip
        assert decode(type(record), encode(record), "it") == record


def test_a_budget_holds_in_a_folder_and_on_s3(store_uri):
    """By the clock of the store, whatever that is: what runs counts as its forecast."""
    leases = Leases(open_store(store_uri), BUDGET)
    assert leases.take(wants("a", 9e9, run_s=3000)) == ""
    with pytest.raises(BudgetSpentError):
        leases.take(wants("b", 9e9, run_s=700))
    leases.release(wants("a", 9e9))
    assert leases.take(wants("b", 9e9, run_s=700)) == ""
    leases.release(wants("b", 9e9))


def test_what_an_early_run_takes_is_forecast_from_its_plan(tmp_path):
    case = DayCase(tmp_path, str(tmp_path / "store"), runs=3)
    case.deliver("1", (1, 2), (2, 3))
    generation = case.open()
    day = case.day(generation)
    assert read_run_seconds(day, 1) == 0.0
    case.prepare(generation, 1)
    assert read_run_seconds(day, 1) > START_S
    assert read_run_seconds(day, 2) == 0.0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"budgets": {"team": -1.0}}, "the budget of team is -1"),
        ({"budgets": {"team": float("nan")}}, "the budget of team is nan"),
        ({"priorities": {"team": -1}}, "the priority of team is -1"),
        ({"priorities": {"team": 1.5}}, "priorities"),
        ({"budgets": (("team", 1.0), ("team", 2.0))}, "team"),
    ],
)
def test_what_is_no_budget_or_priority_is_refused_in_words(changes, said):
    with pytest.raises(SpecError, match=said):
        replace(TWO, **changes)
