"""A simulated day as it goes on: at each time point deliveries arrive, and one application does the
runs of all its reports. A report by itself is a group of one, planned without the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from forerun.include.days.handle import Day
from forerun.include.runs.prepare import AskedRun, PreparedRun, ask_for_run, publish_result
from forerun.include.runs.prepare_units import AskedUnit, PreparedUnits, prepare_units
from forerun.planner.algebra.relational import Relation
from forerun.planner.algebra.relational import sources as sources_of
from forerun.planner.errors import ForerunError
from forerun.simulation import accounts
from forerun.simulation.accounts import EarlyResult, RunAccount
from forerun.simulation.plain import PlainQuery
from forerun.simulation.running import Runner
from forerun.simulation.simulated_day import Say, Simulation, arrive, open_day


@dataclass(slots=True)
class SimulatedReport:
    """A report while its day goes on: what is read back of it at the end. ``plain`` reads where
    its deliveries appear. By run: what the planner ``decided``, and the ``early`` results."""

    what: Simulation
    query: Relation
    plain: PlainQuery
    day: Day
    decided: dict[int, str] = field(default_factory=dict)
    early: dict[int, EarlyResult] = field(default_factory=dict)

    @staticmethod
    def begin(what: Simulation, query: Relation, plain: PlainQuery) -> SimulatedReport:
        return SimulatedReport(what, query, plain, open_day(what, plain))

    @property
    def used(self) -> frozenset[str]:
        """The tables that its query reads."""
        return sources_of(self.query)


@dataclass(slots=True)
class DayCourse:
    """A day that goes on, or is over. By time point: milliseconds that planning took, and that all
    of preparing did; CPU seconds of the application, where it had one and that was measured."""

    reports: Sequence[SimulatedReport]
    plan_ms: dict[int, float] = field(default_factory=dict)
    prepare_ms: dict[int, float] = field(default_factory=dict)
    took: dict[int, float] = field(default_factory=dict)

    def runs_of(self, report: SimulatedReport) -> tuple[RunAccount, ...]:
        """The accounts of a report's runs. A report by itself has its applications to itself."""
        points = tuple((point.weight, point.arrived) for point in report.what.points)
        runs = accounts.read_runs(report.day.store, report.day.at, points)
        took: Mapping[int, float] = self.took if len(self.reports) == 1 else {}
        return tuple(
            replace(
                run,
                process_cpu_s=took.get(run.index) or run.process_cpu_s,
                plan_ms=self.plan_ms[run.index],
                prepare_ms=self.prepare_ms[run.index],
                early_result=report.early.get(run.index),
                decided=report.decided.get(run.index, ""),
            )
            for run in runs
        )


def run_day(
    what: Simulation,
    reports: Sequence[SimulatedReport],
    say: Say,
    *,
    together: bool = False,
    compare_early: bool = True,
) -> DayCourse:
    """Every time point in turn, and the pointer of every report. ``together``: the reports are
    planned as a group. Early results are compared with the plain query over what has arrived,
    unless ``compare_early`` is false: that takes as many batches as there are early results.
    Raises what preparing and running raise."""
    course = DayCourse(reports)
    first = reports[0].plain
    runner, moments = first.runner, first.spec.points(first.day)
    settings = replace(what.settings, prices=runner.engine.prices)
    points = tuple(range(1, len(moments) + 1)) if together else ()
    for run, moment in enumerate(moments, 1):
        arrive(what, run)
        say(f"{'time point' if together else 'run'} {run} of {len(moments)}")
        ask: Callable[..., AskedRun | PreparedRun] = partial(
            ask_for_run,
            run=run,
            now=moment,
            method=what.method,
            points=what.points,
            settings=settings,
        )
        started = time.perf_counter()
        prepared = prepare_units(
            [AskedUnit(points=points, ask=partial(ask, report.day)) for report in reports]
        )
        course.prepare_ms[run] = 1000 * (time.perf_counter() - started)
        course.plan_ms[run] = 1000 * prepared.planning_s
        for one in prepared.runs:
            if isinstance(one, ForerunError):
                raise one
        if prepared.submitted:
            course.took[run] = _executed(runner, prepared, f"{what.name}-run-{run}")
        for report, one in zip(reports, prepared.runs, strict=True):
            if isinstance(one, PreparedRun) and one.result is not None:
                report.decided[run] = one.result.decided
                if compare_early and one.result.plan.run.early_result:
                    say(f"the plain query of {report.what.name} at run {run}")
                    report.early[run] = _early_result(report, run)
    for report in reports:
        publish_result(report.day, now=moments[-1])
    return course


def _executed(runner: Runner, prepared: PreparedUnits, name: str) -> float:
    """Run an application of each engine; return the CPU seconds that all took, 0 where that was not
    measured."""
    took = 0.0
    for engine, runs in prepared.by_engine.items():
        uris = [one.plan_uri for one in runs]
        log = f"{name}-{engine}" if engine else name
        took += runner.run(uris, log, tiny=prepared.tiny, early_engine=engine).process_cpu_s or 0.0
    return took


def _early_result(report: SimulatedReport, run: int) -> EarlyResult:
    """The result of an early run beside the plain query over what has arrived by now."""
    plain_at, _ = report.plain.run()
    verdict = report.plain.compare(report.day.at, plain_at, run)
    result = accounts.commit_with_result(report.day.store, report.day.at, run).result
    return EarlyResult(
        rows=result.rows if result is not None else 0,
        equal=verdict.equal,
        differences=verdict.differences,
        notes=verdict.notes,
    )
