"""``make bench-methods``: what plans of all methods together cost beside each method alone.

Estimated cost of every TPC-H query, over the arrival patterns of Tempura 8.2, for both problems:
``auto`` against IM-1, IM-2, OJV, HOV and CV alone and against batch. Tables are generated at a
scale, so that statistics are those of real files. Nothing is executed.

    python -m tests.benchmarks methods
    python -m tests.benchmarks methods --only q03,q13 --scale 1 --no-page
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime

from forerun.planner.api import plan, plans_by_method
from forerun.planner.materialize.candidate import Candidate
from forerun.planner.request import PDW, PlanRequest, Problem, Source, TimePoint, ivm
from forerun.planner.rules.methods.catalog import SINGLE
from forerun.simulation.planning import with_statistics
from forerun.simulation.tables import find_tables
from tests.benchmarks.days import generate_tpch
from tests.benchmarks.page import PAGE, ROOT, write_section
from tests.benchmarks.planning import TPCH_CHANGING

RETRACTED = 0.1
"""Rows that a day takes back, as a share of the table's rows, where a pattern has retractions."""
WEIGHTS = (0.3, 0.7)
"""Prices of the early run; the final run's is 1."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """``first``: how much has arrived by the first of two runs. ``retracting``: tables of which
    rows are taken back."""

    name: str
    ratio: str
    first: float
    retracting: tuple[str, ...] = ()


PATTERNS = (
    Pattern("delta-big", "1:1", 1 / 2),
    Pattern("delta-small", "4:1", 4 / 5),
    Pattern("delta-R", "2:1, lineitem takes rows back", 2 / 3, ("lineitem",)),
    Pattern("delta-RS", "2:1, lineitem and orders do", 2 / 3, ("lineitem", "orders")),
)


@dataclass(frozen=True, slots=True)
class Day:
    """A query, how its data arrives, and what is asked for. ``weight``: of the early run."""

    query: str
    pattern: Pattern
    problem: str
    weight: float


@dataclass(slots=True)
class Found:
    """Costs in CPU seconds, of the weighted sum or, for IVM, of the final run, then of the early
    one. ``alone``: by method. ``why_not``: methods that do not apply. ``keeps``: bytes that
    ``auto`` keeps. ``limits``: below what a method is clearly below batch. ``left_out``: methods
    that it was not compared with, its budget being spent."""

    day: Day
    auto: list[float]
    batch: list[float]
    alone: dict[str, list[float]] = field(default_factory=dict)
    why_not: dict[str, str] = field(default_factory=dict)
    final_dearer: dict[str, bool] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    keeps: int = 0
    left_out: tuple[str, ...] = ()

    @property
    def no_regret(self) -> str:
        """Why the rule of no regret keeps ``auto`` from the best single method; empty if it does
        not: then the method is clearly cheaper than batch, and its final run is no dearer."""
        best = self.alone[self.best_alone]
        if self.final_dearer[self.best_alone]:
            return "its final run is dearer than batch"
        return "" if best[0] < self.limits[self.best_alone] else "not clearly below batch"

    @property
    def best_alone(self) -> str:
        return min(self.alone, key=lambda name: self.alone[name], default="")

    def gain(self, over: str) -> float:
        """How many times as dear the other one is."""
        other = self.batch if over == "batch" else self.alone[over]
        return other[0] / self.auto[0]

    @property
    def is_above(self) -> bool:
        """Whether a method alone, or batch, is cheaper."""
        others = (*self.alone.values(), self.batch)
        return any(rounded(other) < rounded(self.auto) for other in others)


def rounded(costs: Sequence[float]) -> list[int]:
    """In thousandths of a second: less is no difference."""
    return [round(1000 * cost) for cost in costs]


def days(only: Sequence[str]) -> Iterator[Day]:
    """All of them. The price of the early run says nothing to IVM, which looks at one run at a
    time, the last one first."""
    for path in sorted((ROOT / "tests" / "tpch").glob("q*.sql")):
        if only and path.stem not in only:
            continue
        for pattern in PATTERNS:
            for weight in WEIGHTS:
                yield Day(path.stem, pattern, "pdw", weight)
            yield Day(path.stem, pattern, "ivm", WEIGHTS[0])


def request_of(day: Day, sources: Iterable[Source]) -> PlanRequest:
    """The day as a request."""
    early = TimePoint(weight=day.weight, arrived=day.pattern.first)
    problem: Problem = PDW if day.problem == "pdw" else ivm(2)
    return PlanRequest(
        report=day.query,
        sql=(ROOT / "tests" / "tpch" / f"{day.query}.sql").read_text(),
        sources=tuple(
            replace(source, change="changelog", retracted=RETRACTED)
            if source.name in day.pattern.retracting
            else source
            for source in sources
        ),
        points=(early, TimePoint(weight=1.0)),
        problem=problem,
    )


def measure(day: Day, sources: Iterable[Source]) -> Found:
    """Plan a day by all methods together, and by each of them."""
    found = plan(request_of(day, sources))
    decision = found.decision

    def costs(candidate: Candidate) -> list[float]:
        return [cost / 1e6 for cost in candidate.rank]

    result = Found(day, costs(decision.chosen), costs(decision.batch))
    result.keeps = max(decision.chosen.held, default=0)
    result.left_out = found.compared.left_out
    for one in plans_by_method(found):
        name = one.method.name
        if one.candidate is None:
            result.why_not[name] = one.why_not
        else:
            result.alone[name] = costs(one.candidate)
            result.limits[name] = one.candidate.limit / 1e6
            result.final_dearer[name] = one.candidate.by_run[-1] > decision.batch.by_run[-1]
    return result


# -- the page ------------------------------------------------------------------------------------


def mean(gains: Iterable[float]) -> float:
    """The geometric mean."""
    logs = [math.log(gain) for gain in gains]
    return math.exp(sum(logs) / len(logs)) if logs else 1.0


def kinds(found: Sequence[Found]) -> Iterator[tuple[str, list[Found]]]:
    """What was found by pattern, problem and weight, with a label."""
    for pattern in PATTERNS:
        for problem, weight in (*(("pdw", w) for w in WEIGHTS), ("ivm", WEIGHTS[0])):
            days_of = [
                f
                for f in found
                if (f.day.pattern, f.day.problem, f.day.weight) == (pattern, problem, weight)
            ]
            price = f" {weight:g}" if problem == "pdw" else ""
            yield f"{pattern.name} | {problem.upper()}{price}", days_of


def section(found: Sequence[Found], head: str) -> list[str]:
    """The figures as lines of the page of benchmarks."""
    names = [method.name for method in SINGLE]
    out = [head, "", "How many times as dear the best single method, batch and each method are as"]
    out += ["`auto` (geometric means over the queries that each applies to; highest in brackets),"]
    out += ["and of how many queries `auto` is below, level with and above the best single one:"]
    columns = ("arrivals", "problem", "below / level / above", "best single", "batch", *names)
    out += ["", f"| {' | '.join(columns)} |"]
    out += ["| --- " * (5 + len(names)) + "|"]
    for label, some in kinds(found):
        if some:
            out.append(f"| {label} | {_levels(some)} | {_gains(some, names)} |")
    out += ["", "Each query: batch and the best single method, as times the cost of `auto`:", ""]
    labels = [label.replace(" | ", ", ") for label, some in kinds(found) if some]
    out += [f"| query | {' | '.join(labels)} |", "| --- " * (1 + len(labels)) + "|"]
    for query in dict.fromkeys(f.day.query for f in found):
        cells = [_cell(f) for _, some in kinds(found) for f in some if f.day.query == query]
        out.append(f"| {query} | {' | '.join(cells)} |")
    return out + _remarks(found)


def _levels(some: Sequence[Found]) -> str:
    above = sum(f.is_above for f in some)
    level = sum(
        not f.is_above and bool(f.alone) and rounded(f.alone[f.best_alone]) == rounded(f.auto)
        for f in some
    )
    return f"{len(some) - above - level} / {level} / {above}"


def _gains(some: Sequence[Found], names: Sequence[str]) -> str:
    columns = [[f.gain(f.best_alone) for f in some if f.alone], [f.gain("batch") for f in some]]
    columns += [[f.gain(name) for f in some if name in f.alone] for name in names]
    return " | ".join(f"{mean(c):.2f} ({max(c):.1f})" if c else "" for c in columns)


def _cell(found: Found) -> str:
    alone = f"{found.best_alone} {found.gain(found.best_alone):.2f}" if found.alone else "none"
    return f"{found.gain('batch'):.2f}, {alone}"


def _remarks(found: Sequence[Found]) -> list[str]:
    out = [""]
    dearest = max(
        ((f.gain(name), f, name) for f in found for name in (*f.alone, "batch")),
        key=lambda one: one[0],
    )
    gain, best, name = dearest
    out.append(f"The highest gain is {gain:.1f} times, over {name}: {_name(best)}.")
    most = max(found, key=lambda f: f.gain("batch"))
    out.append(f"Over batch it is {most.gain('batch'):.1f} times: {_name(most)}.")
    batch = [f for f in found if rounded(f.auto) == rounded(f.batch)]
    out.append(f"Of {len(found)} days, {len(batch)} are batch, since nothing early repays itself.")
    mixed = [f for f in found if f.alone and f not in batch and f.gain(f.best_alone) > 1.0005]
    out.append(f"On {len(mixed)} days `auto` is below batch and below every single method.")
    above = [f for f in found if f.is_above]
    if not above:
        return [*out, "No single method, nor batch, is below `auto` on any day."]
    out += ["", "Days on which a single method, asked for by name, is below `auto`:", ""]
    for f in above:
        share = 1.0 - f.alone[f.best_alone][0] / f.auto[0]
        reason = f"no regret: {f.no_regret}" if f.no_regret else "A MISS"
        if f.best_alone in f.left_out:
            reason = "not compared with it, the budget being spent"
        out.append(f"- {_name(f)}: {f.best_alone} by {share:.1%}; {reason}")
    return out


def _name(found: Found) -> str:
    day = found.day
    price = f" {day.weight:g}" if day.problem == "pdw" else ""
    return f"{day.query}, {day.pattern.name}, {day.problem.upper()}{price}"


def main(given: argparse.Namespace) -> int:
    sources = with_statistics(find_tables(generate_tpch(given.scale)), TPCH_CHANGING)
    started, found = time.process_time(), []
    for day in days(given.only):
        found.append(measure(day, sources))
        f = found[-1]
        alone = {name: rounded(costs) for name, costs in f.alone.items()}
        flag = " ABOVE" if f.is_above else ""
        told = f"{_name(f)}: auto {rounded(f.auto)} batch {rounded(f.batch)} {alone}{flag}"
        print(told, file=sys.stderr, flush=True)
    if given.json:
        given.json.write_text(json.dumps([asdict(f) for f in found], indent=1), encoding="utf-8")
    tables = ", ".join(sorted(TPCH_CHANGING))
    head = (
        f"{datetime.now(UTC).date()}, {platform.system()} {platform.machine()}, {os.cpu_count()} "
        f"cores, scale {given.scale:g}; {len(found)} days of two runs, {tables} arriving; where a "
        f"table takes rows back, {RETRACTED:.0%} of them over the day. PDW: the weighted sum, by "
        f"the price of the early run; IVM: a result at both runs, and the final run's cost. "
        f"{time.process_time() - started:,.0f} CPU seconds of planning."
    )
    lines = section(found, head)
    print("\n".join(lines))
    if not given.no_page:
        write_section("bench-methods", lines)
        print(f"wrote {PAGE.relative_to(ROOT)}", file=sys.stderr)
    return int(any(f.is_above and not f.no_regret for f in found))
