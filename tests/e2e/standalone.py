"""All of Airflow on DAG files of a test: scheduler, triggerer, API server, real tasks."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from forerun.demo.airflow_processes import address, airflow_processes, refuse_dead
from forerun.include.machine.child_process import ChildProcess

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300.0


class StandaloneAirflow:
    """All of Airflow in a home of its own, with one DAG file. ``store`` is the state store. Its
    database is SQLite, if ``settings`` name no other."""

    def __init__(self, home: Path, dag_file: Path, settings: Mapping[str, str] | None = None):
        self.home = home
        self.store = (home / "store").as_uri()
        (home / "dags").mkdir(parents=True)
        (home / "dags" / dag_file.name).write_bytes(dag_file.read_bytes())
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://localhost:{port}"
        env = {
            **os.environ,
            "AIRFLOW_HOME": str(home / "airflow"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[2]"}',
            "PYTHONPATH": str(ROOT),
            "FORERUN_STORE": self.store,
            "FORERUN_TEST_ROOT": str(home),
            **address(port),
            **(settings or {}),
        }
        migrate = [sys.executable, "-m", "airflow", "db", "migrate"]
        subprocess.run(migrate, env=env, cwd=ROOT, check=True, capture_output=True)
        self._opened = ExitStack()
        running = airflow_processes(env, port, home / "logs")
        self._parts = self._opened.enter_context(running)
        self.token = ""
        try:
            self.token = self._log_in()
        except BaseException:
            self.end()
            raise

    def look(self) -> None:
        """Fail, with its name, if a process of Airflow has ended."""
        refuse_dead(self._parts)

    def _log_in(self) -> str:
        passwords = self.home / "airflow" / "simple_auth_manager_passwords.json.generated"
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.look()
            try:
                password = json.loads(passwords.read_text())["admin"]
                login = {"username": "admin", "password": password}
                return str(self.ask("/auth/token", login)["access_token"])
            except (OSError, ValueError, URLError):
                time.sleep(1)
        raise AssertionError("\n".join(part.last_words for part in self._parts))

    def ask(self, path: str, body: object = None, *, method: str = "") -> dict[str, Any]:
        """What the API answers; an empty ``method`` is GET, or POST with a body."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data, headers, method=method or None)
        with urlopen(request, timeout=60) as answer:
            return dict(json.loads(answer.read() or b"{}"))

    def page(self, path: str, **form: str) -> str:
        """What a page shows, or what it answers to a form, as whoever is logged in."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "text/html"}
        data = urlencode(form).encode() if form else None
        with urlopen(Request(self.url + path, data, headers), timeout=60) as answer:
            return str(answer.read().decode())

    def part(self, name: str) -> ChildProcess:
        """The process of Airflow that has this name."""
        return next(one for one in self._parts if one.name.endswith(name))

    def trigger(self, dag_id: str, *, logical_date: str | None = None, **conf: object) -> str:
        """Begin a DAG run as soon as the DAG is known; return the path of the run in the API."""
        deadline = time.monotonic() + PATIENCE
        dag = f"/api/v2/dags/{dag_id}"
        while True:
            self.look()
            try:
                run = self.ask(f"{dag}/dagRuns", {"logical_date": logical_date, "conf": conf})
                return f"{dag}/dagRuns/{quote(run['dag_run_id'])}"
            except HTTPError as error:
                if error.code in (400, 422) or time.monotonic() > deadline:
                    raise AssertionError(f"{dag_id}: {error}: {error.read().decode()}") from None
                time.sleep(1)

    def wait_for(self, path: str, *states: str) -> str:
        """Wait until a DAG run or a task instance is in one of some states, and return which."""
        deadline = time.monotonic() + PATIENCE
        while (state := self.ask(path)["state"]) not in states:
            self.look()
            assert time.monotonic() < deadline, f"{path} is {state}"
            time.sleep(0.5)
        return str(state)

    def end(self) -> None:
        """End all processes of this Airflow, and no other."""
        self._opened.close()
