"""Reports of one cluster choose their times one at a time, each beside what others have said."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from forerun.include.days.handle import Day
from forerun.include.days.run_times import read_times, store_times
from forerun.include.reports.cluster import Blackout, Cluster
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.spec import ReportSpec
from forerun.include.reports.values.hours import Hours
from forerun.include.runs.prepare import open_generation
from forerun.include.state.cluster_report import ClusterReport, WantedDay, WantedRun
from forerun.include.state.layout import ClusterKeys
from forerun.include.state.records import OpenedBy, encode
from forerun.include.state.slots import Lease, SlotRequest, Slots, Stop
from forerun.include.times.choosing import Decision, choose_day
from forerun.include.times.cluster_reports import put_wanted, reports_of
from forerun.include.times.handing import hand_over
from forerun.include.times.leases import Leases, declare, say_stop
from forerun.include.times.night import Choice, decide_night
from forerun.planner.contract.seal import seal
from forerun.planner.schedule.night import PlannedRun
from tests.include.days.past_days import (
    BERLIN,
    MONDAY,
    PastDays,
    also,
    at,
    ledger,
    opened,
    past_days,
)

ONCE = Retries(count=0, pauses_s=0.0)
ALWAYS = (Hours(start="00:00", end="24:00", value=1.0),)
ONE = Cluster(name="night", ceiling=ALWAYS, timezone="Europe/Berlin")


@pytest.fixture
def past(tmp_path) -> PastDays:
    """A batch takes 600 s; cores are cheap from 6 to 18."""
    return past_days(tmp_path)


def another(past: PastDays, name: str) -> Day:
    """A report with the same past, on that Monday."""
    return tonight(past, also(past, name))


def tonight(past: PastDays, spec: ReportSpec | None = None) -> Day:
    """That Monday of a report, opened by a DAG run."""
    by = OpenedBy(dag_id="d", run_id="r", mode="auto", group="", retries=ONCE)
    return open_generation(
        past.store.root, spec or past.spec, MONDAY, trigger="t", now=at(0), opened_by=by
    )


def choose(day: Day, cluster: Cluster | None = ONE, hours: float = 0.0, before: int = 1):
    asked = Decision(before=before, now=at(hours), retries=ONCE, cluster=cluster)
    return choose_day(day, asked)


def wanted(day: Day) -> tuple[WantedRun, ...]:
    """What a day has said that it wants."""
    found = {one.report: one.days for one in reports_of(day.store, "night", MONDAY)}
    return found[day.at.report][-1].runs


def overlap(*days: Day) -> bool:
    """Whether two runs of different days would be at the same time."""
    spans = sorted((run.at, run.at + run.seconds) for day in days for run in wanted(day))
    return any(end > start + 1e-3 for (_, end), (start, _) in itertools.pairwise(spans))


def other(past: PastDays, *runs: tuple[float, float], latest: float = 12.0, cores: int = 1):
    """A report of which only its wishes are known: runs at hours, for so many seconds."""
    day = WantedDay(
        day=MONDAY.isoformat(), generation="1", latest_start=at(latest).timestamp(),
        runs=tuple(
            WantedRun(run=number, at=at(hour).timestamp(), seconds=seconds)
            for number, (hour, seconds) in enumerate(runs, 1)
        ),
    )  # fmt: skip
    found = ClusterReport(report="x", owner="y", application="x", cores=cores, days=(day,))
    past.store.put(ClusterKeys("night").report("x"), encode(found))


def hours_of(times) -> list[float | None]:
    return [start and (start - at(0)).total_seconds() / 3600 for start in times.starts]


def test_three_that_would_choose_the_same_hour_decide_one_after_another(past):
    days = [tonight(past), another(past, "b"), another(past, "a")]
    alone = hours_of(choose(days[0], None))
    assert [hours_of(choose(day, None)) for day in days[1:]] == [alone, alone]
    for _ in range(3):  # in the worst order: each time one more has all before it settled
        for day in days:
            choose(day)
    assert not overlap(*days)
    assert hours_of(read_times(days[2])) == alone  # the first in the order has what it wants
    for day in days[:2]:
        assert hours_of(read_times(day)) != alone
        assert "on cluster night" in read_times(day).schedule.why
    settled = [read_times(day).starts for day in days]
    for day in days:
        choose(day)
    assert [read_times(day).starts for day in days] == settled


def test_with_a_stale_view_nobody_moves_who_need_not(past, monkeypatch):
    """Two decide at once and see nothing of one another; then each knows what the other has
    said before, not what it says now: only the second in the order moves, and once."""
    days = [tonight(past), another(past, "a")]
    monkeypatch.setattr("forerun.include.times.night.reports_of", lambda *_: ())
    first = [choose(day).starts for day in days]
    assert first[0] == first[1]
    for _ in range(2):
        said = reports_of(past.store, "night", MONDAY)
        monkeypatch.setattr("forerun.include.times.night.reports_of", lambda *_, said=said: said)
        again = [choose(day).starts for day in days]
        assert again[1] == first[1]
        assert again[0] != first[0]
    assert not overlap(*days)


def test_what_is_paid_is_written_down_and_not_what_a_crowd_makes_of_it(past):
    other(past, *((hour, 1800.0) for hour in range(24)), latest=1.0)
    times = choose(opened(past))
    assert len(times.schedule.runs) > 1
    for one in times.schedule.runs:
        hour = hours_of(times)[one.run - 1]
        assert one.weight == (0.2 if 6 <= hour < 18 else 0.8 if 18 <= hour < 24 else 1.0)


def test_where_others_leave_no_time_for_batch_the_final_run_is_made_shorter(past):
    """Due at two; from five past midnight on a more urgent report has the only core."""
    past.spec = replace(past.spec, policy=replace(past.spec.policy, prices=ALWAYS))
    day = opened(past)
    assert hours_of(choose(day)) == [None, None, None, 24]
    other(past, (24 + 5 / 60, 7200.0))
    times = choose(day)
    assert [start for start in times.starts[:-1] if start is not None]
    assert times.schedule.missing_s == 0
    assert "one batch would miss the deadline" in times.schedule.why
    assert "one batch would wait 7,500 s for cores" in times.schedule.why
    assert wanted(day)[-1].seconds < 300
    other(past, (24 + 5 / 60, 7200.0), latest=30.0)  # one that can wait itself is no reason
    assert hours_of(choose(day)) == [None, None, None, 24]


def test_a_blackout_and_a_stop_and_who_holds_cores_leave_no_early_run(past):
    day = opened(past)
    dark = replace(ONE, blackouts=(Blackout(start="06:00", end="20:00"),))
    declare(past.store, dark)
    assert all(not 6 <= hour < 20 for hour in hours_of(choose(day, dark)) if hour is not None)
    declare(past.store, ONE)
    say_stop(past.store, "night", Stop(stopped=True, by="ann", at="noon", why="full"))
    past.deliver(MONDAY, 0, 340)
    early = [hour for hour in hours_of(choose(day, hours=17.5))[:-1] if hour is not None]
    assert all(hour >= 18.5 for hour in early)
    say_stop(past.store, "night", Stop(stopped=False, by="ann", at="noon", why=""))
    assert 17 < hours_of(choose(day, hours=17.2))[0] < 18
    long = SlotRequest(
        token="t", report="long", owner="y", day="2026-03-02", run=1, final=False, cores=1,
        latest_start=None, seconds=3600.0, lease_s=300.0, run_s=3600.0,
    )  # fmt: skip
    assert Leases(past.store, ONE).take(long) == ""
    early = [hour for hour in hours_of(choose(day, hours=17.2))[:-1] if hour is not None]
    assert all(hour > 18 for hour in early)


@pytest.mark.parametrize("data", [b"{", b'{"record": "ClusterReport", "record_version": 3}'])
def test_what_others_have_written_badly_stops_nobody(past, caplog, data):
    day = opened(past)
    alone = hours_of(choose(day, None))
    past.store.put(ClusterKeys("night").report("x"), data)
    assert hours_of(choose(day)) == alone
    assert "passed over" in caplog.text


def test_leases_of_a_newer_version_let_it_choose_as_if_alone(past, caplog):
    day = opened(past)
    alone = hours_of(choose(day, None))
    other(past, *((hour, 3600.0) for hour in range(24)), latest=1.0)
    past.store.put(ClusterKeys("night").slots, seal({"record": "Slots", "record_version": 3}))
    assert hours_of(choose(day)) == alone
    assert "as if the report were alone" in caplog.text


def test_a_run_that_waits_or_has_its_cores_is_counted_once(past):
    """Not as a wish, too: it began late, and ends late."""
    day = opened(past)
    other(past, (0.0, 3600.0))
    lease = Lease(
        token="t", name=f"x {MONDAY} run 1", cores=1, until=9e9, since=0.0, run_s=0.0
    )  # overdue: it ends soon  # fmt: skip
    past.store.put(ClusterKeys("night").slots, encode(Slots(leases=(lease,))))
    choose(day)
    assert put_wanted(day, "night", replace(day_of(day), runs=()))
    assert "0 runs of others go first" in choose(day).schedule.why


def day_of(day: Day) -> WantedDay:
    found = {one.report: one.days for one in reports_of(day.store, "night", MONDAY)}
    return found[day.at.report][-1]


def test_the_runs_of_one_application_are_one(past):
    """Three reports of a group: two of them run at noon together, for as long as both take."""
    for name, cores, group in (("x", 1, "g"), ("y", 2, "g"), ("z", 1, "z")):
        run = WantedRun(run=1, at=at(12).timestamp(), seconds=600.0)
        day = WantedDay(
            day=MONDAY.isoformat(), generation="1", latest_start=at(13).timestamp(), runs=(run,)
        )
        record = ClusterReport(report=name, owner="o", application=group, cores=cores, days=(day,))
        past.store.put(ClusterKeys("night").report(name), encode(record))
    four = replace(ONE, ceiling=(Hours(start="00:00", end="24:00", value=4.0),))
    choose(tonight(past))
    record = next(one for one in reports_of(past.store, "night", MONDAY) if one.report == "totals")
    choice = Choice(
        day=past.day_of(MONDAY), now=at(1).timestamp(), wanted=record.days[-1],
        application="totals",
    )  # fmt: skip
    others = decide_night(choice, four).others
    assert others.planned == 2
    begins = [others.final_begins(at(hour).timestamp(), 60.0) for hour in (12, 13)]
    assert begins == [at(12).timestamp(), at(13).timestamp()]  # 4 cores, of which 3 are taken
    three = replace(ONE, ceiling=(Hours(start="00:00", end="24:00", value=3.0),))
    others = decide_night(choice, three).others
    assert others.final_begins(at(12).timestamp(), 60.0) == at(12).timestamp() + 600
    waits = SlotRequest(
        token="t", report="g", owner="o", day=MONDAY.isoformat(), run=1, final=False, cores=2,
        latest_start=at(13).timestamp(), seconds=600.0, lease_s=300.0, run_s=900.0,
    )  # fmt: skip
    Leases(past.store, three).look(waits)
    others = decide_night(
        choice, three
    ).others  # what it waits for it wants now, and not at noon, too
    assert others.planned == 2
    assert others.final_begins(at(12).timestamp(), 60.0) == at(12).timestamp()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("day", [dt.date(2026, 3, 29), dt.date(2026, 10, 25), dt.date(2026, 3, 8)])
def test_the_cluster_has_a_clock_of_its_own(past, zone, day):
    """Also where one of the two clocks changes; a blackout is in the way of the last cheap hour."""
    for back in (3, 2, 1):
        before = day - dt.timedelta(days=back)
        past.day(before, *((hour, 20 * hour) for hour in (6, 12, 18, 24)))
        ledger(past, before)
    cheap_until = dt.datetime.combine(day, dt.time(18), tzinfo=BERLIN)
    dark = [cheap_until.astimezone(ZoneInfo(zone)) - dt.timedelta(minutes=m) for m in (30, 0)]
    blackout = Blackout(start=f"{dark[0]:%H:%M}", end=f"{dark[1]:%H:%M}")
    cluster = replace(ONE, timezone=zone, blackouts=(blackout,))
    asked = Decision(before=1, now=at(0, day), retries=ONCE, cluster=cluster)
    first = choose_day(opened(past, day), asked).schedule.runs[0]
    early = cheap_until - dt.datetime.fromisoformat(first.at)
    assert dt.timedelta(minutes=36) < early < dt.timedelta(minutes=40)  # it takes 7 minutes


def flat(past: PastDays, due: str) -> None:
    """No hour is cheaper than another, and a batch takes ten minutes."""
    policy = replace(past.spec.policy, prices=ALWAYS, reserve="+00:01")
    past.spec = replace(past.spec, deadline=due, policy=policy)


def test_who_is_in_the_way_is_told_to_make_room(past):
    """Three batches of ten minutes on one core, all due half an hour after midnight: nobody can be
    last. Whoever has chosen batch before is told of early runs, in its next slots."""
    flat(past, "24:30")
    days = [tonight(past), another(past, "b"), another(past, "c")]
    for day in days[:2]:
        choose(day)
    batch = [read_times(day) for day in days[:2]]
    assert [hours_of(times) for times in batch] == [[None, None, None, 24]] * 2
    choose(days[2])
    told = [read_times(day) for day in days]
    moved = [times for times, was in zip(told, batch, strict=False) if times.number > was.number]
    assert moved, "somebody who had decided before is told"
    for times in moved:
        said = f"the night of cluster night, as it was decided for c {MONDAY}"
        assert times.schedule.why == said
        assert times.schedule.before == 1
        assert [start for start in times.starts[:-1] if start is not None]
        assert times.forced
    assert not overlap(*days)
    due = at(24.5).timestamp()
    assert all(run.at + run.seconds <= due for day in days for run in wanted(day))
    for day in days:
        assert read_times(day).instants[-1] == at(24), "it waits for its turn, and not for a time"


def test_nobody_moves_while_waiting_costs_no_deadline(past):
    flat(past, "30:00")
    days = [tonight(past), another(past, "b"), another(past, "c")]
    for day in days:
        choose(day)
    assert [read_times(day).number for day in days] == [1, 1, 1]


def test_what_has_begun_or_is_about_to_is_not_moved(past):
    """At 17:00 the first of those in the way is at work since 14:00, the second begins in a
    minute: of each what is left moves."""
    flat(past, "24:30")
    days = [tonight(past), another(past, "b"), another(past, "c")]
    for day in days:
        choose(day)
    for day, begins in zip(days, (14.0, 17 + 1 / 60, None), strict=True):
        if begins is None:
            continue
        own = day_of(day)
        runs = (
            WantedRun(run=1, at=at(begins).timestamp(), seconds=4 * 3600.0),
            replace(own.runs[-1], at=at(24).timestamp(), seconds=600.0),
        )
        put_wanted(day, "night", replace(own, runs=runs))
        stored = read_times(day).schedule
        early = replace(stored.runs[0], run=1, at=at(begins).isoformat())
        final = replace(stored.runs[-1], run=4, at=at(24).isoformat())
        store_times(day, replace(stored, runs=(early, final)))
    before = [read_times(day) for day in days]
    choose(days[2], hours=17.0)
    for day, was in zip(days[:2], before, strict=False):
        now = read_times(day)
        assert now.starts[0] == was.starts[0]
        assert all(start is None or start > at(17) for start in now.starts[1:])


def test_the_reports_of_a_group_choose_together(past):
    """Two that meet, and one by itself: the group is one application, with one set of times."""
    specs = [replace(also(past, name), name=name) for name in ("x", "y")]
    days = [tonight(past, spec) for spec in specs]
    for day in days:
        asked = Decision(before=1, now=at(0), retries=ONCE, cluster=ONE, group="g")
        choose_day(day, asked)
    times = [read_times(day) for day in days]
    assert times[0].starts == times[1].starts
    assert [start for start in times[0].starts[:-1] if start is not None]
    records = {one.report: one for one in reports_of(past.store, "night", MONDAY)}
    assert {one.application for one in records.values()} == {"g"}
    assert records["x"].days[-1].runs == records["y"].days[-1].runs
    asked = Decision(before=1, now=at(1), retries=ONCE, cluster=ONE, group="g")
    choose_day(days[0], asked)
    again = read_times(days[1])
    assert again.number == times[1].number + 1, "told with the other, however little it is"
    assert again.starts == read_times(days[0]).starts
    alone = tonight(past)
    choose(alone)
    group, own = wanted(days[0]), wanted(alone)
    spans = sorted((run.at, run.at + run.seconds) for run in (*group, *own))
    assert all(end <= start + 1e-3 for (_, end), (start, _) in itertools.pairwise(spans))


def test_a_day_of_which_rows_are_late_is_told_of_times_in_order(past):
    """The last rows are forecast for two hours after the final run's own time, and an early run is
    decided for between the two."""
    day = tonight(past)
    choose(day)
    choice = Choice(day=day, now=at(1).timestamp(), wanted=day_of(day), application="totals")
    night = decide_night(choice, ONE)
    (member,) = night.members[night.own.report.name]
    late = replace(member.forecast, arrived=((at(0).timestamp(), 0.0), (at(26).timestamp(), 1.0)))
    runs = tuple(
        PlannedRun(start=at(hour).timestamp(), rows=1, seconds=300.0) for hour in (25.0, 26.0)
    )
    plan = replace(night.own, runs=runs)
    assert hand_over(past.store, replace(member, forecast=late), plan, night, at(1))
    times = read_times(day)
    assert times.schedule is not None, "it is one that the waits can follow"
    assert times.starts[0] == at(25)
    assert at(25) < times.starts[-1] < at(25.2), "the final run waits for rows, not for a time"
