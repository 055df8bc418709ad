"""Who names a cluster, and when they want its cores: kept, replaced, taken away, forgotten."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from forerun.include.days.ledger import read_history
from forerun.include.reports.run_policy import Retries
from forerun.include.state.cluster_report import WantedRun
from forerun.include.state.layout import ClusterKeys, Generation, history_key
from forerun.include.state.records import encode
from forerun.include.times.cluster_reports import (
    leave_clusters,
    no_wanted,
    own_wanted,
    put_wanted,
    reports_of,
)
from tests.include.days.past_days import MONDAY, PastDays, ago, at, past_days

ONCE = Retries(count=0, pauses_s=0.0)


@pytest.fixture
def past(tmp_path) -> PastDays:
    return past_days(tmp_path)


def test_a_report_says_its_own_times_with_what_past_runs_took(past):
    """Batch at midnight took 600 s; of the early runs the second was there on two days of three."""
    for back, took in ((1, 50.0), (2, 70.0)):
        found = replace(read_history(past.store, "totals")[0], run=2, wall_s=took)
        past.store.put(history_key(Generation("totals", f"{ago(back)}", "1"), 2), encode(found))
    wanted = own_wanted(past.day_of(MONDAY), ONCE)
    assert wanted.runs == (
        WantedRun(run=2, at=at(12).timestamp(), seconds=60.0),
        WantedRun(run=4, at=at(24).timestamp(), seconds=600.0),
    )
    assert at(24).timestamp() < wanted.latest_start < at(26).timestamp() - 600
    bare = PastDays(past.folder / "bare", past.spec)
    assert own_wanted(bare.day_of(MONDAY), ONCE).runs == ()


def test_it_is_put_once_and_newer_days_take_the_place_of_old_ones(past):
    day = past.day_of(MONDAY)
    assert put_wanted(day, "night", own_wanted(day, ONCE))
    assert not put_wanted(day, "night", own_wanted(day, ONCE))
    for days in range(1, 5):
        later = past.day_of(MONDAY + timedelta(days=days))
        put_wanted(later, "night", no_wanted(later))
    (report,) = reports_of(past.store, "night", MONDAY)
    assert [one.day for one in report.days] == ["2026-03-04", "2026-03-05", "2026-03-06"]
    old = past.day_of(MONDAY)
    assert not put_wanted(old, "night", own_wanted(old, ONCE))  # a backfill says nothing
    assert reports_of(past.store, "night", MONDAY + timedelta(days=11)) != ()
    assert reports_of(past.store, "night", MONDAY + timedelta(days=12)) == ()


def test_another_put_in_between_loses_nothing(past, monkeypatch):
    """Tasks of two days of one report say at once what they want."""
    first, second = past.day_of(MONDAY), past.day_of(MONDAY + timedelta(days=1))
    put_wanted(first, "night", no_wanted(first))
    store = type(first.store)
    real, others = store.put_if_match, [second]

    def between(self, key, data, tag):
        if others:
            other = others.pop()
            put_wanted(other, "night", no_wanted(other))
        return real(self, key, data, tag)

    monkeypatch.setattr(store, "put_if_match", between)
    put_wanted(first, "night", own_wanted(first, ONCE))
    (report,) = reports_of(past.store, "night", MONDAY)
    assert [bool(one.runs) for one in report.days] == [True, False]


def test_a_report_that_names_another_cluster_or_none_leaves(past):
    day = past.day_of(MONDAY)
    put_wanted(day, "night", no_wanted(day), "all")
    put_wanted(day, "day", no_wanted(day))
    assert reports_of(past.store, "night", MONDAY)[0].application == "all"
    assert leave_clusters(past.store, "totals", "day") == ("night",)
    assert reports_of(past.store, "night", MONDAY) == ()
    assert leave_clusters(past.store, "totals") == ("day",)
    assert leave_clusters(past.store, "totals") == ()


@pytest.mark.parametrize("data", [b"{", b'{"record": "ClusterReport", "record_version": 3}'])
def test_a_record_that_cannot_be_read_is_passed_over_and_made_anew(past, caplog, data):
    day = past.day_of(MONDAY)
    put_wanted(day, "night", no_wanted(day))
    past.store.put(ClusterKeys("night").report("other"), data)
    assert [one.report for one in reports_of(past.store, "night", MONDAY)] == ["totals"]
    assert "passed over" in caplog.text
    past.store.put(ClusterKeys("night").report("totals"), data)
    assert put_wanted(day, "night", no_wanted(day))
    assert [one.report for one in reports_of(past.store, "night", MONDAY)] == ["totals"]


def test_what_nobody_has_put_for_long_is_deleted(past):
    day, old = past.day_of(MONDAY), ClusterKeys("night").report("old")
    past.store.put(old, b"{")
    put_wanted(day, "night", no_wanted(day))
    assert past.store.stat(old) is not None
    file = Path(past.store.root.removeprefix("file://")) / old
    before = file.stat().st_mtime - timedelta(days=41).total_seconds()
    os.utime(file, (before, before))
    put_wanted(day, "night", own_wanted(day, ONCE))
    assert past.store.stat(old) is None
