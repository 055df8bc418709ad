"""The bad nights in one real Airflow: how long after each failure *Tonight* names its cause.

``FORERUN_TEST_TIMES`` names a file that gets the times as a table.
"""

from __future__ import annotations

import contextlib
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.machine.wall_clock import utc_now
from forerun.include.state.pointers import read_published
from forerun.include.stores.opening import open_store
from tests.e2e.standalone import PATIENCE, ROOT, StandaloneAirflow

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.slow]
DAG_FILE = ROOT / "tests" / "airflow" / "dag_files" / "bad_nights.py"
WITHIN_S = 60.0
UNOPENED = "could not be opened: open_day has failed: [store]"
INCOMPLETE = "published with 1 source not complete"
MISSED = "The deadline has passed; waits for sales: no _SUCCESS"
FAILED = {
    "truncated": ("run_1.plan", "[source-file]"),
    "drifted": ("run_1.plan", "[schema-drift]"),
    "not_there": ("run_1.wait", "run_1.wait has failed: not complete at the latest safe start"),
    "killed": ("run_1.run", "[killed] the application was ended by signal 9 (SIGKILL)"),
    "blocked": (
        "check",
        "1 critical expectation did not hold, nothing is published: run 1, result",
    ),
}
"""Reports that fail, each with the task that does and what Tonight says then."""


@dataclass
class Nights:
    """An Airflow with a report for each bad night, and what was seen."""

    server: StandaloneAirflow
    day: str
    due: datetime
    runs: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    wanted: list[str] = field(
        default_factory=lambda: [
            INCOMPLETE,
            MISSED,
            UNOPENED,
            *(text for _, text in FAILED.values()),
        ]
    )
    seen: dict[str, tuple[datetime, str]] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)

    def deliver(self, name: str, amount: int = 3, *, whole: bool = True, number: int = 0) -> Path:
        folder = self.server.home / name / "sales" / self.day
        folder.mkdir(parents=True, exist_ok=True)
        table = pa.table({"item": ["a", "b"], "amount": pa.array([amount, 1], pa.int64())})
        file = folder / f"part-{number}.parquet"
        pq.write_table(table, file)
        if whole:
            (folder / "_SUCCESS").touch()
        return file

    def begin(self, *names: str, mode: str = "auto") -> None:
        for name in names:
            run = self.server.trigger(name, report_date=self.day, mode=mode)
            self.runs[name] = run

    def task(self, name: str, task: str) -> dict[str, Any]:
        return self.server.ask(f"{self.runs[name]}/taskInstances/{task}")

    def tonight(self) -> str:
        text = re.sub(r"<[^>]+>", "", self.server.page("/forerun/").replace("<wbr>", ""))
        return html.unescape(text)

    def watch(self) -> None:
        """Look at Tonight all the time, as somebody who reloads it, until told to stop."""
        while not self.stop.wait(0.5):
            try:
                shown, now = self.tonight(), utc_now()
            except OSError:
                continue  # it does not answer in time: the next look may
            for text in [one for one in self.wanted if one not in self.seen and one in shown]:
                line = next(line for line in shown.splitlines() if text in line)
                self.seen[text] = (now, line.strip())

    def until(self, what: str, since: Callable[[], datetime | None], text: str) -> None:
        """Wait until a text is on Tonight; note how long after an instant it was there first."""
        self.wanted.append(text)
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{what}: {text!r} is not on\n{self.tonight()}"
            time.sleep(0.2)
        (seen, self.said[what]), at = self.seen[text], since()
        # A run's commit says already what its task, and the one that checks, will fail by.
        self.seconds[what] = max(0.0, (seen - at).total_seconds()) if at else 0.0

    def ended(self, name: str, task: str) -> datetime | None:
        """When a task has ended."""
        found = self.task(name, task)["end_date"]
        return datetime.fromisoformat(found) if found else None


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    due = utc_now() + timedelta(minutes=9)
    midnight = utc_now().replace(hour=0, minute=0)
    hours, minutes = divmod(int((due - midnight).total_seconds()) // 60, 60)
    settings = {
        "FORERUN_TEST_DUE": f"{hours:02d}:{minutes:02d}",
        # A machine with other work answers late; a task that cannot start is no night of these.
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
    }
    server = StandaloneAirflow(tmp_path_factory.mktemp("bad"), DAG_FILE, settings)
    try:
        due = due.replace(second=0, microsecond=0)
        found = Nights(server, utc_now().date().isoformat(), due)
        watching = threading.Thread(target=found.watch, daemon=True)
        watching.start()
        yield found
        found.stop.set()
        watching.join(60)
        write_times(found)
    finally:
        server.end()


def write_times(nights: Nights) -> None:
    """Leave the table of what was measured."""
    if at := os.environ.get("FORERUN_TEST_TIMES"):
        rows = [f"| {name} | {s:.0f} s | {nights.said.get(name, '')[:120]} |"
                for name, s in nights.seconds.items()]  # fmt: skip
        Path(at).write_text("\n".join(rows) + "\n")


def in_time(nights: Nights, *names: str) -> None:
    late = {name: nights.seconds[name] for name in names if nights.seconds[name] > WITHIN_S}
    assert late == {}


def test_tasks_that_fail_are_named_with_their_cause_within_a_minute(nights):
    home = nights.server.home
    whole = nights.deliver("truncated")
    whole.write_bytes(whole.read_bytes()[:-20])
    drifted = nights.deliver("drifted")
    pq.write_table(pa.table({"item": ["a"], "amount": ["three"]}), drifted)
    nights.deliver("blocked", -5)
    nights.deliver("killed")
    for name in ("lost", "not_there", "without", "late"):
        nights.deliver(name, whole=False)
    (home / "no-folder").write_text("a file where the store should be")
    nights.begin("late")
    nights.server.wait_for(f"{nights.runs['late']}/taskInstances/open_day", "success")
    nights.begin("truncated", "drifted", "not_there", "without", "blocked", "unopened", "killed")
    kill_application(nights)
    for name, (task, text) in FAILED.items():
        nights.until(name, lambda name=name, task=task: nights.ended(name, task), text)
    in_time(nights, *FAILED)


def kill_application(nights: Nights) -> None:
    """Kill the application of the report ``killed`` as soon as it is there."""
    deadline = time.monotonic() + 3 * PATIENCE
    while True:
        for process in psutil.process_iter(["name", "cmdline"]):
            line = " ".join(process.info["cmdline"] or ())
            if "org.apache.spark.deploy.SparkSubmit" in line and "forerun-killed-" in line:
                if "launcher.Main" in line:  # it only finds out what to start
                    continue
                process.send_signal(signal.SIGKILL)
                return
        assert time.monotonic() < deadline, nights.task("killed", "run_1.run")
        time.sleep(0.1)


def test_a_day_that_could_not_be_opened_is_told_at_once(nights):
    nights.server.wait_for(nights.runs["unopened"], "failed")
    told = nights.server.home / "alerts" / "unopened-warning.txt"
    failed = nights.ended("unopened", "open_day")
    sent = datetime.fromtimestamp(told.stat().st_mtime, UTC)
    nights.seconds["unopened (alert)"] = max(0.0, (sent - failed).total_seconds())
    assert "could not be opened: open_day has failed: [store" in told.read_text()
    in_time(nights, "unopened (alert)")


def test_a_day_that_could_not_be_opened_has_a_line_that_airflow_keeps(nights):
    failed = lambda: nights.ended("unopened", "open_day")  # noqa: E731
    nights.until("unopened", failed, UNOPENED)
    shown = nights.server.page(f"/forerun/days/unopened/{nights.day}")
    assert UNOPENED in html.unescape(shown)
    status = terminal(nights, "-m", "forerun", "status", "--store", nights.server.store)
    assert f"unopened of {nights.day}: {UNOPENED}" in status.stdout, status
    in_time(nights, "unopened")


@pytest.fixture
def full_disk(nights) -> Iterator[Path]:
    """A file system of its own without a free byte, where the store of a report should be."""
    disk = nights.server.home / "full-disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        with contextlib.suppress(OSError), (disk / "rest").open("wb", buffering=0) as rest:
            while True:
                rest.write(bytes(4096))
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_named_until_there_is_room(nights, full_disk):
    nights.begin("full")
    nights.server.wait_for(nights.runs["full"], "failed")
    failed = lambda: nights.ended("full", "open_day")  # noqa: E731
    text = "could not be opened: open_day has failed: [store-full]"
    nights.until("full", failed, text)
    assert "No space left on device" in nights.said["full"]
    (full_disk / "rest").unlink()
    cleared = {"dry_run": False, "dag_run_id": unquote(nights.runs["full"].rpartition("/")[2])}
    cleared |= {"task_ids": ["open_day"], "only_failed": False}
    nights.server.ask("/api/v2/dags/full/clearTaskInstances", cleared)
    nights.server.wait_for(f"{nights.runs['full']}/taskInstances/open_day", "success")
    assert text not in nights.tonight()
    in_time(nights, "full")


def test_a_day_that_goes_out_without_a_source_says_so(nights):
    done = lambda: nights.ended("without", "publish")  # noqa: E731
    nights.until("without", done, INCOMPLETE)
    in_time(nights, "without")


def log_of(nights: Nights, name: str, task: str) -> list[dict[str, Any]]:
    """The log of a task's last try, without the groups that Airflow puts around it."""
    run = nights.runs[name].rpartition("/")[2]
    folder = nights.server.home / "airflow" / "logs" / f"dag_id={name}" / f"run_id={unquote(run)}"
    newest = max((folder / f"task_id={task}").glob("attempt=*.log"))
    lines = [json.loads(line) for line in newest.read_text().splitlines()]
    begin = next(n for n, line in enumerate(lines) if line["event"] == "::endgroup::")
    return [line for line in lines[begin + 1 :] if not line["event"].startswith("::")]


def test_the_log_of_a_good_run_is_short_and_says_each_stage(nights):
    said = [line["event"] for line in log_of(nights, "without", "run_1.run")]
    assert len(said) <= 15, said
    assert any("run 1 of without: 1 stage, sail" in line for line in said)
    assert any("stage 1/1 result -> result: " in line for line in said)
    assert any("run 1 is committed by attempt" in line for line in said)


@pytest.mark.parametrize(("name", "task", "code"), [
    ("killed", "run_1.run", "[killed]"), ("truncated", "run_1.plan", "[source-file]"),
])  # fmt: skip
def test_the_log_of_a_failed_task_ends_with_the_error_and_its_hint(nights, name, task, code):
    last = log_of(nights, name, task)[-1]
    said = last["error_detail"][0]["exc_value"]
    assert said.startswith(code)
    assert "hint: " in said
    if name == "killed":
        told = [
            line["event"] for line in log_of(nights, name, task) if "run_ended" in line["event"]
        ]
        assert json.loads(told[0])["why"].startswith(code)


def test_a_blocked_day_goes_out_with_a_reason_that_readers_find(nights):
    act = f"/forerun/days/blocked/{nights.day}/act"
    page = nights.server.page(act)
    assert "Publish all the same" in page
    assert "Run batch now" not in page
    (token,) = set(re.findall(r'name="token" value="([^"]+)"', page))
    form = {"kind": "publish-anyway", "token": token, "reason": "the refund is real"}
    answered = nights.server.page(act, **form)
    assert "the refund is real" in answered, "it leads to the day, which says what was told"
    assert "DAG run" in answered
    nights.server.wait_for(nights.runs["blocked"], "success")
    store = open_store(nights.server.store)
    overruled = read_published(store, "blocked", nights.day).pointer.overruled
    assert (overruled.by, overruled.reason) == ("admin", "the refund is real")
    assets = nights.server.ask("/api/v2/assets/events")["asset_events"]
    (event,) = [one for one in assets if one["extra"].get("overruled")]
    assert event["extra"]["overruled"]["reason"] == "the refund is real"


def test_a_table_that_is_lost_costs_the_day_nothing(nights):
    nights.begin("lost", mode="progressive")
    nights.server.wait_for(f"{nights.runs['lost']}/taskInstances/run_1.run", "success")
    kept = nights.server.home / "store" / "reports" / "lost" / nights.day / "1" / "artifacts"
    shutil.rmtree(kept)
    nights.deliver("lost", 4, number=1)
    assert nights.server.wait_for(nights.runs["lost"], "success", "failed") == "success"
    assert nights.task("lost", "run_2.run")["try_number"] == 1


def test_a_dag_that_is_paused_is_named_at_once(nights):
    nights.begin("waiting", "held")
    for name in ("waiting", "held"):
        nights.server.wait_for(f"{nights.runs[name]}/taskInstances/run_1.wait", "deferred")
    nights.server.ask("/api/v2/dags/waiting", {"is_paused": True}, method="PATCH")
    at = utc_now()
    nights.until("paused", lambda: at, "DAG waiting is paused: 1 day of it is not published")
    shown = nights.server.page(f"/forerun/days/waiting/{nights.day}/act")
    assert "airflow dags unpause waiting" in shown
    assert "Let it end" not in shown
    in_time(nights, "paused")


def test_a_deadline_that_passes_is_missed_without_history(nights):
    time.sleep(max(0.0, (nights.due - utc_now()).total_seconds()))
    nights.until("deadline passed", lambda: nights.due, MISSED)
    in_time(nights, "deadline passed")


def test_a_file_that_breaks_in_the_middle_of_the_day_is_named_with_its_error(nights):
    file = nights.server.home / "dags" / DAG_FILE.name
    before = file.read_text()
    file.write_text(before + "\nchanel = sales\n")
    at = utc_now()
    nights.until(
        "broken file",
        lambda: at,
        f"The DAG file {DAG_FILE.name} cannot be imported, so no task of its DAGs begins: "
        "NameError: name 'sales' is not defined",
    )
    assert "halted" in nights.tonight()
    file.write_text(before)
    deadline = time.monotonic() + PATIENCE
    while "cannot be imported" in nights.tonight():
        assert time.monotonic() < deadline
        time.sleep(1)
    in_time(nights, "broken file")


def terminal(nights: Nights, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python as somebody does who is on the machine of Airflow's scheduler."""
    env = {**os.environ, "AIRFLOW_HOME": str(nights.server.home / "airflow")}
    env |= {"PYTHONPATH": str(ROOT), "COLUMNS": "300"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_doctor_calls_whom_a_deadline_names_as_the_triggerer_would(nights):
    looked = "from forerun.doctors.told import examine_told; print(*examine_told())"
    found = terminal(nights, "-c", looked)
    assert "state='ok', found='calls tests.airflow.pager.send'" in found.stdout, found


@pytest.mark.parametrize("part", ["triggerer", "scheduler"])
def test_a_process_that_is_killed_is_named_by_who_misses_it(nights, part):
    nights.server.part(part).tell(signal.SIGKILL)
    at = utc_now()
    nights.until(part, lambda: at, f"Airflow's {part} has given no sign of life since ")
    assert "halted" in nights.tonight()
    shown = nights.server.page(f"/forerun/days/held/{nights.day}")
    assert f"Start it again (airflow {part})" in shown
    status = terminal(nights, "-m", "forerun", "status", "--store", nights.server.store)
    assert status.returncode == 1, status
    assert f"Airflow's {part} has given no sign of life since " in status.stdout
    in_time(nights, part)
