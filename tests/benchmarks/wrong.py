"""``make bench-wrong``: days planned with wrong estimates, and costing what the right ones say.

Tempura 8.2, "Sensitivity to inaccurate estimates". One figure is wrong by a factor: the rows of a
table, how much is still to come, or how many rows a predicate lets through. ``auto`` and each
single method plan the day with the wrong figure. The first run is done as planned, and costs what
it costs by the right figures. Then the rest of the day is planned again, as the product does: by
now the rows of the tables are known from their footers, and the rows of what was kept have been
counted; what a predicate lets through is still wrong, where it was not counted. Nothing is
executed.

    python -m tests.benchmarks wrong
    python -m tests.benchmarks wrong --only q03,q13 --scale 1 --no-page
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from forerun.planner.algebra.relational import Filter, sources, walk
from forerun.planner.algebra.scalar import Scalar
from forerun.planner.api import PlanResult, plan
from forerun.planner.contract.plan_v1 import ArtifactOutput
from forerun.planner.cost.constants import MICRO
from forerun.planner.errors import MethodError
from forerun.planner.materialize.opening import RunOpening
from forerun.planner.materialize.stage_prices import stage_prices
from forerun.planner.request import Committed, Method, Observed, PlanRequest, Source, TimePoint
from forerun.planner.rules.methods.catalog import SINGLE
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.methods import mean
from tests.benchmarks.suites import TPCH_GROWING as SUITE
from tests.benchmarks.truth import TrueFigures, true_costs, written_rows

FACTORS = (0.1, 1 / 3, 3.0, 10.0)
"""What is estimated, as times what is true."""
EARLY, LATE = 0.3, 1.0
"""Prices of the two runs."""
ARRIVED = 2 / 3
"""Of every growing table, by the first run."""
LEVEL = 1.03
"""Up to this, costs are level."""
Believe = Callable[[PlanRequest], PlanRequest]


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong: its kind, of what, and by how much. ``believed``: the request for the first
    plan; ``through``: how many times the rows that are estimated a predicate lets through."""

    kind: str
    of: str
    factor: float
    believed: Believe
    through: tuple[tuple[Scalar, float], ...] = ()


def cases(request: PlanRequest, right: PlanResult) -> Iterator[Wrong]:
    """Every table, every predicate and the arrivals, by every factor; and nothing wrong."""
    used = sources(right.relation)
    yield Wrong("nothing", "", 1.0, lambda asked: asked)
    for factor in FACTORS:
        for name in sorted(used):
            yield Wrong("rows", name, factor, _with_rows(name, factor))
        yield Wrong("arrivals", "all", factor, _still_to_come(factor))
        for number, predicate in enumerate(_predicates(right), 1):
            through = ((predicate, 1.0 / factor),)
            yield Wrong("predicate", f"{number}", factor, lambda asked: asked, through)


def _predicates(right: PlanResult) -> list[Scalar]:
    filters = (node for node in walk(right.relation) if isinstance(node, Filter))
    return list(dict.fromkeys(node.predicate for node in filters))


def _with_rows(name: str, factor: float) -> Believe:
    def believed(asked: PlanRequest) -> PlanRequest:
        changed = tuple(
            replace(s, rows=max(1, round(s.rows * factor)), bytes=round(s.bytes * factor))
            if s.name == name
            else s
            for s in asked.sources
        )
        return replace(asked, sources=changed)

    return believed


def _still_to_come(factor: float) -> Believe:
    """What has arrived is known; what is to come of the tables that grow is so many times it."""
    whole = ARRIVED + (1 - ARRIVED) * factor

    def believed(asked: PlanRequest) -> PlanRequest:
        first, *rest = asked.points
        changed = tuple(
            replace(s, rows=round(s.rows * whole), bytes=round(s.bytes * whole))
            if s.changing
            else s
            for s in asked.sources
        )
        points = (replace(first, arrived=ARRIVED / whole), *rest)
        return replace(asked, sources=changed, points=points)

    return believed


def day_cost(request: PlanRequest, wrong: Wrong, method: Method) -> tuple[float, bool]:
    """What the day costs in truth, planned by a method; and whether the first plan promised to be
    clearly cheaper than batch. Raises MethodError where the method does not apply."""
    believed = wrong.believed(replace(request, method=method))
    first = plan(believed)
    promised = _is_worth_it(first)
    cost, committed, observed = 0.0, (), ()
    if 1 in first.decision.chosen.opened:
        cost = EARLY * _run_cost(first, request, wrong, 0)
        kept = (stage.output for stage in first.plan.runs[0].stages)
        names = (output.family for output in kept if isinstance(output, ArtifactOutput))
        families = tuple(first.plan.family(name) for name in dict.fromkeys(names))
        committed = (Committed(index=1, families=families),)
        observed = _observed(first, request, wrong)
    again = plan(
        replace(
            request,
            method=method,
            current=2,
            committed=committed,
            observed=observed,
            first_sources=believed.sources if committed else (),
        )
    )
    last = len(again.decision.chosen.opened) - 1
    return cost + LATE * _run_cost(again, request, wrong, last), promised


def _is_worth_it(planned: PlanResult) -> bool:
    best, batch = planned.decision.chosen, planned.decision.batch
    return best.rank[0] < best.limit and best.by_run[-1] <= batch.by_run[-1]


def _run_cost(planned: PlanResult, request: PlanRequest, wrong: Wrong, index: int) -> float:
    """Of an opened run, with its fixed cost, by the right figures."""
    figures = _right_figures(planned, request, wrong)
    chosen = planned.decision.chosen.extracted
    if chosen is None:
        asked = replace(planned.request, method="batch", committed=(), sources=request.sources)
        runs = RunOpening(planned.space, figures, planned.families, asked)
        return runs.decide().batch.by_run[-1] / MICRO
    prices = stage_prices(request)
    costs = true_costs(planned.space, chosen, figures, prices)
    result = prices.stage_start if index == len(costs) - 1 else 0.0
    return (costs[index] + prices.run_start + result) / MICRO


def _right_figures(planned: PlanResult, request: PlanRequest, wrong: Wrong) -> TrueFigures:
    asked = replace(planned.request, sources=request.sources, points=request.points)
    return TrueFigures(planned.space.memo, asked, dict(wrong.through))


def _observed(first: PlanResult, request: PlanRequest, wrong: Wrong) -> tuple[Observed, ...]:
    """What the first run counts of what it keeps."""
    chosen = first.decision.chosen.extracted
    if chosen is None:
        return ()
    arrived = tuple(
        (s.name, round(s.rows * (ARRIVED if s.changing else 1.0))) for s in request.sources
    )
    figures = _right_figures(first, request, wrong)
    rows = written_rows(first.space, chosen, figures, 0)
    return tuple(
        Observed(
            fingerprint=first.families.fingerprint(kept, 0), partitions=((arrived, round(count)),)
        )
        for kept, count in sorted(rows.items())
    )


def measure(query: str, tables: Iterable[Source]) -> Figures:
    """All that may be wrong of a query. Of each case the true costs of the day in CPU seconds, by
    ``auto``, as batch, and by each method that applies; ``worth``: methods of which the first plan
    was clearly below batch, by the wrong estimate."""
    request = PlanRequest(
        report=query,
        sql=SUITE.texts()[query],
        sources=tuple(tables),
        points=(TimePoint(weight=EARLY, arrived=ARRIVED), TimePoint(weight=LATE)),
    )
    right = plan(request)
    request = replace(request, sources=right.request.sources)
    found = []
    for wrong in cases(request, right):
        auto, _ = day_cost(request, wrong, "auto")
        batch, _ = day_cost(request, wrong, "batch")
        alone, worth = {}, []
        for method in SINGLE:
            with suppress(MethodError):
                alone[method.name], promised = day_cost(request, wrong, method.name)
                worth += [method.name] if promised else []
        found.append(
            {"kind": wrong.kind, "of": wrong.of, "factor": wrong.factor, "auto": auto,
             "batch": batch, "alone": alone, "worth": worth}
        )  # fmt: skip
    return {"cases": found}


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield every query."""
    under = f"{SUITE.title} at scale {given.scale:g}"

    def one(query: str, _found: Found) -> Figures:
        return measure(query, SUITE.sources(given.scale))

    for query in SUITE.texts():
        yield Cell(name=(query,), under=under, measure=partial(one, query))


# -- the page ------------------------------------------------------------------------------------


def like_auto(case: Figures) -> dict[str, float]:
    """The methods under the rule that ``auto`` is under: batch where no more was promised."""
    costs = case["alone"].items()
    return {name: cost if name in case["worth"] else case["batch"] for name, cost in costs}


def times(case: Figures, costs: Mapping[str, float]) -> float:
    """How many times as dear ``auto`` is as the best of these."""
    return float(case["auto"] / min(costs.values())) if costs else 1.0


def lines(_given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield the figures by what is wrong, and the cases that lose most."""
    every = [{"query": name[0], **case} for name, one in found.items() for case in one["cases"]]
    kinds: dict[tuple[str, float], list[Figures]] = {}
    for case in every:
        kinds.setdefault((case["kind"], case["factor"]), []).append(case)
    columns = ("wrong", "factor", "cases", "best by name", "best like auto", "batch")
    yield from table(
        columns,
        (
            (kind, f"{factor:.2g}", len(some), *_of_kind(some))
            for (kind, factor), some in kinds.items()
        ),
    )
    yield ""
    for title, worse in (
        ("a method by name", [f for f in every if times(f, f["alone"]) > LEVEL]),
        ("a method like auto", [f for f in every if times(f, like_auto(f)) > LEVEL]),
        ("batch", [f for f in every if f["auto"] > LEVEL * f["batch"]]),
    ):
        yield f"- {len(worse)} of {len(every)} cases are more than 3 % above {title}."
    yield ""
    yield "The worst of them beside the methods like auto:"
    yield ""
    worst = sorted(every, key=lambda f: -times(f, like_auto(f)))[:12]
    yield from table(("query", "wrong", "auto", "batch", "methods"), map(_row, worst))


def _of_kind(some: Sequence[Figures]) -> Iterator[str]:
    for ratios in (
        [times(f, f["alone"]) for f in some],
        [times(f, like_auto(f)) for f in some],
        [f["auto"] / f["batch"] for f in some],
    ):
        yield f"{mean(ratios):.2f} ({max(ratios):.2f})"


def _row(f: Figures) -> tuple[str, ...]:
    costs = ", ".join(f"{name} {cost:.1f}" for name, cost in like_auto(f).items())
    what = f"{f['kind']} {f['of']} x{f['factor']:.2g}"
    return f["query"], what, f"{f['auto']:.1f}", f"{f['batch']:.1f}", costs


ABOUT = f"""\
Two runs at prices {EARLY:g} and {LATE:g}, {ARRIVED:.0%} of {", ".join(sorted(SUITE.changing))}
arrived by the first. What `auto` costs as times the best of the single methods in hindsight, and as
times batch (geometric means, the worst in brackets). *By name*: the method works early whatever its
estimate promises. *Like auto*: it gives batch where not clearly below."""

BENCHMARK = Benchmark(cells=cells, lines=lines, about=ABOUT, section=lambda _given: "bench-wrong")
