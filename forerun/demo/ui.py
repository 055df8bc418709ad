"""``forerun demo --up`` and ``--stage``: the demo's reports in Airflow's UI, to try out by hand."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from forerun import console
from forerun.demo.airflow_processes import airflow_processes, refuse_dead
from forerun.demo.place import (
    DemoError,
    Place,
    open_place,
    run_airflow,
    run_module,
    stage_day,
    stage_past_days,
)
from forerun.demo.reports import DAY, PAST_DAYS, data_uri
from forerun.include.machine.child_process import ChildProcess
from forerun.include.machine.local_postgres import local_postgres

_PORT = 8080
_START_SECONDS = 300.0
_PARTS = ("scheduler", "dag_processor", "triggerer")


def stage(scale: float) -> int:
    """Put the data of the day, and of those before, where an Airflow of one's own looks for it
    (``FORERUN_DATA``)."""
    target = data_uri()
    stage_day(target, scale)
    stage_past_days(target, scale)
    console.notes().print(f"data of {PAST_DAYS[0]} to {DAY} at scale {scale:g}, in {target}")
    return 0


def up(store: str, scale: float) -> int:
    """Airflow with its UI on the demo's DAGs and data, until it is interrupted."""
    port = _free_port()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with open_place(store) as place:
            _show(place, scale, port)
    except KeyboardInterrupt:
        console.notes().print("Airflow is stopped")
        return 0
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _show(place: Place, scale: float, port: int) -> None:
    """Raises :class:`DemoError`, with its name, when one of the processes ends."""
    notes, logs = console.notes(), place.home / "logs"
    with local_postgres(logs / "postgresql.log") as database:
        place.env["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = database.url
        notes.print("Airflow's database, on a PostgreSQL of its own")
        run_airflow(place, "migrate", "db", "migrate")
        notes.print(f"data of four days at scale {scale:g}")
        stage_day(place.data, scale)
        stage_past_days(place.data, scale)
        notes.print(f"the nights of {PAST_DAYS[0]} to {PAST_DAYS[-1]}, on the small engine")
        run_module(place, "history", "forerun.demo.history")
        notes.print("Airflow")
        with airflow_processes(place.env, port, logs) as parts:
            url = f"http://localhost:{port}"
            _wait_until_up(parts, url)
            notes.print(
                f"Airflow is up: {url}, user admin, password {_password(place)}\n"
                f"Trigger demo_night, or backfill it from {PAST_DAYS[0]} to {DAY}. The logs: "
                f"{logs}. Ctrl-C ends it all.",
                soft_wrap=True,
            )
            while True:
                refuse_dead([database.process, *parts])
                time.sleep(1)


def _free_port() -> int:
    port = int(os.environ.get("AIRFLOW__API__PORT", _PORT))
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise DemoError(
                f"port {port} cannot be used: {error.strerror}",
                hint="End what listens there, or choose another port: AIRFLOW__API__PORT=8081.",
            ) from None
    return port


def _wait_until_up(parts: Sequence[ChildProcess], url: str) -> None:
    """Wait until every process says that it works."""
    deadline, missing = time.monotonic() + _START_SECONDS, "the API server"
    while time.monotonic() < deadline:
        refuse_dead(parts)
        try:
            with urlopen(f"{url}/api/v2/monitor/health", timeout=5) as answer:
                health = json.load(answer)
        except (URLError, OSError, ValueError):
            time.sleep(0.5)
            continue
        ill = [part for part in _PARTS if health[part]["status"] != "healthy"]
        if not ill:
            return
        missing = ", ".join(ill)
        time.sleep(0.5)
    raise DemoError(f"Airflow did not come up: {missing}", hint=f"The logs: {parts[0].log.parent}")


def _password(place: Place) -> str:
    """Return the password that Airflow made up for the user admin when it first ran in this
    home."""
    found = Path(place.env["AIRFLOW_HOME"]) / "simple_auth_manager_passwords.json.generated"
    try:
        return str(json.loads(found.read_text(encoding="utf-8"))["admin"])
    except (OSError, ValueError, KeyError):
        return f"as in {found}"
