"""One query for many days: the rows of each day are what the query gives over the rows of that day.

Random relations of every operator by the row interpreter; random queries as they are planned, by
the interpreter and by Sail.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    Sort,
    SortKey,
    UnionAll,
    Version,
    walk,
)
from forerun.planner.algebra.scalar import Ref
from forerun.planner.algebra.types import BIGINT, Column, ColumnId
from forerun.planner.api import plan
from forerun.planner.contract.plan_v1 import DAY_COLUMN
from forerun.planner.errors import LiftError, NotLifted
from forerun.planner.lifting.operators import lift
from forerun.planner.request import Days, PlanRequest, TimePoint
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.bags import compare_bags
from tests.oracles.interpreter import Inputs, SourceData, evaluate
from tests.oracles.values import EvaluationError, NotInterpretedError, Row
from tests.planner.rules.normalize.trees import COLUMNS, Builder, random_inputs
from tests.properties.cases import Case
from tests.properties.engines import InterpreterEngine, PlainSailEngine
from tests.properties.execute import Engine, check_rows
from tests.properties.generate import random_case
from tests.properties.sessions import sail_session
from tests.selection import few

OPERATORS = (
    "Values", "Filter", "Project", "Aggregate", "UnionAll", "SetOperation", "Sort", "Limit",
    "Window",
)  # fmt: skip
RELATIONS, QUERIES, MOST_DAYS = 1200, 200, 3


def in_one(days: list[Inputs], daily: frozenset[str]) -> Inputs:
    """The rows of all days: of daily sources with the day, of the others those of the first."""
    sources = dict(days[0].sources)
    for name in daily:
        numbered: list[Row] = [
            (*row, n) for n, day in enumerate(days) for row in day.sources[name].rows(Version.NEW)
        ]
        sources[name] = SourceData((*COLUMNS[name], DAY_COLUMN), [], numbered)
    return Inputs(sources)


def apart(rows: list[Row], days: int) -> list[list[Row]]:
    """The rows of each day, without the day, which is their last value."""
    assert {row[-1] for row in rows} <= set(range(days)), "a day that nobody asked for"
    return [[row[:-1] for row in rows if row[-1] == n] for n in range(days)]


def check_law(relation: Relation, days: list[Inputs], daily: frozenset[str], last_id: int) -> bool:
    """Whether the law could be tried: the query fails on no day."""
    same = {n: s for n, s in days[0].sources.items() if n not in daily}
    days = [Inputs({**day.sources, **same}) for day in days]
    try:
        expected = [evaluate(relation, day) for day in days]
    except EvaluationError:
        return False
    lifted = lift(relation, daily, len(days), ColumnIds(last_id))
    assert lifted.columns[:-1] == relation.columns
    try:
        found = evaluate(lifted, in_one(days, daily))
    except EvaluationError:  # pairs of different days may be looked at: then days go one by one
        return False
    for one, other in zip(expected, apart(found, len(days)), strict=True):
        compare_bags(one, other)
    return True


def test_random_relations_keep_the_law() -> None:
    seen: Counter[str] = Counter()
    for seed in range(RELATIONS):
        rng = random.Random(f"lift-{seed}")
        builder = Builder(rng)
        relation = builder.relation(rng.choice((1, 2, 3, 4)))
        daily = frozenset(rng.sample(sorted(COLUMNS), rng.choice((1, 1, 2, 3))))
        days = [random_inputs(rng) for _ in range(rng.randint(2, MOST_DAYS))]
        try:
            tried = check_law(relation, days, daily, builder.last_id)
        except LiftError as error:
            read = {n.source for n in walk(relation) if isinstance(n, Scan)}
            if error.reason is not NotLifted.NOTHING_DAILY or daily & read:
                raise
            continue
        except AssertionError as error:
            raise AssertionError(
                f"seed {seed}, daily {sorted(daily)}: {error}\n{relation}"
            ) from error
        if tried:
            seen.update({kind_of(node) for node in walk(relation)})
    wanted = {*OPERATORS, *(f"{kind} join" for kind in JoinKind)}
    rare = {name: seen[name] for name in wanted if seen[name] < 10}
    assert not rare, f"the law was hardly tried for {rare}"


def kind_of(node: Relation) -> str:
    return f"{node.kind} join" if isinstance(node, Join) else type(node).__name__


def test_repeated_rows_keep_the_law() -> None:
    """Queries have no such operator before they are in normal form."""
    k, v, t = (Column(ColumnId(i), n, COLUMNS["r"][n]) for i, n in enumerate("kvt", 1))
    relation = Repeat(Scan("r", (k, v, t)), v)
    for seed in range(20):
        rng = random.Random(f"repeat-{seed}")
        assert check_law(relation, [random_inputs(rng) for _ in range(2)], frozenset({"r"}), 3)


def test_an_order_is_one_by_day_first() -> None:
    """Files of a day are written in the order in which its rows come."""
    builder = Builder(random.Random("order"))
    scan = Scan("q", tuple(builder.column(c, t) for c, t in COLUMNS["q"].items()))
    relation = Sort(scan, (SortKey(scan.columns[1], ascending=False, nulls_first=False),))
    lifted = lift(relation, ["q"], 2, ColumnIds(builder.last_id))
    rows: list[Row] = [(1, 3, 1), (1, 5, 0), (1, 4, 1), (1, 6, 0), (1, 1, 0)]
    inputs = Inputs({"q": SourceData(("k", "x", DAY_COLUMN), [], rows)})
    assert evaluate(lifted, inputs) == [(1, 6, 0), (1, 5, 0), (1, 1, 0), (1, 4, 1), (1, 3, 1)]


def test_a_total_at_the_root_has_rows_for_the_days_that_have_some() -> None:
    """Without the join with the list of days: what has no row is computed by itself."""
    builder = Builder(random.Random("total"))
    scan = Scan("q", tuple(builder.column(c, t) for c, t in COLUMNS["q"].items()))
    count = builder.column("n", BIGINT)
    total = Aggregate(scan, (), ((count, AggregateCall("count", ())),))
    shown = Project(total, ((builder.column("m", BIGINT), Ref(count)),))
    inputs = Inputs({"q": SourceData(("k", "x", DAY_COLUMN), [], [(1, 3, 1), (1, 5, 1)])})
    ids = ColumnIds(builder.last_id)
    assert sorted(evaluate(lift(shown, ["q"], 2, ids), inputs)) == [(0, 0), (2, 1)]
    short = lift(shown, ["q"], 2, ids, every_day=False)
    assert evaluate(short, inputs) == [(2, 1)]
    assert not any(isinstance(node, Join) for node in walk(short))
    # Below something else it has a row for each day.
    below = Limit(UnionAll((shown, shown), (builder.column("u", BIGINT),)), 10, 0)
    every = lift(below, ["q"], 2, ColumnIds(builder.last_id + 100), every_day=False)
    assert sorted(evaluate(every, inputs)) == [(0, 0), (0, 0), (2, 1), (2, 1)]


def lifted_request(case: Case) -> PlanRequest:
    daily = tuple(name for name, table in case.tables.items() if table.changing)
    return PlanRequest(
        report=case.name,
        sql=case.query.sql,
        sources=case.sources,
        points=(TimePoint(weight=1.0),),
        days=Days(count=case.runs, daily=daily),
    )


def rows_of(case: Case, engine: Engine) -> list[Row]:
    """The result for all days, each of which has one delivery of every daily table."""
    found = plan(lifted_request(case)).plan
    for name, table in case.tables.items():
        columns, rows = table.columns, table.rows(1)
        if table.changing:
            columns = (*columns, (DAY_COLUMN, "INT"))
            rows = [(*row, n) for n, day in enumerate(table.deliveries) for row in day]
        engine.bind(name, columns, rows)
    (stage,) = found.run.stages
    for side in stage.small_sides:
        columns = tuple((c.name, c.type) for c in side.columns)
        engine.bind(side.view, columns, engine.query(side.sql))
    return engine.query(stage.sql)


def check_case(case: Case, engine: Engine) -> bool:
    """Whether a query could be compared: the engine answers it on each day."""
    expected = []
    for day in range(case.runs):
        for name, table in case.tables.items():
            rows = list(table.deliveries[day]) if table.changing else table.rows(1)
            engine.bind(name, table.columns, rows)
        try:
            expected.append(engine.query(case.query.ordered))
        except Exception:  # noqa: BLE001 - what an engine refuses says nothing of the plan
            return False
    try:
        found = rows_of(case, engine)
    except LiftError as error:
        if error.reason not in (NotLifted.CHOOSES, NotLifted.NOTHING_DAILY):
            raise
        return False
    for one, other in zip(expected, apart(found, case.runs), strict=True):
        if other or len(one) != 1:  # else the day is computed by itself: one row of no rows
            check_rows(case, one, other)
    if case.query.order:
        assert [row[-1] for row in found] == sorted(row[-1] for row in found)
    return True


def check_cases(engine: Engine, start: int, count: int, *, for_sail: bool = False) -> None:
    checked = 0
    for seed in range(start, start + count):
        case = random_case(seed, for_sail=for_sail)
        try:
            checked += check_case(case, engine)
        except NotInterpretedError:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}\n{case.query.sql}") from error
    assert checked >= 0.8 * count


def test_random_queries_are_lifted_by_the_interpreter() -> None:
    engine = InterpreterEngine()
    with engine.recording():
        check_cases(engine, 90_000, QUERIES)


@pytest.mark.parametrize("start", few(range(91_000, 91_000 + QUERIES, 50), 1))
def test_random_queries_are_lifted_on_sail(start: int) -> None:
    check_cases(PlainSailEngine(sail_session()), start, 50, for_sail=True)
