"""A day goes over to batch when only that is in time, and at no other time."""

from __future__ import annotations

import pytest

from forerun.include.state.layout import Generation, history_key
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.records import encode
from forerun.include.times.way_out import read_way_out, way_out
from tests.include.oncall.dag_days import at, dag_day


@pytest.mark.parametrize(
    ("kept", "batch", "left", "failed", "last", "why"),
    [
        (100, 300, 1000, False, False, ""),
        (900, 300, 400, False, False, "only batch can be in time"),
        (900, 500, 400, False, False, ""),
        (100, 300, 1000, True, False, ""),
        (100, 300, 399, True, False, "after another try batch would be late"),
        (100, 300, 1000, True, True, "this is its last try"),
        (100, 300, 299, True, True, "this is its last try"),
        (100, 300, -3600, True, True, "this is its last try"),
        (100, 300, -3600, True, False, ""),
        (900, 300, 400, True, False, "only batch can be in time"),
        (900, 300, 400, True, True, "this is its last try"),
        (None, 300, 400, False, False, ""),
        (100, None, 400, True, True, "this is its last try: nothing forecasts either way"),
    ],
)
def test_batch_is_the_way_out_while_it_can_be_in_time(kept, batch, left, failed, last, why):
    found = way_out(kept, batch, left, failed=failed, last=last)
    assert why in found
    assert bool(found) == bool(why)


def past(case, cost_s, wall_s):
    """A past final run in the ledger."""
    then = Generation("totals", "2026-02-28", "1")
    entry = LedgerEntry(
        report="totals", day=then.day, generation="1", run=2, weight=1.0,
        estimated_cost=int(cost_s * 1e6), batch_cost=int(cost_s * 1e6), executor_cpu_s=0.0,
        process_cpu_s=0.0, wall_s=wall_s, arrived=(), state_bytes=0, committed_at="",
    )  # fmt: skip
    case.store.put(history_key(then, 2), encode(entry))


def test_a_plan_that_reads_what_is_kept_gives_way_and_one_of_batch_does_not(tmp_path):
    case = dag_day(tmp_path)
    case.begin()
    case.make(1, at(12))
    case.deliver("2", (3, 4))
    case.plan(2, at(16), method="progressive")
    past(case, 10.0, 600.0)
    assert read_way_out(case.handle, at(17)) == ""
    assert "its last try" in read_way_out(case.handle, at(17), failed=True, last=True)
    assert read_way_out(case.handle, at(29, 59), failed=True) == ""
    assert "its last try" in read_way_out(case.handle, at(31), failed=True, last=True)
    other = dag_day(tmp_path / "batch")
    other.begin()
    other.plan(2, at(16), method="batch")
    past(other, 10.0, 600.0)
    assert read_way_out(other.handle, at(17), failed=True, last=True) == ""
