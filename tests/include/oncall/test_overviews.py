"""What is kept, how sources arrive, and how long what was read is handed out."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from types import SimpleNamespace

import pytest

from forerun.include.oncall.catalogue import KnownReport, known_reports
from forerun.include.oncall.kept_state import read_kept_states
from forerun.include.oncall.kept_value import KeptValue
from forerun.include.oncall.night.arrivals import read_source_arrivals, sources_of
from forerun.include.oncall.night.lanes import LaneRun, cores_in_use, lanes
from forerun.include.oncall.night.reader import NightReader
from forerun.include.oncall.night.rows import NightRow, make_row
from forerun.include.oncall.overviews import Overviews
from forerun.include.stores.store import StoreDownError
from tests.include.oncall.dag_days import DATE, at, dag_day

REPORT = KnownReport("totals", "sums")


@pytest.fixture
def case(tmp_path):
    found = dag_day(tmp_path)
    found.begin()
    found.make(1, at(12))
    return found


def test_what_a_report_keeps_is_counted_as_it_lies_there(case):
    (kept,) = read_kept_states(case.store, [REPORT], map)
    commit = case.read().chain[0]
    assert kept.state_bytes == sum(part.bytes for part in commit.artifacts) > 0
    assert (kept.days, kept.result_bytes) == (1, 0)
    stored = case.store.list("reports/totals")
    assert kept.bytes == sum(file.size for file in stored)
    assert kept.oldest is not None
    case.make(2, at(16))
    case.publish(at(17))
    (kept,) = read_kept_states(case.store, [REPORT], map)
    made = [f for f in case.store.list("reports/totals") if "/artifacts/result/" in f.key]
    assert made, "the result that the run has made is no table that is kept"
    published = case.store.list("results/totals")
    assert kept.result_bytes == sum(f.size for f in (*made, *published))
    runs = case.read().chain
    assert kept.state_bytes == sum(part.bytes for run in runs for part in run.artifacts)


def test_a_source_of_two_reports_is_one_and_says_what_it_lacks(case):
    row = make_row(REPORT, case.read(), at(17), ("orders: no _SUCCESS", "lines: 0 of 2 rows"))
    other = replace(row, report=KnownReport("board", "sums"))
    (source,) = sources_of([row, other])
    assert (source.name, source.reports) == ("orders", ("totals", "board"))
    assert source.missing == ("no _SUCCESS",)


def test_arrivals_are_those_of_the_pins_beside_those_of_past_days(case, tmp_path):
    source = case.spec.sources[0]
    found = read_source_arrivals(case.store, case.read(), source)
    assert [rows for _, rows in found.seen] == [2]
    assert (found.middle, found.cautious, found.total, found.complete_at) == ((), (), 0, None)
    case.deliver("2", (3, 4))
    case.make(2, at(16))
    case.publish(at(17))
    # The next day has the day before to go by.
    records = replace(case.read(), at=replace(case.read().at, day="2026-03-02"))
    found = read_source_arrivals(case.store, records, source)
    assert found.seen == ()
    assert found.total == 3
    assert found.middle[-1][1] == found.cautious[-1][1] == 3
    assert found.complete_at is not None
    assert found.complete_at.date().isoformat() == "2026-03-02"


def test_the_overviews_are_read_from_the_store(case):
    overviews = Overviews(NightReader(case.store, clock=lambda: at(13)), lambda: at(13))
    assert known_reports(case.store) == (REPORT,)
    assert [one.report for one in overviews.states()] == [REPORT]
    assert overviews.savings().reports == (), "no day is whole"


def test_a_value_is_handed_out_while_it_is_read_again_and_not_beyond_its_time():
    now, read = [at(0)], []

    def reading():
        read.append(now[0])
        if now[0] == at(9):
            raise StoreDownError("away")
        return len(read)

    kept = KeptValue(reading, fresh_s=60, stale_s=3600, clock=lambda: now[0])
    assert [kept.get(), kept.get()] == [1, 1]
    now[0] += dt.timedelta(minutes=2)
    assert kept.get() == 1, "the old one, while the next is read"
    kept._reading.result(5)
    assert kept.get() == 2
    now[0] = at(8)
    assert kept.get() == 3, "too old to be handed out"
    kept.forget()
    assert kept.get() == 4
    now[0] = at(9)
    with pytest.raises(StoreDownError):
        kept.get()
    now[0] = at(10)
    assert kept.get() == 6


def test_the_night_on_one_clock_has_what_was_and_what_will_be(case):
    rows = [make_row(REPORT, case.read(), at(13)), broken_row()]
    (lane,) = lanes(rows, at(13))
    made, to_come = lane.runs
    commit = case.read().chain[0]
    assert (made.kind, made.made, made.run) == ("early", True, 1)
    assert made.end == dt.datetime.fromisoformat(commit.committed_at)
    assert (made.end - made.start).total_seconds() == commit.metrics.wall_s
    assert (to_come.kind, to_come.made, to_come.start) == ("final", False, at(16))
    late = lanes(rows[:1], at(20))[0].runs[-1]
    assert late.start == at(20), "it can be no earlier than now"
    case.make(2, at(16))
    assert all(run.made for run in lanes([make_row(REPORT, case.read(), at(17))], at(17))[0].runs)


def test_an_early_run_is_shown_to_come_while_its_time_is_ahead_and_the_plan_opens_it(tmp_path):
    case = dag_day(tmp_path, runs=3)
    case.begin()
    case.make(1, at(12))
    row = make_row(REPORT, case.read(), at(13))
    opened = [run.index for run in row.records.plan.runs if run.opened and run.index > 1]
    shown = {run.run for run in lanes([row], at(13))[0].runs if not run.made}
    assert shown == {3, *opened}
    assert 2 not in {run.run for run in lanes([row], at(17))[0].runs}


def test_cores_in_use_rise_and_fall_with_the_runs():
    def lane(cores, *runs):
        made = [
            LaneRun(run=1, start=at(start), end=at(end), kind="final", made=True)
            for start, end in runs
        ]
        return SimpleNamespace(runs=made, cores=cores)

    steps = cores_in_use([lane(2, (1, 3)), lane(4, (2, 3), (3, 5)), lane(8, (6, 6))])
    assert steps == ((at(1), 2), (at(2), 6), (at(3), 4), (at(5), 0))


def broken_row():
    return NightRow(
        report=REPORT, day=DATE, group="", records=None, standing=None, broken="cannot be read"
    )
