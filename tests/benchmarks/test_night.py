"""The figures of a night add up, and losers are marked."""

from __future__ import annotations

import argparse
from typing import Any

from forerun.simulation.accounts import RunAccount
from tests.benchmarks.driver import Found
from tests.benchmarks.figures import csv_of
from tests.benchmarks.night import AT_THE_END, FIRST, NIGHT, bars, days_of, lines


def run(index: int, weight: float, cpu: float, process: float) -> dict[str, Any]:
    account = RunAccount(
        index=index, weight=weight, arrived=weight, cpu_s=cpu, process_cpu_s=process, decided="im1"
    )
    return account.as_json()


def report(name: str, early: float) -> dict[str, Any]:
    runs = [run(1, 0.25, early, early), run(2, 1.0, 2.0, 2.0)]
    return {"name": name, "runs": runs, "batch": run(1, 1.0, 4.0, 9.0)}


FOUND: Found = {
    (NIGHT,): {
        "runs": [run(1, 0.25, 16.0, 8.0), run(2, 1.0, 4.0, 5.0)],
        "batch": run(1, 1.0, 8.0, 28.0),
        "batch_together": run(1, 1.0, 8.0, 14.0),
        "weighted_ratio": 1.0, "process_ratio": 0.25,
        "weighted_ratio_to_together": 1.0, "process_ratio_to_together": 0.5,
        "plan_ms": 1234.0, "reports": [report("q01", 4.0), report("q02", 12.0)],
    },
    (FIRST,): {"runs": [run(1, 1.0, 7.5, 12.25)]},
    (AT_THE_END,): {
        "runs": [run(1, 1.0, 7.0, 10.5)],
        "reports": [{"name": name, "runs": [run(1, 1.0, 3.0, 5.0)]} for name in ("q01", "q02")],
    },
}  # fmt: skip


def test_what_was_saved_is_told_apart_and_losers_are_marked() -> None:
    text = "\n".join(lines(argparse.Namespace(), FOUND))
    assert "| one application for all | 14.0 | 50% |" in text
    assert "| stages of our own where they pay | 3.5 | 12% |" in text
    assert "| the group, all at the end, in a new store | 7.5 | 12.2 |" in text
    assert "| early work | 3.5 | 12% |" in text
    assert "| **1.00** | **0.25** |" in text
    assert "| q01 | im1 | 4.0, 2.0 | 3.0 | 4.0 | 0.75 |" in text
    assert "| q02 | im1 | 12.0, 2.0 | 3.0 | 4.0 | **1.25** |" in text
    assert "1.2 s at most" in text
    assert not list(lines(argparse.Namespace(), {})), "nothing without the night"


def test_every_run_has_a_row_and_every_query_its_bars() -> None:
    days = days_of(FOUND)
    rows = [row.split(",") for row in csv_of(days).splitlines()[1:]]
    assert [row[:2] for row in rows[:4]] == [
        ["q01", run] for run in ("1", "2", "batch", "own batch")
    ]
    assert len(rows) == 8
    assert [(one.executors, one.own) for one in bars(days)] == [(0.75, 0.75), (1.25, 0.75)]
