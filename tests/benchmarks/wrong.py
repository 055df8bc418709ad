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
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime

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
from forerun.simulation.planning import with_statistics
from forerun.simulation.tables import find_tables
from tests.benchmarks.days import generate_tpch
from tests.benchmarks.methods import mean
from tests.benchmarks.page import PAGE, ROOT, write_section
from tests.benchmarks.planning import TPCH_CHANGING
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


@dataclass(slots=True)
class Found:
    """True costs of the day in CPU seconds, by ``auto``, as batch, and by each method that applies.
    ``worth``: methods of which the first plan was clearly below batch, by the wrong estimate."""

    query: str
    kind: str
    of: str
    factor: float
    auto: float
    batch: float
    alone: dict[str, float] = field(default_factory=dict)
    worth: dict[str, bool] = field(default_factory=dict)

    def like_auto(self) -> dict[str, float]:
        """The methods under the rule that ``auto`` is under: batch where no more was promised."""
        return {n: cost if self.worth[n] else self.batch for n, cost in self.alone.items()}

    def times(self, costs: dict[str, float]) -> float:
        """How many times as dear ``auto`` is as the best of these."""
        return self.auto / min(costs.values()) if costs else 1.0


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


def measure(query: str, tables: Iterable[Source]) -> Iterator[Found]:
    """All that may be wrong of a query."""
    request = PlanRequest(
        report=query,
        sql=(ROOT / "tests" / "tpch" / f"{query}.sql").read_text(),
        sources=tuple(tables),
        points=(TimePoint(weight=EARLY, arrived=ARRIVED), TimePoint(weight=LATE)),
    )
    right = plan(request)
    request = replace(request, sources=right.request.sources)
    for wrong in cases(request, right):
        auto, _ = day_cost(request, wrong, "auto")
        batch, _ = day_cost(request, wrong, "batch")
        found = Found(query, wrong.kind, wrong.of, wrong.factor, auto, batch)
        for method in SINGLE:
            try:
                cost, promised = day_cost(request, wrong, method.name)
            except MethodError:
                continue
            found.alone[method.name], found.worth[method.name] = cost, promised
        yield found


# -- the page ------------------------------------------------------------------------------------


def section(found: Sequence[Found], head: str) -> list[str]:
    """The figures as lines of the page of benchmarks."""
    out = [
        head,
        "",
        "What `auto` costs as times the best of the single methods in hindsight, and as",
    ]
    out += [
        "times batch (geometric means, the worst in brackets). *By name*: the method works early"
    ]
    out += ["whatever its estimate promises. *Like auto*: it gives batch where not clearly below."]
    columns = ("wrong", "factor", "cases", "best by name", "best like auto", "batch")
    out += ["", f"| {' | '.join(columns)} |", "| --- " * len(columns) + "|"]
    for kind, factor in dict.fromkeys((f.kind, f.factor) for f in found):
        some = [f for f in found if (f.kind, f.factor) == (kind, factor)]
        named, like = [f.times(f.alone) for f in some], [f.times(f.like_auto()) for f in some]
        batch = [f.auto / f.batch for f in some]
        cells = (f"{mean(t):.2f} ({max(t):.2f})" for t in (named, like, batch))
        out.append(f"| {kind} | {factor:.2g} | {len(some)} | {' | '.join(cells)} |")
    return out + _losers(found)


def _losers(found: Sequence[Found]) -> list[str]:
    out = [""]
    for title, worse in (
        ("a method by name", [f for f in found if f.times(f.alone) > LEVEL]),
        ("a method like auto", [f for f in found if f.times(f.like_auto()) > LEVEL]),
        ("batch", [f for f in found if f.auto > LEVEL * f.batch]),
    ):
        out.append(f"- {len(worse)} of {len(found)} cases are more than 3 % above {title}.")
    worst = sorted(found, key=lambda f: -f.times(f.like_auto()))
    out += ["", "The worst of them beside the methods like auto:", ""]
    out += ["| query | wrong | auto | batch | methods |", "| --- " * 5 + "|"]
    for f in worst[:12]:
        costs = ", ".join(f"{n} {c:.1f}" for n, c in f.like_auto().items())
        what = f"{f.kind} {f.of} x{f.factor:.2g}"
        out.append(f"| {f.query} | {what} | {f.auto:.1f} | {f.batch:.1f} | {costs} |")
    return out


def main(given: argparse.Namespace) -> int:
    tables = with_statistics(find_tables(generate_tpch(given.scale)), TPCH_CHANGING)
    only = given.only
    queries = only or sorted(p.stem for p in (ROOT / "tests" / "tpch").glob("q*.sql"))
    started, found = time.process_time(), []
    for query in queries:
        for one in measure(query, tables):
            found.append(one)
            alone = {name: round(cost, 2) for name, cost in one.like_auto().items()}
            told = f"{query} {one.kind} {one.of} x{one.factor:.2g}: auto {one.auto:.2f}"
            flag = " ABOVE" if one.times(one.like_auto()) > LEVEL else ""
            print(f"{told} batch {one.batch:.2f} {alone}{flag}", file=sys.stderr, flush=True)
    if given.json:
        given.json.write_text(json.dumps([asdict(f) for f in found], indent=1), encoding="utf-8")
    head = (
        f"{datetime.now(UTC).date()}, {platform.system()} {platform.machine()}, {os.cpu_count()} "
        f"cores, scale {given.scale:g}; {len(found)} days of {len(queries)} queries, two runs at "
        f"prices {EARLY:g} and {LATE:g}, {ARRIVED:.0%} of {', '.join(sorted(TPCH_CHANGING))} "
        f"arrived by the first. {time.process_time() - started:,.0f} CPU seconds of planning."
    )
    lines = section(found, head)
    print("\n".join(lines))
    if not given.no_page:
        write_section("bench-wrong", lines)
        print(f"wrote {PAGE.relative_to(ROOT)}", file=sys.stderr)
    return 0
