"""Leases on real stores, a folder and S3 servers: many who want cores at once, each with a
connection of its own, and never more of them at work than the ceiling."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from forerun.include.reports.cluster import Cluster
from forerun.include.reports.values.hours import Hours
from forerun.include.state.slots import SlotRequest
from forerun.include.stores.opening import open_store
from forerun.include.times.leases import Leases, declare

CEILING, REPORTS = 2, 5
NIGHT = Cluster(name="night", ceiling=(Hours(start="00:00", end="24:00", value=CEILING),))


@pytest.mark.timeout(120)
def test_never_more_at_work_than_the_ceiling_and_nothing_left_over(store_uri: str) -> None:
    declare(open_store(store_uri), NIGHT)
    working, most, guard = 0, 0, threading.Lock()
    full = threading.Event()

    def run(number: int) -> str:
        nonlocal working, most
        leases = Leases(open_store(store_uri), NIGHT)
        wanted = SlotRequest(
            token=f"try-{number}", report=f"report_{number}", owner="team", day="2026-03-01",
            run=1, final=False, cores=1, latest_start=4e9 + number, seconds=60.0,
            lease_s=NIGHT.lease_s,
        )  # fmt: skip
        while leases.take(wanted):
            time.sleep(0.05)
        with guard:
            working += 1
            most = max(most, working)
            if most == CEILING:
                full.set()
        assert full.wait(60), "nobody else was given cores while one was left"
        time.sleep(0.1)
        assert leases.renew(wanted)
        with guard:
            working -= 1
        leases.release(wanted)
        return wanted.token

    with ThreadPoolExecutor(REPORTS) as pool:
        done = list(pool.map(run, range(REPORTS)))
    assert len(set(done)) == REPORTS
    assert most == CEILING
    store = open_store(store_uri)
    left = Leases(store, NIGHT).overview(time.time())
    assert (left.waiting, left.slots.leases) == ((), ())
