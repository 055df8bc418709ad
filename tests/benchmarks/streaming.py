"""``make bench-streaming``: a day by Forerun, by small batches, by Spark Structured Streaming.

The rows of ``lineitem`` come as files, evenly over a window of 4,500 s, as in section 7 of the
paper. The clock of the window is left out: an application finds the files that would be there when
it starts, a micro-batch takes those of its interval, and nobody waits in between. Figures are CPU
seconds of whole process trees, and every result is compared with batch as a bag. What has its
figures by this code is not run again, so the command may be killed and started again.

    python -m tests.benchmarks streaming --scale 1
    python -m tests.benchmarks streaming --scale 0.1 --only q06 --no-page
    python -m tests.benchmarks streaming --scale 1 --only q06 --ways auto,shortest
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.include.machine.cpu_meter import run_measured
from forerun.include.machine.jvm import (
    driver_environment,
    home_folder,
    spark_submit,
    submit_options,
)
from forerun.include.runs.prepare import prepare_run
from forerun.include.state.layout import Generation
from forerun.include.state.opening import open_store
from forerun.include.state.rows import result_rows
from forerun.include.verify.equality import compare
from forerun.planner.algebra.relational import sources as sources_of
from forerun.planner.errors import ForerunError
from forerun.planner.request import Method, Settings, TimePoint
from forerun.simulation import accounts
from forerun.simulation.day import plain_query, read_simulated
from forerun.simulation.deliveries import Splitter, parse_correlation
from forerun.simulation.plain import PlainQuery
from forerun.simulation.running import DRIVER_MEMORY, SparkRunner
from forerun.simulation.simulated_day import Simulation, open_day
from forerun.simulation.tables import Table, find_tables
from tests.benchmarks.days import POINTS, TPCH, say
from tests.benchmarks.page import ROOT, SCHEDULE_PAGE, write_section
from tests.benchmarks.results import code_version

JOB = Path(__file__).with_name("streaming_job.py")
QUERIES = ("q06", "q01", "q14")
"""All that streaming can do of TPC-H: one stream, and an aggregate without a subquery."""
STREAM = "lineitem"
FILES, FINE = 150, 900
"""Into how many files the rows of the window go, and for the shortest trigger."""
WINDOW_S = 4500
SMALL = tuple(TimePoint(weight=1.0, arrived=run / 4) for run in range(1, 5))
TEN_MINUTES = FILES * 600 // WINDOW_S
MASTER = "local[2]"
BATCH = "batch"
MODES = ("append", "update", "complete")


class StreamingError(ForerunError):
    """An application of the benchmark failed."""

    code = "streaming"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What one way of having a query's day took: CPU seconds of each application in turn, and into
    how many batches the rows went. ``differences`` are empty if the result equals batch."""

    code: str
    query: str
    way: str
    cpu_s: tuple[float, ...]
    batches: int
    differences: tuple[str, ...] = ()


class Kept:
    """Figures in a file, a line each, that outlives the command."""

    def __init__(self, path: Path) -> None:
        self.path, self.code = path, code_version()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def all(self) -> list[Figure]:
        """The figures by the code as it is now."""
        read = map(json.loads, self.path.read_text(encoding="utf-8").splitlines())
        own = [one for one in read if one["code"] == self.code]
        return [Figure(**{**one, "cpu_s": tuple(one["cpu_s"])}) for one in own]

    def put(self, figure: Figure) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(figure)) + "\n")


def deliver(tables: dict[str, Table], streams: dict[str, int], folder: Path) -> Path:
    """Every table as a folder, those of ``streams`` as so many deliveries; made once."""
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        together = tuple(map(parse_correlation, TPCH.together)) if len(streams) > 1 else ()
        for name, table in tables.items():
            if name in streams:
                count = streams[name]
                arrived = tuple(run / count for run in range(1, count + 1))
                Splitter(tables, arrived, 1, together).write(name, folder / "tables" / name)
                continue
            (folder / "tables" / name).mkdir(parents=True)
            for path in table.files:
                os.link(path, folder / "tables" / name / path.name)
        (folder / "done").touch()
    return folder / "tables"


Took = tuple[tuple[float, ...], int, pa.Table]
"""CPU seconds of each application, batches in all, and the rows that came out."""


class Window:
    """One query's window on disk: the files of ``tables`` come into ``work`` as time goes on. In
    ``fine`` the same rows lie in more files."""

    def __init__(self, query: str, tables: Path, fine: Path, work: Path) -> None:
        self.query, self.tables, self.fine, self.work = query, tables, fine, work
        self.sql = TPCH.texts()[query]
        shutil.rmtree(work, ignore_errors=True)
        (work / "logs").mkdir(parents=True)
        self.runner = SparkRunner(work / "logs", MASTER)
        self.store = str(work / "store")

    def _arrive(self, place: Path, arrived: float) -> Path:
        """The tables in ``place``, as they are when that part of the files has come."""
        for table in sorted(self.tables.iterdir()):
            files = [*table.glob("*.parquet")]
            if table.name == STREAM:
                last = round(arrived * FILES)
                files = [path for path in files if int(path.stem.partition("-")[2]) <= last]
            (place / table.name).mkdir(parents=True, exist_ok=True)
            for path in files:
                if not (place / table.name / path.name).exists():
                    os.link(path, place / table.name / path.name)
        return place

    def _report(self, way: str, points: tuple[TimePoint, ...]) -> tuple[Simulation, PlainQuery]:
        what = Simulation(
            name=f"{self.query}_{way}", sql=self.sql, tables=find_tables(self.tables),
            changing=frozenset({STREAM}), points=points, correlations=(), seed=1,
            work=self.work / way, store=self.store,
        )  # fmt: skip
        return what, plain_query(what, sorted(sources_of(read_simulated(what))), self.runner)

    def batch(self) -> Took:
        """The plain query over all files."""
        what, plain = self._report("whole", (TimePoint(weight=1.0),))
        self._arrive(what.work / "sources", 1.0)
        at, account = plain.run()
        return (account.process_cpu_s,), 1, self._rows(at, 1)

    def forerun(self, way: str, points: tuple[TimePoint, ...], method: Method) -> Took:
        """The window in Forerun's runs, each an application of its own."""
        what, plain = self._report(way, points)
        day, took = open_day(what, plain), []
        settings = Settings(prices=self.runner.engine.prices)
        for run, moment in enumerate(day.points, 1):
            self._arrive(what.work / "sources", points[run - 1].arrived)
            prepared = prepare_run(
                day, run, now=moment, points=points, method=method, settings=settings
            )
            if not prepared.skip_reason:
                used = self.runner.run([prepared.plan_uri], f"{way}-{run}", tiny=prepared.tiny)
                took.append(used.process_cpu_s or 0.0)
        return tuple(took), len(took), self._rows(day.at, len(points))

    def _rows(self, at: Generation, run: int) -> pa.Table:
        """What a committed run gave."""
        store = open_store(self.store)
        result = accounts.commit_with_result(store, at, run).result
        if result is None:
            raise StreamingError(f"{at.report} has no result", hint="Look at its log.")
        return result_rows(store, result)

    def streaming(self, way: str, files: int, tables: Path) -> Took:
        """The window in one application; a micro-batch takes so many files of the tables."""
        work = self.work / way
        sql, result = self.work / f"{way}.sql", work / "rows"
        sql.write_text(self.sql)
        command = ["follow", "--tables", str(tables), "--streams", STREAM, "--sql", str(sql)]
        command += ["--work", str(work), "--files", str(files), "--result", str(result)]
        took = submit(command, self.work / "logs" / f"{way}.log")
        return (took,), int((work / "micro-batches").read_text()), pq.read_table(result)


def submit(arguments: list[str], log: Path) -> float:
    """Run the streaming job as Forerun's applications are run; CPU seconds of its processes."""
    command = [str(spark_submit()), "--master", MASTER, "--driver-memory", DRIVER_MEMORY]
    for key, value in submit_options("/tmp", master=MASTER):
        command += ["--conf", f"{key}={value}"]
    with log.open("ab") as output:
        done = run_measured(
            [*command, str(JOB), *arguments], driver_environment(), stdout=output, stderr=output
        )
    if done.exit_code:
        raise StreamingError(f"{JOB.name} ended with {done.exit_code}", hint=f"Its log: {log}")
    return done.process_cpu_s


LABELS = {
    BATCH: "the plain query, once at the end",
    "auto": "Forerun: 58, 79 and 100 %, at prices 0.25, 0.3 and 1",
    "early": "the same, early runs whatever they cost",
    "small": f"{len(SMALL)} small runs of Forerun, as EDF without a minimum batch has them",
    "available-now": "streaming, AvailableNow once at the end",
    "ten-minutes": "streaming, ten minutes",
    "short": f"streaming, {WINDOW_S // FILES} s: a file each",
    "shortest": f"streaming, {WINDOW_S // FINE} s: a file each",
}


def ways(window: Window) -> dict[str, Callable[[], Took]]:
    """Each way to have the result, by its name in :data:`LABELS`."""
    return {
        BATCH: window.batch,
        "auto": partial(window.forerun, "auto", POINTS, "auto"),
        "early": partial(window.forerun, "early", POINTS, "progressive"),
        "small": partial(window.forerun, "small", SMALL, "progressive"),
        "available-now": partial(window.streaming, "available-now", FILES, window.tables),
        "ten-minutes": partial(window.streaming, "ten-minutes", TEN_MINUTES, window.tables),
        "short": partial(window.streaming, "short", 1, window.tables),
        "shortest": partial(window.streaming, "shortest", 1, window.fine),
    }


def measure(kept: Kept, window: Window, asked: set[str], folder: Path) -> None:
    """Measure the ways asked for that have no figures yet, batch first: the others are compared
    with its rows."""
    query = window.query
    done = {figure.way for figure in kept.all() if figure.query == query}
    expected = folder / f"{query}-batch.parquet"
    if not expected.exists():
        done.discard(BATCH)
    for way, run in ways(window).items():
        if way in done or way not in {BATCH, *asked}:
            continue
        say(f"{query}: {LABELS[way]}")
        cpu, batches, rows = run()
        if way == BATCH:
            pq.write_table(rows, expected)
        verdict = compare(pq.read_table(expected), rows)
        figure = Figure(
            code=kept.code, query=query, way=way, cpu_s=tuple(round(one, 2) for one in cpu),
            batches=batches, differences=verdict.differences,
        )  # fmt: skip
        kept.put(figure)
        say(f"{query}: {LABELS[way]}: {_told(figure)}")
    shutil.rmtree(window.work)


def _told(figure: Figure) -> str:
    equal = "; ".join(figure.differences) or "equal"
    return f"{sum(figure.cpu_s):.0f} CPU s, {figure.batches} batches, {equal}"


_NO_STREAM = "WRITE_STREAM_NOT_ALLOWED"
_NAMES = re.compile(r"^[\w.]+: (\[[\w.]+\] )?|\.? SQLSTATE.*$|;.*$")
"""What is before and after the sentence of an error."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What streaming does with a query, by output mode: the error by which it refuses or fails, or
    whether its rows are those of batch (None: they are changes of rows)."""

    query: str
    errors: dict[str, str]
    equal: dict[str, bool | None]

    def said(self, mode: str) -> str:
        if mode in self.errors:
            error = self.errors[mode]
            return "reads no stream" if error.startswith(_NO_STREAM) else _NAMES.sub("", error)
        return {True: "equal", False: "**other rows**", None: "runs"}[self.equal[mode]]


def ask(folder: Path, code: str) -> list[Answer]:
    """Give streaming every query of TPC-H, with the tables of :data:`TPCH` that change as streams,
    at scale 0.01 in two micro-batches; once by this code."""
    work = folder / f"answers-{code}"
    if not (work / "said.json").exists():
        _ask(folder, work)
    errors: dict[str, dict[str, str]] = {}
    for one in json.loads((work / "said.json").read_text()):
        errors.setdefault(one["query"], {})[one["mode"]] = one["said"]
    return [
        Answer(
            query,
            {mode: text for mode, text in modes.items() if text},
            {mode: _same(work, query, mode) for mode, text in modes.items() if not text},
        )
        for query, modes in errors.items()
    ]


def _ask(folder: Path, work: Path) -> None:
    small = find_tables(TPCH.generate(0.01))
    tables = deliver(small, dict.fromkeys(TPCH.changing, 2), folder / "asked")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    command = ["try", "--tables", str(tables), "--streams", ",".join(sorted(TPCH.changing))]
    command += ["--files", "1", "--sql", str(ROOT / "tests" / "tpch"), "--work", str(work)]
    submit(command, folder / "answers.log")


def _same(work: Path, query: str, mode: str) -> bool | None:
    if mode == "update":
        return None
    expected = pq.read_table(work / f"{query}_batch")
    return compare(expected, pq.read_table(work / f"{query}_{mode}")).equal


def section(scale: float, figures: Sequence[Figure], answers: Sequence[Answer]) -> list[str]:
    """The section of the page of the schedule."""
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    queries = sorted({figure.query for figure in figures})
    of = {(figure.way, figure.query): figure for figure in figures}
    small = statistics.median(s for f in figures if f.way == "small" for s in f.cpu_s[:-1])
    micro = [_per_batch(of["shortest", query], of["available-now", query]) for query in queries]
    wrong = [f"{f.query} {f.way}" for f in figures if f.differences]
    return [
        f"TPC-H at scale {scale:g} on {machine}, {MASTER}, beside other work: CPU seconds of whole",
        "processes, as times those of the plain query, and in how many batches.",
        "",
        f"| | {' | '.join(queries)} |",
        f"| --- |{' --- |' * len(queries)}",
        *(_line(way, [(of[way, q], of[BATCH, q]) for q in queries]) for way in LABELS),
        "",
        f"Results that are not those of batch: {', '.join(wrong) or 'none'}. Half of the small",
        f"early runs took more than {small:.1f} CPU s, most of it to start. A micro-batch takes",
        f"{min(micro):.2f} to {max(micro):.2f} CPU s: at one a second, as the paper's files come,",
        f"{WINDOW_S:,} of them would take {WINDOW_S * min(micro):,.0f} to",
        f"{WINDOW_S * max(micro):,.0f} CPU s (worked out, not run).",
        "",
        "The 22 queries of TPC-H as they are written, with orders, lines and customers as streams",
        "(scale 0.01, two micro-batches), by output mode; rows are compared with batch:",
        "",
        "| queries | append | update | complete |",
        "| --- | --- | --- | --- |",
        *_answered(answers),
    ]  # fmt: skip


def _per_batch(many: Figure, one: Figure) -> float:
    """What each micro-batch takes beside the work on its rows."""
    return (sum(many.cpu_s) - sum(one.cpu_s)) / (many.batches - one.batches)


def _line(way: str, found: Sequence[tuple[Figure, Figure]]) -> str:
    cells = (
        f"{sum(one.cpu_s):.0f} s, {sum(one.cpu_s) / sum(batch.cpu_s):.2f}, {one.batches}"
        for one, batch in found
    )
    return f"| {LABELS[way]} | {' | '.join(cells)} |"


def _answered(answers: Sequence[Answer]) -> Iterator[str]:
    """A line for all queries that got the same answers."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for answer in answers:
        alike.setdefault(tuple(map(answer.said, MODES)), []).append(answer.query)
    for said, queries in alike.items():
        yield f"| {', '.join(queries)} | {' | '.join(said)} |"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ways", default="", help=f"only some of {','.join(LABELS)}; no page")


def main(given: argparse.Namespace) -> int:
    folder = home_folder() / "bench" / f"streaming-{given.scale:g}"
    kept, queries = Kept(folder / "figures.jsonl"), (given.only or list(QUERIES))
    generated = find_tables(TPCH.generate(given.scale))
    tables = deliver(generated, {STREAM: FILES}, folder / "window")
    fine = deliver(generated, {STREAM: FINE}, folder / "fine-window")
    asked = {*given.ways.split(",")} if given.ways else {*LABELS}
    for query in queries:
        measure(kept, Window(query, tables, fine, folder / query), asked, folder)
    if given.ways:
        return 0
    figures = [figure for figure in kept.all() if figure.query in queries]
    say("what streaming takes of TPC-H")
    lines = section(given.scale, figures, ask(folder, kept.code))
    print("\n".join(lines))
    if not given.no_page:
        write_section("bench-streaming", lines, SCHEDULE_PAGE)
    return int(any(figure.differences for figure in figures))
