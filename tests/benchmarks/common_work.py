"""What the reports of a night compute in common, by estimate.

A suite's queries are planned as one group. Then every part that a chosen plan computes is named by
the fingerprint of its relation and by the run, or the step between two runs, that it is of. A part
that several reports compute is *common*; what all but one of them pay for it is the most that
sharing it could save. To share it, it has to be written once and read by each of them, or be held
in memory; what is left after writing and reading is the *net* saving, of the largest common parts
for which it is above nothing. Nothing is executed.

    python -m tests.benchmarks.common_work tpch --scale 10
    python -m tests.benchmarks.common_work tpcds --scale 1
    python -m tests.benchmarks.common_work demo --scale 3
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from forerun.demo.data import generate_day
from forerun.planning import with_statistics
from forerun.tables import find_tables
from include.machine.jvm import home_folder
from planner.algebra.fingerprint import canonical
from planner.algebra.relational import Relation, Scan
from planner.cost import operators
from planner.cost.constants import MICRO
from planner.errors import ForerunError, UnknownOperatorError
from planner.memo.tree import original
from planner.report_group import plan_group, whole_days
from planner.request import PlanRequest
from planner.result import PlanResult
from planner.temporal.extraction import ExtractedPlan, counted, inputs_of
from planner.temporal.solution import ChainCost, ChainId, DpEntry, EntryKey, How
from tests.benchmarks.days import POINTS, Suite
from tests.benchmarks.executed import SUITES
from tests.benchmarks.page import ROOT


def _demo_tables(scale: float) -> Path:
    folder = home_folder() / "bench" / f"demo-{scale:g}"
    if not folder.exists():
        generate_day(folder, scale)
    return folder


def _demo_texts() -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted((ROOT / "include/sql").glob("*.sql"))}


_DEMO = Suite(
    "demo",
    "the demo",
    frozenset({"customer", "orders", "lineitem", "returns"}),
    (),
    _demo_tables,
    _demo_texts,
)
ALL_SUITES = {**SUITES, _DEMO.name: _DEMO}
Name = tuple[str, int, int]
"""A relation's canonical text, and the runs that its step leads from and to."""


@dataclass(frozen=True, slots=True)
class Part:
    """Something that one report's plan computes: weighted cost of it alone and with all below it,
    what writing it and reading it back would cost (weighted, in millionths of a CPU second)."""

    report: str
    kind: str
    source: str
    own: float
    whole: float
    written: float
    read: float
    below: tuple[Name, ...]


def parts_of(found: PlanResult) -> Iterator[tuple[Name, Part]]:
    """Yield all that the chosen plan of a report computes, each part of a run once."""
    chosen = found.decision.chosen
    plans = chosen.text_plans if chosen.extracted is None else (chosen.extracted,)
    for plan in plans:
        yield from _Parts(found, plan).all()


class _Parts:
    """Walks an extracted plan, and keeps what it meets instead of costing it anew."""

    def __init__(self, found: PlanResult, plan: ExtractedPlan) -> None:
        self._found, self._plan = found, plan
        self._trees: dict[int, Relation] = {}
        self._texts: dict[int, str] = {}
        self._met: dict[tuple[int, EntryKey, How], DpEntry] = {}
        self._wholes: dict[tuple[int, EntryKey], float] = {}

    def all(self) -> Iterator[tuple[Name, Part]]:
        counted(self._found.space, self._plan.solution, self._plan.root, self._plan.results, self)
        for (index, place, how), entry in self._met.items():
            if how is How.EXPRESSION or how is How.MOVED:
                with suppress(UnknownOperatorError):  # rows with the run they came in: of one plan
                    yield self._name(index, place), self._part(index, place, entry)

    def of_entry(self, index: int, entry: DpEntry, place: EntryKey) -> int:
        self._met[index, place, entry.how] = entry
        return entry.own

    def of_partition(self, index: int, kept: ChainId, chain_cost: ChainCost) -> int:
        return chain_cost.own

    def _name(self, index: int, place: EntryKey) -> Name:
        group, _, before = place
        span = self._plan.solution.spans[index]
        at = span.base if before else span.run
        base = span.base if group in self._found.space.steps else 0
        tree = original(self._found.space.memo, group, self._trees)
        return canonical(tree, self._texts), base, at

    def _part(self, index: int, place: EntryKey, entry: DpEntry) -> Part:
        weight = self._found.request.points[self._plan.solution.spans[index].run - 1].weight
        prices = self._found.request.settings.prices
        size = self._size(index, place)
        node = None if entry.expression is None else entry.expression.node
        scan = isinstance(node, Scan)
        return Part(
            report=self._found.plan.report,
            kind="shuffle" if entry.how is How.MOVED else "scan" if scan else "sub-plan",
            source=node.source if isinstance(node, Scan) else "",
            own=weight * entry.own,
            whole=weight * self._whole(index, place, entry),
            written=weight * operators.write(size, prices),
            read=weight * operators.read(size, prices),
            below=tuple(self._name(index, one) for one in inputs_of(entry, place, index)[0]),
        )

    def _size(self, index: int, place: EntryKey) -> operators.Size:
        span, sizes = self._plan.solution.spans[index], self._found.group_sizes
        group, _, before = place
        step = group in self._found.space.steps
        return sizes.at(group, span.step() if step else span.instant(before=before))

    def _whole(self, index: int, place: EntryKey, entry: DpEntry) -> float:
        """What an entry costs in its run with all that it is computed from there."""
        if (index, place) not in self._wholes:
            below = inputs_of(entry, place, index)[0]
            self._wholes[index, place] = entry.own + sum(
                self._whole(index, one, entry.moved or self._plan.entry(index, one))
                for one in below
            )
        return self._wholes[index, place]


@dataclass(frozen=True, slots=True)
class Common:
    """The common parts of a night: how many of each kind, the weighted cost that all but one of
    their reports pay for them, what is left of it net, and the same for scans of one table at one
    time whatever their columns and filters are."""

    counts: Mapping[str, int]
    saved: Mapping[str, float]
    net: float
    largest: tuple[tuple[float, tuple[str, ...], str], ...]
    scans_of_tables: float


def common_of(results: Iterable[PlanResult]) -> Common:
    """Find what several plans compute at the same time point."""
    parts: dict[Name, dict[str, Part]] = defaultdict(dict)
    scans: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    for found in results:
        for name, part in parts_of(found):
            known = parts[name].get(part.report)
            if known is None or known.whole < part.whole:
                parts[name][part.report] = part
            if part.kind == "scan":
                scans[(part.source, *name[1:])].append(part.own)
    common = {name: tuple(by.values()) for name, by in parts.items() if len(by) > 1}
    counts: dict[str, int] = defaultdict(int)
    saved: dict[str, float] = defaultdict(float)
    for same in common.values():
        counts[same[0].kind] += 1
        saved[same[0].kind] += sum(part.own for part in same) - max(part.own for part in same)
    nets = list(_largest(common))
    return Common(
        counts=counts,
        saved=saved,
        net=sum(net for net, *_ in nets),
        largest=tuple(sorted(nets, reverse=True)[:5]),
        scans_of_tables=sum(sum(one) - max(one) for one in scans.values()),
    )


def _largest(
    common: Mapping[Name, tuple[Part, ...]],
) -> Iterator[tuple[float, tuple[str, ...], str]]:
    """Yield the net saving of each common part that is in no other one of the same reports."""
    inner = {
        (name, part.report) for same in common.values() for part in same for name in part.below
    }
    for name, same in common.items():
        if all((name, part.report) in inner for part in same):
            continue
        paid = sum(part.whole for part in same) - max(part.whole for part in same)
        net = paid - same[0].written - sum(part.read for part in same)
        if net > 0:
            yield net, tuple(sorted(part.report for part in same)), name[0][:90]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("suite", choices=ALL_SUITES)
    parser.add_argument("--scale", type=float, default=10.0)
    given = parser.parse_args()
    suite = ALL_SUITES[given.suite]
    sources = with_statistics(find_tables(suite.generate(given.scale)), suite.changing)
    texts = suite.texts().items()
    requests = [
        PlanRequest(report=name.replace("-", "_"), sql=sql, sources=sources, points=POINTS)
        for name, sql in texts
    ]
    plan = plan_group(whole_days(requests))
    results = [one for one in plan.results if not isinstance(one, ForerunError)]
    early = sum(one.plan.method == "incremental" for one in results)
    found = common_of(results)
    print(f"{len(results)} of {len(requests)} reports planned, {early} with early work")
    print(f"the night {plan.cost / MICRO:.1f} CPU s weighted, batch {plan.batch / MICRO:.1f}")
    for kind, count in sorted(found.counts.items()):
        share = found.saved[kind] / plan.cost
        print(f"{kind}: {count} common, {found.saved[kind] / MICRO:.1f} CPU s ({share:.1%})")
    print(f"net of writing and reading: {found.net / MICRO:.1f} ({found.net / plan.cost:.1%})")
    share = found.scans_of_tables / plan.cost
    print(
        f"all scans of a table but the dearest: {found.scans_of_tables / MICRO:.1f} ({share:.1%})"
    )
    for net, reports, text in found.largest:
        print(f"  {net / MICRO:.2f} {', '.join(reports)}: {text}")


if __name__ == "__main__":
    main()
