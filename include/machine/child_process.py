"""Processes that this one starts for a while: none outlives it, and one that ends is named."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_STOP_SECONDS = 30.0
_WORDS = 300


@dataclass(frozen=True, slots=True)
class ChildProcess:
    """A process with a session of its own, so that Ctrl-C reaches it only through :func:`stop`.
    ``log`` gets its output; ``asked_by`` is the signal that it is asked to end by."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    asked_by: signal.Signals

    @property
    def ending(self) -> str:
        """Return how it has ended, in words; empty while it runs."""
        code = self.process.poll()
        if code is None:
            return ""
        if code < 0:
            return f"{self.name} was ended by {signal.Signals(-code).name}"
        return f"{self.name} has ended with exit code {code}"

    @property
    def last_words(self) -> str:
        """The last line of its log."""
        with suppress(OSError, IndexError):
            return self.log.read_text(errors="replace").splitlines()[-1][:_WORDS]
        return ""

    def tell(self, kind: int) -> bool:
        """Send a signal to it and to all that it has started; False if none of them is left."""
        self.process.poll()
        try:
            os.killpg(self.process.pid, kind)
        except ProcessLookupError:
            return False
        return True


def start(
    name: str,
    command: Sequence[str],
    *,
    log: Path,
    env: Mapping[str, str],
    cwd: Path,
    account: str = "",
    asked_by: signal.Signals = signal.SIGTERM,
) -> ChildProcess:
    """Start a process whose output goes to ``log``. It is asked to end when the calling thread
    ends, also when that is killed. ``account``: the user that it runs as, if it is another one."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*as_account(account), *_not_outliving(asked_by), *command],
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    return ChildProcess(name, process, log, asked_by)


def stop(children: Sequence[ChildProcess]) -> None:
    """End processes with all that they have started: ask first, use force later."""
    for force in (False, True):
        for child in children:
            child.tell(signal.SIGKILL if force else child.asked_by)
        deadline = time.monotonic() + _STOP_SECONDS
        while any(child.tell(0) for child in children) and time.monotonic() < deadline:
            time.sleep(0.1)


def as_account(account: str) -> list[str]:
    """Return the words to put before a command that another user is to run; none without an
    account."""
    if not account:
        return []
    user = pwd.getpwnam(account)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups", "--"]


def _not_outliving(kind: signal.Signals) -> list[str]:
    """The kernel then sends the signal when the parent has gone. (Changing the user forgets it, so
    it comes last.)"""
    return ["setpriv", f"--pdeathsig={kind.name}", "--"] if shutil.which("setpriv") else []
