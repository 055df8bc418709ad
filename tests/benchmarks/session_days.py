"""Days in a Spark session that is there already: what the work takes, without what starting takes.

The planner is told so: its prices are those of a run that takes part in an application of others.
Batch of a query is run once for all its days over the same arrivals, and each is compared with it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from forerun.include.engines import ENGINES
from forerun.include.machine.jvm import submit_options
from forerun.include.runs.prepare import prepare_run
from forerun.include.state.layout import Generation
from forerun.include.verify.equality import Comparison
from forerun.planner.algebra.relational import sources as sources_of
from forerun.planner.cost.prices import SPARK
from forerun.planner.explain.sql import statements
from forerun.planner.request import PDW, Method, Problem, Settings
from forerun.simulation.accounts import DayAccount, RunAccount, decided_alone
from forerun.simulation.course import SimulatedReport, run_day
from forerun.simulation.day import account_of, plain_query, read_simulated
from forerun.simulation.plain import PlainQuery
from forerun.simulation.running import InProcessRunner, Runner
from forerun.simulation.simulated_day import Simulation, arrive, open_day, write_deliveries
from forerun.spark_jobs.engines.spark import start_spark
from tests.benchmarks.days import Days

IN_SESSION = replace(ENGINES["spark"], submitted=False, prices=SPARK.in_group())

FirstRun = tuple[str, ...]
"""The statements of a day's first run as it is planned; none where it has nothing to do."""


@contextmanager
def spark_session(
    master: str, memory: str, conf: Iterable[tuple[str, str]] = ()
) -> Iterator[InProcessRunner]:
    """A runner for the block whose runs share one Spark application, this process its driver. The
    JVM stays for the next one, so its ``memory`` is that of the first."""
    quiet = ("spark.ui.showConsoleProgress", "false")
    options = (*submit_options("", master=master), ("spark.driver.memory", memory), quiet, *conf)
    engine = start_spark(master=master, name="benchmark", options=options)
    try:
        engine.session.sparkContext.setLogLevel("ERROR")
        yield InProcessRunner(IN_SESSION, engine)
    finally:
        engine.stop()


class QueryDays:
    """The days of one query over the same arrivals. ``work`` is a folder of their own, emptied
    first."""

    def __init__(self, days: Days, query: str, runner: Runner, work: Path) -> None:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        self._runner, self._work = runner, work
        self._whole = days.simulation(
            query, days.suite.texts()[query], work / "batch", str(work / "store")
        )
        self._query = read_simulated(self._whole).relation
        self._used = tuple(sorted(sources_of(self._query)))

    @cached_property
    def plain(self) -> PlainQuery:
        """The plain query over everything."""
        write_deliveries(self._whole, self._used, _quiet)
        for run in range(1, len(self._whole.points) + 1):
            arrive(self._whole, run)
        return plain_query(self._whole, self._used, self._runner)

    @cached_property
    def _batch(self) -> tuple[Generation, RunAccount]:
        """Batch, the second time that it is run: the first time, its code is compiled."""
        self.plain.run()
        return self.plain.run()

    @cached_property
    def _own(self) -> tuple[RunAccount, Comparison]:
        at, account = self.plain.run_own()
        return account, self.plain.compare(at, self._batch[0])

    def first_run(self, method: Method, weight: float) -> FirstRun:
        """Plan the first run of a day that has this weight then. Raises
        :class:`forerun.planner.errors.MethodError` if the method does not apply."""
        what = self._day(method, weight, "imagined")
        write_deliveries(what, self._used, _quiet)
        plain = plain_query(what, self._used, self._runner)
        opened = open_day(what, plain)
        arrive(what, 1)
        prepared = prepare_run(
            opened, 1, now=plain.spec.points(plain.day)[0], method=method, points=what.points,
            settings=replace(what.settings, prices=self._runner.engine.prices),
        )  # fmt: skip
        if prepared.skip_reason or prepared.result is None:
            return ()
        return tuple(map(statements, prepared.result.plan.run.stages))

    def day(
        self,
        method: Method,
        weight: float | None = None,
        *,
        problem: Problem = PDW,
        settings: Settings | None = None,
        compare_early: bool = True,
    ) -> DayAccount:
        """Execute a day, its first run at this weight if one is given, after batch and own batch;
        ``equal`` says whether both gave the rows of batch."""
        plain_at, batch = self._batch
        own, verdict = self._own
        what = self._day(method, weight, "day", problem, settings or Settings())
        report, runs, rows = self._executed(what, compare_early=compare_early)
        day = account_of(report, plain_at, runs=runs, batch=batch, rows=rows)
        return _beside_own(day, own, verdict)

    def warm_day(self, method: Method) -> DayAccount:
        """Execute a day in a session that has computed the report before, as one that is there
        every day has: the day and both batches run once before they are counted. Batch is the mean
        of one before and one after the day, since what comes later finds more compiled and cached;
        and a day that was batch or own batch stands for it, too: executed twice, the two would
        differ by noise."""
        plain_at, batch = self._batch
        self._executed(self._day(method, None, "first"))
        own, verdict = self._own
        what = self._day(method, None, "day")
        report, runs, rows = self._executed(what)
        was = decided_alone(runs)
        batch = runs[-1] if was == "batch" else _mean(batch, self.plain.run()[1])
        own = runs[-1] if was == "own-batch" else self.plain.run_own()[1]
        day = account_of(report, plain_at, runs=runs, batch=batch, rows=rows)
        return _beside_own(day, own, verdict)

    def _executed(
        self, what: Simulation, *, compare_early: bool = True
    ) -> tuple[SimulatedReport, tuple[RunAccount, ...], Mapping[str, tuple[int, ...]]]:
        rows = write_deliveries(what, self._used, _quiet)
        plain = plain_query(what, self._used, self._runner)
        report = SimulatedReport.begin(what, self._query, plain)
        day = run_day(what, [report], lambda _text: None, compare_early=compare_early)
        return report, day.runs_of(report), rows

    def _day(
        self,
        method: Method,
        weight: float | None,
        kind: str,
        problem: Problem = PDW,
        settings: Settings = Settings(),  # noqa: B008 - a value
    ) -> Simulation:
        first, *rest = self._whole.points
        if weight is not None:
            first = replace(first, weight=weight)
        name = f"{self._whole.name}-{method}-{first.weight:g}-{kind}"
        shutil.rmtree(self._work / name, ignore_errors=True)
        return replace(
            self._whole, name=name, work=self._work / name, points=(first, *rest), method=method,
            problem=problem, settings=settings,
        )  # fmt: skip


def _beside_own(day: DayAccount, own: RunAccount, verdict: Comparison) -> DayAccount:
    return replace(
        day,
        own_batch=own,
        equal=day.equal and verdict.equal,
        differences=(*day.differences, *(f"own batch: {d}" for d in verdict.differences)),
    )


def at_weight(day: DayAccount, weight: float) -> DayAccount:
    """The same day with another price of its first run: what it did is what it would have done, if
    that run is planned alike for both."""
    first, *rest = day.runs
    return replace(day, runs=(replace(first, weight=weight), *rest))


def _mean(one: RunAccount, other: RunAccount) -> RunAccount:
    """A run that was executed twice, with what it took in the mean."""
    return replace(
        one,
        cpu_s=(one.cpu_s + other.cpu_s) / 2,
        process_cpu_s=(one.process_cpu_s + other.process_cpu_s) / 2,
        wall_s=(one.wall_s + other.wall_s) / 2,
    )


def _quiet(_rows: int) -> None:
    """Nobody is told of rows that are linked."""
