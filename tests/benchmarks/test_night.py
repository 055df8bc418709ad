"""The figures of a night add up, and are kept for the conditions that they were measured under."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from forerun.include.state.layout import Generation
from forerun.simulation.accounts import RunAccount
from tests.benchmarks.kept_night import KeptNight
from tests.benchmarks.night_figures import bars, rows_of, section
from tests.benchmarks.test_executed import HERE

AT = "2026-01-02T03:04:05+00:00"


def run(index: int, weight: float, cpu: float, process: float) -> dict[str, Any]:
    account = RunAccount(
        index=index, weight=weight, arrived=weight, cpu_s=cpu, process_cpu_s=process, decided="im1"
    )
    return account.as_json()


def report(name: str, *, equal: bool, early: float) -> dict[str, Any]:
    return {
        "name": name, "equal": equal, "runs": [run(1, 0.25, early, early), run(2, 1.0, 2.0, 2.0)],
        "batch": run(1, 1.0, 4.0, 9.0),
    }  # fmt: skip


NIGHT = {
    "runs": [run(1, 0.25, 16.0, 8.0), run(2, 1.0, 4.0, 5.0)],
    "batch": run(1, 1.0, 8.0, 28.0),
    "batch_together": run(1, 1.0, 8.0, 14.0),
    "weighted_ratio": 1.0, "process_ratio": 0.25,
    "weighted_ratio_to_together": 1.0, "process_ratio_to_together": 0.5,
    "plan_ms": 1234.0, "equal": False,
    "reports": [report("q01", equal=True, early=4.0), report("q02", equal=False, early=12.0)],
}  # fmt: skip
AT_THE_END = {
    "runs": [run(1, 1.0, 7.0, 10.5)], "equal": True,
    "reports": [
        {"name": name, "equal": True, "runs": [run(1, 1.0, 3.0, 5.0)]} for name in ("q01", "q02")
    ],
}  # fmt: skip


def test_what_was_saved_is_told_apart_and_losers_are_marked() -> None:
    text = "\n".join(section(NIGHT, AT_THE_END, HERE, AT, "2 cores"))
    assert "**not equal to batch: q02**" in text
    assert "| one application for all | 14.0 | 50% |" in text
    assert "| stages of our own where they pay | 3.5 | 12% |" in text
    assert "| early work | 3.5 | 12% |" in text
    assert "| **1.00** | **0.25** |" in text
    assert "| q01 | im1 | 4.0, 2.0 | 3.0 | 4.0 | 0.75 |" in text
    assert "| q02 | im1 | 12.0, 2.0 | 3.0 | 4.0 | **1.25** |" in text
    assert "1.2 s at most" in text


def test_every_run_has_a_row_and_every_query_its_bars() -> None:
    rows = rows_of(HERE, AT, NIGHT, AT_THE_END)
    found = {(row.query, row.run): row.process_s for row in rows}
    assert len(found) == len(rows) == 13
    assert found["all", "batch together"] == 14.0
    assert found["all", "1"] == 8.0
    assert found["q02", "at the end"] == 5.0
    assert [row.equal for row in rows if row.query == "q02"] == [False, False, True, True]
    assert [(one.executors, one.own) for one in bars(NIGHT, AT_THE_END)] == [
        (0.75, 0.75),
        (1.25, 0.75),
    ]


def test_a_part_is_kept_for_its_conditions_and_queries_alone(tmp_path: Path) -> None:
    at, took = (
        Generation("q01__batch", "2026-01-01", "000001"),
        RunAccount(index=1, weight=1.0, arrived=1.0, cpu_s=3.0),
    )
    folder = tmp_path / "tpch-night"
    first = KeptNight(folder, HERE, ["q01"])
    assert not first.has_plain("q01")
    first.put_plain("q01", at, took)
    first.put_together(took)
    (folder / "store").mkdir(parents=True)
    again = KeptNight(folder, HERE, ["q01"])
    assert again.plain("q01") == (at, took)
    assert again.together == took
    assert not again.complete
    assert (folder / "store").exists()
    assert not KeptNight(folder, replace(HERE, code="other"), ["q01"]).has_plain("q01")
    assert not folder.exists(), "results of other code are not compared with"
    again.forget()
    assert again.together is None
