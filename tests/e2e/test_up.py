"""``forerun demo --up``: Airflow on a PostgreSQL of its own has nights to show from the start,
backfills a day of the demo, and ends with the command."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.slow]
UP = re.compile(r"Airflow is up: (\S+), user admin, password (\S+)")
PATIENCE = 600.0


class Server:
    """The command, what it says, and its API."""

    def __init__(self, home: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        self.said: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "forerun", "demo", "--up", "--scale", "0.002"],
            env={**os.environ, "FORERUN_HOME": str(home), "AIRFLOW__API__PORT": port},
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()
        self.url, password = self._wait_until_up()
        login = {"username": "admin", "password": password}
        self.token = ""
        self.token = self.ask("/auth/token", login)["access_token"]

    def _listen(self) -> None:
        for line in self.process.stderr or ():
            self.said.append(line)

    def _wait_until_up(self) -> tuple[str, str]:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            # The console breaks long lines at the width of a terminal.
            if found := UP.search(" ".join("".join(self.said).split())):
                return found[1], found[2]
            time.sleep(0.5)
        raise AssertionError("".join(self.said))

    def read(self, path: str) -> str:
        """A page, as whoever is logged in sees it."""
        headers = {"Authorization": f"Bearer {self.token}"}
        with urlopen(Request(self.url + path, headers=headers), timeout=60) as answer:
            return answer.read().decode()

    def ask(self, path: str, body: object = None) -> dict[str, object]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self.url + path, data, headers), timeout=60) as answer:
            return json.load(answer)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path)
    yield started
    if started.process.poll() is None:
        started.process.send_signal(signal.SIGTERM)
        started.process.wait(120)


def test_days_gone_by_are_shown_one_is_backfilled_and_all_ends(
    server: Server, tmp_path: Path
) -> None:
    shown = server.read("/forerun/")
    reports = ("consolidated_revenue", "delivery_notes", "customer_distribution")
    assert all(f"/days/{name}/2025-12-31" in shown for name in reports)
    assert "batch ran" in server.read("/forerun/reports/delivery_notes")
    assert "One run at the end" in server.read("/forerun/days/delivery_notes/2025-12-31")
    dag = "/api/v2/dags/demo_night"
    deadline = time.monotonic() + PATIENCE
    while True:  # the DAG files are parsed by a process of their own
        try:
            details = server.ask(f"{dag}/details")
            break
        except URLError:
            assert time.monotonic() < deadline
            time.sleep(1)
    form = {name: field["value"] for name, field in details["params"].items()}
    filled = {"report_date": "2026-01-01", "mode": "replay", "dry_run": False}
    assert form == {**filled, "days": None, "reports": None}
    assert details["is_paused"] is False
    wanted = {"dag_id": "demo_night", "dag_run_conf": {"mode": "batch"}, "max_active_runs": 1}
    days = dict.fromkeys(("from_date", "to_date"), "2025-12-31T00:00:00Z")
    server.ask("/api/v2/backfills", {**wanted, **days})
    (run,) = server.ask(f"{dag}/dagRuns")["dag_runs"]
    at = f"{dag}/dagRuns/{quote(run['dag_run_id'])}"
    while (state := server.ask(at)["state"]) in ("queued", "running"):
        assert time.monotonic() < deadline
        time.sleep(2)
    tasks = {t["task_id"]: t["state"] for t in server.ask(f"{at}/taskInstances")["task_instances"]}
    assert state == "success", tasks
    assert (tasks["at_1.run"], tasks["at_3.run"]) == ("skipped", "success")
    folder = tmp_path / "demo" / "day" / "store" / "results" / "customer_distribution"
    pointer = json.loads((folder / "2025-12-31" / "pointer.json").read_text())
    assert pointer["generation"] == 2, "of its own day, whatever the form is filled in with"
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(120) == 0
    assert "Airflow is stopped" in "".join(server.said)
    with pytest.raises(URLError):
        urlopen(server.url, timeout=5)
