"""``python -m tests.benchmarks checkpoints``: what checkpoints cost, and what they save.

The queries of TPC-H that take longest in one run of stages of our own, executed in one session:
without checkpoints, with those that pay if the run is ended once in its length (``one end``), and
with one at every operator that may have one (``every``). Figures are CPU seconds of the executors;
*until done* is what the stages would take if they were ended at that rate, by what each took.

    python -m tests.benchmarks checkpoints --scale 10 --only q09,q18
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from forerun.include.engines import ENGINES
from forerun.planner.api import plan
from forerun.planner.contract import ArtifactOutput, Plan, Stage
from forerun.planner.contract.plan_v1 import RUN_COLUMN
from forerun.planner.cost.constants import MICRO
from forerun.planner.cost.prices import SPARK
from forerun.planner.errors import ForerunError
from forerun.planner.materialize.checkpoints import until_done
from forerun.planner.request import PlanRequest, Settings, TimePoint
from forerun.spark_jobs.engine import Engine, start_engine
from forerun.spark_jobs.stages import small_sides
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.suites import TPCH

FREE = replace(SPARK, stage_start=0, write_row=0, write_byte=0, task=0, file_write=0)
"""Prices at which nothing speaks against storing rows."""
QUERIES = ("q03", "q05", "q07", "q09", "q10", "q13", "q18", "q21")
WAYS = ("none", "one end", "every")


def planned(sql: str, scale: float, way: str) -> Plan:
    """The one run of a query in stages of our own, cut in one of the ways."""
    request = PlanRequest(
        report="r",
        sql=sql,
        sources=TPCH.sources(scale),
        points=(TimePoint(weight=1.0),),
        settings=Settings(own_batch="always"),
    )
    whole = plan(request).plan
    if way == "none":
        return whole
    ends = MICRO / whole.run.stages[-1].estimated_cost
    settings = replace(request.settings, interruptions=ends)
    if way == "every":
        settings = replace(settings, interruptions=100 * ends, prices=FREE)
    return plan(replace(request, settings=settings)).plan


def measured(query: str, scale: float, master: str, _found: Found) -> Figures:
    """CPU seconds of the stages of each way, the bytes that it stored, and what the run takes until
    it is done if it is ended once in the length that it has without checkpoints."""
    folder = TPCH.generate(scale)
    engine = start_engine(ENGINES["spark"], master=master, name="checkpoints")
    figures: Figures = {}
    results = []
    try:
        for path in folder.glob("*.parquet"):
            engine.session.read.parquet(str(path)).createOrReplaceTempView(path.stem)
        size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
        for time in ("warm", "measured"):
            for way in WAYS:
                made = planned(TPCH.texts()[query], scale, way)
                work = folder.with_name(f"{folder.name}-checkpoints")
                shutil.rmtree(work, ignore_errors=True)
                label = f"{time} {way}"
                results.append(sorted(_executed(engine, made, label, work, size)))
                took = [engine.used().stage(f"{label} {s.id}").cpu_s for s in made.run.stages]
                figures |= {
                    f"{way} cpu": took,
                    f"{way} stored": sum(p.stat().st_size for p in work.rglob("*.parquet")),
                }
        shutil.rmtree(work, ignore_errors=True)
    finally:
        engine.stop()
    if any(result != results[0] for result in results):
        raise ForerunError(f"the results of {query} differ", hint="Look at the stages.")
    rate = 1.0 / max(0.1, sum(figures["none cpu"]))
    for way in WAYS:
        figures[f"{way} done"] = sum(until_done(s * MICRO, rate) for s in figures[f"{way} cpu"])
    return figures


def _executed(engine: Engine, made: Plan, label: str, work: Path, size: int) -> list[str]:
    """Run the stages of the plan; return the rows of the result as text."""
    rows: list[str] = []
    engine.configure(made.session)
    for stage in made.run.stages:
        with (
            engine.working_on(f"{label} {stage.id}"),
            engine.running(stage.sql),
            engine.shuffling_into(engine.partitions_for(size)),
            small_sides(engine, stage),
        ):
            rows = _stage(engine, made, stage, work)
    return rows


def _stage(engine: Engine, made: Plan, stage: Stage, work: Path) -> list[str]:
    frame = engine.session.sql(stage.sql)
    if not isinstance(stage.output, ArtifactOutput):
        return [repr(tuple(row)) for row in frame.collect()]
    name = made.family(stage.output.family).id
    frame.write.parquet(str(work / name))
    stored = engine.session.read.schema(frame.schema).parquet(str(work / name))
    stored.selectExpr("*", f"1 AS {RUN_COLUMN}").createOrReplaceTempView(name)
    return []


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield each query."""
    for query in QUERIES:
        yield Cell(
            name=(query,),
            under=f"scale {given.scale:g}",
            measure=partial(measured, query, given.scale, given.master),
        )


def lines(given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield a row for each query, and the sums."""
    yield f"TPC-H at scale {given.scale:g}, second time of each in one session."
    yield ""
    heads = [f"{what}, {way}" for what in ("executors", "until done") for way in WAYS]
    stored = [f"stored, {way}" for way in WAYS[1:]]
    rows = [(name[0], *_row(one)) for name, one in found.items()]
    sums = ("all", *(sum(column) for column in zip(*(row[1:] for row in rows), strict=True)))
    yield from table(("query", *heads, *stored), (_said(row) for row in (*rows, sums)))


def _row(one: Figures) -> list[float]:
    cpu = [sum(one[f"{way} cpu"]) for way in WAYS]
    done = [one[f"{way} done"] / MICRO for way in WAYS]
    return [*cpu, *done, *(one[f"{way} stored"] / 1e6 for way in WAYS[1:])]


def _said(row: tuple[object, ...]) -> tuple[object, ...]:
    name, *figures = row
    seconds, stored = figures[:-2], figures[-2:]
    return (name, *(f"{s:.1f}" for s in seconds), *(f"{s:.1f} MB" for s in stored))


BENCHMARK = Benchmark(cells=cells, lines=lines, section=lambda _given: "bench-checkpoints")
