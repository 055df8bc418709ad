"""A day outside of Spark, killed at every write: ``python -m tests.chaos.day_under_fire DIR N``.

For every N-th n = 1, ... a child process does the day on a fresh store and is killed by SIGKILL at
its n-th system call that makes something visible or takes it away; then another child does it all
again.
Prints a line per n: where it was killed, and the outcome. Ends when a child is not killed any more.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from forerun.include.runs.prepare import publish_result, read_pointer
from forerun.include.state.commits import read_chain, verify_partition
from forerun.include.state.layout import Generation
from forerun.include.stores.file_store import FileStore
from tests.include.days.day_cases import DAY, NOW, DayCase

CALLS = (
    *((Path, name) for name in ("hardlink_to", "replace", "unlink", "mkdir")),
    (FileStore, "_opened"),
)


def arm(countdown: int) -> None:
    """Let the ``countdown``-th of CALLS kill the process, half of them before, half after it."""
    left = [countdown]

    def fatal(name: str, real):
        def call(*args, **kwargs):
            left[0] -= 1
            if left[0] == 0 and countdown % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            mine = left[0] == 0  # calls within this one count on their own
            try:
                return real(*args, **kwargs)
            finally:
                if mine:
                    os.kill(os.getpid(), signal.SIGKILL)

        return call

    for owner, name in CALLS:
        setattr(owner, name, fatal(name, getattr(owner, name)))


def do_the_day(case: DayCase) -> None:
    """What the tasks of a DAG run do, the Spark job replaced by a commit of files as it makes."""
    generation = case.open()
    for run in (1, 2):
        prepared = case.prepare(generation, run)
        if not prepared.skip_reason:
            case.commit(prepared, attempt=f"a{os.getpid()}")
    publish_result(case.day(generation), now=NOW)


def outcome(case: DayCase) -> str:
    """What a reader sees, and whether all that commits name is whole."""
    at = Generation("totals", DAY.isoformat(), "1")
    chain = read_chain(case.store, at)
    for commit in chain:
        for part in (*commit.artifacts, *([commit.result] if commit.result else [])):
            verify_partition(case.store, part)
    pointer = read_pointer(case.store, "totals", DAY)
    for file in case.store.list("reports"):
        if file.key.endswith(".json"):
            json.loads(case.store.get(file.key))
    runs = [(commit.run, commit.base) for commit in chain]
    published = [f.size for f in pointer.files] if pointer else None
    generations = case.store.folders(f"reports/totals/{DAY}")
    pins = len(case.store.list("sources"))
    return f"{runs} {published} {generations} {pins}"


def in_child(case: DayCase, countdown: int) -> int:
    child = os.fork()
    if child == 0:
        if countdown:
            arm(countdown)
        do_the_day(case)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder: Path, step: int) -> None:
    lake = DayCase(folder, "")
    lake.deliver("1", (1, 2), (1, 3))
    for countdown in range(1, 1000, step):
        case = DayCase(folder, str(folder / f"store-{countdown}"))
        code = in_child(case, countdown)
        retried = in_child(case, 0)
        print(countdown, code, retried, outcome(case), sep="|", flush=True)
        if code == 0:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
