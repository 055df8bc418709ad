"""The paper's running example (Tempura 2.2): which method is cheaper depends on what is returned.

The planner is given prices under which a tuple costs 1 where it is shuffled and all else is free,
rows that are in place stay there, and nothing is broadcast or grouped before it is shuffled. Then
what it pays is every tuple that newly enters the join, and every signed row that enters the
aggregate: the convention that gives the figures of the paper. Sizes are counted, not estimated.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import fields, replace

import pytest

from forerun.planner import api
from forerun.planner.algebra.types import INT, STRING
from forerun.planner.cost.constants import MICRO
from forerun.planner.cost.operators import Size
from forerun.planner.cost.prices import Prices
from forerun.planner.materialize import portfolio
from forerun.planner.memo.groups import GroupId
from forerun.planner.memo.memo import Memo
from forerun.planner.request import PlanRequest, Problem, Settings, Source, SourceColumn, TimePoint
from forerun.planner.temporal.group_sizes import GroupSizes
from tests.oracles.interpreter import SourceData
from tests.oracles.values import Row
from tests.properties.memo_values import Values
from tests.selection import few

pytestmark = pytest.mark.search
EARLY, LATE = 0.2, 1.0
SUMMARY = """
WITH sales_status AS (
    SELECT s.o_id, s.cat, s.price, r.cost FROM sales s LEFT JOIN returns r ON s.o_id = r.o_id
)
SELECT cat,
       sum(CASE WHEN cost IS NULL THEN price ELSE 0 END) - coalesce(sum(cost), 0) AS gross
FROM sales_status GROUP BY cat
"""
COLUMNS = {"sales": {"o_id": STRING, "cat": STRING, "price": INT},
           "returns": {"o_id": STRING, "cost": INT}}  # fmt: skip
TUPLES = replace(
    Prices(**{price.name: 0 for price in fields(Prices)}),
    beside=(),
    flaws=frozenset(),
    exchange_row=float(MICRO),
    placed_unions=True,
    buckets=True,
)
Deliveries = tuple[list[Row], list[Row]]
"""What a source has at the first run, and what comes until the second."""

SALES: Deliveries = (
    [("o1", "c1", 100), ("o2", "c2", 150), ("o3", "c1", 120), ("o4", "c1", 170)],
    [("o5", "c2", 300), ("o6", "c1", 150), ("o7", "c2", 220)],
)
RETURNED: Row = ("o1", 10)


@pytest.fixture
def cost(monkeypatch: pytest.MonkeyPatch):
    """What the planner says that a method costs: weighted, in tuples."""

    def of(method: str, sales: Deliveries, returns: Deliveries) -> float:
        found = {"sales": sales, "returns": returns}
        data = {n: SourceData(tuple(COLUMNS[n]), list(a), list(b)) for n, (a, b) in found.items()}

        class Counted(GroupSizes):
            """Sizes of groups, from evaluating them over the data."""

            def __init__(self, memo: Memo, request: PlanRequest) -> None:
                super().__init__(memo, request)
                self._values = Values(memo, data)

            def _count(self, group: GroupId, run: int) -> Size:
                group = self._memo.leader(group)
                rows = self._values._bag(group, self._values.of(group, run))
                return Size(float(sum(map(abs, rows.values()))), 1.0)

            def snapshot(self, group: GroupId, run: int) -> Size:
                return self._count(group, run) if run else Size(0.0, 1.0)

            def step(self, group: GroupId, base: int, run: int) -> Size:
                assert base == 1
                return self._count(group, run)

        monkeypatch.setattr(portfolio, "GroupSizes", Counted)
        return api.plan(_request(method)).plan.estimated_cost / MICRO

    return of


def _request(method: str) -> PlanRequest:
    """IM-1 keeps the summary up to date, so that its early run has it too; its outer join is
    maintained by the keys of returns that are the first of theirs. IM-2 computes what may be taken
    back in the last run only, so the negative part has no delta."""
    by_key = method == "im1"
    off = ("OuterJoinDeltaTouchedRows",)
    if not by_key:
        off = ("SemiJoinDeltaByKey", "SemiJoinDeltaTouchedRows")
    off = (*off, "GroupedPartners")  # which neither has
    sources = tuple(
        Source(
            name=name,
            columns=tuple(SourceColumn(name=n, type=type_) for n, type_ in columns.items()),
            changing=True,
            rows=7,
        )
        for name, columns in COLUMNS.items()
    )
    return PlanRequest(
        report="summary",
        sql=SUMMARY,
        sources=sources,
        points=(TimePoint(weight=EARLY, arrived=0.5), TimePoint(weight=LATE)),
        method=method,
        problem=Problem(results_at=(1,) if by_key else ()),
        settings=Settings(prices=TUPLES, rules_off=off),
    )


@pytest.mark.parametrize(
    ("returned", "im1", "im2"),
    [(("o2", "o6"), 11.8, 12.2), (("o2", "o4"), 13.8, 12.2), (("o2", "o4", "o6"), 14.8, 13.2)],
    ids=["as in figure 1", "o4 in place of o6", "o4 too"],
)
def test_the_example_of_section_2_2(cost, returned, im1, im2):
    returns = [RETURNED], [(order, 15) for order in returned]
    assert cost("im1", SALES, returns) == pytest.approx(im1)
    assert cost("im2", SALES, returns) == pytest.approx(im2)


def replay(method: str, sales: Deliveries, returns: Deliveries) -> float:
    """What a method costs, tuple by tuple."""
    status = []
    for run in (1, 2):
        sold, back = ([row for part in table[:run] for row in part] for table in (sales, returns))
        costs: dict[object, list[object]] = {}
        for order, cost in back:
            costs.setdefault(order, []).append(cost)
        joined = [(*row, c, row[0] in costs) for row in sold for c in costs.get(row[0], [None])]
        status.append(Counter(joined))
    joins = [len(sales[run]) + len(returns[run]) for run in (0, 1)]
    before, after = status
    if method == "im1":
        changes = Counter(after)
        changes.subtract(before)
        grouped = [before.total(), sum(map(abs, changes.values()))]
        # With more changes than there are rows, the summary is computed again.
        grouped[1] = min(grouped[1], after.total())
    else:
        positive = [sum(n for row, n in rows.items() if row[-1]) for rows in status]
        grouped = [positive[0], after.total() - positive[0]]
    return EARLY * (joins[0] + grouped[0]) + LATE * (joins[1] + grouped[1])


def random_day(rng: random.Random) -> tuple[Deliveries, Deliveries]:
    """Orders of two deliveries, some of them returned then or later, some of them twice, and
    returns of orders that are not known."""
    orders = [f"o{number}" for number in range(rng.randint(3, 14))]
    first = rng.randint(1, len(orders) - 1)
    rows: list[Row] = [(o, rng.choice(("c1", "c2", None)), rng.randint(1, 400)) for o in orders]
    at_once = rng.sample(orders[:first], rng.randint(0, first))
    later = rng.choices([*orders, "unknown"], k=rng.randint(0, len(orders)))
    returns = [(o, rng.choice((10, 20, None))) for o in at_once]
    return (rows[:first], rows[first:]), (returns, [(o, rng.randint(1, 9)) for o in later])


@pytest.mark.parametrize("method", few(["im1", "im2"], 1))
def test_random_days_cost_what_a_replay_counts(cost, method):
    rng = random.Random(f"replay {method}")
    found = set()
    for number in range(50):
        sales, returns = random_day(rng)
        expected = replay(method, sales, returns)
        assert cost(method, sales, returns) == pytest.approx(expected), (number, sales, returns)
        found.add(round(expected, 3))
    assert len(found) > 40
