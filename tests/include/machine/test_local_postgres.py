"""The PostgreSQL of this machine: for this user alone, gone with the block, named if it dies."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from forerun.include.machine import local_postgres as module
from forerun.include.machine.local_postgres import LocalPostgresError, local_postgres, programs

pytestmark = pytest.mark.skipif(programs() is None, reason="there is no PostgreSQL")


def test_it_lets_in_this_user_alone_and_ends_with_the_block(tmp_path):
    with local_postgres(tmp_path / "log") as server:
        folder = Path(server.url.partition("host=")[2])
        engine = create_engine(server.url)
        with engine.connect() as connection:
            assert connection.execute(text("SHOW listen_addresses")).scalar() == ""
        stranger = create_engine(server.url.replace("://", "://somebody-else-than-"))
        with pytest.raises(OperationalError, match="Peer authentication failed"):
            stranger.connect()
        engine.dispose()
        assert folder.stat().st_mode & 0o077 == 0
        process = server.process.process
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        assert server.process.ending == "PostgreSQL was ended by SIGKILL"
    assert not folder.exists()
    assert not server.process.tell(0), "nothing that it has started is left"


def test_it_ends_when_this_process_is_killed(tmp_path):
    program = (
        "import sys, time; from pathlib import Path\n"
        "from forerun.include.machine.local_postgres import local_postgres\n"
        "with local_postgres(Path(sys.argv[1])) as server:\n"
        "    print(server.process.process.pid, server.url, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid, url = parent.stdout.readline().split()
        server = psutil.Process(int(pid))
        parent.kill()
    gone, _ = psutil.wait_procs([server], 60)
    shutil.rmtree(url.partition("host=")[2])  # which nobody else could do
    assert gone or server.status() == psutil.STATUS_ZOMBIE


def test_a_machine_without_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "programs", lambda: None)
    with pytest.raises(LocalPostgresError) as error, local_postgres(tmp_path / "log"):
        pass
    assert "scripts/postgres.sh" in error.value.hint
