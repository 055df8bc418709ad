"""What exploring the plan space takes: by number of time points, by methods, and with each of the
three speed-ups (Tempura 5.4) left out. Part of ``make bench-plan``.

    python -m tests.benchmarks exploration
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

from forerun.planner.algebra.relational import Relation
from forerun.planner.request import Source, TimePoint
from forerun.planner.rules.exploration import ExplorationScope
from forerun.planner.rules.explore.catalog import EXPLORE, LastTwoRuns
from forerun.planner.rules.methods.catalog import AUTO, SINGLE
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.search.rule import MemoRule
from forerun.planner.sql.frontend import read_query
from forerun.planner.temporal.group_sizes import estimator
from forerun.planner.tvr.signed import ColumnIds
from tests.benchmarks import planning
from tests.benchmarks.ablation import SpeedUps, explore_without
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table

POINTS = (3, 6, 9)
NONE = SpeedUps(symmetric=False, pruned=False, guided=False)
ALL = "all-three"
COMBINATIONS = {
    "none": NONE,
    "translational-symmetry": SpeedUps(pruned=False, guided=False),
    "pruning": SpeedUps(symmetric=False, guided=False),
    "guided": SpeedUps(symmetric=False, pruned=False),
    ALL: SpeedUps(),
}
TPCDS = ("q3", "q7", "q19", "q22", "q25", "q35", "q51", "q72", "q77", "q95")
"""Ten of TPC-DS, of 2 to 14 joins."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query in normal form, ready to be explored."""

    name: str
    relation: Relation
    ids: ColumnIds
    growing: frozenset[str]
    last_two_runs: LastTwoRuns


def query_of(name: str, sql: str, sources: tuple[Source, ...], last: Sequence[TimePoint]) -> Query:
    """Read and normalize, which is not measured here. ``last``: the last two time points, which
    orders of joins are found for."""
    read = read_query(sql, sources)
    ids = ColumnIds(read.last_id)
    relation = normalize(read.relation, sources, ids)
    before, after = (estimator(sources, point) for point in last)
    growing = frozenset(s.name for s in sources if s.changing)
    return Query(name, relation, ids, growing, (before, after))


def work(
    queries: Iterable[Query], runs: int, speed: SpeedUps, rules: Sequence[MemoRule] = AUTO.rules
) -> Figures:
    """Explore every query once, for a day of so many runs."""
    total: Figures = {"tries": 0, "expressions": 0, "seconds": 0.0, "spent": False}
    for query in queries:
        scope = ExplorationScope(query.growing, last_two_runs=query.last_two_runs)
        started = time.process_time()
        ids = query.ids.fork()
        found = explore_without(speed, runs, query.relation, scope, EXPLORE, rules, ids)
        total["seconds"] += time.process_time() - started
        total["tries"] += found.tries
        total["expressions"] += found.expressions
        total["spent"] = total["spent"] or found.explored.trace.spent
    return total


def rules_by_count() -> Iterator[tuple[str, tuple[MemoRule, ...]]]:
    """Yield the rules of the first method, of the first two, and so on."""
    rules: dict[str, MemoRule] = {}
    known = {rule.name for rule in AUTO.rules}
    for method in SINGLE:
        rules |= {rule.name: rule for rule in method.rules if rule.name in known}
        yield method.name, tuple(rules.values())


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield the speed-ups for few and for many time points, and methods added one by one."""

    @cache
    def queries() -> list[Query]:
        todo = [t for t in planning.tasks(given.scale) if t.suite == "TPC-H" or t.name in TPCDS]
        last = planning.points(POINTS[0])[-2:]
        found = [query_of(task.name, task.sql, task.sources, last) for task in todo]
        work(found, POINTS[0], SpeedUps())  # warm
        return found

    def measure(runs: int, speed: SpeedUps, rules: Sequence[MemoRule], _found: Found) -> Figures:
        return work(queries(), runs, speed, rules)

    under = f"tables at scale {given.scale:g}, TPC-H and {len(TPCDS)} of TPC-DS"
    for name, speed in COMBINATIONS.items():
        for runs in POINTS if name == ALL else (POINTS[0], POINTS[-1]):
            one = partial(measure, runs, speed, AUTO.rules)
            yield Cell(name=(name, str(runs)), under=under, measure=one)
    for name, rules in rules_by_count():
        one = partial(measure, POINTS[0], SpeedUps(), rules)
        yield Cell(name=(name, "method"), under=under, measure=one)


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield what each speed-up saves, and what each method adds."""
    yield "All methods in one memo; sums over the queries."
    yield ""
    columns = ("speed-ups", "time points", "tries of rules", "expressions", "CPU", "against none")
    speed_ups = [(name, one) for name, one in found.items() if name[0] in COMBINATIONS]
    yield from table(
        columns,
        (
            (name, runs, *_told(one), _against(one, found.get(("none", runs))))
            for (name, runs), one in speed_ups
        ),
    )
    yield ""
    methods = ((name[0], *_told(one)) for name, one in found.items() if name[1] == "method")
    yield from table(("methods, each added", "tries of rules", "expressions", "CPU"), methods)


def _told(one: Figures) -> tuple[str, ...]:
    spent = " (a budget was spent)" if one["spent"] else ""
    return f"{one['tries']:,}{spent}", f"{one['expressions']:,}", f"{one['seconds']:.2f} s"


def _against(one: Figures, none: Figures | None) -> str:
    if none is None or one is none:
        return ""
    fewer, faster = (none[what] / max(one[what], 1e-9) for what in ("expressions", "seconds"))
    return f"{fewer:.1f}x fewer expressions, {faster:.1f}x faster"


BENCHMARK = Benchmark(cells=cells, lines=lines, section=lambda _given: "bench-explore")
