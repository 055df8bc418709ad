"""What exploring the plan space takes: by number of time points, by methods, and with each of the
three speed-ups (Tempura 5.4) left out. Part of ``make bench-plan``.

    python -m tests.benchmarks exploration
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
from tests.benchmarks import ablation
from tests.benchmarks.ablation import SpeedUps, explore_without
from tests.benchmarks.page import write_section

POINTS = (3, 6, 9)
NONE = SpeedUps(symmetric=False, pruned=False, guided=False)
COMBINATIONS = (
    ("none", NONE),
    ("translational symmetry", SpeedUps(pruned=False, guided=False)),
    ("pruning", SpeedUps(symmetric=False, guided=False)),
    ("guided", SpeedUps(symmetric=False, pruned=False)),
    ("all three", SpeedUps()),
)
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


@dataclass(frozen=True, slots=True)
class Work:
    """Of exploring some queries: tries of rules, expressions, and CPU seconds; whether a search
    ended because its budget was spent."""

    tries: int = 0
    expressions: int = 0
    seconds: float = 0.0
    spent: bool = False

    def plus(self, found: ablation.Work, seconds: float) -> Work:
        return Work(
            self.tries + found.tries,
            self.expressions + found.expressions,
            self.seconds + seconds,
            self.spent or found.explored.trace.spent,
        )


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
) -> Work:
    """Explore every query once, for a day of so many runs."""
    total = Work()
    for query in queries:
        scope = ExplorationScope(query.growing, last_two_runs=query.last_two_runs)
        started = time.process_time()
        ids = query.ids.fork()
        found = explore_without(speed, runs, query.relation, scope, EXPLORE, rules, ids)
        total = total.plus(found, time.process_time() - started)
    return total


def section(queries: Sequence[Query], given: str) -> list[str]:
    """The figures as lines of the page of benchmarks."""
    work(queries, 3, SpeedUps())  # warm
    out = [
        f"{given} {len(queries)} queries in all, all methods in one memo; sums over the queries.",
        "",
        "| speed-ups | time points | tries of rules | expressions | CPU | against none |",
        "| --- " * 6 + "|",
    ]
    for runs in (POINTS[0], POINTS[-1]):
        least = None
        for name, speed in COMBINATIONS:
            found = work(queries, runs, speed)
            least = least or found
            out.append(_row(name, runs, found, least))
    times = {runs: work(queries, runs, SpeedUps()) for runs in POINTS}
    first = times[POINTS[0]]
    ratios = ", ".join(f"{runs}: {w.seconds / first.seconds:.2f}" for runs, w in times.items())
    same = all(w.expressions == first.expressions for w in times.values())
    out += ["", f"Exploration by the number of time points, relative to {POINTS[0]}: {ratios}"]
    out[-1] += " (the same expressions)." if same else " (NOT the same expressions)."
    out += ["", "| methods | tries of rules | expressions | CPU |", "| --- " * 4 + "|"]
    rules: dict[str, MemoRule] = {}
    known = {rule.name for rule in AUTO.rules}
    for count, method in enumerate(SINGLE, 1):
        rules |= {rule.name: rule for rule in method.rules if rule.name in known}
        found = work(queries, POINTS[0], SpeedUps(), tuple(rules.values()))
        name = method.name if count == 1 else f"and {method.name}"
        out.append(f"| {name} | {found.tries:,} | {found.expressions:,} | {_s(found)} |")
    return out


def _row(name: str, runs: int, found: Work, least: Work) -> str:
    spent = " (a budget was spent)" if found.spent else ""
    ratio = f"{least.expressions / found.expressions:.1f}x fewer expressions, "
    ratio += f"{least.seconds / max(found.seconds, 1e-9):.1f}x faster"
    return (
        f"| {name}{spent} | {runs} | {found.tries:,} | {found.expressions:,} | {_s(found)} | "
        f"{'' if found is least else ratio} |"
    )


def _s(found: Work) -> str:
    return f"{found.seconds:.2f} s"


def main(given: argparse.Namespace) -> int:
    from tests.benchmarks import planning

    todo = planning.tasks(given.scale, [])
    found = planning.explored(todo, planning.heading(given.scale))
    print("\n".join(found))
    if not given.no_page:
        write_section("bench-explore", found)
    return 0
