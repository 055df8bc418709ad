"""The figures of a night add up, and are shown for the conditions that they were measured under."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tests.benchmarks.night import kept_night, section
from tests.benchmarks.test_executed import HERE

AT = "2026-01-02T03:04:05+00:00"


def run(weight: float, cpu: float, process: float) -> dict[str, Any]:
    return {"weight": weight, "arrived": weight, "cpu_s": cpu, "process_cpu_s": process,
            "decided": "im1"}  # fmt: skip


def report(name: str, *, equal: bool, early: float) -> dict[str, Any]:
    return {
        "name": name, "equal": equal, "runs": [run(0.25, early, early), run(1.0, 2.0, 2.0)],
        "batch": run(1.0, 4.0, 9.0),
    }  # fmt: skip


NIGHT = {
    "runs": [run(0.25, 16.0, 20.0), run(1.0, 4.0, 9.0)],
    "batch": run(1.0, 8.0, 28.0),
    "batch_together": run(1.0, 8.0, 14.0),
    "weighted_ratio": 1.0, "process_ratio": 0.5,
    "weighted_ratio_to_together": 1.0, "process_ratio_to_together": 1.0,
    "plan_ms": 1234.0, "equal": False,
    "reports": [report("q01", equal=True, early=4.0), report("q02", equal=False, early=12.0)],
}  # fmt: skip


def test_what_was_saved_is_told_apart_and_losers_are_marked() -> None:
    text = "\n".join(section(NIGHT, HERE, AT, "2 cores"))
    assert "**not equal to batch: q02**" in text
    assert "The one application alone saves 50% of processes" in text
    assert "| **1.00** | **0.50** |" in text
    assert "| q01 | im1 | 4.0, 2.0 | 4.0 | 0.75 |" in text
    assert "| q02 | im1 | 12.0, 2.0 | 4.0 | **1.25** |" in text
    assert "1.2 s at most" in text


def test_a_night_is_kept_for_its_conditions_and_queries_alone(tmp_path: Path) -> None:
    path = tmp_path / "night.json"
    assert kept_night(path, HERE, ["q01"]) is None
    kept = {"conditions": asdict(HERE), "queries": ["q01"], "at": AT, "night": NIGHT}
    path.write_text(json.dumps(kept))
    assert kept_night(path, HERE, ["q01"]) == kept
    assert kept_night(path, HERE, ["q01", "q02"]) is None
    assert kept_night(path, replace(HERE, code="other"), ["q01"]) is None
