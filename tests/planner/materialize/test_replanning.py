"""Planning again after a run was committed (Tempura 7): what it kept are views, the time points and
the data may be others than was planned, and the query may have been edited."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from forerun.planner import api
from forerun.planner.algebra.types import BIGINT
from forerun.planner.api import PlanResult
from forerun.planner.contract.plan_v1 import ArtifactOutput, Family, FamilyInput
from forerun.planner.materialize.objective import WEIGHT_STEPS
from forerun.planner.memo.groups import Expression
from forerun.planner.request import (
    ColumnStats,
    Committed,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from forerun.planner.temporal.alternatives import AlternativeEnumerator
from forerun.planner.temporal.as_of import Span
from forerun.planner.temporal.extraction import ExtractedPlan, extract_plan
from forerun.planner.temporal.group_costs import DpProblem
from forerun.planner.temporal.physical import PhysicalAlternative
from forerun.planner.temporal.solution import How
from forerun.planner.temporal.solve import Solver
from forerun.planner.temporal.space import Key
from tests.oracles.bags import compare_bags
from tests.oracles.values import Row
from tests.planner.starts import CHEAP_RUNS
from tests.properties.cases import Case, QueryCase, TableCase
from tests.properties.engines import PlainSailEngine
from tests.properties.execute import Day, run_stages
from tests.properties.sessions import sail_session

ROWS = 100_000_000
ARRIVED, MIDDLE = 0.9, 0.95
SURPRISE = 10
SOLD = """
SELECT s.cat, sum(s.price) AS price, sum(r.cost) AS cost, count(*) AS n
FROM sales s JOIN returns r ON s.o = r.o WHERE s.price > 0 GROUP BY s.cat
"""


def growing(name: str, rows: int, *columns: str) -> Source:
    typed = tuple(SourceColumn(name=column, type=BIGINT) for column in columns)
    stats = (("o", ColumnStats(distinct=float(rows))), ("cat", ColumnStats(distinct=1000.0)))
    known = tuple((column, figure) for column, figure in stats if column in columns)
    size = rows * 8 * len(columns)
    return Source(name=name, columns=typed, changing=True, rows=rows, bytes=size, stats=known)


def sources(rows: int) -> tuple[Source, ...]:
    return (
        growing("sales", rows, "o", "cat", "price"),
        growing("returns", rows // 10, "o", "cost"),
    )


def day(*arrived: float, sql: str = SOLD, rows: int = ROWS, **more: object) -> PlanResult:
    weights = (*(0.25 + 0.05 * i for i in range(len(arrived) - 1)), 1.0)
    points = (TimePoint(weight=w, arrived=a) for w, a in zip(weights, arrived, strict=True))
    return api.plan(
        PlanRequest(
            report="r",
            sql=sql,
            sources=sources(rows),
            points=tuple(points),
            settings=Settings(prices=CHEAP_RUNS),
            **more,
        )
    )


def kept_by(result: PlanResult, run: int) -> tuple[Family, ...]:
    outputs = (stage.output for stage in result.plan.runs[run - 1].stages)
    return tuple(result.plan.family(o.family) for o in outputs if isinstance(o, ArtifactOutput))


@pytest.fixture(scope="module")
def planned() -> PlanResult:
    """The day as it was forecast, with all three runs opened."""
    result = day(ARRIVED, MIDDLE, 1.0)
    assert [run.opened for run in result.plan.runs] == [True, True, True]
    return result


@pytest.fixture(scope="module")
def committed(planned: PlanResult) -> Committed:
    return Committed(index=1, families=kept_by(planned, 1))


def replanned(committed: Committed, sql: str = SOLD) -> PlanResult:
    """The second run is dropped, and ten times as much comes as was forecast."""
    rows = round(ROWS * (ARRIVED + SURPRISE * (1 - ARRIVED)))
    return day(
        *(ARRIVED * ROWS / rows, 1.0),
        sql=sql,
        rows=rows,
        first_sources=sources(ROWS),
        current=2,
        committed=(committed,),
    )


def test_what_a_run_has_kept_is_read_and_nothing_of_its_delivery(
    committed: Committed,
) -> None:
    result = replanned(committed)
    assert result.plan.method == "incremental"
    assert result.plan.run.base == 1
    inputs = [given for stage in result.plan.run.stages for given in stage.inputs]
    files = {given.version for given in inputs if getattr(given, "source", "") == "sales"}
    assert files == {"delta"}
    selected = next(f for f in committed.families if f.title == "selected sales rows by o")
    assert selected.id in {given.family for given in inputs if isinstance(given, FamilyInput)}


def test_what_earlier_runs_have_kept_is_not_read_for_nothing() -> None:
    """All rows are kept shuffled, and the final run reads them all, also if the day is planned
    again when they are there: its join is over what it appends to."""
    whole = "SELECT count(*) AS n FROM sales s LEFT JOIN returns r ON s.o = r.o"
    first = day(0.5, 0.75, 1.0, sql=whole, method="progressive")
    kept = [Committed(index=run, families=kept_by(first, run)) for run in (1, 2)]
    last = day(0.5, 0.75, 1.0, sql=whole, method="progressive", current=3, committed=tuple(kept))
    for plan in (first.plan, last.plan):
        stages = plan.runs[-1].stages
        (result,) = [s for s in stages if not isinstance(s.output, ArtifactOutput)]
        assert any(isinstance(given, FamilyInput) for given in result.inputs)
        read = sum(dict(stage.work)["scan_row"] for stage in stages)
        assert read > ROWS


class WorkOf(AlternativeEnumerator):
    """Only the operators that a plan has, however it is best to execute them now."""

    def __init__(self, now: PlanResult, then: ExtractedPlan) -> None:
        super().__init__(now.space, now.group_sizes)
        worked = {group for index, group in then.worked if index > 0}
        self._then = {
            entry.expression.id
            for table in (*then.solution.entries, *then.solution.made)
            for place, entry in table.items()
            if place[0] in worked and entry.how is How.EXPRESSION and entry.expression is not None
        }

    def of(
        self, expression: Expression, key: Key, before: bool, span: Span
    ) -> tuple[PhysicalAlternative, ...]:
        return super().of(expression, key, before, span) if expression.id in self._then else ()


def test_the_new_plan_is_cheaper_than_the_stale_one(
    planned: PlanResult, committed: Committed
) -> None:
    """The stale plan, done at the end with the data that came: what it wanted to do in the second
    run first, then the third."""
    new, stale = replanned(committed), planned.decision.chosen.extracted
    assert stale is not None
    same = [str(e.node) for e in planned.space.memo.expressions]
    assert [str(e.node) for e in new.space.memo.expressions] == same
    rows = round(ROWS * (ARRIVED + SURPRISE * (1 - ARRIVED)))
    late = day(
        *(ARRIVED * ROWS / rows, (1 + ARRIVED * ROWS / rows) / 2, 1.0),
        rows=rows,
        first_sources=sources(ROWS),
        current=2,
        committed=(committed,),
    )
    weights = {2: WEIGHT_STEPS, 3: WEIGHT_STEPS}
    spans = (Span(1, 2), Span(2, 3))
    chains = frozenset(kept for kept, _ in stale.partitions)
    solver = Solver(
        DpProblem(
            late.space,
            WorkOf(late, stale),
            spans,
            weights,
            late.families.committed,
            late.families.twins,
        )
    )
    shared = frozenset((kept, at - 1) for kept, at in stale.partitions if at > 0)
    then = extract_plan(late.space, solver.solve(shared, allowed=chains), weights)
    chosen = new.decision.chosen.extracted
    assert then is not None
    assert chosen is not None
    assert then.partitions  # it writes states, as was planned for much fewer rows
    assert chosen.total < then.total


@pytest.mark.parametrize(
    ("sql", "still"),
    [
        pytest.param(SOLD, 2, id="as it was"),
        pytest.param(SOLD.replace("s.cat,", "s.cat AS category,"), 2, id="a name"),
        pytest.param(SOLD.replace("count(*) AS n", "count(*) AS n, avg(r.cost)"), 2, id="a column"),
        pytest.param(SOLD.replace(", sum(r.cost) AS cost", ""), 1, id="a column less to keep"),
        pytest.param(SOLD.replace("s.price > 0", "s.price > 1"), 1, id="a filter of one table"),
        pytest.param(SOLD.replace("s.price > 0", "r.cost > 0"), 1, id="another filter"),
        pytest.param(SOLD.replace("s.o = r.o", "s.o = r.cost"), 1, id="another join"),
    ],
)
def test_an_edit_keeps_what_it_does_not_concern(committed: Committed, sql: str, still: int) -> None:
    """Families hold selected rows of a table by the join's key: an edited select list leaves them
    as they are, an edited filter drops those of its table; all rows of the other one stay of use,
    also below a new filter."""
    assert len(committed.families) == 2
    result = replanned(committed, sql)
    read = {
        given.family
        for stage in result.plan.run.stages
        for given in stage.inputs
        if isinstance(given, FamilyInput)
    }
    known = {family.id for family in committed.families}
    usable = {result.families.fingerprint(k, 1) for k in result.families.committed}
    assert sum(family.fingerprint in usable for family in committed.families) == still
    assert read & known <= {f.id for f in committed.families if f.fingerprint in usable}


def test_a_family_with_a_gap_is_no_view(committed: Committed) -> None:
    """A run that went on without it has broken the chain."""
    gap = replace(committed, index=2, families=())
    result = day(
        *(0.3, 0.6, 1.0),
        current=3,
        committed=(committed, gap),
        first_sources=sources(ROWS),
    )
    assert result.families.committed == frozenset()


def rows_of(rng: random.Random, orders: range) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Sales of some orders, and the returns of some of these and of earlier ones."""
    sales = tuple((o, rng.choice((1, 2, 3, None)), rng.randint(-2, 9)) for o in orders)
    returned = rng.sample(range(orders.stop), len(orders) // 3)
    return sales, tuple((o, rng.choice((5, 7, None))) for o in returned)


def as_tables(*deliveries: tuple[tuple[Row, ...], tuple[Row, ...]]) -> dict[str, TableCase]:
    sales, returns = zip(*deliveries, strict=True)
    named = (("o", "BIGINT"), ("cat", "BIGINT"), ("price", "BIGINT"))
    return {
        "sales": TableCase(named, changing=True, deliveries=sales),
        "returns": TableCase((("o", "BIGINT"), ("cost", "BIGINT")), True, returns),
    }


def case(tables: dict[str, TableCase], runs: int) -> Case:
    return Case("replanned", tables, QueryCase(()), runs, early=False)


@pytest.mark.parametrize(
    "sql", [SOLD, SOLD.replace("count(*) AS n", "max(r.cost) AS most, count(*) + 1 AS n")]
)
def test_a_replanned_day_gives_the_batch_result(
    planned: PlanResult, committed: Committed, sql: str
) -> None:
    """On Sail. Before the second run is done, the first delivery of sales is replaced by other
    rows: what read its files again would be found out. (To read all returns again is as cheap as
    to read those that are kept.)"""
    rng = random.Random(7)
    engine = PlainSailEngine(sail_session())
    first, second = rows_of(rng, range(60)), rows_of(rng, range(60, 660))
    held = Day()
    assert run_stages(planned.plan, case(as_tables(first), 1), engine, held) is None
    held.committed.append(committed)
    true = as_tables(first, second)
    for name, table in true.items():
        engine.bind(name, table.columns, table.rows(2))
    expected = engine.query(sql)
    assert len(expected) == 4
    sales = tuple((o + 1000, cat, price + 1) for o, cat, price in first[0])
    false = as_tables((sales, first[1]), second)
    now = replanned(committed, sql)
    found = run_stages(now.plan, case(false, 2), engine, held)
    assert found is not None
    compare_bags(expected, found, magnitude=1e4)


STAR = """
SELECT sum(f.v) AS s FROM facts f JOIN wide w ON f.a = w.a JOIN narrow n ON f.b = n.b
WHERE w.x < 500 AND n.y < 500
"""


def star(x_to: int, y_to: int, keys: int) -> tuple[Source, ...]:
    """A table of facts and two others; the largest values of the columns that these are filtered
    by, and how many values the key of the wide one has."""

    def source(name: str, key: str, count: int, column: str, to: int) -> Source:
        typed = tuple(SourceColumn(name=c, type=BIGINT) for c in (key, column))
        bounds = ColumnStats(minimum="0", maximum=f"{to}")
        stats = ((key, ColumnStats(distinct=float(count))), (column, bounds))
        return Source(name=name, columns=typed, rows=10**7, bytes=10**8, stats=stats)

    facts = growing("facts", 10**8, "a", "b", "v")
    known = (("a", ColumnStats(distinct=1e5)), ("b", ColumnStats(distinct=1e7)))
    wide, narrow = source("wide", "a", keys, "x", x_to), source("narrow", "b", 10**7, "y", y_to)
    return replace(facts, stats=known), wide, narrow


@pytest.mark.parametrize(("arrived", "keys", "batch"), [(0.02, 10**5, True), (0.9, 10**6, False)])
@pytest.mark.parametrize("off", [(), ("JoinOrders",)])
def test_batch_is_compared_in_the_order_of_joins_that_is_best_by_now(
    arrived: float, keys: int, batch: bool, off: tuple[str, ...]
) -> None:
    """The order of the first plan is kept for what is kept; the user's own text needs it not."""
    then, now = star(10**6, 10**3, 10**7), star(10**3, 10**6, keys)
    points = (TimePoint(weight=0.9, arrived=arrived), TimePoint(weight=1.0))
    asked = PlanRequest(
        report="r", sql=STAR, sources=then, points=points, method="im1",
        settings=Settings(rules_off=off, prices=CHEAP_RUNS),
    )  # fmt: skip
    families = kept_by(api.plan(asked), 1)
    assert families
    late = replace(asked, current=2, sources=now, method="auto")
    again = api.plan(
        replace(late, first_sources=then, committed=(Committed(index=1, families=families),))
    )
    fresh = api.plan(late).decision.batch.total
    named = replace(late, first_sources=then, committed=again.request.committed, method="im1")
    assert not api.plan(named).decision.chosen.is_batch  # who names a method gets it to the end
    assert again.decision.chosen.is_batch == batch
    assert again.decision.chosen.total <= again.decision.batch.total == fresh
    assert again.plan.runs[0].committed
    assert again.plan.run.base == 1
