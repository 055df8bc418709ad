"""A whole day on a folder of tables: deliveries, runs, the plain query, and the comparison."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq

from forerun import accounts
from forerun.accounts import DayAccount, EarlyResult, RunAccount
from forerun.deliveries import Correlation, Splitter, check_correlations
from forerun.plain import PlainQuery
from forerun.planning import sources as planner_sources
from forerun.running import Runner, read_rows
from forerun.tables import Table
from include.days.handle import Day
from include.days.prepare import open_generation, prepare_run, publish_result
from include.days.publishing import published_folder
from include.engines import EngineSpec
from include.machine.settings import allowed_functions
from include.reports.parameters import Parameter, day_parameters
from include.reports.spec import ClockTime, ReportSpec, RunPolicy, RunTime, SourceSpec
from include.state.layout import Generation
from include.state.opening import open_store
from include.state.store import Store
from include.verify.equality import Comparison
from include.verify.sail_gaps import gaps_of
from planner.algebra.relational import Relation
from planner.algebra.relational import sources as sources_of
from planner.request import PDW, Method, Problem, Settings, TimePoint, ivm
from planner.sql.frontend import read_query

DAY = date(2026, 1, 1)
_DAY_SECONDS = 24 * 3600
_SAMPLE = 10

Say = Callable[[str], None]
Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What to simulate. ``work`` holds the deliveries and logs, ``store`` the state. The method
    ``progressive`` opens every run, whether it repays its fixed cost or not."""

    name: str
    sql: str
    tables: Mapping[str, Table]
    changing: frozenset[str]
    points: tuple[TimePoint, ...]
    correlations: Sequence[Correlation]
    seed: int
    work: Path
    store: str
    incoming: Path | None = None
    """Deliveries that were split before (``<table>/run-<i>.parquet``), to be used again."""
    method: Method = "auto"
    problem: Problem = PDW
    settings: Settings = field(default_factory=Settings)
    sample: int = 0
    """Rows that are drawn of each source, as :attr:`SourceSpec.sample`."""
    changelogs: frozenset[str] = frozenset()
    """Tables whose deliveries also take rows back, see :mod:`forerun.updates`."""
    day: date | None = None
    """The report date; without one the query may not ask for it."""
    parameters: tuple[Parameter, ...] = ()
    """Named parameters of the query beside those of the day."""
    own_batch: bool = False
    """Also run batch in stages of our own: what rewriting saves without any early work."""


def simulate(what: Simulation, runner: Runner, say: Say, advance: Advance) -> DayAccount:
    """Run the day and the plain query, and compare; early results too, each with the plain query
    over what has arrived by then. ``say`` hears what is going on, ``advance``
    how many rows have been split off.

    Raises a ``ForerunError`` for everything that a person can put right.
    """
    sources = planner_sources(what.tables.values(), what.changing)
    of_day = day_parameters(what.day, ZoneInfo("UTC")) if what.day else ()
    query = read_query(
        what.sql,
        sources,
        allowed_functions=allowed_functions(),
        parameters=(*of_day, *what.parameters),
    )
    used = tuple(sorted(sources_of(query.relation)))
    check_correlations(what.correlations, what.tables, what.changing)
    say("deliveries")
    rows = _write_deliveries(what, used, advance)
    spec, store = _spec(what, used), open_store(what.store)
    plain = PlainQuery(spec, sources, what.day or DAY, runner)
    at, runs = _run_day(what, plain, store, say)
    say("the plain query")
    plain_at, batch = plain.run()
    say("comparison")
    day = make_account(
        store,
        at,
        engine=runner.engine.name,
        sql=what.sql,
        verdict=plain.compare(at, plain_at),
        runs=runs,
        batch=batch,
        arrivals=tuple((name, rows[name]) for name in used),
    )
    if what.own_batch:
        say("the plain query in stages of our own")
        day = _with_own_batch(day, plain, plain_at)
    return replace(
        day,
        not_covered=_not_covered(query.relation, runner.engine),
        notes=(*day.notes, *_given_up(what, store, at)),
    )


def _with_own_batch(day: DayAccount, plain: PlainQuery, plain_at: Generation) -> DayAccount:
    """The day with batch in stages of our own, which has to equal the plain query, too."""
    at, account = plain.run_own()
    verdict = plain.compare(at, plain_at)
    return replace(
        day,
        own_batch=account,
        equal=day.equal and verdict.equal,
        differences=(*day.differences, *(f"own batch: {text}" for text in verdict.differences)),
    )


def _given_up(what: Simulation, store: Store, at: Generation) -> Iterator[str]:
    """A note where another method was asked for, and the final run is batch."""
    final = accounts.read_plan(store, accounts.commit_with_result(store, at, len(what.points)))
    if final.method == "batch" and what.method not in ("auto", "batch"):
        yield f"the method {what.method} has nothing to go on from: the final run is batch"


def _not_covered(query: Relation, engine: EngineSpec) -> tuple[dict[str, str], ...]:
    return tuple({"code": gap.code, "reason": gap.says} for gap in gaps_of(query, engine.gaps))


# -- deliveries --------------------------------------------------------------------------------


def _write_deliveries(
    what: Simulation, used: Sequence[str], advance: Advance
) -> dict[str, tuple[int, ...]]:
    """Split the changing tables, link the static ones; rows there at each run, by table."""
    fractions = tuple(point.arrived for point in what.points)
    splitter = Splitter(what.tables, fractions, what.seed, what.correlations, what.changelogs)
    rows: dict[str, tuple[int, ...]] = {}
    for name in used:
        folder = what.work / "sources" / name
        folder.mkdir(parents=True)
        table = what.tables[name]
        if name in what.changing:
            counts = _deliveries_of(what, splitter, name, advance)
            total = 0
            rows[name] = tuple(total := total + count for count in counts)
        else:
            for number, path in enumerate(table.files):
                _link(path, folder / f"{number:05d}.parquet")
            rows[name] = (table.rows,) * len(what.points)
            advance(table.rows)
    return rows


def _deliveries_of(
    what: Simulation, splitter: Splitter, name: str, advance: Advance
) -> tuple[int, ...]:
    """Split a table, or link what was split before; the rows of each delivery."""
    folder = what.work / "incoming" / name
    if what.incoming is None:
        return splitter.write(name, folder, advance)
    folder.mkdir(parents=True)
    counts = []
    for run in range(1, len(what.points) + 1):
        path = what.incoming / name / f"run-{run}.parquet"
        if not path.exists():
            counts.append(0)
            continue
        _link(path, folder / path.name)
        counts.append(pq.ParquetFile(path).metadata.num_rows)
    advance(sum(counts))
    return tuple(counts)


def _link(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:
        target.symlink_to(path.resolve())


def _arrive(what: Simulation, run: int) -> None:
    """What was split off for a run appears among its source's files, each file at once."""
    for path in sorted((what.work / "incoming").glob(f"*/run-{run}.parquet")):
        path.rename(what.work / "sources" / path.parent.name / path.name)


# -- the day -----------------------------------------------------------------------------------


def report_name(text: str) -> str:
    """A name that a report may have."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", text)[:80]
    return plain if re.match(r"[A-Za-z_]", plain) else f"r_{plain}"


def _spec(what: Simulation, used: Sequence[str]) -> ReportSpec:
    """The day as a report. Its runs are at the times at which, if rows came evenly over the day,
    the wanted fractions would be there: so the forecast by the clock is right."""
    return ReportSpec(
        name=report_name(what.name),
        sql=what.sql,
        sources=tuple(
            SourceSpec(
                name=name,
                path=str(what.work / "sources" / name),
                columns=what.tables[name].columns,
                change="changelog" if name in what.changelogs else "append_only",
                arrival="growing" if name in what.changing else "static",
                complete_when=ClockTime() if name in what.changing else None,
                allow_empty=True,
                sample=what.sample,
            )
            for name in used
        ),
        policy=_policy(what),
        deadline="48:00",
        store=what.store,
        parameters=what.parameters,
    )


def _policy(what: Simulation) -> RunPolicy:
    runs = tuple(
        RunTime(at=at, weight=point.weight)
        for at, point in zip(_times(what.points), what.points, strict=True)
    )
    if what.problem == ivm(len(runs)):
        return RunPolicy(runs=runs, problem="ivm")
    return RunPolicy(runs=runs, results_at=what.problem.results_at)


def _times(points: Sequence[TimePoint]) -> list[str]:
    """A clock time for each fraction, each at least a second after the one before."""
    seconds: list[int] = []
    for point in points:
        at = round(point.arrived * _DAY_SECONDS)
        seconds.append(max(at, seconds[-1] + 1) if seconds else at)
    return [f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in seconds]


def _run_day(
    what: Simulation, plain: PlainQuery, store: Store, say: Say
) -> tuple[Generation, tuple[RunAccount, ...]]:
    """Every run of the day in turn, and the report's pointer; the accounts of the runs."""
    runner, moments = plain.runner, plain.spec.points(plain.day)
    opened = _opened(what, plain)
    at, measured, took, early, decided = opened.at, {}, {}, {}, {}
    settings = replace(what.settings, prices=runner.engine.prices)
    for run, moment in enumerate(moments, 1):
        _arrive(what, run)
        say(f"run {run} of {len(moments)}")
        started = time.perf_counter()
        prepared = prepare_run(
            opened,
            run,
            now=moment,
            method=what.method,
            points=what.points,
            settings=settings,
        )
        took[run] = (1000 * prepared.planning_s, 1000 * (time.perf_counter() - started))
        if not prepared.skip_reason:
            measured[run] = runner.run(prepared.plan_uri, run, tiny=prepared.tiny).process_cpu_s
        if prepared.result is None:
            continue
        decided[run] = prepared.result.decided
        if prepared.result.plan.run.early_result:
            say(f"the plain query at run {run}")
            early[run] = _early_result(plain, store, at, run)
    publish_result(opened, now=moments[-1])
    points = tuple((point.weight, point.arrived) for point in what.points)
    runs = accounts.read_runs(store, at, points)
    return at, tuple(
        replace(
            run,
            process_cpu_s=measured.get(run.index) or run.process_cpu_s,
            plan_ms=took[run.index][0],
            prepare_ms=took[run.index][1],
            early_result=early.get(run.index),
            decided=decided.get(run.index, ""),
        )
        for run in runs
    )


def _early_result(plain: PlainQuery, store: Store, at: Generation, run: int) -> EarlyResult:
    """The result of an early run beside the plain query over what has arrived by now."""
    plain_at, _ = plain.run()
    verdict = plain.compare(at, plain_at, run)
    result = accounts.commit_with_result(store, at, run).result
    return EarlyResult(
        rows=result.rows if result is not None else 0,
        equal=verdict.equal,
        differences=verdict.differences,
        notes=verdict.notes,
    )


def _opened(what: Simulation, plain: PlainQuery) -> Day:
    now, trigger = plain.spec.points(plain.day)[0], uuid.uuid4().hex
    return open_generation(what.store, plain.spec, plain.day, trigger=trigger, now=now)


# -- the account ---------------------------------------------------------------------------------


def make_account(
    store: Store,
    at: Generation,
    *,
    engine: str,
    sql: str,
    verdict: Comparison,
    runs: tuple[RunAccount, ...],
    batch: RunAccount,
    arrivals: tuple[tuple[str, tuple[int, ...]], ...],
) -> DayAccount:
    """Everything of a day in one record."""
    final = accounts.commit_with_result(store, at, len(runs))
    plan = accounts.read_plan(store, final)
    pointer = accounts.read_pointer(store, at)
    sample = read_rows(store, published_folder(pointer), pointer.files)
    arrived = sum(rows[-1] for _, rows in arrivals)
    return DayAccount(
        report=at.report,
        engine=engine,
        equal=verdict.equal and all(run.early_result.equal for run in runs if run.early_result),
        result=pointer.folder,
        rows=pointer.rows,
        runs=runs,
        batch=batch,
        weighted_ratio=accounts.ratio(accounts.weighted_cpu(runs), runs[-1].weight * batch.cpu_s),
        final_ratio=accounts.ratio(runs[-1].cpu_s, batch.cpu_s),
        early_work=accounts.is_early_work(store, final, arrived),
        not_incremental=tuple(
            {"operator": item.operator, "reason": item.reason} for item in plan.not_incremental
        ),
        plan_ms=max((run.plan_ms for run in runs if run.plan_ms is not None), default=None),
        kept=tuple(family.title for family in plan.families),
        differences=verdict.differences,
        notes=verdict.notes,
        sql=sql,
        sample=tuple(
            {name: str(value) for name, value in row.items()}
            for row in (sample.slice(0, _SAMPLE).to_pylist() if sample is not None else [])
        ),
        arrivals=arrivals,
    )
