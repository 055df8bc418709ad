"""``make bench-night``: all queries of a suite as one report group, against batch of each alone and
of all in one application.

The night is one application per time point that pays; each query's result has to equal batch. What
was measured by this code under these conditions is not measured again, and shown only. Run it on a
machine that does nothing else.

    python -m tests.benchmarks.night tpch --scale 3
    python -m tests.benchmarks.night tpch --scale 10 --only q01,q03,q18 --again
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from forerun.deliveries import parse_correlation
from forerun.planning import Report
from forerun.running import SparkRunner
from forerun.simulate_group import simulate_group
from forerun.simulated_day import Simulation
from include.machine.jvm import home_folder
from tests.benchmarks.days import POINTS, Days, say
from tests.benchmarks.executed import SUITES, conditions_of
from tests.benchmarks.page import PAGE, ROOT, write_section
from tests.benchmarks.results import Conditions

Night = Mapping[str, Any]
"""The JSON of a simulated group, as ``forerun simulate A.sql B.sql --json`` has it."""


def measure(days: Days, texts: Mapping[str, str], conditions: Conditions) -> Night:
    """Execute the night of these queries, and every batch that it is compared with."""
    work = days.folder.with_name(f"{days.folder.name}-night")
    shutil.rmtree(work, ignore_errors=True)
    (work / "logs").mkdir(parents=True)
    what = Simulation(
        name="night", sql="", tables=days.tables, changing=days.suite.changing, points=POINTS,
        correlations=tuple(map(parse_correlation, days.suite.together)), seed=1, work=work,
        store=str(work / "store"), incoming=days.incoming,
    )  # fmt: skip
    runner = SparkRunner(work / "logs", conditions.master, memory=conditions.memory)
    started = time.monotonic()

    def told(text: str) -> None:
        say(f"{time.monotonic() - started:6.0f} s  {text}")

    reports = [Report(name, sql) for name, sql in texts.items()]
    night = simulate_group(what, reports, runner, told, lambda _rows: None)
    shutil.rmtree(work)
    return night.as_json()


def section(night: Night, conditions: Conditions, at: str, machine: str) -> list[str]:
    """The figures of a night as lines of the page."""
    alone, together, reports = night["batch"], night["batch_together"], night["reports"]
    unequal = [one["name"] for one in reports if not one["equal"]]
    unlike = f"**not equal to batch: {', '.join(unequal)}**" if unequal else "all equal to batch"
    saved = 1 - together["process_cpu_s"] / alone["process_cpu_s"]
    head = (
        f"{machine}, {at[:10]}, {conditions.suite} at scale {conditions.scale}, Spark "
        f"{conditions.master}, memory {conditions.memory}; arrived@weight {conditions.points}; "
        f"code {conditions.code}. {len(reports)} queries in one group, {unlike}."
    )
    told_apart = (
        f"The one application alone saves {saved:.0%} of processes; the rest is early work and "
        f"stages of our own. Planning a time point took {(night['plan_ms'] or 0) / 1000:.1f} s at "
        "most."
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
        ("batch, an application each", *_cpu(alone)),
        ("batch, all in one application", *_cpu(together)),
        *((title, *(f"**{night[name]:.2f}**" for name in names)) for title, *names in ratios),
    ]
    of_each = [
        ("query", "decided at the end", "runs (executors)", "batch", "weighted / batch"),
        ("---",) * 5,
        *map(_of_report, reports),
    ]
    return [head, "", *map(_row, sums), "", told_apart, "", *map(_row, of_each)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cpu(run: Mapping[str, Any]) -> tuple[str, str]:
    return f"{run['cpu_s']:.1f}", f"{run['process_cpu_s']:.1f}"


def _of_report(report: Mapping[str, Any]) -> tuple[str, ...]:
    runs, batch_s = report["runs"], report["batch"]["cpu_s"]
    ratio = sum(run["weight"] * run["cpu_s"] for run in runs) / batch_s if batch_s else 0.0
    return (
        report["name"],
        runs[-1].get("decided") or "-",
        ", ".join(f"{run['cpu_s']:.1f}" for run in runs),
        f"{batch_s:.1f}",
        f"**{ratio:.2f}**" if ratio > 1 else f"{ratio:.2f}",
    )


def kept_night(path: Path, conditions: Conditions, queries: Sequence[str]) -> Night | None:
    """What a file has of the night of these queries, if it was measured under these conditions."""
    if not path.exists():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    same = kept["conditions"] == asdict(conditions) and kept["queries"] == list(queries)
    return kept if same else None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--scale", type=float, default=3.0)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--only", default="", help="queries, such as q05,q09; no page is written")
    parser.add_argument("--again", action="store_true", help="also if it has its figures")
    given = parser.parse_args()
    suite = SUITES[given.suite]
    conditions = conditions_of(suite.name, given.scale, given.master)
    texts = suite.texts()
    queries = [name for name in given.only.split(",") if name] or list(texts)
    path = home_folder() / "bench" / f"{suite.name}-{given.scale:g}-night.json"
    kept = None if given.again else kept_night(path, conditions, queries)
    if kept is None:
        days = Days.of(suite, given.scale)
        night = measure(days, {name: texts[name] for name in queries}, conditions)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        kept = {"conditions": asdict(conditions), "queries": queries, "at": at, "night": night}
        path.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    lines = section(kept["night"], conditions, kept["at"], machine)
    print("\n".join(lines))
    if queries == list(texts):
        write_section(f"bench-night-{suite.name}", lines)
        say(f"wrote {PAGE.relative_to(ROOT)}")
    return int(not kept["night"]["equal"])


if __name__ == "__main__":
    raise SystemExit(main())
