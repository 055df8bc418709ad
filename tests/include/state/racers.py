"""Many real processes on one store: ``python -m tests.include.state.racers URI WHAT N``.

Forks N children after the imports, lets all of them start at the same moment, and prints one line
of each: ``won`` or ``lost`` for a put or a commit, the number of increments for a count.
"""

from __future__ import annotations

import os
import sys

from forerun.include.state.commits import commit_run
from forerun.include.state.layout import Generation
from forerun.include.state.records import RunCommit
from forerun.include.stores import open_store
from forerun.include.stores.store import Store

AT = Generation("raced", "2026-03-01", "1")
ROUNDS = 5


def put(store: Store, me: int) -> str:
    return "won" if store.put_if_absent("raced/key", str(me).encode() * 1000) else "lost"


def commit(store: Store, me: int) -> str:
    mine = RunCommit(run=1, base=0, attempt=f"a{me}", plan="p", committed_at="t")
    return "won" if commit_run(store, AT, mine).attempt == mine.attempt else "lost"


def count(store: Store, me: int) -> str:
    store.put_if_absent("raced/counter", b"0")
    for _ in range(ROUNDS):
        while True:
            found = store.find("raced/counter")
            if found is None:
                return f"{me}: the counter is gone"
            if store.put_if_match("raced/counter", str(int(found.data) + 1).encode(), found.tag):
                break
    return str(ROUNDS)


def main(uri: str, what: str, processes: int) -> None:
    store = open_store(uri)  # not connected yet, so that each child has connections of its own
    ready, go = os.pipe(), os.pipe()
    children = []
    for me in range(processes):
        child = os.fork()
        if child == 0:
            os.write(ready[1], b"r")
            os.close(go[1])
            os.read(go[0], 1)  # ends when the parent closes its end
            os.write(1, ({"put": put, "commit": commit, "count": count}[what](store, me) + "\n")
                     .encode())  # fmt: skip
            os._exit(0)
        children.append(child)
    waiting = processes
    while waiting:
        waiting -= len(os.read(ready[0], waiting))
    os.close(go[1])
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
