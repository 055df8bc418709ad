"""Bad days of a report group, task by task: the runs are done by the real job on the small engine,
and what the group changes into while a day is under way is what its DAG file would say then."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowSkipException, TaskDeferred

from forerun.airflow import ReportGroup, group_dag
from forerun.airflow.tasks.application import SubmitApplication
from forerun.include.days.results import read_pointer
from forerun.include.reports.spec import MarkerFile, ReportSpec, RunPolicy, RunTime
from forerun.include.reports.values.clock import parse_day
from forerun.include.state.commits import read_commit
from forerun.include.state.layout import Generation
from forerun.include.stores.opening import open_store
from forerun.spark_jobs import application, run
from forerun.spark_jobs.executor import execute
from tests.airflow.reports import sales_report, sales_source

DAY = "2026-03-01"
ARRIVALS = ([("a", 1)], [("a", 2), ("b", 3)], [("b", 4)])
REVENUE = {"a": 3, "b": 7}
MOST = "SELECT item, max(amount) AS revenue, count(*) AS n FROM sales GROUP BY item"
LAST = ("24:00", 1.0)


class Night:
    """The tasks of a group's DAG, executed one by one with the answers of those before."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.said: dict[str, Any] = {}
        self.pushed: dict[tuple[str, str], Any] = {}
        self.arrived = 0
        self.before_submit: Callable[[], None] = lambda: None
        self.submitted: list[list[str]] = []
        self.params: dict[str, Any] = {"mode": "progressive"}
        monkeypatch.setattr(SubmitApplication, "make_ready", lambda *_, **__: None)
        monkeypatch.setattr(SubmitApplication, "submit", self._submit)

    def report(self, name: str, *times: tuple[str, float], **changes: Any) -> ReportSpec:
        runs = tuple(RunTime(at=at, weight=weight) for at, weight in (*times, LAST))
        source = sales_source(str(self.root / name), complete_when=MarkerFile())
        policy = RunPolicy(runs=runs, results_at=changes.pop("results_at", ()))
        return sales_report(
            store=str(self.root / "store"), name=name, sources=(source,), policy=policy, **changes
        )

    def is_now(self, *reports: ReportSpec) -> None:
        """The DAG file names these reports from here on."""
        self.group = group = ReportGroup(name="night", reports=reports)
        start = datetime(2026, 1, 1, tzinfo=UTC)
        self.dag = group_dag(group, start_date=start, engine="sail", watch=False)

    def arrive(self, *names: str, complete: bool = False) -> None:
        for name in names:
            folder = self.root / name / "sales" / DAY
            folder.mkdir(parents=True, exist_ok=True)
            for number, rows in enumerate(ARRIVALS[: self.arrived + 1]):
                table = pa.table({
                    "item": pa.array([item for item, _ in rows], pa.string()),
                    "amount": pa.array([amount for _, amount in rows], pa.int64()),
                })  # fmt: skip
                if not (file := folder / f"{number}.parquet").exists():
                    pq.write_table(table, file)
            if complete:
                (folder / "_SUCCESS").touch()
        self.arrived += 1

    def do(self, task_id: str) -> str:
        """Execute a task; return what Airflow would say of it."""
        task = self.dag.get_task(task_id)
        self.said.pop(task_id, None)
        ti = SimpleNamespace(
            xcom_pull=self._pull,
            xcom_push=lambda key, value: self.pushed.update({(task_id, key): value}),
            try_number=1, max_tries=1, dag_id="night", id=uuid.uuid4().hex,
        )  # fmt: skip
        run_ = SimpleNamespace(
            dag_id="night", run_id="r", run_type="manual",
            logical_date=datetime(2026, 3, 1, tzinfo=UTC), run_after=None,
        )  # fmt: skip
        params = {"dry_run": False, "report_date": DAY, **self.params}
        events = {asset: SimpleNamespace(extra=None) for asset in task.outlets}
        context = {
            "ti": ti, "dag_run": run_, "params": params, "inlet_events": {},
            "outlet_events": events,
        }  # fmt: skip
        try:
            self.said[task_id] = task.execute(context)
        except AirflowSkipException:
            return "skipped"
        except TaskDeferred:
            return "waits"
        except AirflowException:
            return "failed"
        return "success"

    def _pull(self, task_ids: str, key: str = "return_value") -> Any:
        return (self.said if key == "return_value" else {}).get(
            task_ids, self.pushed.get((task_ids, key))
        )

    def open(self, *names: str) -> None:
        assert {self.do(f"{name}.open_day") for name in names} == {"success"}

    def at(self, point: int) -> list[str]:
        return [self.do(f"at_{point}.{task}") for task in ("wait", "plan", "run")]

    def finish(self, name: str) -> list[str]:
        """The report's own tasks; as in Airflow, one that is skipped skips those of its run."""
        tasks = [t for t in self.dag.task_dict if t.startswith(f"{name}.run_")]
        (last,) = {task.split(".")[1] for task in tasks if task.endswith(".plan")}
        states: list[str] = []
        for task in (f"{name}.{last}.wait", f"{name}.{last}.plan", f"{name}.{last}.run"):
            states.append("skipped" if states[-1:] == ["skipped"] else self.do(task))
            if states[-1] in ("failed", "waits"):
                return states
        return [*states, self.do(f"{name}.check"), self.do(f"{name}.publish")]

    def _submit(self, _context: Any, plans: list[str], *options: str) -> None:
        self.before_submit()
        self.submitted.append(plans)
        named = [part for plan in plans for part in ("--plan", plan)]
        attempt = ["--attempt", uuid.uuid4().hex[:8], "--engine", "sail"]
        if run.main([*named, *options, *attempt]):
            raise AirflowException("the application failed")

    def commits(self, name: str, generation: str = "1") -> list[int]:
        store, at = open_store(str(self.root / "store")), Generation(name, DAY, generation)
        return [number for number in range(1, 6) if read_commit(store, at, number) is not None]

    def published(self, name: str, day: str = DAY) -> dict[str, int] | None:
        store = open_store(str(self.root / "store"))
        pointer = read_pointer(store, name, parse_day(day))
        if pointer is None or pointer.early:
            return None
        folder = Path(pointer.folder.removeprefix("file://"))
        rows = [r for f in pointer.files for r in pq.read_table(folder / f.name).to_pylist()]
        return {row["item"]: row["revenue"] for row in rows}


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    return Night(tmp_path, monkeypatch)


TEN, FOUR = ("10:00", 0.2), ("16:00", 0.3)
DONE = ["success", "success", "skipped", "success", "success"]
"""What a report's own tasks say where the group has done its final run."""
ALONE = ["success"] * 5
"""And where they have done it themselves."""


def test_a_member_that_leaves_takes_its_time_point_away_and_no_result(night):
    """What the others have committed at 16:00 was not their final run, whatever its number is."""
    stays = night.report("stays", TEN)
    night.is_now(stays, night.report("leaves", FOUR))
    night.open("stays", "leaves")
    for point in (1, 2):
        night.arrive("stays", "leaves")
        assert night.at(point) == ["success"] * 3
    assert night.commits("stays") == [1, 2]
    night.is_now(stays)
    night.arrive("stays", complete=True)
    assert night.at(2)[0] == "success", "midnight is the second time point now"
    assert night.finish("stays") == DONE
    assert night.published("stays") == REVENUE
    assert night.commits("stays") == [1, 2, 3]
    assert night.published("leaves") is None


def test_where_the_time_point_is_over_a_report_does_its_final_run_itself(night):
    """Airflow has done the second time point of the day, and does not do it again."""
    stays = night.report("stays", TEN, results_at=(1,))
    night.is_now(stays, night.report("leaves", FOUR))
    night.open("stays", "leaves")
    for point in (1, 2):
        night.arrive("stays", "leaves")
        night.at(point)
    night.is_now(stays)
    night.arrive("stays", complete=True)
    assert night.finish("stays") == ALONE
    assert night.published("stays") == REVENUE


def test_a_member_that_joins_in_the_middle_of_the_day(night):
    """Its day is opened now, and its time point is new to the others, who leave it out."""
    first = night.report("first", TEN)
    night.is_now(first)
    night.open("first")
    night.arrive("first")
    assert night.at(1) == ["success"] * 3
    night.is_now(first, night.report("joins", FOUR))
    night.open("joins")
    night.arrive("first", "joins")
    assert night.at(2) == ["success"] * 3
    assert (night.commits("first"), night.commits("joins")) == ([1], [2])
    night.arrive("first", "joins", complete=True)
    assert night.at(3) == ["success"] * 3
    for name in ("first", "joins"):
        assert night.finish(name) == DONE
        assert night.published(name) == REVENUE
    assert night.commits("first") == [1, 2], "the day has the two runs that it was opened with"


def test_a_member_whose_sql_is_edited_in_the_middle_of_the_day(night):
    kept, edited = (night.report(name, TEN, FOUR) for name in ("kept", "edited"))
    night.is_now(kept, edited)
    night.open("kept", "edited")
    night.arrive("kept", "edited")
    assert night.at(1) == ["success"] * 3
    night.is_now(kept, replace(edited, sql=MOST))
    night.arrive("kept", "edited")
    assert night.at(2) == ["success"] * 3
    night.arrive("kept", "edited", complete=True)
    assert night.at(3) == ["success"] * 3
    assert [night.finish(name) for name in ("kept", "edited")] == [DONE, DONE]
    assert night.published("kept") == REVENUE
    assert night.published("edited") == {"a": 2, "b": 4}


@pytest.mark.parametrize("point", [2, 3])
def test_a_run_that_fails_in_the_application_is_the_trouble_of_one(night, monkeypatch, point):
    night.is_now(*(night.report(name, TEN, FOUR) for name in ("fine", "fails")))
    night.open("fine", "fails")

    def failing(engine: Any, stored: Any, *others: Any) -> Any:
        if stored.at.report == "fails":
            raise ZeroDivisionError("a bug")
        return execute(engine, stored, *others)

    for number in (1, 2, 3):
        night.arrive("fine", "fails", complete=number == 3)
        with monkeypatch.context() as patched:
            if number == point:
                patched.setattr(application, "execute", failing)
            assert night.at(number)[2] == ("failed" if number == point else "success")
    assert night.finish("fine") == DONE
    assert night.finish("fails") == (ALONE if point == 3 else DONE)
    assert night.published("fine") == night.published("fails") == REVENUE
    assert night.commits("fails") == [
        number for number in (1, 2, 3) if number != point or point == 3
    ]


def test_a_source_that_is_late_beyond_its_deadline_holds_up_no_other(night):
    night.is_now(*(night.report(name, TEN) for name in ("here", "late")))
    night.open("here", "late")
    night.arrive("here", "late")
    night.at(1)
    night.arrive("here", complete=True)
    assert night.at(2) == ["success"] * 3, "patience, safe starts and deadlines are long over"
    assert night.finish("here") == DONE
    assert night.finish("late") == ["waits"]
    night.arrive("here", "late", complete=True)
    assert night.finish("late") == ALONE
    assert night.published("late") == REVENUE


def test_a_member_that_is_cleared_while_another_runs(night):
    """The run that is under way belongs to a generation that nobody waits for any more."""
    names = ("runs", "cleared")
    night.is_now(*(night.report(name, TEN) for name in names))
    night.open(*names)
    night.arrive(*names)
    night.before_submit = lambda: night.open("cleared")
    assert night.at(1)[2] == "success"
    night.before_submit = lambda: None
    night.arrive(*names)
    night.arrive(*names, complete=True)
    assert night.at(2) == ["success"] * 3
    assert [night.finish(name) for name in names] == [DONE, DONE]
    assert night.published("runs") == night.published("cleared") == REVENUE
    assert night.commits("runs") == [1, 2]
    assert (night.commits("cleared"), night.commits("cleared", "2")) == ([1], [2])
