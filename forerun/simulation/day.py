"""A whole day on a folder of tables: deliveries, runs, the plain query, and the comparison."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

from forerun.include.days.publishing import published_folder
from forerun.include.engines import EngineSpec
from forerun.include.machine.settings import allowed_functions
from forerun.include.reports.parameters import day_parameters
from forerun.include.runs.prepare import prepare_run, publish_result
from forerun.include.state.layout import Generation
from forerun.include.state.opening import open_store
from forerun.include.state.rows import read_rows
from forerun.include.state.store import Store
from forerun.include.verify.equality import Comparison
from forerun.include.verify.sail_gaps import gaps_of
from forerun.planner.algebra.relational import Relation
from forerun.planner.algebra.relational import sources as sources_of
from forerun.planner.sql.frontend import Query, read_query
from forerun.simulation import accounts
from forerun.simulation.accounts import DayAccount, EarlyResult, RunAccount, decided_alone
from forerun.simulation.deliveries import check_correlations
from forerun.simulation.plain import PlainQuery
from forerun.simulation.planning import sources as planner_sources
from forerun.simulation.running import Runner
from forerun.simulation.simulated_day import (
    DEFAULT_DAY,
    Advance,
    Say,
    Simulation,
    arrive,
    open_day,
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
    at, runs = run_day(what, plain, say)
    was = decided_alone(runs) if what.own_batch else ""
    if was == "batch":
        plain_at, batch = at, runs[-1]
    else:
        say("the plain query")
        plain_at, batch = plain.run()
    say("comparison")
    day = account_of(what, query.relation, plain, at, plain_at, runs=runs, batch=batch, rows=rows)
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
    what: Simulation,
    query: Relation,
    plain: PlainQuery,
    at: Generation,
    plain_at: Generation,
    *,
    runs: tuple[RunAccount, ...],
    batch: RunAccount,
    rows: Mapping[str, tuple[int, ...]],
) -> DayAccount:
    """The account of a day that is over, compared with the plain query; ``rows`` are those of each
    table that were there at each run."""
    store, engine = open_store(what.store), plain.runner.engine
    day = make_account(
        store,
        at,
        engine=engine.name,
        sql=what.sql,
        verdict=plain.compare(at, plain_at),
        runs=runs,
        batch=batch,
        arrivals=tuple((name, rows[name]) for name in sorted(sources_of(query))),
    )
    return replace(
        day,
        not_covered=_not_covered(query, what.sql, engine),
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


# -- the day -----------------------------------------------------------------------------------


def run_day(
    what: Simulation, plain: PlainQuery, say: Say, *, compare_early: bool = True
) -> tuple[Generation, tuple[RunAccount, ...]]:
    """Every run of the day in turn, and the report's pointer; the accounts of the runs. ``plain``
    reads where the deliveries of ``what`` appear. Early results are compared with it, unless
    ``compare_early`` is false: that takes as many batches as there are early results."""
    runner, moments = plain.runner, plain.spec.points(plain.day)
    opened = open_day(what, plain)
    store = opened.store
    at, measured, took, early, decided = opened.at, {}, {}, {}, {}
    settings = replace(what.settings, prices=runner.engine.prices)
    for run, moment in enumerate(moments, 1):
        arrive(what, run)
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
            name = f"{what.name}-run-{run}"
            used = runner.run([prepared.plan_uri], name, tiny=prepared.tiny)
            measured[run] = used.process_cpu_s
        if prepared.result is None:
            continue
        decided[run] = prepared.result.decided
        if compare_early and prepared.result.plan.run.early_result:
            say(f"the plain query at run {run}")
            early[run] = early_result(plain, store, at, run)
    publish_result(opened, now=moments[-1])
    runs = accounts.read_runs(store, at, weights_and_arrivals(what))
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


def weights_and_arrivals(what: Simulation) -> tuple[tuple[float, float], ...]:
    """Return for each run its price of compute and what has arrived, as :func:`accounts.read_runs`
    takes them."""
    return tuple((point.weight, point.arrived) for point in what.points)


def early_result(plain: PlainQuery, store: Store, at: Generation, run: int) -> EarlyResult:
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
