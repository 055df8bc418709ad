"""Runs the days of a case straight from the plan's contract, on any engine, and checks each result.

This is the shortest executor there can be: it binds snapshots, deliveries and families as views,
runs the stages of the current run in order, and keeps what they give. No files, no job. What is
kept can be checked too, not only through the result.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

from forerun.planner.api import PlanResult, plan
from forerun.planner.contract.plan_v1 import (
    ArtifactOutput,
    Family,
    FamilyInput,
    Plan,
    SourceInput,
)
from forerun.planner.cost.prices import SPARK, Prices
from forerun.planner.request import PDW, Committed, PlanRequest, Problem, Settings, TimePoint
from forerun.planner.sql.frontend import read_query
from forerun.planner.stages.flawed import text_for
from tests.oracles.bags import compare_bags, same_limited
from tests.oracles.values import NotInterpretedError, Row, row_key
from tests.properties.cases import Case
from tests.properties.costs import check_costs
from tests.properties.kept import check_kept

Columns = tuple[tuple[str, str], ...]


class Engine(Protocol):
    """Something that evaluates Spark SQL over bound tables. Raises whatever it raises."""

    def bind(self, name: str, columns: Columns, rows: list[Row]) -> None: ...
    def query(self, sql: str) -> list[Row]: ...
    def in_zone(self, zone: str) -> AbstractContextManager[None]: ...
    @property
    def prices(self) -> Prices: ...


@dataclass
class Day:
    """What has been committed so far."""

    committed: list[Committed] = field(default_factory=list)
    partitions: dict[str, list[tuple[int, Row]]] = field(default_factory=dict)
    families: dict[str, Family] = field(default_factory=dict)

    def copy(self) -> Day:
        return Day(list(self.committed), dict(self.partitions), dict(self.families))

    def check_families(self, current: Plan) -> None:
        """What is stored is frozen for the day; a key has a power of two of buckets."""
        for family in current.families:
            known = self.families.get(family.id, family)
            if family.id not in self.partitions:
                self.families[family.id] = family  # nothing is stored of it yet
            elif known != family:
                raise AssertionError(f"family {family.id} was {known}, now it is {family}")
            names = [column.name for column in family.columns]
            if not set(family.key) <= set(names) or len(set(names)) != len(names):
                raise AssertionError(f"family {family.id} has key {family.key} of {names}")
            if bool(family.key) != bool(family.buckets) or family.buckets & (family.buckets - 1):
                raise AssertionError(f"family {family.id} has {family.buckets} buckets")

    @property
    def base(self) -> int:
        return self.committed[-1].index if self.committed else 0


class RefusedError(Exception):
    """The engine does not evaluate the user's own text, so there is nothing to compare with."""


@dataclass(frozen=True)
class Outcome:
    """``kept``: partitions that early runs wrote; ``batch``: the day was planned as one run.

    ``rows`` and ``states``: how often a family of each kind was compared with the oracle.
    ``judged``: the oracle knows the query, and gives what the engine gives for the user's text.
    ``early_results``: how many were compared with the user's text.
    """

    kept: int
    batch: bool
    rows: int = 0
    states: int = 0
    judged: bool = False
    early_results: int = 0


def effort(case: Case) -> dict[str, int]:
    """Settings: a search of full length, and each method apart, for every eighth query. They take
    most of the time, and the plans that are found are made of the same parts."""
    return {} if len(case.query.sql) % 8 == 0 else {"tries": 2, "compare": 0}


def request_of(
    case: Case,
    run: int,
    points: int,
    day: Day,
    early: bool,
    problem: Problem = PDW,
    prices: Prices = SPARK,
) -> PlanRequest:
    """Run ``run`` of a day with ``points`` runs."""
    weights = [0.25 + 0.75 * i / max(1, points - 1) for i in range(points)]
    weights[-1] = 1.0
    return PlanRequest(
        report=case.name,
        sql=case.query.sql,
        # Fresh statistics: the forecast of the day grows from run to run.
        sources=tuple(
            replace(s, rows=s.rows * run * run, bytes=s.bytes * run * run) for s in case.sources
        ),
        points=tuple(
            TimePoint(
                weight=weight,
                arrived=at / points,
                by_source=tuple((name, 1.0) for name, whole in case.complete if at >= whole),
            )
            for at, weight in enumerate(weights, 1)
        ),
        current=run,
        unchanged=unchanged(case, day.base, run),
        committed=tuple(day.committed),
        method=case.method,
        settings=Settings(
            temporal="early" if early else "cost",
            rules_off=case.off,
            state_budget=case.state_budget,
            own_batch="always",  # the user's own text is what all is compared with
            prices=prices,
            **effort(case) | dict(case.effort),
        ),
        problem=problem,
    )


def unchanged(case: Case, base: int, run: int) -> tuple[str, ...]:
    """The growing tables of which nothing came, and nothing went, between two runs."""
    growing = ((name, table) for name, table in case.tables.items() if base and table.changing)
    return tuple(sorted(name for name, table in growing if not table.delta(base, run)))


def run_case(
    case: Case,
    engine: Engine,
    *,
    every_time_point: bool = False,
    judge_kept: bool = False,
    problem: Problem = PDW,
    oracle: Engine | None = None,
    planned: Callable[[PlanRequest], PlanResult] = plan,
) -> Outcome:
    """Run the day and compare with the user's own text.

    Where the problem wants early results, with the user's text over what has arrived by then.
    Optionally as if each run were the last; optionally what each run keeps with the interpreter;
    and optionally what the engine says of the user's text with what ``oracle`` says. ``planned``
    plans, or knows plans already.
    """
    with engine.in_zone(case.time_zone):
        day = Day()
        kept = rows = states = 0
        expected = expected_rows(case, engine, case.runs)
        early_results = 0
        judged = oracle is not None and agrees(case, expected, oracle)
        for run in range(1, case.runs + 1):
            if every_time_point and run < case.runs:
                as_last = planned(
                    request_of(case, run, run, day, case.early, prices=engine.prices)
                ).plan
                # First the text as written: what the engine refuses there says nothing of the plan.
                wanted = expected_rows(case, engine, run)
                check_rows(case, wanted, run_stages(as_last, case, engine, day.copy()))
            early = run < case.runs and run in problem.results_at
            so_far = expected_rows(case, engine, run) if early else expected
            request = request_of(case, run, case.runs, day, case.early, problem, engine.prices)
            result = planned(request)
            check_costs(result.plan, request)
            found = run_stages(result.plan, case, engine, day)
            if judge_kept:
                counted = check_kept(case, result, day.partitions)
                rows, states = rows + counted[0], states + counted[1]
            if early or run == case.runs:
                check_rows(case, so_far, found)
                early_results += early
            elif found is not None:
                raise AssertionError(f"run {run} gives a result that nobody asked for")
            if run < case.runs and result.plan.run.opened:
                families = _written(result)
                kept += len(families)
                same = unchanged(case, day.base, run)
                day.committed.append(Committed(index=run, families=families, unchanged=same))
        batch = result.plan.method != "incremental"
        return Outcome(kept, batch, rows, states, judged, early_results)


def _written(result: PlanResult) -> tuple[Family, ...]:
    outputs = (stage.output for stage in result.plan.run.stages)
    written = {output.family for output in outputs if isinstance(output, ArtifactOutput)}
    return tuple(family for family in result.plan.kept if family.id in written)


def run_stages(current: Plan, case: Case, engine: Engine, day: Day) -> list[Row] | None:
    """Run the stages of the current run; the result's rows if there is a result."""
    run, result = current.run, None
    day.check_families(current)
    if run.opened and run.base != day.base:
        raise AssertionError(f"the plan goes on from run {run.base}, not {day.base}")
    for stage in run.stages:
        for given in stage.inputs:
            _bind(given, current, case, engine, day)
        for one in stage.small_sides:
            columns = tuple((c.name, c.type) for c in one.columns)
            engine.bind(one.view, columns, engine.query(one.sql))
        rows = engine.query(stage.sql)
        if isinstance(stage.output, ArtifactOutput):
            family = current.family(stage.output.family)
            if rows and len(rows[0]) != len(family.columns):
                raise AssertionError(f"{stage.id} gives {len(rows[0])} columns for {family}")
            held = day.partitions.get(family.id, [])
            day.partitions[family.id] = held + [(run.index, row) for row in rows]
        else:
            result = rows
    for family in set(current.families).difference(current.kept):
        day.partitions.pop(family.id, None)  # no commit names it
    return result


def _bind(
    given: SourceInput | FamilyInput, current: Plan, case: Case, engine: Engine, day: Day
) -> None:
    run = current.current
    if isinstance(given, FamilyInput):
        family = current.family(given.family)
        columns = (*((c.name, c.type) for c in family.columns), ("__run", "INT"))
        rows = [(*row, written) for written, row in day.partitions.get(family.id, [])]
        engine.bind(family.id, columns, rows)
        return
    table = case.tables[given.source]
    if given.version == "delta":
        columns = (*table.columns, ("__w", "BIGINT")) if table.withdrawn else table.columns
        engine.bind(given.view, columns, table.delta(day.base, run))
    else:
        engine.bind(given.view, table.columns, table.rows(run))


def expected_rows(case: Case, engine: Engine, run: int) -> list[Row]:
    """The user's own text, without its LIMIT, over what has arrived by ``run``; as an engine is
    told it that cuts quotients off."""
    for name, table in case.tables.items():
        engine.bind(name, table.columns, table.rows(run))
    text = case.query.ordered
    if engine.prices.flaws:
        text = text_for(engine.prices, read_query(text, case.sources), text)
    try:
        return engine.query(text)
    except Exception as error:
        raise RefusedError(str(error)) from error


def agrees(case: Case, found: list[Row], oracle: Engine) -> bool:
    """Whether the oracle knows the query. Raises where its rows are not those that were found."""
    for name, table in case.tables.items():
        oracle.bind(name, table.columns, table.rows(case.runs))
    try:
        expected = oracle.query(case.query.ordered)
    except NotInterpretedError:
        return False
    compare_bags(expected, found, magnitude=1e4)
    return True


def check_rows(case: Case, expected: list[Row], rows: list[Row] | None) -> None:
    """Compare a result with the rows of the query without its LIMIT, in the sense of the query."""
    if rows is None:
        raise AssertionError("the last run publishes no result")
    query = case.query
    if query.limit is not None:
        same_limited(expected, rows, query.sort_keys, query.limit)
        return
    compare_bags(expected, rows, magnitude=1e4)
    if query.order:
        keys = [row_key(tuple(row[k] for k in query.sort_keys)) for row in rows]
        if keys != [row_key(tuple(row[k] for k in query.sort_keys)) for row in expected]:
            raise AssertionError("the rows of the result are not in the order of the query")
