"""``make bench-methods``: what plans of all methods together cost beside each method alone.

Estimated cost of every TPC-H query, over the arrival patterns of Tempura 8.2, for both problems:
``auto`` against IM-1, IM-2, OJV, HOV and CV alone and against batch. Tables are generated at a
scale, so that statistics are those of real files. Nothing is executed.

    python -m tests.benchmarks methods
    python -m tests.benchmarks methods --only q03,q13 --scale 1 --no-page
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from forerun.planner.api import plan, plans_by_method
from forerun.planner.materialize.candidate import Candidate
from forerun.planner.request import PDW, PlanRequest, Problem, Source, TimePoint, ivm
from forerun.planner.rules.methods.catalog import SINGLE
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, Name, table
from tests.benchmarks.suites import TPCH_GROWING as SUITE

MISS = "A MISS"
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
class Case:
    """A query, how its data arrives, and what is asked for. ``weight``: of the early run."""

    query: str
    pattern: Pattern
    problem: str
    weight: float

    @property
    def name(self) -> Name:
        price = (f"{self.weight:g}",) if self.problem == "pdw" else ()
        return (self.query, self.pattern.name, self.problem, *price)


def cases() -> Iterator[Case]:
    """All of them. The price of the early run says nothing to IVM, which looks at one run at a
    time, the last one first."""
    for query in SUITE.texts():
        for pattern in PATTERNS:
            for weight in WEIGHTS:
                yield Case(query, pattern, "pdw", weight)
            yield Case(query, pattern, "ivm", WEIGHTS[0])


def request_of(case: Case, sources: Iterable[Source]) -> PlanRequest:
    """The day as a request."""
    early = TimePoint(weight=case.weight, arrived=case.pattern.first)
    problem: Problem = PDW if case.problem == "pdw" else ivm(2)
    return PlanRequest(
        report=case.query,
        sql=SUITE.texts()[case.query],
        sources=tuple(
            replace(source, change="changelog", retracted=RETRACTED)
            if source.name in case.pattern.retracting
            else source
            for source in sources
        ),
        points=(early, TimePoint(weight=1.0)),
        problem=problem,
    )


def measure(case: Case, sources: Iterable[Source]) -> Figures:
    """Plan a day by all methods together, and by each of them.

    Costs are in CPU seconds, of the weighted sum or, for IVM, of the final run, then of the early
    one. ``alone``: by method, with the limit below which it is clearly below batch, and whether its
    final run is dearer than batch. ``left_out``: methods that ``auto`` was not compared with, its
    budget being spent.
    """
    found = plan(request_of(case, sources))
    decision = found.decision
    alone = {
        one.method.name: {
            "costs": _costs(one.candidate),
            "limit": one.candidate.limit / 1e6,
            "final_dearer": one.candidate.by_run[-1] > decision.batch.by_run[-1],
        }
        for one in plans_by_method(found)
        if one.candidate is not None
    }
    figures = {
        "auto": _costs(decision.chosen),
        "batch": _costs(decision.batch),
        "alone": alone,
        "left_out": list(found.compared.left_out),
    }
    return {**figures, "differences": [why_not_auto(figures)] if is_miss(figures) else []}


def _costs(candidate: Candidate) -> list[float]:
    return [cost / 1e6 for cost in candidate.rank]


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query over every pattern, as both problems."""
    under = f"{SUITE.title} at scale {given.scale:g}"

    @cache
    def sources() -> tuple[Source, ...]:
        return SUITE.sources(given.scale)

    def one(case: Case, _found: Found) -> Figures:
        return measure(case, sources())

    for case in cases():
        yield Cell(name=case.name, under=under, measure=partial(one, case))


# -- the page ------------------------------------------------------------------------------------


def mean(gains: Iterable[float]) -> float:
    """The geometric mean."""
    logs = [math.log(gain) for gain in gains]
    return math.exp(sum(logs) / len(logs)) if logs else 1.0


def best_alone(one: Figures) -> str:
    """The method that is cheapest alone, empty where none applies."""
    return min(one["alone"], key=lambda name: one["alone"][name]["costs"], default="")


def gain(one: Figures, over: str) -> float:
    """How many times as dear as ``auto`` batch or a method alone is."""
    return float(_other(one, over)[0] / one["auto"][0])


def _other(one: Figures, name: str) -> list[float]:
    found: list[float] = one["batch"] if name == "batch" else one["alone"][name]["costs"]
    return found


def rounded(costs: Iterable[float]) -> list[int]:
    """In thousandths of a second: less is no difference."""
    return [round(1000 * cost) for cost in costs]


def is_above(one: Figures) -> bool:
    """Whether a method alone, or batch, is cheaper."""
    return any(
        rounded(_other(one, name)) < rounded(one["auto"]) for name in (*one["alone"], "batch")
    )


def no_regret(one: Figures) -> str:
    """Why the rule of no regret keeps ``auto`` from the best single method; empty if it does not:
    then the method is clearly cheaper than batch, and its final run is no dearer."""
    best = one["alone"][best_alone(one)]
    if best["final_dearer"]:
        return "its final run is dearer than batch"
    return "" if best["costs"][0] < best["limit"] else "not clearly below batch"


def is_miss(one: Figures) -> bool:
    """Whether a method alone is cheaper and nothing says why ``auto`` does not take it."""
    return is_above(one) and why_not_auto(one) == MISS


def why_not_auto(one: Figures) -> str:
    """Why ``auto`` is not the best single method, where that is cheaper."""
    if best_alone(one) in one["left_out"]:
        return "not compared with it, the budget being spent"
    return f"no regret: {no_regret(one)}" if no_regret(one) else MISS


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield the figures by pattern and problem, and by query, and what stands out."""
    kinds: dict[Name, dict[str, Figures]] = {}
    for (query, *kind), one in found.items():
        kinds.setdefault(tuple(kind), {})[query] = one
    names = [method.name for method in SINGLE]
    rows = ((" ".join(kind), *_of_kind(list(some.values()), names)) for kind, some in kinds.items())
    columns = ("arrivals, problem", "below / level / above", "best single", "batch", *names)
    yield from table(columns, rows)
    yield ""
    yield "Each query: batch and the best single method, as times the cost of `auto`:"
    yield ""
    queries = dict.fromkeys(name[0] for name in found)
    by_query = ((q, *(_cell(some.get(q)) for some in kinds.values())) for q in queries)
    yield from table(("query", *map(" ".join, kinds)), by_query)
    yield ""
    yield from _remarks(found)


def _of_kind(some: Sequence[Figures], names: Sequence[str]) -> Iterator[str]:
    above = sum(map(is_above, some))
    level = sum(
        not is_above(f)
        and bool(f["alone"])
        and rounded(_other(f, best_alone(f))) == rounded(f["auto"])
        for f in some
    )
    yield f"{len(some) - above - level} / {level} / {above}"
    columns = [[gain(f, best_alone(f)) for f in some if f["alone"]]]
    columns.append([gain(f, "batch") for f in some])
    columns += [[gain(f, name) for f in some if name in f["alone"]] for name in names]
    yield from (f"{mean(c):.2f} ({max(c):.1f})" if c else "" for c in columns)


def _cell(one: Figures | None) -> str:
    if one is None:
        return ""
    best = best_alone(one)
    return f"{gain(one, 'batch'):.2f}, {f'{best} {gain(one, best):.2f}' if best else 'none'}"


def _remarks(found: Found) -> Iterator[str]:
    """Days that gain most, and those on which a single method is below ``auto``."""
    gains = (
        (gain(f, name), day, name) for day, f in found.items() for name in (*f["alone"], "batch")
    )
    most, day, over = max(gains)
    yield f"The highest gain is {most:.1f} times, over {over}: {' '.join(day)}."
    batch = [day for day, f in found.items() if rounded(f["auto"]) == rounded(f["batch"])]
    yield f"Of {len(found)} days, {len(batch)} are batch, since nothing early repays itself."
    mixed = [
        day
        for day, f in found.items()
        if f["alone"] and day not in batch and gain(f, best_alone(f)) > 1.0005
    ]
    yield f"On {len(mixed)} days `auto` is below batch and below every single method."
    above = {day: f for day, f in found.items() if is_above(f)}
    if not above:
        yield "No single method, nor batch, is below `auto` on any day."
        return
    yield ""
    yield "Days on which a single method, asked for by name, is below `auto`:"
    yield ""
    for day, f in above.items():
        best = best_alone(f)
        share = 1.0 - _other(f, best)[0] / f["auto"][0]
        yield f"- {' '.join(day)}: {best} by {share:.1%}; {why_not_auto(f)}"


ABOUT = f"""\
Days of two runs, {", ".join(sorted(SUITE.changing))} arriving; where a table takes rows back,
{RETRACTED:.0%} of them over the day. PDW: the weighted sum, by the price of the early run; IVM: a
result at both runs, and the final run's cost. How many times as dear the best single method, batch
and each method are as `auto` (geometric means over the queries that each applies to; highest in
brackets), and of how many queries `auto` is below, level with and above the best single one."""

BENCHMARK = Benchmark(cells=cells, lines=lines, about=ABOUT, section=lambda _given: "bench-methods")
