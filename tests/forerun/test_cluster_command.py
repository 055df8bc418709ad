"""``forerun schedule show``, ``stop`` and ``resume``: what people see and say of a cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from forerun.cli.app import run
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.values.hours import Hours
from forerun.include.state.cluster_report import ClusterReport, WantedDay, WantedRun
from forerun.include.state.expire import store_clock
from forerun.include.state.layout import ClusterKeys
from forerun.include.state.records import encode
from forerun.include.state.slots import SlotRequest
from forerun.include.stores.opening import open_store
from forerun.include.times.leases import Leases, declare, read_stop

TWO = Cluster(name="night", ceiling=(Hours(start="00:00", end="24:00", value=2),))


@pytest.fixture
def at(tmp_path):
    """The options that name a store with a run that holds cores, and one that waits."""
    store = open_store(str(tmp_path))
    declare(store, TWO)
    for name, latest in (("orders", 2e9), ("stock", None)):
        wanted = SlotRequest(
            token=name, report=name, owner="team", day="2026-03-01", run=1, final=False,
            cores=2, latest_start=latest, seconds=60.0, lease_s=300.0,
        )  # fmt: skip
        Leases(store, TWO).take(wanted)
    return ["--store", str(tmp_path)]


def test_who_holds_cores_and_who_waits_and_why(at, capsys):
    assert run(["schedule", "show", *at]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "cluster night: 2 of 2 cores are held" in said
    assert "orders 2026-03-01 run 1" in said
    assert "any time" in said
    assert "waits: 0 of the cores are free" in said


def test_a_stop_is_shown_with_its_reason_until_the_cluster_goes_on(at, capsys):
    assert (
        run(["schedule", "stop", "night", *at, "--why", "the [disk] is full", "--by", "ann"]) == 0
    )
    assert "cluster night is stopped" in capsys.readouterr().out
    assert run(["schedule", "show", *at]) == 0
    assert ": the [disk] is full" in " ".join(capsys.readouterr().out.split())
    assert run(["schedule", "show", *at, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["stopped"]["by"] == "ann"
    assert [one["cores"] for one in record["held"]] == [2]
    assert record["waiting"][0]["why"].startswith("ann has stopped the cluster at ")
    assert run(["schedule", "resume", *at]) == 0
    assert not read_stop(open_store(at[1]), "night").stopped


def test_the_reports_that_name_it_are_shown_with_their_next_runs(at, tmp_path, capsys):
    store = open_store(str(tmp_path))
    now = store_clock(store)
    runs = tuple(WantedRun(run=i, at=now + d, seconds=9.0) for i, d in ((1, -60), (2, 3600)))
    today = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}"
    day = WantedDay(day=today, generation="1", latest_start=now, runs=runs)
    one = ClusterReport(report="stock", owner="team", application="stock", cores=2, days=(day,))
    store.put(ClusterKeys("night").report("stock"), encode(one))
    store.put(ClusterKeys("night").report("orders"), b"{")
    assert run(["schedule", "show", *at, "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["reports"]
    assert (shown["report"], shown["cores"], shown["newest_day"]) == ("stock", 2, today)
    assert shown["next_run"] > f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d %H:%M:%S}Z"
    assert run(["schedule", "show", *at]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "reports that name it" in said
    assert today in said


def test_what_early_runs_have_used_of_a_budget_is_shown(at, tmp_path, capsys):
    store = open_store(str(tmp_path))
    declare(store, replace(TWO, budgets={"team": 3.0}))
    assert run(["schedule", "show", *at]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "early runs of team today: 0.00 of 3 core hours times price" in said
    assert run(["schedule", "show", *at, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["budgets"] == [{"owner": "team", "used": 0.0, "budget": 3.0}]


def test_a_cluster_that_is_not_there(at, tmp_path, capsys):
    assert run(["schedule", "show", "day", *at]) != 0
    assert "no DAG of this store has named a cluster day" in capsys.readouterr().err
    assert run(["schedule", "show", "--store", str(tmp_path / "empty")]) != 0
    assert "the store has 0 clusters" in capsys.readouterr().err
    declare(open_store(at[1]), Cluster(name="noon", ceiling=TWO.ceiling))
    assert run(["schedule", "stop", *at, "--why", "?"]) != 0
    assert "the store has 2 clusters: night, noon" in capsys.readouterr().err
