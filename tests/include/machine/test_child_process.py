"""Processes that are started for a while: how they have ended, and that nothing of them is left."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from forerun.include.machine.child_process import start, stop

STUBBORN = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print("ready", flush=True)
signal.pause()
"""


def started(tmp_path, program):
    command = [sys.executable, "-c", program]
    return start("the clerk", command, log=tmp_path / "log", env=os.environ, cwd=Path.cwd())


def test_a_process_that_has_ended_is_named_with_what_it_said_last(tmp_path):
    child = started(tmp_path, "import sys; print('one'); print('two'); sys.exit(3)")
    child.process.wait(60)
    assert child.ending == "the clerk has ended with exit code 3"
    assert child.last_words == "two"


def test_who_does_not_listen_is_ended_by_force_with_all_that_it_has_started(tmp_path, monkeypatch):
    monkeypatch.setattr("forerun.include.machine.child_process._STOP_SECONDS", 0.3)
    child = started(tmp_path, STUBBORN)
    while not child.last_words:
        assert child.ending == ""
    stop([child])
    assert child.ending == "the clerk was ended by SIGKILL"
    deadline = time.monotonic() + 60
    while child.tell(0):  # until whoever inherits orphans has buried the child of the child
        assert time.monotonic() < deadline
        time.sleep(0.05)
