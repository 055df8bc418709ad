"""``make bench-repair``: a published day with a few corrected rows, repaired and computed anew.

A query is executed on Spark as a day of three runs, with early work whatever it costs, whose final
run expects a repair. A file of the last delivery has a thousandth of the rows of ``lineitem``, and
is written again when the day is published: the same rows with other quantities, discounts and
dates. ``forerun repair``, as it is typed, then computes the day from the state that is left, on
each engine that may, and the user's own text is run over all rows as they are now. Every figure is
of a whole process with all that it starts, and every result is compared with that of the text.

    python -m tests.benchmarks repair --scale 1 --only q01,q06

Days that are published stay as they are, in ``FORERUN_HOME/bench/tpch-<scale>-repair``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forerun.include.days.handle import Day
from forerun.include.engines import ENGINES
from forerun.include.machine.cpu_meter import run_measured
from forerun.include.reports.spec import encode_report
from forerun.include.runs.prepare import PreparedRun, prepare_run, publish_result
from forerun.include.state.layout import Generation
from forerun.planner.contract import decode_plan
from forerun.planner.cost.constants import MICRO
from forerun.planner.request import Settings
from forerun.simulation.day import plain_query, read_simulated
from forerun.simulation.deliveries import parse_correlation
from forerun.simulation.plain import PlainQuery
from forerun.simulation.running import SparkRunner
from forerun.simulation.simulated_day import Simulation, arrive, open_day, write_deliveries
from tests.benchmarks.days import POINTS, Days
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, say, table
from tests.benchmarks.page import ROOT
from tests.benchmarks.suites import TPCH

EXPECTED = 1.0
"""Repairs a day that the policy of the measured days names."""
CORRECTED = "lineitem"
SHARE = 0.001
ANEW = "anew"
ENGINES_TRIED = tuple(spec.name for spec in ENGINES.values() if not spec.endpoint)


@dataclass(frozen=True, slots=True)
class Took:
    """What an application was estimated at, and what its whole process took, in CPU seconds."""

    estimated_s: float
    process_s: float


@dataclass(frozen=True, slots=True)
class Corrections:
    """The last delivery without the rows that are corrected, and these before and after."""

    rest: Path
    before: Path
    after: Path

    @staticmethod
    def of(days: Days) -> Corrections:
        """Choose the rows at random and correct them, once."""
        folder = days.folder.with_name(f"{days.folder.name}-corrections")
        made = Corrections(*(folder / f"{name}.parquet" for name in ("rest", "before", "after")))
        if not made.after.exists():
            say(f"correcting {SHARE:.1%} of {CORRECTED}")
            folder.mkdir(parents=True, exist_ok=True)
            incoming = days.incoming / CORRECTED
            paths = sorted(incoming.glob("run-*.parquet"))
            whole = sum(pq.ParquetFile(path).metadata.num_rows for path in paths)
            rows = pq.read_table(paths[-1])
            chosen = np.zeros(rows.num_rows, dtype=bool)
            picked = np.random.default_rng(1).permutation(rows.num_rows)[: round(SHARE * whole)]
            chosen[picked] = True
            before = rows.filter(pa.array(chosen))
            pq.write_table(rows.filter(pa.array(~chosen)), made.rest, row_group_size=220_000)
            pq.write_table(before, made.before)
            pq.write_table(_corrected(before), made.after)
        return made


def _corrected(rows: pa.Table) -> pa.Table:
    """The same rows with other values, each within the bounds of its column."""
    fifty = pa.scalar(51, pa.decimal128(15, 2))
    tenth = pa.scalar(0, pa.decimal128(15, 2))
    changed = {
        "l_quantity": pc.subtract(fifty, rows["l_quantity"]),
        "l_discount": pc.if_else(pc.greater(rows["l_discount"], tenth), tenth, rows["l_tax"]),
        "l_shipdate": pc.add(rows["l_shipdate"], pa.scalar(dt.timedelta(days=-1))),
        "l_receiptdate": pc.add(rows["l_receiptdate"], pa.scalar(dt.timedelta(days=1))),
    }
    for name, values in changed.items():
        field = rows.schema.field(name)
        rows = rows.set_column(rows.schema.get_field_index(name), field, values.cast(field.type))
    return rows


class _Day:
    """One query's day on disk."""

    def __init__(self, days: Days, query: str, sql: str, master: str, work: Path) -> None:
        self.query, self.work = query, work
        self.corrections = Corrections.of(days)
        self.done = work / "published.json"
        again = not self.done.exists()
        if again:
            shutil.rmtree(work, ignore_errors=True)
            (work / "logs").mkdir(parents=True)
        self.runner = SparkRunner(work / "logs", master)
        self.master = master
        self.what = Simulation(
            name=query, sql=sql, tables=days.tables, changing=TPCH.changing, points=POINTS,
            correlations=tuple(map(parse_correlation, TPCH.together)), seed=1, work=work,
            store=str(work / "store"), incoming=days.incoming,
        )  # fmt: skip
        used = tuple(sorted(read_simulated(self.what).named))
        if again:
            write_deliveries(self.what, used, lambda _rows: None)
            last = work / "incoming" / CORRECTED / f"run-{len(POINTS)}.parquet"
            last.unlink()
            os.link(self.corrections.rest, last)
        plain = plain_query(self.what, used, self.runner)
        policy = replace(plain.spec.policy, expected_repairs=EXPECTED)
        self.plain = PlainQuery(
            replace(plain.spec, policy=policy), plain.sources, plain.day, self.runner
        )
        self.settings = Settings(prices=self.runner.engine.prices)

    def publish(self) -> Took:
        """Run, publish and correct the day, once; what its final run took."""
        if self.done.exists():
            return Took(**json.loads(self.done.read_text()))
        opened = open_day(self.what, self.plain)
        took = Took(0.0, 0.0)
        few = self.work / "sources" / CORRECTED / "few.parquet"
        for run, moment in enumerate(opened.points, 1):
            arrive(self.what, run)
            if run == opened.spec.runs:
                os.link(self.corrections.before, few)
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
        few.unlink()
        (self.work / "old").mkdir()
        os.link(self.corrections.before, self.work / "old" / "few.parquet")
        os.link(self.corrections.after, few)
        (self.work / "spec.json").write_bytes(encode_report(opened.spec))
        self.done.write_text(json.dumps(asdict(took)))
        return took

    def _submit(self, day: Day, prepared: PreparedRun, name: str) -> Took:
        used = self.runner.run([prepared.plan_uri], name, tiny=prepared.tiny)
        planned = decode_plan(day.store.get(prepared.plan_key)).run
        return Took(planned.estimated_cost / MICRO, used.process_cpu_s or 0.0)

    def anew(self) -> Figures:
        """Run the day, and compute it anew by the user's text."""
        final = self.publish()
        plain_at, batch = self.plain.run()
        return {
            "final": asdict(final),
            "process_s": batch.process_cpu_s or 0.0,
            "at": asdict(plain_at),
        }

    def repaired(self, engine: str, plain_at: Generation) -> Figures:
        """Repair the day on an engine, which finds it as it was published: what another one has
        computed is not there."""
        store = self.work / f"store-{engine}"
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(self.work / "store", store, copy_function=os.link)
        said, process_s = self._repair(engine, store)
        if "error" in said:
            return {"refused": str(said["error"])}
        differences = self._differences(store, said, plain_at)
        shutil.rmtree(store)
        took = Took(said["plans"][0]["estimated_cpu_s"], process_s)
        return {**asdict(took), "differences": differences}

    def _repair(self, engine: str, store: Path) -> tuple[dict, float]:
        """``forerun repair`` on an engine, computed and not published; what it says, or the error,
        and the CPU of all its processes."""
        command = [str(Path(sys.prefix) / "bin" / "forerun"), "repair"]
        command += [self.plain.spec.name, self.plain.day.isoformat(), "--store", str(store)]
        command += ["--spec", str(self.work / "spec.json"), "--engine", engine]
        command += ["--copies", str(self.work / "old"), "--master", self.master]
        command += ["--no-publish", "--json"]
        out, log = (self.work / "logs" / f"repair-{engine}.{kind}" for kind in ("json", "log"))
        with out.open("wb") as output, log.open("wb") as errors:
            used = run_measured(command, cwd=ROOT, stdout=output, stderr=errors)
        if used.exit_code:
            return {"error": log.read_text().strip().splitlines()[0]}, used.process_cpu_s
        return json.loads(out.read_text()), used.process_cpu_s

    def _differences(self, store: Path, said: dict, plain_at: Generation) -> tuple[str, ...]:
        """Where the result of a repair is not that of the user's text."""
        generation = Path(said["diff"].removeprefix("file://")).parents[1]
        at = replace(plain_at, report=self.plain.spec.name, generation=generation.name)
        shutil.copytree(  # beside the day, where the comparison looks for it
            generation, self.work / "store" / at.folder, copy_function=os.link, dirs_exist_ok=True
        )
        verdict = self.plain.compare(at, plain_at, self.plain.spec.runs + 1)
        shutil.rmtree(self.work / "store" / at.folder)
        return verdict.differences


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query computed anew, and repaired on every engine."""
    texts = TPCH.texts()

    def day(query: str) -> _Day:
        days = Days.of(TPCH, given.scale)
        place = days.folder.with_name(f"{days.folder.name}-repair") / query
        return _Day(days, query, texts[query], given.master, place)

    def anew(query: str, _found: Found) -> Figures:
        return day(query).anew()

    def repaired(query: str, engine: str, found: Found) -> Figures:
        return day(query).repaired(engine, Generation(**found[query, ANEW]["at"]))

    under = f"{TPCH.title} at scale {given.scale:g}, {given.master}"
    for query in texts:
        yield Cell(name=(query, ANEW), under=under, measure=partial(anew, query))
        for engine in ENGINES_TRIED:
            measure = partial(repaired, query, engine)
            yield Cell(name=(query, engine), under=under, measure=measure)


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield a row for each query."""
    names = (f"repair on {name}" for name in ENGINES_TRIED)
    rows = (_row(name[0], found) for name in found if name[1] == ANEW)
    yield from table(("query", "final run", *names, "batch anew", "best of batch"), rows)


def _row(query: str, found: Found) -> Iterator[str]:
    anew = found[query, ANEW]
    repairs = [found.get((query, engine), {}) for engine in ENGINES_TRIED]
    yield query
    yield from map(_cell, (anew["final"], *repairs))
    yield f"{anew['process_s']:.1f}"
    took = [one["process_s"] for one in repairs if "process_s" in one]
    yield f"{min(took) / anew['process_s']:.2f}" if took else "none"


def _cell(took: Figures) -> str:
    if "process_s" not in took:
        return "refused" if took else "not measured"
    return f"{took['process_s']:.1f} ({took['estimated_s']:.1f})"


ABOUT = f"""\
A day of three runs on Spark, with early work whatever it costs, is published; its policy expects
{EXPECTED:g} repair a day, so its final run may leave state. Then a file with {SHARE:.1%} of the
rows of `{CORRECTED}`, drawn at random from the last delivery, is written again: other quantities,
discounts and dates. CPU seconds of whole processes: `forerun repair --no-publish` as it is typed,
planning included, and an application with the user's text over the corrected rows; in brackets the
estimates."""

BENCHMARK = Benchmark(cells=cells, lines=lines, about=ABOUT, section=lambda _given: "bench-repair")
