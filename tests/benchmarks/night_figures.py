"""The figures of an executed night as lines of the page, as rows and as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tests.benchmarks.plot import Bars
from tests.benchmarks.results import BATCH, Conditions, Row

Group = Mapping[str, Any]
"""The JSON of a simulated group, as ``forerun simulate A.sql B.sql --json`` has it."""

WHOLE, AT_THE_END, TOGETHER = "all", "at the end", "batch together"
"""In rows: all queries in sum, the group with one run at the end, all batches in one."""


def section(
    night: Group, at_the_end: Group, conditions: Conditions, at: str, machine: str
) -> list[str]:
    """The figures of a night as lines of the page."""
    reports = night["reports"]
    unequal = sorted(
        {one["name"] for one in (*reports, *at_the_end["reports"]) if not one["equal"]}
    )
    unlike = f"**not equal to batch: {', '.join(unequal)}**" if unequal else "all equal to batch"
    head = (
        f"{machine}, {at[:10]}, {conditions.suite} at scale {conditions.scale}, Spark "
        f"{conditions.master}, memory {conditions.memory}; arrived@weight {conditions.points}; "
        f"code {conditions.code}. {len(reports)} queries in one group, {unlike}. Planning a time "
        f"point took {(night['plan_ms'] or 0) / 1000:.1f} s at most."
    )
    runs = [
        (f"night, at {run['arrived']:.0%} (weight {run['weight']:g})", *_cpu(run))
        for run in night["runs"]
    ]
    ratios = [
        ("night, weighted, of an application each", "weighted_ratio", "process_ratio"),
        (
            "night, weighted, of all in one",
            "weighted_ratio_to_together",
            "process_ratio_to_together",
        ),
    ]
    sums = [
        ("CPU seconds", "executors", "processes"),
        ("---", "---", "---"),
        *runs,
        ("the group, all at the end", *_cpu(at_the_end["runs"][-1])),
        ("batch, an application each", *_cpu(night["batch"])),
        ("batch, all in one application", *_cpu(night["batch_together"])),
        *((title, *(f"**{night[name]:.2f}**" for name in names)) for title, *names in ratios),
    ]
    of_each = [
        ("query", "decided at the end", "runs (executors)", "all at the end", "batch", "ratio"),
        ("---",) * 6,
        *(_of_report(*both) for both in _pairs(night, at_the_end)),
    ]
    told_apart = _told_apart(night, at_the_end)
    return [head, "", *map(_row, sums), "", *told_apart, "", *map(_row, of_each)]


def _told_apart(night: Group, at_the_end: Group) -> list[str]:
    """What saved how much of a batch application for each query, step by step."""
    alone = night["batch"]["process_cpu_s"]
    steps = [
        ("one application for all", alone - night["batch_together"]["process_cpu_s"]),
        (
            "stages of our own where they pay",
            night["batch_together"]["process_cpu_s"] - at_the_end["runs"][-1]["process_cpu_s"],
        ),
        (
            "early work",
            at_the_end["runs"][-1]["process_cpu_s"] - night["process_ratio"] * alone,
        ),
    ]
    lines = [f"| {what} | {saved:.1f} | {saved / alone:.0%} |" for what, saved in steps]
    return [
        "| saved by, in this order | weighted CPU seconds of processes | of an application each |",
        "| --- | --- | --- |",
        *lines,
    ]


def rows_of(conditions: Conditions, at: str, night: Group, at_the_end: Group) -> list[Row]:
    """A row for each run of each query and of all in sum. What an application took outside of its
    reports' runs is divided among them."""
    rows = [
        _csv(conditions, at, WHOLE, TOGETHER, night["batch_together"], night["equal"]),
        *_rows_of(conditions, at, WHOLE, night, at_the_end),
    ]
    for report, other in _pairs(night, at_the_end):
        rows += _rows_of(conditions, at, report["name"], report, other)
    return rows


def _rows_of(
    conditions: Conditions, at: str, query: str, day: Group, at_the_end: Group
) -> list[Row]:
    return [
        *(_csv(conditions, at, query, str(r["index"]), r, day["equal"]) for r in day["runs"]),
        _csv(conditions, at, query, AT_THE_END, at_the_end["runs"][-1], at_the_end["equal"]),
        _csv(conditions, at, query, BATCH, day["batch"], True),
    ]


def _csv(conditions: Conditions, at: str, query: str, name: str, run: Group, equal: bool) -> Row:
    return Row(
        **asdict(conditions), at=at, query=query, run=name, weight=run["weight"],
        arrived=run["arrived"], decided=run["decided"], equal=equal,
        estimated_s=run["estimated_cost"], executor_s=round(run["cpu_s"], 3),
        process_s=round(run["process_cpu_s"], 3), wall_s=round(run["wall_s"], 3),
        plan_ms=round(run["plan_ms"] or 0.0, 1), source_rows=run["rows_read"],
        state_rows=run["state_rows_read"], bytes_read=run["bytes_read"],
        bytes_kept=run["state_bytes"], stages=len(run["stages"]),
    )  # fmt: skip


def bars(night: Group, at_the_end: Group) -> list[Bars]:
    """The bars of each query; the mark is the group with all its work at the end."""
    return [
        Bars(
            report["name"],
            _ratio(report["runs"], report["batch"], "cpu_s"),
            _ratio(report["runs"], report["batch"], "process_cpu_s"),
            _ratio(other["runs"], report["batch"], "cpu_s"),
        )
        for report, other in _pairs(night, at_the_end)
    ]


def _pairs(night: Group, at_the_end: Group) -> Sequence[tuple[Group, Group]]:
    """Each report of the night, and of the group at the end."""
    return list(zip(night["reports"], at_the_end["reports"], strict=True))


def _ratio(runs: Sequence[Group], batch: Group, measure: str) -> float:
    """Weighted, of batch; 0 where batch took nothing that could be measured."""
    weighted: float = sum(run["weight"] * run[measure] for run in runs)
    return weighted / batch[measure] if batch[measure] else 0.0


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cpu(run: Group) -> tuple[str, str]:
    return f"{run['cpu_s']:.1f}", f"{run['process_cpu_s']:.1f}"


def _of_report(report: Group, at_the_end: Group) -> tuple[str, ...]:
    runs = report["runs"]
    ratio = _ratio(runs, report["batch"], "cpu_s")
    return (
        report["name"],
        runs[-1].get("decided") or "-",
        ", ".join(f"{run['cpu_s']:.1f}" for run in runs),
        f"{at_the_end['runs'][-1]['cpu_s']:.1f}",
        f"{report['batch']['cpu_s']:.1f}",
        f"**{ratio:.2f}**" if ratio > 1 else f"{ratio:.2f}",
    )
