"""Plans under a byte budget: they fit, more bytes never cost more, none is batch, and on small
problems nothing cheaper fits."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.api import PlanResult, plan
from forerun.planner.contract import encode_plan
from forerun.planner.errors import RequestError
from forerun.planner.explain import record, tree
from forerun.planner.materialize.budget import plans_within
from forerun.planner.materialize.diss_actions import DissInput, steps_of
from forerun.planner.materialize.footprint import Footprint
from forerun.planner.materialize.sharing import GreedySharing
from forerun.planner.memo.groups import View
from forerun.planner.request import (
    ColumnStats,
    Committed,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
    ivm,
)
from forerun.planner.temporal.alternatives import AlternativeEnumerator
from forerun.planner.temporal.as_of import Span
from forerun.planner.temporal.group_costs import DpProblem
from forerun.planner.temporal.solve import Solver
from tests.planner.sql.tpch import SOURCES
from tests.planner.starts import CHEAP_RUNS
from tests.selection import few

pytestmark = pytest.mark.search
ROWS = {"orders": 15e6, "lineitem": 60e6, "customer": 1.5e6, "part": 2e6, "partsupp": 8e6}
GROWING = ("orders", "lineitem", "customer", "partsupp")
TPCH = tuple(
    replace(s, changing=s.name in GROWING, rows=int(ROWS.get(s.name, 10_000))) for s in SOURCES
)
POINTS = tuple(TimePoint(weight=w, arrived=a) for w, a in ((0.15, 0.58), (0.2, 0.79), (1.0, 1.0)))
QUERIES = [1, 13, 18, 21]


def request_of(number: int, budget: int | None) -> PlanRequest:
    text = (Path(__file__).parents[2] / "tpch" / f"q{number:02}.sql").read_text()
    settings = Settings(state_budget=budget, own_batch="never", prices=CHEAP_RUNS)
    return PlanRequest(report="r", sql=text, sources=TPCH, points=POINTS, settings=settings)


def within(number: int, budget: int | None) -> PlanResult:
    return plan(request_of(number, budget))


@pytest.mark.parametrize("number", few(QUERIES, 2))
def test_plans_fit_and_more_bytes_never_cost_more(number: int) -> None:
    free = within(number, None)
    most = free.decision.chosen.held[-1]
    before = within(number, 0).plan
    assert before.estimated_cost == before.batch_cost
    for share in (0.3, 0.8, 1.0, 3.0):
        budget = int(share * most)
        found = within(number, budget)
        assert all(held <= budget for held in found.decision.chosen.held)
        assert found.plan.estimated_cost <= before.estimated_cost
        before = found.plan
    assert before.estimated_cost <= free.plan.estimated_cost
    assert before.estimated_cost < 0.97 * before.batch_cost


def test_a_budget_that_binds_gives_up_bytes_and_not_all_of_the_saving() -> None:
    """Q13: below what the best plan keeps, another plan that is better than batch."""
    free = within(13, None)
    less = within(13, free.decision.chosen.held[-1] - 1)
    assert less.plan.method == "incremental"
    assert less.decision.chosen.held[-1] < free.decision.chosen.held[-1]
    assert free.plan.estimated_cost < less.plan.estimated_cost < less.plan.batch_cost


@pytest.mark.parametrize("number", QUERIES)
def test_no_bytes_is_batch_to_the_byte(number: int) -> None:
    request = request_of(number, 0)
    batch = replace(request, method="batch", settings=Settings(prices=CHEAP_RUNS))
    without, asked = (replace(plan(r).plan, not_incremental=()) for r in (request, batch))
    assert encode_plan(without) == encode_plan(asked)  # only why nothing is early may differ


def test_one_byte_is_batch_too() -> None:
    assert within(13, 1).plan.method == "batch"
    assert "nothing that repays early work fits into the state budget" in tree.render(within(13, 1))


def test_a_budget_below_zero_is_refused() -> None:
    with pytest.raises(RequestError, match="the state budget is -1 bytes"):
        within(1, -1)


def test_results_at_every_run_fit_too() -> None:
    request = replace(request_of(13, 150_000_000), problem=ivm(3))
    found = plan(request)
    assert all(held <= 150_000_000 for held in found.decision.chosen.held)
    assert [run.early_result for run in found.plan.runs] == [True, True, False]


def test_what_is_committed_counts_and_may_be_used_beyond_the_budget() -> None:
    """The store held more than was estimated: the rest of the day adds nothing, and still reads."""
    first = within(1, None)
    assert first.plan.run.opened
    held = tuple(first.plan.families)
    for counted, adds in ((10**6, True), (10**12, False)):
        again = replace(
            request_of(1, 2 * 10**9),
            current=2,
            committed=(Committed(index=1, families=held, bytes=counted),),
        )
        chosen = plan(again).decision.chosen
        assert chosen.extracted is not None
        assert chosen.extracted.keeps
        early = [at for _, at in chosen.extracted.partitions if at < len(chosen.opened) - 1]
        assert bool(early) is adds
        assert all(bytes_ <= max(counted, 2 * 10**9) for bytes_ in chosen.held)


def test_explain_says_what_is_kept_of_the_budget() -> None:
    found = within(13, 150_000_000)
    (run, _), (held,) = found.decision.chosen.opened, found.decision.chosen.held
    said = f"keeps {held / 1e6:.0f} MB after run {run}, of a state budget of 150 MB (estimates)"
    assert said in tree.render(found)
    state = record.as_json(found)["state"]
    assert state == {"budget_bytes": 150_000_000, "held_bytes": {str(run): held}}
    assert "state budget" not in tree.render(within(13, None))


# -- small problems ----------------------------------------------------------------------------

SMALL = (
    "SELECT g, sum(v) AS s FROM t JOIN u ON k = uk GROUP BY g",
    "SELECT g, sum(v) AS s FROM t GROUP BY g",
    "SELECT k, g, uv FROM t JOIN u ON k = uk WHERE v < 10",
    "SELECT g, sum(v) AS s FROM t JOIN w ON k = wk GROUP BY g",
    "SELECT g, count(*) AS n FROM t WHERE EXISTS (SELECT 1 FROM u WHERE uk = k) GROUP BY g",
)


class Small:
    """A random small problem, its search, and the chains that it could keep."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        runs = rng.choice((2, 3))
        times = ((0.25, 0.5), (0.3, 0.8), (1.0, 1.0))[-runs:]
        points = tuple(TimePoint(weight=w, arrived=a) for w, a in times)
        sources = tuple(self._source(rng, *what) for what in (("t", ""), ("u", "u"), ("w", "w")))
        sql = rng.choice(SMALL)
        found = plan(PlanRequest(report="r", sql=sql, sources=sources, points=points))
        self.space, twins = found.space, found.families.twins
        self.weights = {run: round(p.weight * 1e6) for run, p in enumerate(points, 1)}
        spans = tuple(Span(run, run + 1) for run in range(runs))
        alternatives = AlternativeEnumerator(self.space, found.group_sizes)
        self.solver = Solver(DpProblem(self.space, alternatives, spans, self.weights, twins=twins))
        self.footprint = Footprint(self.space, found.group_sizes, 0)
        near = self.solver.solve()
        self.day = DissInput(
            self.space,
            alternatives,
            self.footprint,
            near,
            self.weights,
            twins,
            frozenset(),
            (runs - 1,),
        )
        self.chains = sorted(
            {kept for chain_costs in near.chain_costs[:-1] for kept in chain_costs}
        )

    @staticmethod
    def _source(rng: random.Random, name: str, prefix: str) -> Source:
        rows = int(10 ** rng.uniform(5, 8))
        types = (("k", BIGINT), ("g", STRING), ("v", BIGINT))
        return Source(
            name=name,
            columns=tuple(SourceColumn(name=prefix + n, type=type_) for n, type_ in types),
            changing=name != "w",
            rows=rows,
            stats=tuple(
                (prefix + n, ColumnStats(distinct=float(int(rows ** rng.uniform(0.2, 1.0)))))
                for n, _ in types
            ),
        )

    def search(self) -> GreedySharing:
        return GreedySharing(self.space, self.solver, self.weights, 24, whole=True)


def test_nothing_that_fits_is_cheaper_on_small_problems() -> None:
    """All sets of up to three chains are tried, more than these queries have use for."""
    budgets = 0
    for seed in range(40):
        small = Small(seed)
        if len(small.chains) > 10:
            continue
        every = small.search()
        for count in range(4):
            for allowed in combinations(small.chains, count):
                every.with_chains(frozenset(allowed))
        held = small.footprint
        brute = [(held.most(one), one.total) for one in every.seen]
        for budget in sorted({size for size, _ in brute}):
            search = small.search()
            search.first()
            found = min(one.total for one in plans_within(budget, small.day, search))
            assert found <= min(cost for size, cost in brute if size <= budget), seed
            budgets += 1
    assert budgets >= 20


def test_bytes_of_shared_state_count_once() -> None:
    """Every partition of a plan is counted once, whatever reads it; deletes count as rows."""
    small = Small(1)
    search = small.search()
    first = search.first()
    assert first is not None
    chain_costs, spans = first.solution.chain_costs, first.solution.spans
    written = {(kept, at) for kept, at in first.partitions if at < len(spans) - 1}
    each = [
        small.footprint.partition(kept, spans[at], start=chain_costs[at][kept].start)
        for kept, at in written
    ]
    assert small.footprint.most(first) == sum(each)


def test_the_steps_of_the_dynamic_program_hold_what_they_say() -> None:
    small = Small(3)
    for step in steps_of(small.day):
        chains = [
            small.footprint.chain(kept, small.day.near.spans, committed=False) for kept in step.kept
        ]
        assert step.bytes == sum(chains)
        plan_of = small.search().with_chains(step.kept)
        assert plan_of is not None
        assert small.footprint.most(plan_of) <= step.bytes


def test_rows_that_are_taken_back_take_bytes_too() -> None:
    """An aggregate's families hold both what a group was and what it is."""
    found = within(13, None)
    group_sizes, memo = found.group_sizes, found.space.memo
    signed = [
        slot
        for slot in found.space.slots
        if slot.view is View.WEIGHTED and group_sizes.taken_back(slot.tvr, 1, 2) > 0
    ]
    assert signed
    footprint = Footprint(found.space, group_sizes, 0)
    for slot in signed:
        size = group_sizes.step(slot.delta, 1, 2)
        assert footprint.partition((slot.index, ()), Span(1, 2), start=False) > size.bytes
        assert group_sizes.taken_back(slot.tvr, 1, 2) <= group_sizes.snapshot(slot.tvr.new, 1).rows
    assert all(
        group_sizes.taken_back(tvr, 1, 2) == 0
        for tvr in memo.tvrs
        if tvr.changing and not tvr.weight
    )
