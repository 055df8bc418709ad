"""``make bench-repair``: a published day with a few late rows, repaired and computed anew.

A query is executed as a day of three runs, with early work whatever it costs, whose final run
expects a repair. Then a file comes late
that has a thousandth of the rows of ``lineitem``. The day is repaired from the state that its final
run has left and from that of the last early run, and the user's own text is run over all rows; each
is an application of its own on Spark, and all give the same rows.

    python -m tests.benchmarks.repair --scale 1 --only q01,q06
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from forerun.deliveries import parse_correlation
from forerun.plain import PlainQuery
from forerun.running import SparkRunner
from forerun.simulate import plain_query, read_simulated
from forerun.simulated_day import Simulation, arrive, open_day, write_deliveries
from include.days.handle import Day
from include.days.prepare import PreparedRun, prepare_run, publish_result
from include.days.repair import Repair, begin_repair, find_repair
from include.days.repair_plans import RepairPlan
from include.machine.jvm import home_folder
from include.state.layout import Generation
from planner.algebra.relational import sources as sources_of
from planner.contract import decode_plan
from planner.cost.constants import MICRO
from planner.request import Settings
from tests.benchmarks.days import POINTS, TPCH, Days, say
from tests.benchmarks.page import write_section

QUERIES = ("q01", "q03", "q06", "q10", "q12", "q14")
EXPECTED = 1.0
"""Repairs a day that the policy of the measured days names."""
LATE = "lineitem"
SHARE = 0.001


@dataclass(frozen=True, slots=True)
class Took:
    """What an application was estimated at, and what its whole process took, in CPU seconds."""

    estimated_s: float
    process_s: float


@dataclass(frozen=True, slots=True)
class Repaired:
    """A query: its final run, and its repair from the final run's state, from that of the last
    early run (None where the plan cannot go on from it), and anew."""

    query: str
    final: Took
    from_final: Took | None
    from_early: Took | None
    anew: Took
    equal: bool


class _Day:
    """One query's day on disk."""

    def __init__(self, days: Days, query: str, sql: str, master: str, work: Path) -> None:
        self.query, self.work = query, work
        (work / "logs").mkdir(parents=True)
        self.runner = SparkRunner(work / "logs", master)
        self.what = Simulation(
            name=query, sql=sql, tables=days.tables, changing=TPCH.changing, points=POINTS,
            correlations=tuple(map(parse_correlation, TPCH.together)), seed=1, work=work,
            store=str(work / "store"), incoming=days.incoming,
        )  # fmt: skip
        used = tuple(sorted(sources_of(read_simulated(self.what))))
        write_deliveries(self.what, used, lambda _rows: None)
        plain = plain_query(self.what, used, self.runner)
        policy = replace(plain.spec.policy, expected_repairs=EXPECTED)
        self.plain = PlainQuery(
            replace(plain.spec, policy=policy), plain.sources, plain.day, self.runner
        )
        self.settings = Settings(prices=self.runner.engine.prices)

    def measure(self) -> Repaired:
        opened, final = self._run_day()
        self._deliver_late()
        repair = find_repair(
            opened.store, opened.spec, opened.date, now=opened.points[-1], settings=self.settings
        )
        plain_at, batch = self.plain.run()
        took: dict[int, Took] = {}
        equal = True
        for planned in repair.plans:
            if planned.base is not None:
                at, took[planned.base.run] = self._repair(repair, planned)
                equal = equal and self.plain.compare(at, plain_at, repair.run).equal
        early = [run for run in sorted(took) if run < opened.spec.runs]
        return Repaired(
            query=self.query,
            final=final,
            from_final=took.get(opened.spec.runs),
            from_early=took[early[-1]] if early else None,
            anew=Took(repair.anew.cost / MICRO, batch.process_cpu_s or 0.0),
            equal=equal,
        )

    def _run_day(self) -> tuple[Day, Took]:
        """Run and publish the day; what its final run took."""
        opened = open_day(self.what, self.plain)
        took = Took(0.0, 0.0)
        for run, moment in enumerate(opened.points, 1):
            arrive(self.what, run)
            prepared = prepare_run(
                opened,
                run,
                now=moment,
                points=POINTS,
                settings=self.settings,
                method="progressive",
            )
            if not prepared.skip_reason:
                took = self._submit(opened, prepared, f"run-{run}")
        publish_result(opened, now=opened.points[-1])
        return opened, took

    def _submit(self, day: Day, prepared: PreparedRun, name: str) -> Took:
        used = self.runner.run([prepared.plan_uri], name, tiny=prepared.tiny)
        planned = decode_plan(day.store.get(prepared.plan_key)).run
        return Took(planned.estimated_cost / MICRO, used.process_cpu_s or 0.0)

    def _deliver_late(self) -> None:
        """Some rows of the last delivery once more, in a file of its own."""
        folder = self.work / "sources" / LATE
        rows = pq.read_table(folder / "run-3.parquet")
        whole = sum(pq.ParquetFile(path).metadata.num_rows for path in folder.glob("*.parquet"))
        chosen = np.random.default_rng(1).choice(rows.num_rows, round(SHARE * whole), replace=False)
        pq.write_table(rows.take(np.sort(chosen)), folder / "late.parquet")

    def _repair(self, repair: Repair, planned: RepairPlan) -> tuple[Generation, Took]:
        """Compute a repair in one of its ways; nothing is published."""
        prepared = begin_repair(replace(repair, plans=(planned,)), now=repair.day.points[-1])
        name = f"repair-{planned.base.run if planned.base else 0}"
        return prepared.at, self._submit(repair.day, prepared, name)


def section(scale: float, rows: Sequence[Repaired]) -> list[str]:
    """The section of the page of figures."""
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    return [
        "## Repairs",
        "",
        f"`make bench-repair SF={scale:g}`: TPC-H at scale {scale:g} on {machine}, beside other",
        "work. A day of three runs, with early work whatever it costs, is published; its policy",
        f"expects {EXPECTED:g} repair a day, so its final run may leave state. Then {SHARE:.1%}",
        f"more rows of `{LATE}` come. CPU seconds of whole processes, in brackets the estimate,",
        "without planning. Each result was compared with the plain query.",
        "",
        (
            "| query | final run | repair from the final run's state | from the last early run's | "
            "batch anew | best repair of batch | equal |"
        ),
        "| --- | --- | --- | --- | --- | --- | --- |",
        *map(_line, rows),
    ]


def _line(row: Repaired) -> str:
    found = [one.process_s for one in (row.from_final, row.from_early) if one is not None]
    share = f"{min(found) / row.anew.process_s:.2f}" if found else "no delta"
    cells = (row.final, row.from_final, row.from_early, row.anew)
    equal = "yes" if row.equal else "NO"
    return f"| {row.query} | {' | '.join(map(_cell, cells))} | {share} | {equal} |"


def _cell(took: Took | None) -> str:
    return f"{took.process_s:.1f} ({took.estimated_s:.1f})" if took is not None else "none"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--only", default=",".join(QUERIES), help="queries, such as q01,q06")
    given = parser.parse_args()
    days, texts, rows = Days.of(TPCH, given.scale), TPCH.texts(), list[Repaired]()
    for query in given.only.split(","):
        with tempfile.TemporaryDirectory(dir=home_folder() / "bench") as work:
            rows.append(_Day(days, query, texts[query], given.master, Path(work)).measure())
        say(_line(rows[-1]))
    write_section("bench-repair", section(given.scale, rows))
    return 0 if all(row.equal for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
