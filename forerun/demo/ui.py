"""``forerun demo --up`` and ``--stage``: the demo's reports in Airflow's UI, to try out by hand."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from forerun import console
from forerun.demo.place import ROOT, DemoError, Place, open_place, run_airflow, stage_day
from forerun.demo.reports import DAY, data_uri

_PORT = 8080
_START_SECONDS = 300.0
_STOP_SECONDS = 30.0


def stage(scale: float) -> int:
    """Put the day's data where an Airflow of one's own looks for it (``FORERUN_DATA``)."""
    target = data_uri()
    stage_day(target, scale)
    console.notes().print(f"data of {DAY} at scale {scale:g}, staged in {target}")
    return 0


def up(store: str, scale: float) -> int:
    """Airflow with its UI on the demo's DAGs and data, until it is interrupted."""
    port = _free_port()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with open_place(store) as place:
            return _show(place, scale, port)
    except KeyboardInterrupt:
        console.notes().print("Airflow is stopped")
        return 0
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(place: Place, scale: float, port: int) -> int:
    notes = console.notes()
    notes.print(f"data of a day at scale {scale:g}")
    stage_day(place.data, scale)
    notes.print("Airflow's database")
    run_airflow(place, "migrate", "db", "migrate")
    notes.print("Airflow")
    with _standalone(place, port) as (process, log):
        url = f"http://localhost:{port}"
        _wait_until_up(process, url, log)
        notes.print(
            f"Airflow is up: {url}, user admin, password {_password(place)}\n"
            f"Trigger one of the demo_ DAGs. The log: {log}. Ctrl-C ends it all.",
            soft_wrap=True,
        )
        return process.wait()


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


@contextmanager
def _standalone(place: Place, port: int) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """All of Airflow's processes, for this machine's users only; they end with the block."""
    log = place.home / "logs" / "airflow.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    env = place.env | {
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": f"http://localhost:{port}",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://localhost:{port}/execution/",
        "AIRFLOW__CORE__PARALLELISM": "4",
    }
    command = [sys.executable, "-m", "airflow", "standalone"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=env, cwd=ROOT, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield process, log
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the whole group, which has nothing but Airflow's processes in it; then use force, also
    on those whose parent is gone already."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + _STOP_SECONDS
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, kind)
            while time.monotonic() < deadline:
                process.poll()
                os.killpg(process.pid, 0)
                time.sleep(0.2)


def _wait_until_up(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urlopen(f"{url}/api/v2/monitor/health", timeout=5).close()
        except (URLError, OSError):
            time.sleep(1)
        else:
            return
    raise DemoError(
        "Airflow did not come up",
        hint=f"The log: {log}",
    )


def _password(place: Place) -> str:
    """What Airflow made up for the user admin when it first ran in this home."""
    found = Path(place.env["AIRFLOW_HOME"]) / "simple_auth_manager_passwords.json.generated"
    try:
        return str(json.loads(found.read_text(encoding="utf-8"))["admin"])
    except (OSError, ValueError, KeyError):
        return f"as in {found}"
