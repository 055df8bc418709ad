"""Whole days through Airflow: real tasks, a real spark-submit; on Sail where Spark adds nothing."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.airflow.conftest import ROOT

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

DAY = "2026-03-01"
MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
SECRET = "s3cr3t-k3y-never-shown"
EXPECTED = {"apple": (15, 2), "pear": (0, 2), "plum": (7, 2), None: (5, 2)}


class Days:
    """Runs DAGs of ``dag_files/days.py`` the way ``airflow dags test`` does."""

    def __init__(self, root: Path, bag: object) -> None:
        self.root = root
        self.bag = bag

    def test(self, dag_id, **options):
        """A DAG run by hand; returns the state of every task."""
        options = {"logical_date": MIDNIGHT, **options}
        return self.states(self.bag.get_dag(dag_id).test(**options))

    @staticmethod
    def states(run):
        states = {ti.task_id: str(ti.state) for ti in run.get_task_instances()}
        return {"dag": str(run.state), **states}

    def folder(self, dag_id, day=DAY, generation=None):
        folder = self.root / "store" / "reports" / dag_id / day
        return folder / (generation or sorted(p.name for p in folder.iterdir())[-1])

    def commits(self, dag_id, **where):
        files = sorted((self.folder(dag_id, **where) / "commits").glob("*.json"))
        return {int(p.stem.partition("-")[2]): json.loads(p.read_text()) for p in files}

    def pointer(self, dag_id, day=DAY):
        path = self.root / "store" / "results" / dag_id / day / "pointer.json"
        return json.loads(path.read_text()) if path.exists() else None

    def seen(self, dag_id, run, day=DAY):
        """What readers found published just before what run ``run`` reads arrived."""
        return json.loads((self.root / dag_id / "seen" / f"{day}-{run}.json").read_text())

    @staticmethod
    def published(pointer):
        """The rows that a pointer names."""
        folder = Path(pointer["folder"].removeprefix("file://"))
        return [
            row
            for file in pointer["files"]
            for row in pq.read_table(folder / file["name"]).to_pylist()
        ]

    def result(self, dag_id, day=DAY, pointer=None):
        pointer = pointer or self.pointer(dag_id, day)
        rows = self.published(pointer)
        assert len(rows) == len({row["item"] for row in rows}) == pointer["rows"]
        return {row["item"]: (row["revenue"], row["n"]) for row in rows}


@pytest.fixture(scope="module")
def days(airflow_home, tmp_path_factory):
    from airflow.dag_processing.dagbag import DagBag

    root = tmp_path_factory.mktemp("days")
    os.environ["FORERUN_TEST_ROOT"] = str(root)
    os.environ["AWS_SECRET_ACCESS_KEY"] = SECRET
    file = airflow_home / "dags" / "days.py"
    shutil.copy(ROOT / "tests" / "airflow" / "dag_files" / "days.py", file)
    bag = DagBag(str(file))
    assert not bag.import_errors
    yield Days(root, bag)
    file.unlink()
    del os.environ["FORERUN_TEST_ROOT"], os.environ["AWS_SECRET_ACCESS_KEY"]


def test_a_progressive_day_on_spark(days, capfd, caplog):
    states = days.test("on_spark", run_conf={"mode": "progressive"})
    assert set(states.values()) == {"success"}, states
    assert days.result("on_spark") == EXPECTED
    assert {run: commit["base"] for run, commit in days.commits("on_spark").items()} == {1: 0, 2: 1}
    logged = "".join(capfd.readouterr())
    assert "spark-submit" in logged
    assert SECRET not in logged
    for said in ('"event": "planned"', '"outcome": "committed"', '"event": "published"'):
        assert said in caplog.text
    assert not any(SECRET in path.read_text(errors="replace") for path in days.root.rglob("*.json"))


def test_batch_is_one_run_also_if_every_task_fails_once(days, capfd):
    """Nobody has set retries, and no task fails twice: that does not cost the day."""
    states = days.test("batch", run_conf={"mode": "batch"})
    assert states["dag"] == "success"
    assert {states[f"run_{i}.{t}"] for i in (1, 2) for t in ("wait", "plan", "run")} == {"skipped"}
    assert list(days.commits("batch")) == [3]
    assert days.result("batch") == EXPECTED
    logged = "".join(capfd.readouterr())
    for task in ("open_day", "run_3.wait", "run_3.plan", "run_3.run", "check", "publish"):
        assert f"{task} has stumbled" in logged


@pytest.mark.slow
def test_a_day_that_is_told_so_goes_over_to_batch_in_its_middle(days):
    """Run 1 keeps something, run 2 is skipped, and the result is what batch makes of all files."""
    states = days.test("told", run_conf={"mode": "progressive"})
    assert (states["run_1.run"], states["run_2.wait"], states["dag"]) == (
        "success",
        "skipped",
        "success",
    )
    commits = days.commits("told")
    assert list(commits) == [1, 3]
    assert json.loads((days.root / "store" / commits[3]["plan"]).read_text())["method"] == "batch"
    assert days.result("told") == EXPECTED


def test_a_task_group_in_a_dag_of_one_s_own_runs_and_takes_the_form(days):
    states = days.test("grouped", run_conf={"mode": "batch"})
    assert (states["tasks.run_1.wait"], states["tasks.publish"]) == ("skipped", "success")
    assert states["dag"] == "success"
    assert list(days.commits("grouped")) == [3]
    assert days.result("grouped") == EXPECTED


def test_a_past_day_in_auto_mode_goes_straight_to_one_run(days):
    states = days.test("progressive")
    assert states["run_1.run"] == "skipped"
    assert states["dag"] == "success"
    assert days.result("progressive") == EXPECTED


def test_an_early_run_that_fails_does_not_block_the_day(days):
    states = days.test("broken_early", run_conf={"mode": "progressive"})
    assert states["run_2.run"] == "failed"
    assert states["run_3.run"] == "success"
    assert states["dag"] == "success"
    commits = days.commits("broken_early")
    assert 2 not in commits
    assert commits[3]["base"] == max((i for i in commits if i < 3), default=0)
    assert days.result("broken_early") == EXPECTED


FIRST = {"apple": (10, 1), "pear": (3, 1), None: (1, 1)}
SECOND = {**FIRST, "apple": (15, 2), "plum": (7, 1)}


def test_early_results_are_there_during_the_day(days):
    states = days.test("early", run_conf={"mode": "progressive"})
    assert set(states.values()) == {"success"}, states
    assert days.seen("early", 1) is None
    for run, expected in ((1, FIRST), (2, SECOND)):
        pointer = days.seen("early", run + 1)
        assert (pointer["early"], pointer["run"]) == (True, run)
        assert pointer["arrived"] == [["sales", sum(n for _, n in expected.values())]]
        assert days.result("early", pointer=pointer) == expected
    assert days.pointer("early")["early"] is False
    assert days.result("early") == EXPECTED
    events = _events("forerun://report/early/early")
    assert [(e["run"], e["arrived"]) for e in events] == [(1, {"sales": 3}), (2, {"sales": 5})]
    (final,) = _events("forerun://report/early")
    assert final["version"] == days.pointer("early")["version"]


def test_an_early_result_that_fails_blocks_nothing(days):
    states = days.test("early_broken", run_conf={"mode": "progressive"})
    assert (states["run_2.run"], states["run_2.check"], states["run_2.publish"]) == (
        "failed",
        "upstream_failed",
        "upstream_failed",
    )
    assert (states["publish"], states["dag"]) == ("success", "success")
    assert days.seen("early_broken", 3)["run"] == 1
    assert days.result("early_broken") == EXPECTED


@pytest.mark.slow
def test_a_late_day_has_no_early_results(days):
    states = days.test("early_late")
    assert states["dag"] == "success"
    assert {states[f"run_{run}.{task}"] for run in (1, 2) for task in ("check", "publish")} == {
        "skipped"
    }
    assert days.result("early_late") == EXPECTED


@pytest.mark.slow
def test_days_in_shadow_are_compared_and_fail_nothing(days, capfd, caplog):
    """Equal, different, not there: the DAG run is well, and who differs is a ticket."""
    ticket = days.root / "alerts" / "in_shadow-ticket.txt"
    rows = [{"item": item, "revenue": r, "n": n} for item, (r, n) in EXPECTED.items()]
    said = {}
    for number, theirs in enumerate((rows, rows[1:], None), 1):
        day = f"2026-03-0{number}"
        if theirs is not None:
            folder = days.root / "old" / "revenue" / f"ds={day}"
            folder.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(theirs), folder / "part-0.parquet")
        states = days.test("in_shadow", logical_date=datetime(2026, 3, number, tzinfo=UTC))
        assert states["dag"] == states["compare"] == "success"
        record = json.loads((days.root / "store/shadow/in_shadow" / f"{day}.json").read_text())
        said[day] = (record["verdict"], ticket.read_text() if ticket.exists() else "")
        ticket.unlink(missing_ok=True)
    (equal, switch), (different, differs), (missing, nothing) = said.values()
    assert (equal, different, missing) == ("equal", "different", "not-compared")
    assert "1 are enough: with shadow=None readers get it" in switch
    assert "the rows of 2026-03-02 are not those of the other job" in differs
    assert nothing == ""
    logged = "".join(capfd.readouterr())
    assert "0 rows are missing, 1 rows should not be there" in logged
    assert '"event": "compared"' in caplog.text


def test_a_run_by_hand_has_no_logical_date(days):
    states = days.test(
        "by_hand", logical_date=None, run_after=MIDNIGHT, run_conf={"report_date": "2026-02-14"}
    )
    assert states["dag"] == "success"
    assert days.result("by_hand", day="2026-02-14") == EXPECTED


def test_several_days_share_an_application(days):
    """In mode ``backfill``; what arrives before runs is there already."""
    wanted = ["2026-02-16", "2026-02-17"]
    rows = {"item": ["apple", "pear", "plum"], "amount": pa.array([1, 2, 3], pa.int64())}
    for day in wanted:
        folder = days.root / "by_hand" / "sales" / day
        folder.mkdir(parents=True)
        for run in (1, 2, 3):
            pq.write_table(pa.table(rows).slice(run - 1, 1), folder / f"run-{run}.parquet")
        (folder / "_SUCCESS").touch()
    conf = {"mode": "backfill", "days": wanted}
    states = days.test("by_hand", logical_date=None, run_after=MIDNIGHT, run_conf=conf)
    assert states["dag"] == states["run_3.run"] == "success", states
    assert states["run_1.run"] == "skipped"
    for day in wanted:
        assert days.result("by_hand", day=day) == {"apple": (1, 1), "pear": (2, 1), "plum": (3, 1)}
        commit = days.commits("by_hand", day=day)[3]
        assert commit["metrics"]["runs_in_application"] == 2


def test_a_dry_run_says_its_plan_and_leaves_nothing_in_the_store(days, capfd):
    states = days.test("dry", run_conf={"dry_run": True})
    assert states["run_1.plan"] == "success"
    assert states["run_1.run"] == states["publish"] == "skipped"
    assert "report dry: " in "".join(capfd.readouterr())
    assert [path for path in (days.root / "store").rglob("*") if "dry" in path.as_posix()] == []


@pytest.mark.slow
def test_the_same_date_again_is_a_new_generation(days):
    for expected in (1, 2):
        assert days.test("cleared")["dag"] == "success"
        pointer = days.pointer("cleared")
        assert pointer["generation"] == expected
        assert days.result("cleared") == EXPECTED


def test_a_cleared_day_is_a_new_generation(days):
    """Cleared as the scheduler does it: same DAG run, same run id."""
    assert days.test("cleared", logical_date=datetime(2026, 3, 2, tzinfo=UTC))["dag"] == "success"
    before = days.pointer("cleared", day="2026-03-02")
    states = rerun(days, "cleared", datetime(2026, 3, 2, tzinfo=UTC))
    assert states["dag"] == "success"
    after = days.pointer("cleared", day="2026-03-02")
    assert (before["generation"], after["generation"]) == (1, 2)
    assert days.result("cleared", day="2026-03-02") == EXPECTED


def test_a_backfilled_day_is_one_run(days):
    states = _backfill(days, "backfilled", MIDNIGHT)
    assert states["dag"] == "success"
    assert states["run_1.wait"] == states["run_2.wait"] == "skipped"
    assert list(days.commits("backfilled")) == [3]
    assert days.result("backfilled") == EXPECTED


def test_a_critical_expectation_stops_publishing(days, capfd):
    states = days.test("critical")
    assert states["run_3.run"] == "success"
    assert (states["check"], states["publish"]) == ("failed", "upstream_failed")
    assert states["dag"] == "failed"
    assert days.pointer("critical") is None
    logged = "".join(capfd.readouterr())
    assert "expect_column_values_to_not_be_null(column='item')" in logged
    assert "1 of 4 rows" in logged
    assert '"item": null' in logged


def test_a_bad_early_delivery_raises_the_alarm_early(days, capfd):
    states = days.test("bad_delivery", run_conf={"mode": "progressive"})
    assert states["run_1.run"] == "failed"
    assert (states["run_3.run"], states["check"]) == ("success", "failed")
    assert days.commits("bad_delivery")[3]["base"] >= 1
    assert days.pointer("bad_delivery") is None
    assert "critical expectations do not hold; unless that is put right" in "".join(
        capfd.readouterr()
    )


@pytest.mark.slow
def test_a_warning_is_logged_and_published(days, capfd):
    assert days.test("warned")["dag"] == "success"
    assert days.result("warned") == EXPECTED
    assert "does not hold (warning): run 3, result" in "".join(capfd.readouterr())


def _events(uri):
    """What the events of an asset say, oldest first."""
    from airflow.models.asset import AssetEvent, AssetModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        query = (
            select(AssetEvent)
            .join(AssetModel, AssetModel.id == AssetEvent.asset_id)
            .where(AssetModel.uri == uri)
            .order_by(AssetEvent.id)
        )
        return [event.extra for event in session.scalars(query)]


def rerun(days, dag_id, logical_date, tasks=None):
    """Clear these tasks of a DAG run, by default all, and let it go on."""
    from airflow.models.dag import DagModel  # noqa: F401 - the mappers must be complete
    from airflow.models.dagrun import DagRun
    from airflow.models.taskinstance import clear_task_instances
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        run = session.scalar(
            select(DagRun).where(DagRun.dag_id == dag_id, DagRun.logical_date == logical_date)
        )
        found, before = run.get_task_instances(session=session), run.clear_number
        clear_task_instances([ti for ti in found if tasks is None or ti.task_id in tasks], session)
        session.commit()
        assert run.clear_number == before + 1
        return _drive(days, run, session)


def _backfill(days, dag_id, logical_date):
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
    from airflow.models.dagbag import DBDagBag
    from airflow.utils.session import create_session
    from airflow.utils.types import DagRunTriggeredByType, DagRunType

    with create_session() as session:
        manager = DagBundlesManager()
        manager.sync_bundles_to_db(session=session)
        session.commit()
        for bundle in manager.get_all_dag_bundles():
            bag = BundleDagBag(
                dag_folder=bundle.path, bundle_path=bundle.path, bundle_name=bundle.name
            )
            sync_bag_to_db(bag, bundle.name, bundle.version)
        dag = DBDagBag().get_latest_version_of_dag(dag_id, session=session)
        run = dag.create_dagrun(
            run_id=f"backfill__{logical_date.isoformat()}",
            logical_date=logical_date,
            data_interval=(logical_date, logical_date),
            run_after=logical_date,
            run_type=DagRunType.BACKFILL_JOB,
            triggered_by=DagRunTriggeredByType.BACKFILL,
            state="running",
            session=session,
        )
        session.commit()
        return _drive(days, run, session)


def _drive(days, run, session):
    """The loop of ``DAG.test`` over a DAG run that exists already."""
    from airflow.models.dagbag import DBDagBag
    from airflow.sdk.definitions.dag import _run_task
    from airflow.utils.state import DagRunState, TaskInstanceState

    dag = days.bag.get_dag(run.dag_id)
    run.dag = DBDagBag().get_latest_version_of_dag(run.dag_id, session=session)
    run.state = DagRunState.RUNNING
    session.commit()
    while run.state == DagRunState.RUNNING:
        session.expire_all()
        ready, _ = run.update_state(session=session)
        for ti in ready:
            ti.try_number += 1
            ti.state = TaskInstanceState.SCHEDULED
        session.commit()
        for ti in run.get_task_instances(session=session):
            if ti.state == TaskInstanceState.SCHEDULED:
                _run_task(ti=ti, task=dag.get_task(ti.task_id), run_triggerer=True)
    return days.states(run)
