"""What a day's page says of runs that wait."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime

from forerun.include.oncall.day.records import read_day_records
from forerun.include.oncall.day.waiting_runs import waiting_runs
from forerun.include.reports.run_policy import Retries, RunPolicy, RunTime
from forerun.include.reports.spec import AfterRows
from forerun.include.runs.prepare import open_generation
from forerun.include.state.layout import ClusterKeys
from forerun.include.state.records import OpenedBy
from forerun.include.times.leases import Leases, declare
from tests.include.days.past_days import MONDAY, PastDays, at, report_of
from tests.include.days.test_leases import TWO, wants

DAY = MONDAY.isoformat()


def opened(folder, mode="auto", group=""):
    """The records of a day whose first run has a trigger."""
    rows = AfterRows(source="orders", rows=1000)
    policy = RunPolicy(runs=(RunTime(at="12:00", when=rows), RunTime(at="24:00")))
    days = PastDays(folder, report_of(folder, policy=policy))
    by = OpenedBy(
        dag_id="d", run_id="r", mode=mode, group=group, retries=Retries(count=0, pauses_s=0.0)
    )
    open_generation(days.store.root, days.spec, MONDAY, trigger="t", now=at(0), opened_by=by)
    return days.store, read_day_records(days.store, "totals", DAY)


def said(store, records, now, *known):
    found = waiting_runs(store, records, now, known.__contains__)
    return [f"{one.what} waits {one.why}" for one in found]


def test_a_run_waits_for_its_trigger_until_its_latest_time(tmp_path):
    store, records = opened(tmp_path)
    (found,) = waiting_runs(store, records, at(9), {"totals"}.__contains__)
    assert (found.what, found.why, found.until) == (
        "run 1", "for 1,000 new rows of orders", at(12),
    )  # fmt: skip
    assert said(store, records, at(13)) == [], "the next run has no trigger"


def test_a_day_that_is_tried_waits_for_no_trigger(tmp_path):
    assert said(*opened(tmp_path, mode="replay"), at(9)) == []


def test_a_run_waits_for_cores_of_those_who_may_be_named(tmp_path):
    store, records = opened(tmp_path)
    now = datetime.fromtimestamp(time.time(), UTC)
    declare(store, TWO)
    leases = Leases(store, TWO)
    for name in ("secret", "stock"):
        leases.take(wants(name, day=DAY))
    leases.take(wants("totals", day=DAY))
    leases.take(wants("totals-before", report="totals", day="2026-03-01"))
    why = "run 1 waits for 1 core of night: 0 of the cores are free, it needs 1; held by "
    both = f"{why}secret {DAY} run 1, stock {DAY} run 1"
    assert said(store, records, now, "secret", "stock") == [both]
    assert said(store, records, now, "stock") == [f"{why}another report, stock {DAY} run 1"]
    leases.release(wants("secret"))
    leases.take(wants("hidden", 1.0, report="hidden", day=DAY, cores=2))
    (line,) = said(store, records, now, "stock")
    assert f"another report {DAY} run 1 goes first" in line


def test_so_does_the_application_of_its_group_and_a_damaged_cluster_is_passed_over(
    tmp_path, caplog
):
    store, records = opened(tmp_path, group="all")
    now = datetime.fromtimestamp(time.time(), UTC)
    store.put(ClusterKeys("broken").declared, b"{")
    declare(store, TWO)
    leases = Leases(store, TWO)
    leases.take(wants("full", cores=2))
    leases.take(wants("a", report="all", day=DAY))
    (line,) = said(store, records, now)
    assert line.startswith("the application of group all waits for 1 core of night: 0 of")
    assert "who waits for cores of broken is not shown" in caplog.text
    leases.take(wants("b", report="totals", day=DAY, final=True))
    assert any(line.startswith("the final run waits") for line in said(store, records, now))
    assert said(store, replace(records, chain=(FinalRun,)), now) == []


class FinalRun:
    """Stands for the commit of the final run."""

    run = 2
