"""``make bench-streaming``: a day by Forerun, by small batches, by Spark Structured Streaming.

The rows of ``lineitem`` come as files, evenly over a window of 4,500 s, as in section 7 of the
paper. The clock of the window is left out: an application finds the files that would be there when
it starts, a micro-batch takes those of its interval, and nobody waits in between. Figures are CPU
seconds of whole process trees, and every result is compared with batch as a bag.

    python -m tests.benchmarks streaming --scale 1
    python -m tests.benchmarks streaming --scale 0.1 --only q06 --no-page
    python -m tests.benchmarks streaming --scale 1 --only q06 --only batch,auto,shortest
"""

from __future__ import annotations

import argparse
import json
import os
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
from forerun.include.state.rows import result_rows
from forerun.include.stores.opening import open_store
from forerun.include.verify.equality import compare
from forerun.planner.errors import ForerunError
from forerun.planner.request import Method, Settings, TimePoint
from forerun.simulation import accounts
from forerun.simulation.day import plain_query, read_simulated
from forerun.simulation.deliveries import Splitter, parse_correlation
from forerun.simulation.plain import PlainQuery
from forerun.simulation.running import DRIVER_MEMORY, SparkRunner
from forerun.simulation.simulated_day import Simulation, open_day
from forerun.simulation.tables import Table, find_tables
from tests.benchmarks.days import POINTS
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.page import ROOT, SCHEDULE_PAGE
from tests.benchmarks.suites import TPCH

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
        for name in sorted(self.tables.iterdir()):
            files = [*name.glob("*.parquet")]
            if name.name == STREAM:
                last = round(arrived * FILES)
                files = [path for path in files if int(path.stem.partition("-")[2]) <= last]
            (place / name.name).mkdir(parents=True, exist_ok=True)
            for path in files:
                if not (place / name.name / path.name).exists():
                    os.link(path, place / name.name / path.name)
        return place

    def _report(self, way: str, points: tuple[TimePoint, ...]) -> tuple[Simulation, PlainQuery]:
        what = Simulation(
            name=f"{self.query}_{way}", sql=self.sql, tables=find_tables(self.tables),
            changing=frozenset({STREAM}), points=points, correlations=(), seed=1,
            work=self.work / way, store=self.store,
        )  # fmt: skip
        return what, plain_query(what, sorted(read_simulated(what).named), self.runner)

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


def ask(folder: Path) -> list[Answer]:
    """Give streaming every query of TPC-H, with the tables of :data:`TPCH` that change as streams,
    at scale 0.01 in two micro-batches."""
    work = folder / "answers"
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


ASKED = "asked"
"""The cell of what streaming does with all queries."""


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query in every way, batch first: the others are compared with its rows."""
    folder = home_folder() / "bench" / f"streaming-{given.scale:g}"

    def window(query: str) -> Window:
        generated = find_tables(TPCH.generate(given.scale))
        tables = deliver(generated, {STREAM: FILES}, folder / "window")
        fine = deliver(generated, {STREAM: FINE}, folder / "fine-window")
        return Window(query, tables, fine, folder / query)

    def measure(query: str, way: str, _found: Found) -> Figures:
        of, expected = window(query), folder / f"{query}-batch.parquet"
        cpu, batches, rows = ways(of)[way]()
        if way == BATCH:
            pq.write_table(rows, expected)
        differences = compare(pq.read_table(expected), rows).differences
        shutil.rmtree(of.work)
        return {"cpu_s": cpu, "batches": batches, "differences": differences}

    def asked(_found: Found) -> Figures:
        return {"answers": [asdict(one) for one in ask(folder)]}

    under = f"{TPCH.title} at scale {given.scale:g}, {MASTER}"
    for query in QUERIES:
        for way in LABELS:
            yield Cell(name=(query, way), under=under, measure=partial(measure, query, way))
    yield Cell(name=(ASKED,), under=under, measure=asked)


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield a row for each way, what a micro-batch takes, and what streaming says to all
    queries."""
    of = {name: one for name, one in found.items() if name != (ASKED,)}
    queries = sorted({query for query, _ in of})
    yield "CPU seconds of whole processes, as times those of the plain query, and in how many"
    yield "batches."
    yield ""
    rows = ((LABELS[way], *(_cell(of, query, way) for query in queries)) for way in LABELS)
    yield from table(("", *queries), rows)
    yield ""
    if small := [s for (_, way), one in of.items() if way == "small" for s in one["cpu_s"][:-1]]:
        yield f"Half of the small early runs took more than {statistics.median(small):.1f} CPU s,"
        yield "most of it to start."
    both = [
        [of[query, way] for way in ("shortest", "available-now") if (query, way) in of]
        for query in queries
    ]
    if micro := [_per_batch(*pair) for pair in both if len(pair) == 2]:
        low, high = min(micro), max(micro)
        yield f"A micro-batch takes {low:.2f} to {high:.2f} CPU s: at one a second, as the paper's"
        yield f"files come, {WINDOW_S:,} of them would take {WINDOW_S * low:,.0f} to"
        yield f"{WINDOW_S * high:,.0f} CPU s (worked out, not run)."
    if (ASKED,) in found:
        yield ""
        yield "The 22 queries of TPC-H as they are written, with orders, lines and customers as"
        yield "streams (scale 0.01, two micro-batches), by output mode, compared with batch:"
        yield ""
        answers = [Answer(**one) for one in found[(ASKED,)]["answers"]]
        yield from table(("queries", *MODES), _answered(answers))


def _per_batch(many: Figures, one: Figures) -> float:
    """What each micro-batch takes beside the work on its rows."""
    return float((sum(many["cpu_s"]) - sum(one["cpu_s"])) / (many["batches"] - one["batches"]))


def _cell(of: Found, query: str, way: str) -> str:
    if (query, way) not in of:
        return ""
    one, batch = of[query, way], of.get((query, BATCH))
    ratio = f", {sum(one['cpu_s']) / sum(batch['cpu_s']):.2f}" if batch else ""
    return f"{sum(one['cpu_s']):.0f} s{ratio}, {one['batches']}"


def _answered(answers: Sequence[Answer]) -> Iterator[tuple[str, ...]]:
    """A row for all queries that got the same answers."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for answer in answers:
        alike.setdefault(tuple(map(answer.said, MODES)), []).append(answer.query)
    for said, queries in alike.items():
        yield ", ".join(queries), *said


BENCHMARK = Benchmark(
    cells=cells, lines=lines, section=lambda _given: "bench-streaming", page=SCHEDULE_PAGE
)
