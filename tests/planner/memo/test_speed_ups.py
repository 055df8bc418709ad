"""The three speed-ups of exploration: what they spare is counted, what they find is the same."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.planner.api import PlanResult, plan
from forerun.planner.contract.codec import encode_plan
from forerun.planner.materialize import portfolio
from forerun.planner.request import PlanRequest, Settings, TimePoint
from forerun.planner.rules.exploration import ExplorationScope, Explored
from forerun.planner.rules.explore.catalog import EXPLORE
from forerun.planner.rules.incremental.memo_rules import TVR_GENERATING
from forerun.planner.rules.methods.catalog import AUTO
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.benchmarks.ablation import DIFFERENCES, MERGE, SpeedUps, Work, explore_without
from tests.planner.memo.invariants import check_memo
from tests.planner.sql.tpch import SOURCES
from tests.properties.test_memo_values import OUTER, checked, histories, random_joins

pytestmark = pytest.mark.search
TEXTS = {n: Path(__file__).parents[2] / "tpch" / f"q{n:02}.sql" for n in (1, 3, 13, 18)}
GROWING = frozenset({"orders", "lineitem", "customer", "partsupp"})
TABLES = tuple(replace(s, changing=s.name in GROWING, rows=10**7, bytes=10**9) for s in SOURCES)
NONE = SpeedUps(symmetric=False, pruned=False, guided=False)
DIFFERENCE = DIFFERENCES[0].name


def explored(query: int, runs: int, speed: SpeedUps) -> Work:
    read = read_query(TEXTS[query].read_text(), TABLES)
    ids = ColumnIds(read.last_id)
    relation = normalize(read.relation, TABLES, ids)
    return explore_without(
        speed, runs, relation, ExplorationScope(GROWING), EXPLORE, AUTO.rules, ids
    )


def planned(query: int, speed: SpeedUps) -> PlanResult:
    """The plan where exploration goes without some of the speed-ups."""
    points = (TimePoint(weight=0.2, arrived=0.5), TimePoint(weight=1.0))
    text = TEXTS[query].read_text()
    request = PlanRequest(
        report="r", sql=text, sources=TABLES, points=points, settings=Settings(tries=4)
    )

    def explored(*given: object) -> Explored:
        return explore_without(speed, len(points), *given).explored

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(portfolio, "explore", explored)
        return plan(request)


@pytest.mark.parametrize("query", TEXTS)
def test_more_time_points_are_no_more_to_explore(query: int) -> None:
    three, nine = (explored(query, runs, SpeedUps()) for runs in (3, 9))
    assert (three.tries, three.expressions) == (nine.tries, nine.expressions)


@pytest.mark.parametrize("query", TEXTS)
def test_all_three_spare_more_than_nine_tenths(query: int) -> None:
    """At nine time points; each of them alone spares something at three."""
    assert explored(query, 9, NONE).expressions >= 10 * explored(query, 9, SpeedUps()).expressions
    most = explored(query, 3, NONE)
    for name in ("symmetric", "pruned", "guided"):
        one = explored(query, 3, replace(NONE, **{name: True}))
        assert one.tries < most.tries, name
        assert one.expressions < most.expressions, name


@pytest.mark.parametrize("query", TEXTS)
def test_the_memo_is_right_without_them(query: int) -> None:
    found = explored(query, 4, NONE)
    check_memo(found.explored.memo)
    trace = found.explored.trace
    assert not trace.spent
    assert trace.found[DIFFERENCE]
    assert trace.found[MERGE]


def test_a_difference_of_snapshots_is_the_delta() -> None:
    made = 0
    for seed in range(40):
        rng = random.Random(f"difference-{seed}")
        given = histories(rng, 2)
        relation = random_joins(rng, given, OUTER[:2], residual=0.3)
        memo = checked(relation, given, (*TVR_GENERATING, *DIFFERENCES))
        made += any(one.origin == DIFFERENCE for one in memo.expressions)
    assert made >= 20


@pytest.mark.parametrize("query", TEXTS)
def test_plans_are_the_same_to_the_byte_where_only_work_is_repeated(query: int) -> None:
    """Of merges in another order none is cheaper; of a step explored again nothing is new."""
    whole = encode_plan(planned(query, SpeedUps()).plan)
    assert encode_plan(planned(query, SpeedUps(symmetric=False)).plan) == whole
    assert encode_plan(planned(query, SpeedUps(guided=False)).plan) == whole
    assert planned(query, SpeedUps(pruned=False)).trace.found[DIFFERENCE]
