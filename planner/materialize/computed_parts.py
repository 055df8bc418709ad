"""The parts that a plan computes, under names that the plans of other queries have, too.

A part is a group that a run of an extracted plan computes by an expression. Its name is the
canonical text of its relation with the runs that its rows are of, so parts of two plans with one
name give the same rows if their runs see the same sources: the groups of a memo for several
queries, each with a root, are those of the memos of one query each, by this name (Roy et al.,
SIGMOD 2000, unify them by hashing).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from forerun.planner.algebra.fingerprint import canonical, canonical_scalar
from forerun.planner.algebra.relational import (
    Aggregate,
    Join,
    Limit,
    Relation,
    SetOperation,
    Sort,
    Window,
    walk,
)
from forerun.planner.cost.operators import Size
from forerun.planner.errors import UnknownOperatorError
from forerun.planner.memo.reference import Stamped
from forerun.planner.memo.relying import Relying
from forerun.planner.memo.tree import original
from forerun.planner.rules.incremental.rule import THIS_RUN
from forerun.planner.temporal.extraction import ExtractedPlan, OwnCosts, counted, inputs_of
from forerun.planner.temporal.group_sizes import GroupSizes
from forerun.planner.temporal.solution import ChainCost, ChainId, DpEntry, EntryKey, How
from forerun.planner.temporal.space import Space

_WORTH_HOLDING = (Aggregate, Join, SetOperation, Window)
"""What a relation has to have: without, it is a filtered scan, which is cheaper read again than
held (docs/guides/groups.md)."""
_IN_ORDER = (Sort, Limit)
"""What a relation must not have: rows that are held have no order."""
_OF_ONE_PLAN = (Stamped, Relying)
"""What reads what only this plan has, or is right only where this plan looks."""
_NUMBERED = canonical_scalar(THIS_RUN, {})
"""Rows that are marked with the number of their run, which others may number otherwise."""


@dataclass(frozen=True, slots=True)
class PartName:
    """The canonical text of a relation, the number of the run as of which its rows are, that in
    which its step began (-1 for rows that are not of a step), and that which computes it."""

    relation: str
    since: int
    at: int
    run: int

    def among(self, points: Mapping[int, int]) -> PartName:
        """The name by other numbers of the runs."""
        since = self.since if self.since < 0 else points[self.since]
        return replace(self, since=since, at=points[self.at], run=points[self.run])


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a plan: its run and the index of that among the opened ones, its place and its
    entry there, its relation in its first form, and its size. ``cost`` is what it takes with all
    that is below it, unweighted, in millionths of a CPU second, and ``below`` are the names of the
    parts that are."""

    run: int
    index: int
    place: EntryKey
    entry: DpEntry
    relation: Relation
    size: Size
    cost: int
    below: frozenset[PartName]


class ComputedParts:
    """The parts of a plan that only sources are read for, so that others can compute them, too, and
    that are more than a filtered scan, by name. ``costs``: other costs than those that the search
    has found."""

    def __init__(
        self,
        space: Space,
        sizes: GroupSizes,
        plan: ExtractedPlan,
        costs: OwnCosts | None = None,
    ) -> None:
        self._space, self._sizes, self._plan, self._costs = space, sizes, plan, costs
        self._trees: dict[int, Relation] = {}
        self._texts: dict[int, str] = {}
        self._wholes: dict[tuple[int, EntryKey, int], int | None] = {}
        self._names: dict[tuple[int, EntryKey], PartName | None] = {}
        self._met: dict[tuple[int, EntryKey], DpEntry] = {}

    def by_name(self) -> dict[PartName, Part]:
        """Return all of them."""
        self._met.clear()
        counted(self._space, self._plan.solution, self._plan.root, self._plan.results, self)
        found: dict[PartName, Part] = {}
        for (index, place), entry in self._met.items():
            name, cost = self._name(index, place), self.whole(index, place, entry)
            if name is None or cost is None:
                continue
            relation = original(self._space.memo, place[0], self._trees)
            below = frozenset(self._below(index, place, entry))
            size = self._size(index, place)
            run = self._plan.solution.spans[index].run
            part = Part(run, index, place, entry, relation, size, cost, below)
            if name not in found or found[name].cost < cost:
                found[name] = part
        return found

    # -- the walk (OwnCosts) ----------------------------------------------------------------------

    def of_entry(self, index: int, entry: DpEntry, place: EntryKey) -> int:
        """Keep what is met; :func:`counted` calls it for every entry of the plan."""
        if entry.how is How.EXPRESSION:
            self._met[index, place] = entry
        return entry.own

    def of_partition(self, index: int, kept: ChainId, chain_cost: ChainCost) -> int:  # noqa: ARG002
        return chain_cost.own

    # -- one part ---------------------------------------------------------------------------------

    def _name(self, index: int, place: EntryKey) -> PartName | None:
        """Return the name of a part, None for a relation that has none or may not be held."""
        known = (index, place)
        if known not in self._names:
            self._names[known] = None
            relation = original(self._space.memo, place[0], self._trees)
            nodes = list(walk(relation))
            worth = any(isinstance(node, _WORTH_HOLDING) for node in nodes)
            if worth and not any(isinstance(node, _IN_ORDER) for node in nodes):
                with suppress(UnknownOperatorError):
                    self._names[known] = self._named(index, place, relation)
        return self._names[known]

    def _named(self, index: int, place: EntryKey, relation: Relation) -> PartName | None:
        group, _, before = place
        span = self._plan.solution.spans[index]
        since = span.base if group in self._space.steps else -1
        at = span.base if before and since < 0 else span.run
        text = canonical(relation, self._texts)
        return None if _NUMBERED in text else PartName(text, since, at, span.run)

    def _size(self, index: int, place: EntryKey) -> Size:
        group, _, before = place
        span, step = self._plan.solution.spans[index], place[0] in self._space.steps
        return self._sizes.at(group, span.step() if step else span.instant(before=before))

    def whole(self, index: int, place: EntryKey, entry: DpEntry) -> int | None:
        """Return what an entry costs with all below it; None if it reads what only this plan
        has."""
        known = (index, place, id(entry))
        if known not in self._wholes:
            self._wholes[known] = self._counted(index, place, entry)
        return self._wholes[known]

    def _counted(self, index: int, place: EntryKey, entry: DpEntry) -> int | None:
        if entry.how in (How.READ, How.ADDED):
            return None
        if entry.expression is not None and isinstance(entry.expression.node, _OF_ONE_PLAN):
            return None
        own = entry.own if self._costs is None else self._costs.of_entry(index, entry, place)
        for below, one in self._inputs(index, place, entry):
            cost = self.whole(index, below, one)
            if cost is None:
                return None
            own += cost
        return own

    def _below(self, index: int, place: EntryKey, entry: DpEntry) -> Iterator[PartName]:
        """Yield the names of all parts that a part is computed from."""
        waiting, seen = [*self._inputs(index, place, entry)], set[tuple[EntryKey, int]]()
        while waiting:
            below, one = waiting.pop()
            if (below, id(one)) in seen:
                continue
            seen.add((below, id(one)))
            name = self._name(index, below) if one.how is How.EXPRESSION else None
            if name is not None:
                yield name
            waiting += self._inputs(index, below, one)

    def _inputs(
        self, index: int, place: EntryKey, entry: DpEntry
    ) -> Iterator[tuple[EntryKey, DpEntry]]:
        """Yield what an entry is computed from in its run."""
        for below in inputs_of(entry, place, index)[0]:
            yield below, entry.moved or self._plan.entry(index, below)
