"""Cores as leases: never more than the ceiling, none leaked, the most urgent first, no silence."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from forerun.include.reports.cluster import Blackout, Cluster, under_cluster
from forerun.include.reports.run_policy import RunPolicy
from forerun.include.reports.values.fields import SpecError
from forerun.include.reports.values.hours import Hours
from forerun.include.state.records import decode, encode
from forerun.include.state.slots import Lease, SlotRequest, Slots, Stop, why_not
from forerun.include.stores.store import StoreError
from forerun.include.times.leases import Leases, declare, read_cluster, read_stop, say_stop
from forerun.planner.contract.seal import seal
from forerun.planner.errors import ContractError, ForerunError
from tests.airflow.reports import sales_report
from tests.include.days.clocked_store import ClockedStore

TWO = Cluster(name="night", ceiling=(Hours(start="00:00", end="24:00", value=2),))
LEASE_S = TWO.lease_s


@pytest.fixture
def store() -> ClockedStore:
    return ClockedStore()


@pytest.fixture
def leases(store) -> Leases:
    return Leases(store, TWO)


def wants(name, latest=2_000_000.0, **changes) -> SlotRequest:
    given = {
        "token": name, "report": name, "owner": "team", "day": "2026-03-01", "run": 1,
        "final": False, "cores": 1, "latest_start": latest, "seconds": 60.0,
        "lease_s": LEASE_S, **changes,
    }  # fmt: skip
    return SlotRequest(**given)


def held(store, leases) -> set[str]:
    found = store.find(leases.keys.slots)
    live = decode(Slots, found.data, "slots").live(store.now) if found else ()
    return {one.token for one in live}


def test_the_ceiling_holds_and_cores_that_are_given_back_are_taken(store, leases):
    a, b, c = map(wants, "abc")
    assert leases.take(a) == ""
    assert leases.take(b) == ""
    assert leases.take(a) == ""  # asked for again, it is the same lease
    why = leases.take(c)
    assert "0 of the cores are free, it needs 1; held by b 2026-03-01 run 1, a" in why
    leases.release(a)
    assert leases.take(c) == ""
    assert held(store, leases) == {"b", "c"}


def test_two_that_want_the_last_cores_at_the_same_moment(store, leases):
    assert leases.take(wants("a")) == ""
    store.between = lambda: leases.take(wants("b"))
    assert "held by" in leases.take(wants("c"))
    assert held(store, leases) == {"a", "b"}


def test_who_stalls_between_its_look_and_its_put_holds_no_lease_that_is_over(store, leases):
    stalls, other = wants("stalls", cores=2), wants("other", cores=2)

    def stall(seconds):
        def pass_time():
            store.now += seconds

        store.between = pass_time

    stall(LEASE_S + 60)
    assert leases.take(stalls) == ""
    assert "held by stalls" in leases.take(other)
    store.now += stalls.patience_s  # it is heard of again before that, or ends by itself
    assert "held by stalls" in leases.take(other)
    stall(LEASE_S + 60)
    assert leases.renew(stalls)
    assert "held by stalls" in leases.take(other)
    store.now += LEASE_S + 1
    assert leases.take(other) == ""
    assert not leases.renew(stalls)


def test_who_stalls_where_another_takes_the_cores_meanwhile_has_none(store, leases):
    stalls, other = wants("stalls", cores=2), wants("other", cores=2)
    put = store.put_if_absent

    def late(key, data):
        won = put(key, data)
        store.now += LEASE_S + 60
        assert leases.take(other) == ""
        return won

    store.put_if_absent = late
    assert "held by other" in leases.take(stalls)


def test_a_holder_that_dies_leaks_nothing_and_one_that_renews_keeps_its_cores(store, leases):
    dies, lives = wants("dies"), wants("lives")
    leases.take(dies)
    leases.take(lives)
    for _ in range(4):
        store.now += LEASE_S / 3
        assert leases.renew(lives)
    assert leases.take(wants("next")) == ""
    assert held(store, leases) == {"lives", "next"}
    assert not leases.renew(dies)  # it is back too late, and is told so
    assert held(store, leases) == {"lives", "next"}
    assert lives.patience_s < LEASE_S


def test_whoever_lets_a_lease_expire_has_to_wait_for_its_turn_again(store, leases):
    leases.take(wants("late"))
    store.now += LEASE_S + 1
    leases.take(wants("full", cores=2))
    final = wants("final", store.now - 1, final=True)
    leases.take(final)
    leases.release(wants("full", cores=2))
    leases.store.put(leases.keys.slots, encode(Slots(leases=(
        Lease(token="late", name="late", cores=1, until=store.now - 1),
    ))))  # fmt: skip
    assert "final 2026-03-01 run 1 goes first" in leases.take(wants("late"))
    assert "final 2026-03-01 run 1 goes first" in leases.look(wants("late"))[1]


def test_the_least_lax_goes_first_and_who_gave_up_holds_up_nobody(store, leases):
    full = wants("full", cores=2)
    leases.take(full)
    lax, urgent = wants("lax", 3_000_000.0), wants("urgent", 1_500_000.0)
    leases.take(lax)
    leases.take(urgent)
    leases.release(full)
    assert "urgent 2026-03-01 run 1 goes first" in leases.take(lax)
    store.now += LEASE_S  # nobody has heard of the urgent one since
    assert leases.take(lax) == ""
    assert leases.take(urgent) == ""


def test_nobody_overtakes_the_first_that_needs_more_than_is_free(store, leases):
    leases.take(wants("one"))
    big, small = wants("big", 1_500_000.0, cores=2), wants("small")
    assert "1 of the cores are free, it needs 2" in leases.take(big)
    assert "big 2026-03-01 run 1 goes first" in leases.take(small)
    leases.release(wants("one"))
    assert leases.take(big) == ""


def test_a_final_run_at_its_latest_start_goes_before_an_early_run_that_is_later(store, leases):
    leases.take(wants("full", cores=2))
    final = wants("final", store.now - 1, final=True)
    early = wants("early", store.now - 1000)
    leases.take(early)
    assert "0 of the cores are free" in leases.take(final)  # the ceiling holds, also for it
    leases.release(wants("full"))
    assert "final 2026-03-01 run 1 goes first" in leases.take(early)
    assert leases.take(final) == ""


def test_a_stop_holds_all_but_final_runs_at_their_latest_start(store, leases):
    say_stop(store, "night", Stop(stopped=True, by="ann", at="23:00", why="the disk is full"))
    final = wants("final", store.now + 100, final=True)
    for one in (wants("early", store.now - 1), final):
        assert leases.take(one) == "ann has stopped the cluster at 23:00: the disk is full"
    store.now += 100
    assert leases.take(final) == ""
    say_stop(store, "night", Stop(stopped=False, by="ann", at="23:30", why=""))
    assert leases.take(wants("early")) == ""


def test_a_blackout_holds_them_too_and_ends(store):
    # 1,000,000 s of the epoch are 13:46:40 in UTC.
    dark = replace(TWO, blackouts=(Blackout(start="13:00", end="14:00"),))
    leases = Leases(store, dark)
    final = wants("final", store.now + 100, final=True)
    assert leases.take(wants("early")) == "blackout until 1970-01-12 14:00:00Z"
    assert leases.take(final).startswith("blackout")
    store.now += 100
    assert leases.take(final) == ""
    store.now += 1000
    assert leases.take(wants("early")) == ""


def test_the_ceiling_is_that_of_the_hour_by_the_clock_of_the_cluster(store):
    hours = (Hours(start="00:00", end="15:00", value=1), Hours(start="15:00", end="24:00", value=4))
    leases = Leases(store, replace(TWO, ceiling=hours, timezone="Europe/Berlin"))  # 14:46:40
    big, small = wants("big", 0.0, cores=2), wants("small")
    assert leases.take(big) == "it needs 2 cores, the ceiling is 1 in this hour"
    assert leases.take(small) == ""  # who cannot begin in this hour holds up nobody
    store.now += 1000
    assert leases.take(big) == ""


FALLS = (  # 1,000,000 s of the epoch are 13:46:40 in UTC
    Hours(start="00:00", end="14:00", value=16), Hours(start="14:00", end="20:00", value=4),
    Hours(start="20:00", end="24:00", value=16),
)  # fmt: skip


@pytest.mark.parametrize("final", [False, True])
def test_what_begins_before_the_ceiling_falls_fits_under_it_or_is_over(store, final):
    leases = Leases(store, replace(TWO, ceiling=FALLS))
    long = wants("long", store.now - 1, final=final, cores=8, run_s=900.0)
    why = "it needs 8 cores, the ceiling is 4 from 1970-01-12 14:00:00Z on, before it is over"
    assert leases.take(long) == why
    assert leases.take(replace(long, run_s=0.0, lease_s=801.0)) == why  # nobody knows its length
    assert leases.take(wants("over", cores=12, run_s=700.0)) == ""  # and is passed over
    assert leases.take(wants("fits", cores=4, run_s=7200.0)) == ""
    refused = leases.take(wants("too", 1_000.0, cores=4, run_s=900.0))
    assert refused.startswith("0 of the cores are free, ")
    leases.release(wants("over", cores=12))
    refused = leases.take(wants("too", 1_000.0, cores=4, run_s=900.0))
    assert refused.startswith("0 of the cores are free at 1970-01-12 14:00:00Z, when it would")
    store.now += 801 + 6 * 3600
    assert leases.take(long) == ""


def test_a_run_longer_than_any_high_hours_begins_in_one_of_them(store):
    leases = Leases(store, replace(TWO, ceiling=FALLS))
    longer = wants("longer", store.now - 1, final=True, cores=8, run_s=19 * 3600.0)
    assert leases.take(longer) == ""


def test_a_day_that_nobody_waits_for_is_last(leases):
    look, why = leases.look(wants("old", None))
    assert why == ""
    urgent = wants("urgent", 1_000.0)
    assert why_not(wants("old", None), replace(look, waiting=(urgent,))).startswith("urgent")


def test_a_damaged_record_is_made_again_by_those_who_hold_cores(store, leases):
    a, b = wants("a"), wants("b")
    leases.take(a)
    leases.take(b)
    store.put(leases.keys.slots, b'{"torn')
    assert leases.take(wants("c")).startswith("the record of the slots was damaged")
    assert leases.renew(a)
    assert leases.renew(b)
    store.now += LEASE_S / 2
    assert leases.renew(a)
    store.now += LEASE_S / 2
    assert "held by a" in leases.take(wants("c", cores=2))
    assert leases.take(wants("d", 1_000.0)) == ""  # b has died meanwhile
    assert held(store, leases) == {"a", "d"}


@pytest.mark.parametrize("more", [{"record_version": 3}, {"record_version": 2, "fair": True}])
def test_a_record_of_a_newer_version_is_left_alone(store, leases, more):
    newer = seal({"record": "Slots", "leases": [], "opens_at": 0.0, **more})
    store.put(leases.keys.slots, newer)
    for act in (leases.take, leases.renew, leases.release, leases.look):
        with pytest.raises(ContractError) as caught:
            act(wants("a"))
        assert "update this one" in (caught.value.hint or "")
    assert store.find(leases.keys.slots).data == newer


def test_other_records_that_cannot_be_read_hold_up_nobody(store, leases):
    for key in (leases.keys.declared, leases.keys.stop, leases.keys.request("torn")):
        store.put(key, b"{")
    assert leases.take(wants("a", cores=2)) == ""
    assert "0 of the cores" in leases.take(wants("b"))  # the author's own ceiling holds


def test_the_cluster_that_was_declared_last_holds(store, leases):
    assert declare(store, TWO)
    assert not declare(store, TWO)
    one = replace(TWO, ceiling=(Hours(start="00:00", end="24:00", value=1),))
    assert declare(store, one)
    assert read_cluster(store, "night") == one
    leases.take(wants("a"))
    assert "held by a" in leases.take(wants("b"))
    with pytest.raises(StoreError, match="no DAG of this store has named a cluster day"):
        read_cluster(store, "day")
    assert read_stop(store, "day") is None


def test_a_shorter_lease_takes_no_cores_from_those_who_hold_some(store, leases):
    holds = wants("holds", cores=2)
    leases.take(holds)
    declare(store, replace(TWO, lease="+00:00:10"))
    store.now += holds.patience_s
    assert "held by holds" in leases.take(wants("b", lease_s=10.0))
    assert leases.renew(holds)
    store.now += holds.patience_s
    assert "held by holds" in leases.take(wants("b", lease_s=10.0))


def test_who_waits_no_longer_is_forgotten(store, leases):
    leases.take(wants("full", cores=2))
    leases.take(wants("a", 1_000.0))
    leases.forget(wants("a"))
    leases.release(wants("full"))
    assert leases.take(wants("b")) == ""


def test_requests_of_the_dead_are_deleted_in_the_end(store, leases):
    leases.take(wants("a"))
    store.now += 21 * LEASE_S
    assert leases.overview(store.now).waiting == ()
    assert len(store.list(leases.keys.wanted)) == 1, "looking changes nothing"
    leases.take(wants("b"))
    assert [json.loads(d)["token"] for k, (d, _) in store.files.items() if "/wanted/" in k] == ["b"]
    leases.release(wants("b"))
    assert not store.list(leases.keys.wanted)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ceiling": ()}, "has no ceiling"),
        ({"ceiling": (Hours(start="00:00", end="23:00", value=2),)}, "from 00:00 to 23:00"),
        ({"ceiling": (Hours(start="00:00", end="24:00", value=0),)}, "is 0 from 00:00"),
        ({"prices": (Hours(start="01:00", end="24:00", value=1),)}, "prices of cluster night"),
        ({"lease": "+00:00:05"}, "no length of time of at least 10 seconds"),
        ({"lease": "00:05"}, "no length of time"),
        ({"timezone": "Mars/Olympus"}, "time zone"),
        ({"name": "a b"}, "is named"),
    ],
)
def test_what_is_no_cluster_is_refused_in_words(changes, said):
    with pytest.raises(ForerunError, match=said):
        replace(TWO, **changes)
    with pytest.raises(SpecError, match="is empty"):
        Blackout(start="23:00", end="01:00")


def test_a_report_fits_its_cluster_or_is_refused():
    spec = sales_report(policy=replace(sales_report().policy, cores=3))
    with pytest.raises(SpecError, match="needs 3 cores, and cluster night never has more than 2"):
        under_cluster(spec, TWO)
    priced = replace(TWO, prices=(Hours(start="00:00", end="24:00", value=0.5),))
    assert under_cluster(sales_report(), priced).weights == (0.5, 0.5, 0.5)
    assert under_cluster(sales_report(), None) == sales_report()
    own = replace(RunPolicy(runs=sales_report().policy.runs), prices=(priced.prices[0],))
    assert under_cluster(sales_report(policy=own), replace(priced, timezone="Asia/Tokyo"))
    with pytest.raises(SpecError, match="by the clock of Asia/Tokyo"):
        under_cluster(sales_report(), replace(priced, timezone="Asia/Tokyo"))


def test_records_come_back_as_they_were():
    for record in (TWO, wants("a"), wants("b", None), Slots(opens_at=1.5)):
        assert decode(type(record), encode(record), "it") == record
