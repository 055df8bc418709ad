"""A whole day on a folder of tables: deliveries, runs, the plain query, and the comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

from forerun.include.days.publishing import published_folder
from forerun.include.engines import EngineSpec
from forerun.include.machine.settings import allowed_functions
from forerun.include.reports.parameters import day_parameters
from forerun.include.state.layout import Generation
from forerun.include.state.rows import read_rows
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import Store
from forerun.include.verify.equality import Comparison
from forerun.include.verify.sail_gaps import gaps_of
from forerun.planner.algebra.relational import Relation
from forerun.planner.sql.frontend import Query, read_query
from forerun.simulation import accounts
from forerun.simulation.accounts import DayAccount, RunAccount, decided_alone
from forerun.simulation.course import SimulatedReport, run_day
from forerun.simulation.deliveries import check_correlations
from forerun.simulation.plain import PlainQuery
from forerun.simulation.planning import sources as planner_sources
from forerun.simulation.running import Runner
from forerun.simulation.simulated_day import (
    DEFAULT_DAY,
    Advance,
    Say,
    Simulation,
    spec_of,
    write_deliveries,
)

_SAMPLE = 10


def simulate(what: Simulation, runner: Runner, say: Say, advance: Advance) -> DayAccount:
    """Run the day and the plain query, and compare; early results too, each with the plain query
    over what has arrived by then. With ``own_batch``, also run batch in our own stages, unless the
    day itself already was that (its figures are reused). ``say`` is told each step, ``advance`` the
    number of rows that have been split off.

    Raises a ``ForerunError`` for everything that a person can put right.
    """
    query = read_simulated(what)
    used = tuple(sorted(query.named))
    check_correlations(what.correlations, what.tables, what.changing)
    say("deliveries")
    rows = write_deliveries(what, used, advance)
    plain = plain_query(what, used, runner)
    report = SimulatedReport.begin(what, query.relation, plain)
    runs = run_day(what, [report], say).runs_of(report)
    was = decided_alone(runs) if what.own_batch else ""
    if was == "batch":
        plain_at, batch = report.day.at, runs[-1]
    else:
        say("the plain query")
        plain_at, batch = plain.run()
    say("comparison")
    day = account_of(report, plain_at, runs=runs, batch=batch, rows=rows)
    if was == "own-batch":
        return replace(day, own_batch=runs[-1])
    if what.own_batch:
        say("the plain query in stages of our own")
        day = _with_own_batch(day, plain, plain_at)
    return day


def read_simulated(what: Simulation) -> Query:
    """The query as the planner reads it."""
    sources = planner_sources(what.tables.values(), what.changing)
    of_day = day_parameters(what.day, ZoneInfo("UTC")) if what.day else ()
    return read_query(
        what.sql,
        sources,
        allowed_functions=allowed_functions(),
        parameters=(*of_day, *what.parameters),
    )


def plain_query(what: Simulation, used: Sequence[str], runner: Runner) -> PlainQuery:
    """The plain query beside the day; ``used`` are the tables that it reads."""
    sources = planner_sources(what.tables.values(), what.changing)
    return PlainQuery(spec_of(what, used), sources, what.day or DEFAULT_DAY, runner)


def account_of(
    report: SimulatedReport,
    plain_at: Generation,
    *,
    runs: tuple[RunAccount, ...],
    batch: RunAccount,
    rows: Mapping[str, tuple[int, ...]],
) -> DayAccount:
    """The account of a report's day that is over, compared with the plain query; ``rows`` are those
    of each table that were there at each run."""
    what, at, plain = report.what, report.day.at, report.plain
    store, engine = open_store(what.store), plain.runner.engine
    day = make_account(
        store,
        at,
        engine=engine.name,
        sql=what.sql,
        verdict=plain.compare(at, plain_at),
        runs=runs,
        batch=batch,
        arrivals=tuple((name, rows[name]) for name in sorted(report.used)),
    )
    return replace(
        day,
        not_covered=_not_covered(report.query, what.sql, engine),
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


def _not_covered(query: Relation, sql: str, engine: EngineSpec) -> tuple[dict[str, str], ...]:
    found = gaps_of(query, engine.gaps, sql)
    return tuple({"code": gap.code, "reason": gap.says} for gap in found)


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
