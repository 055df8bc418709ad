"""The night of a store: which rows there are, in what order, and what a bad store does to it."""

from __future__ import annotations

import datetime as dt
import threading

import pytest

from forerun.include.oncall import kept_value
from forerun.include.oncall.catalogue import (
    KnownReport,
    days_opened_by,
    find_report,
    known_reports,
    read_spec,
)
from forerun.include.oncall.night import reader as night_reader
from forerun.include.oncall.night.reader import NightReader
from forerun.include.oncall.night.rows import grouped
from forerun.include.runs.prepare import open_generation
from forerun.include.state.layout import KeyNameError
from forerun.include.state.records import CheckRecord
from forerun.include.stores.store import StoreDownError
from tests.include.days.day_cases import DAY
from tests.include.oncall.dag_days import DATE, at, dag_day

SUMS = KnownReport("totals", "sums")


class Clock:
    def __init__(self, now: dt.datetime) -> None:
        self.now = now

    def __call__(self) -> dt.datetime:
        return self.now


def reader(case, now, **options) -> NightReader:
    return NightReader(case.store, clock=Clock(now), **options)


@pytest.fixture
def case(tmp_path):
    found = dag_day(tmp_path)
    found.begin(group="night")
    found.make(1, at(12))
    return found


def test_the_store_knows_its_reports_their_dags_and_what_they_were(case):
    open_generation(case.store_uri, case.spec, DAY, trigger="by hand", now=at(1))
    assert known_reports(case.store) == (SUMS,)
    assert find_report(case.store, "totals") == SUMS
    assert find_report(case.store, "nothing") is None
    with pytest.raises(KeyNameError):
        find_report(case.store, "../x")
    assert read_spec(case.store, "totals", case.spec.digest) == case.spec
    found = days_opened_by(case.store, "sums", "r1", known_reports(case.store))
    assert list(found) == [("totals", DATE)]
    assert not list(days_opened_by(case.store, "sums", "r2", known_reports(case.store)))
    assert not list(days_opened_by(case.store, "others", "r1", known_reports(case.store)))


def test_a_report_that_no_dag_runs_is_in_no_night(tmp_path):
    case = dag_day(tmp_path)
    case.open()
    assert known_reports(case.store) == ()
    assert reader(case, at(13)).night().rows == ()


def test_a_generation_that_no_dag_run_has_opened_is_passed_over(case):
    by_hand = open_generation(case.store_uri, case.spec, DAY, trigger="by hand", now=at(1))
    assert by_hand.at.generation == "2"
    (row,) = reader(case, at(13)).night().rows
    assert row.records.at.generation == "1"
    following = DAY + dt.timedelta(days=1)
    open_generation(case.store_uri, case.spec, following, trigger="by hand", now=at(25))
    assert [row.day for row in reader(case, at(26)).night().rows] == [DATE]


def test_the_row_of_a_day(case):
    (row,) = reader(case, at(17)).night().of({"sums"})
    assert (row.report, row.day, row.group) == (SUMS, DATE, "night")
    assert row.standing.state == "waits"
    assert row.missing == ("orders: complete at 2026-03-02 00:00Z",)
    assert row.looked_at == at(17)
    assert row.cost.measured == 1
    assert row.cost.estimated_s > 0
    assert row.cost.share == row.cost.estimated_s / row.cost.batch_s
    assert row.failed_checks == (0, 0)


def test_rows_are_of_dags_that_may_be_read(case):
    night = reader(case, at(13)).night()
    assert night.of(()) == night.of({"others"}) == ()


def test_the_worst_day_comes_first_and_takes_its_group_along(case, tmp_path):
    rows = list(reader(case, at(17)).night().rows)
    blocked = dag_day(tmp_path / "other")
    blocked.begin()
    blocked.make(2, at(16), checks=(CheckRecord(target="orders", key="c", critical=2),))
    rows += reader(blocked, at(17)).night().rows
    assert [group.name for group in grouped(rows)] == ["", "night"]
    assert grouped(rows)[0].rows[0].failed_checks == (2, 0)


def test_a_day_is_read_anew_only_when_it_has_changed(case, monkeypatch):
    reads = []
    real = night_reader.read_day_records
    monkeypatch.setattr(
        night_reader, "read_day_records", lambda *args: reads.append(args) or real(*args)
    )
    found = reader(case, at(13), fresh_s=0, stale_s=0)
    first = found.night()
    assert found.night().rows == first.rows
    assert len(reads) == 1
    case.deliver("2", (3, 4))
    case.make(2, at(16))
    assert found.night().rows[0].standing.state == "working"
    case.publish(at(17))
    assert found.night().rows[0].standing.state == "published"
    assert len(reads) == 3


def test_a_night_that_is_a_little_old_is_handed_out_while_the_next_one_is_read(case):
    clock = Clock(at(13))
    found = NightReader(case.store, clock=clock, fresh_s=5, stale_s=60)
    first = found.night()
    assert found.night() is first
    clock.now += dt.timedelta(seconds=10)
    assert found.night() is first
    found._night._reading.result()
    assert found.night().read_at == clock.now
    clock.now += dt.timedelta(seconds=100)
    assert found.night().read_at == clock.now


def test_what_cannot_be_read_is_one_row_that_says_so(case):
    key = case.handle.at.commit(1)
    (case.folder / "store" / key).write_bytes(b"{}")
    (row,) = reader(case, at(13)).night().rows
    assert (row.records, row.severity) == (None, "bad")
    assert "run-1.json" in row.broken


def test_a_store_that_is_down_is_an_error_and_comes_back(case, monkeypatch):
    found = reader(case, at(13), fresh_s=0, stale_s=0)
    found.night()

    def down(*_):
        raise StoreDownError("the disk is away")

    with monkeypatch.context() as broken:
        broken.setattr(type(case.store), "folders", down)
        with pytest.raises(StoreDownError, match="the disk is away"):
            reader(case, at(13)).night()
    assert len(found.night().rows) == 1


def test_a_store_that_hangs_is_not_waited_for(case, monkeypatch):
    monkeypatch.setattr(kept_value, "PATIENCE_S", 0.05)
    ended = threading.Event()
    with pytest.raises(StoreDownError, match="has not answered within"):
        reader(case, at(13)).ask(ended.wait)
    ended.set()


def test_the_day_before_is_shown_while_it_may_matter(case, monkeypatch):
    case.deliver("2", (3, 4))
    case.make(2, at(16))
    case.publish(at(17))
    following = DAY + dt.timedelta(days=1)
    opened_by = case.read().record.opened_by
    open_generation(
        case.store_uri, case.spec, following, trigger="x", now=at(24), opened_by=opened_by
    )
    days = [row.day for row in reader(case, at(41)).night().rows]
    assert days == [following.isoformat(), DATE]
    days = [row.day for row in reader(case, at(43)).night().rows]
    assert days == [following.isoformat()], "it was due at 30, and is well"
