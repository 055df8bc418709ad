"""Whatever a report takes, a group of reports takes, too: each task by itself, the runs by the real
job on the small engine. :mod:`tests.airflow.test_groups` goes through Airflow's scheduler."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowSkipException

from forerun.airflow.tasks import choosing, plan, publish, starting, submit, triggers, wait
from forerun.airflow.tasks import open as open_
from forerun.airflow.tasks.units import units_of
from forerun.include.days.handle import Day
from forerun.include.days.instructions import Instruction, instruct
from forerun.include.days.run_times import store_times
from forerun.include.reports.run_policy import Choose
from forerun.include.reports.spec import AfterRows, ReportSpec, RunPolicy, RunTime
from forerun.include.state.layout import Generation
from forerun.include.state.records import decode
from forerun.include.state.run_schedule import RunSchedule, ScheduledRun
from forerun.include.stores.opening import open_store
from tests.airflow.test_group_bad_days import DAY, MOST, REVENUE, Night

NEXT = "2026-03-02"


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    return Night(tmp_path, monkeypatch)


@pytest.fixture
def over(night: Night) -> Night:
    """A night of two reports that is published."""
    night.is_now(night.report("one", ("10:00", 0.3)), night.report("two", ("10:00", 0.3), sql=MOST))
    night.open("one", "two")
    night.arrive("one", "two")
    night.at(1)
    night.arrive("one", "two")
    night.arrive("one", "two", complete=True)
    assert night.at(2) == ["success"] * 3
    for name in ("one", "two"):
        assert night.finish(name)[-2:] == ["success"] * 2
    assert night.published("one") == REVENUE
    night.said.clear()
    night.submitted.clear()
    return night


def deliver(night: Night, name: str, day: str, **rows: int) -> None:
    folder = night.root / name / "sales" / day
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({"item": list(rows), "amount": pa.array(rows.values(), pa.int64())})
    pq.write_table(table, folder / "late.parquet")
    (folder / "_SUCCESS").touch()


def test_the_reports_of_a_group_whose_sources_have_changed_are_repaired_together(over):
    for name in ("one", "two"):
        deliver(over, name, DAY, b=40)
    over.params = {"mode": "repair"}
    over.open("one", "two")
    assert over.at(1)[0] == "skipped", "the tasks of the final runs do it"
    assert over.at(2) == ["success"] * 3
    assert [len(plans) for plans in over.submitted] == [2], "one application for both"
    for name in ("one", "two"):
        steps = over.finish(name)
        assert steps[2:] == ["skipped", "success", "skipped"], "nobody has read what differs"
    assert over.published("one") == REVENUE
    wanted = Instruction(kind="publish", by="anna", at="2026-03-03T00:00:00+00:00", form="f")
    assert instruct(open_store(str(over.root / "store")), Generation("one", DAY, "2"), wanted)
    assert over.do("one.publish") == "success"
    assert over.do("two.publish") == "skipped"
    assert over.published("one") == {"a": 3, "b": 47}


def test_a_report_that_has_not_changed_is_left_out_of_the_repair(over):
    deliver(over, "two", DAY, b=40)
    over.params = {"mode": "repair"}
    assert over.do("one.open_day") == "skipped"
    assert over.do("two.open_day") == "success"
    assert over.at(2) == ["success"] * 3
    assert [len(plans) for plans in over.submitted] == [1]
    assert over.do("one.run_2.wait") == "skipped"
    assert over.do("one.publish") == "skipped"


def test_several_days_of_several_reports_share_an_application(over):
    for name in ("one", "two"):
        for day, rows in (("2026-02-27", {"a": 1}), (NEXT, {"a": 2, "b": 3})):
            deliver(over, name, day, **rows)
    over.params = {"mode": "backfill", "days": [NEXT, DAY, "2026-02-27"]}
    over.open("one", "two")
    assert [day for day, _ in over.said["one.open_day"]["days"]] == ["2026-02-27", NEXT]
    assert over.at(1)[0] == "skipped"
    assert over.at(2) == ["success"] * 3
    assert [len(plans) for plans in over.submitted] == [4], "two days of two reports"
    for name in ("one", "two"):
        assert over.finish(name)[2:] == ["skipped", "success", "success"]
        assert over.published(name, NEXT) == {"a": 2, "b": 3}
        assert over.published(name, "2026-02-27") == {"a": 1}


def test_a_dag_run_may_be_about_some_reports_of_a_group(over):
    deliver(over, "one", NEXT, a=5)
    over.params = {"mode": "batch", "report_date": NEXT, "reports": ["one"]}
    assert over.do("two.open_day") == "skipped"
    over.open("one")
    assert over.at(2) == ["success"] * 3
    assert over.finish("one")[-1] == "success"
    assert over.published("one", NEXT) == {"a": 5}
    assert over.do("two.publish") == "skipped"
    with pytest.raises(AirflowSkipException, match="about other reports"):
        over.dag.get_task("two.check").execute({"ti": SimpleNamespace(xcom_pull=over._pull)})


class Clock:
    """Sets the time of all tasks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch

    def __call__(self, hour: float) -> None:
        moment = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=hour)
        for module in (choosing, open_, plan, publish, starting, submit, triggers, wait):
            self._patch.setattr(module, "utc_now", lambda: moment)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def schedule_of(night: Night, name: str) -> RunSchedule:
    """The newest schedule of a report's day."""
    store, at = open_store(str(night.root / "store")), Generation(name, DAY, "1")
    key = max(file.key for file in store.list(at.schedules))
    return decode(RunSchedule, store.get(key), key)


def chosen(night: Night, name: str, *hours: int) -> None:
    """Store a schedule by which the runs of a report are at these hours."""
    (spec,) = (one.spec for one in night.group.members if one.spec.name == name)
    day = Day.of(f"{night.root}/store", spec, date(2026, 3, 1), "1")
    midnight = datetime(2026, 3, 1, tzinfo=UTC)
    runs = tuple(
        ScheduledRun(
            run=run,
            at=(midnight + timedelta(hours=hour)).isoformat(),
            weight=1.0,
            arrived=(("sales", hour / 24),),
        )
        for run, hour in enumerate(hours, 1)
    )
    store_times(
        day,
        RunSchedule(
            number=0, decided_at=midnight.isoformat(), before=1, runs=runs, forced=False,
            missing_s=0.0, complete=False, why="a test",
        ),
    )  # fmt: skip


def with_policy(report: ReportSpec, *runs: RunTime, **changes: Any) -> ReportSpec:
    return replace(report, policy=RunPolicy(runs=runs, **changes))


def test_a_trigger_of_one_report_starts_the_time_point_for_all(night, clock):
    noon, midnight = RunTime(at="12:00", weight=0.3), RunTime(at="24:00")
    fires = replace(noon, when=AfterRows(source="sales", rows=2))
    night.is_now(
        with_policy(night.report("one"), fires, midnight),
        with_policy(night.report("two", sql=MOST), noon, midnight),
    )
    night.params = {"mode": "auto"}
    clock(1)
    night.open("one", "two")
    clock(8)
    night.arrive("one", "two")
    assert night.do("at_1.wait") == "waits", "one of two rows is there, and it is eight"
    night.arrive("one", "two")
    clock(9)
    assert night.at(1)[:2] == ["success"] * 2
    assert night.said["at_1.wait"] == {"one": [], "two": []}
    for name in ("one", "two"):
        known = schedule_of(night, name)
        assert (known.runs[0].at[11:16], known.runs[1].at[:10]) == ("09:00", NEXT)
    assert "its group starts: one" in schedule_of(night, "two").why
    night.arrive("one", "two", complete=True)
    clock(23)
    assert night.do("at_2.wait") == "waits", "final runs keep their times"
    clock(24)
    assert night.at(2) == ["success"] * 3
    assert [len(plans) for plans in night.submitted][-1] == 2
    for name in ("one", "two"):
        assert night.finish(name)[-1] == "success"
    assert night.published("one") == REVENUE


def test_reports_that_choose_their_times_start_with_the_first_of_them(night, clock):
    slots = (RunTime(at="06:00"), RunTime(at="12:00"), RunTime(at="24:00"))
    names = ("one", "two")
    night.is_now(
        *(with_policy(night.report(name), *slots, choose=Choose(at_most=3)) for name in names)
    )
    night.params = {"mode": "auto"}
    clock(1)
    night.open(*names)
    chosen(night, "one", 10, 15, 24)
    chosen(night, "two", 13, 16, 24)
    night.arrive(*names)
    clock(9)
    assert night.do("at_1.wait") == "waits"
    clock(10)
    assert night.at(1)[:2] == ["success"] * 2
    assert night.said["at_1.wait"] == {"one": [], "two": []}
    assert "its group starts: one" in schedule_of(night, "two").why
    clock(14)
    assert night.do("at_2.wait") == "waits"
    clock(15)
    night.arrive(*names)
    night.arrive(*names, complete=True)
    assert night.at(2)[0] == "success"
    clock(24)
    assert night.at(3) == ["success"] * 3
    for name in names:
        assert night.finish(name)[-1] == "success"
        assert night.published(name) == REVENUE


def test_an_early_run_holds_up_no_report_that_has_a_later_one(night, clock):
    """One has chosen a time after that of the second run of the other, which starts then."""
    slots = (RunTime(at="06:00"), RunTime(at="12:00"), RunTime(at="24:00"))
    night.is_now(
        with_policy(night.report("one"), *slots, choose=Choose(at_most=3)),
        with_policy(night.report("two"), *slots, choose=Choose(at_most=3)),
    )
    night.params = {"mode": "auto"}
    clock(1)
    night.open("one", "two")
    chosen(night, "one", 16, 17, 24)
    chosen(night, "two", 15, 15, 24)
    clock(13)
    assert night.do("at_1.wait") == "waits"
    clock(15)
    night.arrive("one", "two")
    assert night.do("at_1.wait") == "skipped"
    assert night.do("at_2.wait") == "success"


def test_what_tasks_of_the_version_before_have_said_is_read(over):
    over.open("one", "two")
    step = over.dag.get_task("at_2.run").step
    units = units_of(step, {"ti": SimpleNamespace(xcom_pull=over._pull)})
    uris = {
        name: f"file:///store/reports/{name}/{DAY}/2/plans/run-2-x.json" for name in ("one", "two")
    }
    of_group = {"plans": list(uris.values()), "submit": True, "tiny": True, "why": "", "until": ""}
    assert submit.plans_of(units, of_group) == {f"{name} {DAY}": uris[name] for name in uris}
    of_report = {"plan": uris["one"], "submit": True, "tiny": True, "why": ""}
    assert submit.plans_of(units[:1], of_report) == {f"one {DAY}": uris["one"]}
    of_days = {"plans": {DAY: uris["one"]}, "query": "file:///q", "submit": True}
    assert submit.plans_of(units[:1], of_days) == {f"one {DAY}": uris["one"]}
    assert submit.queries_of(of_days) == ["file:///q"]
    assert submit.queries_of({**of_days, "query": ""}) == []
