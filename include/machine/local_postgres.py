"""A PostgreSQL on this machine, for the demo's Airflow and for tests: started and stopped here.

It is made anew each time and gone afterwards, as the store of the demo is. It has neither a port
nor a password: it listens on a socket in a folder of its own, and lets in nobody but the user of
this process, whom the kernel names to it. Since it refuses to run as root, root runs it as the user
``postgres`` of the distribution's package. So its folder lies among the temporary ones: that user
may not be allowed to enter the home of Forerun.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT
from urllib.parse import quote, urlencode

from forerun.include.machine.child_process import ChildProcess, as_account, start, stop
from forerun.planner.errors import ForerunError

_ACCOUNT = "postgres"
_START_SECONDS = 60.0
_SETTINGS = (
    "listen_addresses=",
    # Nobody needs its data after a crash.
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
)


class LocalPostgresError(ForerunError):
    """The local PostgreSQL cannot be started."""

    code = "local-postgres"


@dataclass(frozen=True, slots=True)
class LocalPostgres:
    """A running server with an empty database. ``url``: as SQLAlchemy wants it."""

    process: ChildProcess
    url: str


def programs() -> Path | None:
    """The folder with PostgreSQL's programs: of PATH, else the newest of the distribution."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(installed, key=lambda path: float(path.parents[1].name), default=None)
    return newest.parent if newest else None


@contextmanager
def local_postgres(log: Path, *settings: str) -> Iterator[LocalPostgres]:
    """Run a server for the duration of the block. ``log`` gets what it says; ``settings`` are more
    of its own, such as ``wal_level=logical``.

    Raises :class:`LocalPostgresError` with the server's own words if it does not come up.
    """
    at = programs()
    if at is None:
        raise LocalPostgresError(
            "there is no PostgreSQL on this machine",
            hint="Run scripts/postgres.sh, or install PostgreSQL so that initdb is on PATH.",
        )
    account, user = _account(), _user()
    with tempfile.TemporaryDirectory(
        prefix="forerun-postgres-", ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        if account:
            shutil.chown(folder, account)
        _make_cluster(at, folder, account, user)
        server = start(
            "PostgreSQL",
            [str(at / "postgres"), "-D", str(folder / "data"), "-k", name, *_options(settings)],
            log=log,
            env=_environment(),
            cwd=folder,
            account=account,
            asked_by=SIGINT,  # which ends open connections, too
        )
        try:
            _wait_until_up(at, folder, server)
            where = urlencode({"host": name}, safe="/")
            yield LocalPostgres(server, f"postgresql+psycopg2://{quote(user)}@/postgres?{where}")
        finally:
            stop([server])


def _account() -> str:
    """The user that the server runs as: this one, unless that is root."""
    if os.geteuid() != 0:
        return ""
    try:
        pwd.getpwnam(_ACCOUNT)
    except KeyError:
        raise LocalPostgresError(
            f"PostgreSQL refuses to run as root, and there is no user {_ACCOUNT}",
            hint="Run scripts/postgres.sh: the distribution's package brings one.",
        ) from None
    return _ACCOUNT


def _user() -> str:
    """The name of this user, by which the server knows it."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise LocalPostgresError(
            f"the user {os.geteuid()} of this process has no name, which PostgreSQL asks for",
            hint="Add it to the users of the machine or of the container.",
        ) from None


def _make_cluster(at: Path, folder: Path, account: str, user: str) -> None:
    command = [str(at / "initdb"), "--pgdata", str(folder / "data"), "--username", user]
    command += ["--auth-local=peer", "--auth-host=reject", "--encoding=UTF8", "--locale=C"]
    done = subprocess.run(
        [*as_account(account), *command, "--no-sync"],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LocalPostgresError(
            f"PostgreSQL's initdb failed: {done.stderr.strip()[-500:]}",
            hint=f"May {account or 'you'} write to {folder.parent}? TMPDIR names another folder.",
        )


def _environment() -> Mapping[str, str]:
    """Nothing of this process but where programs are: PG variables would be heard."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def _options(settings: Sequence[str]) -> list[str]:
    return [part for one in (*_SETTINGS, *settings) for part in ("-c", one)]


def _wait_until_up(at: Path, folder: Path, server: ChildProcess) -> None:
    asked = [str(at / "pg_isready"), "--quiet", "--host", str(folder), "--dbname", "postgres"]
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and not server.ending:
        if subprocess.run(asked, env=_environment(), check=False).returncode == 0:
            return
        time.sleep(0.05)
    raise LocalPostgresError(
        f"PostgreSQL did not start: {server.last_words or 'it said nothing'}",
        hint=f"The log: {server.log}",
    )
