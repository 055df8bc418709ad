"""The uncertainty of the difference of two plan costs, which decides whether early work beats
batch.

Every estimate is a product of known figures and guessed factors: how much of a source is still to
come, the selectivity of a predicate, the number of join partners, the number of groups. Each guess
is an *error term*: an independent error whose size is the standard deviation of the factor's
logarithm. The rows of a group depend on the error terms of its inputs, and so do the costs of the
operators over them; to first order, errors of logarithms add up. So a cost comes with its
sensitivity to each error term, and so does the difference of two costs. What both plans do with the
same rows cancels out: a filter that lets twice as many rows through makes both dearer.

Sources: propagation of uncertainty to first order (the "delta method"; ISO GUM, 5.1). For errors
that multiply along joins: Ioannidis and Christodoulakis, SIGMOD 1991.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise

from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Limit,
    Relation,
    Scan,
    UnionAll,
    Version,
)
from forerun.planner.algebra.scalar import TRUE, Scalar, conjuncts
from forerun.planner.cost import constants as c
from forerun.planner.memo.groups import GroupId, Tvr, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Kept, Reference, Stamped
from forerun.planner.request import PlanRequest
from forerun.planner.stats.sample import error
from forerun.planner.stats.selectivity import selectivity_error
from forerun.planner.temporal.as_of import AsOf, Span, instant
from forerun.planner.temporal.extraction import ExtractedPlan, inputs_of
from forerun.planner.temporal.group_sizes import GroupSizes
from forerun.planner.temporal.solution import EntryKey
from forerun.planner.temporal.space import Space

ErrorTerm = Hashable
"""Identifies a guess: the kind of figure and what it is a figure of."""
ErrorTerms = Mapping[ErrorTerm, float]
"""For each error term, how much the logarithm of a figure changes by one standard deviation of
it."""

GroupAsOf = tuple[GroupId, AsOf]
"""A group, and the instant or step that its rows are of."""

_BOUND = 3.0
"""The largest sensitivity of a figure: one that is a small difference of two large ones would have
more."""
_HALVES = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE)


class Uncertainty:
    """Computes error terms of group sizes and of plan costs. The current run of ``request`` knows
    what has arrived; what arrives for later runs is guessed."""

    def __init__(self, space: Space, group_sizes: GroupSizes, request: PlanRequest) -> None:
        self._space = space
        self._memo: Memo = space.memo
        self._group_sizes = group_sizes
        self._current = request.current
        self._sources = {source.name: source for source in request.sources}
        self._points = request.points
        self._known: dict[GroupAsOf, ErrorTerms] = {}

    @cached_property
    def _deltas(self) -> dict[GroupId, tuple[Tvr, View]]:
        return {
            self._memo.leader(group): (tvr, view)
            for tvr in self._memo.tvrs
            for (version, view), group in tvr.edges.items()
            if version is Version.DELTA and view is not View.DOMAIN  # as its operators say
        }

    def of_cost(
        self, chosen: ExtractedPlan, weights: Mapping[int, float]
    ) -> dict[ErrorTerm, float]:
        """Return how much the weighted cost of a plan changes by one standard deviation of each
        error term. ``weights`` is by run. The cost of each operator is divided over its input and
        output groups by their rows."""
        total: dict[ErrorTerm, float] = {}
        for index, own, places in _charges(chosen):
            span = chosen.solution.spans[index]
            weight = weights.get(span.run, 0.0)
            if not own or not weight:
                continue
            versions = [(group, self._as_of(group, before, span)) for group, _, before in places]
            rows = [self._rows(*version) for version in versions]
            for version, count in zip(versions, rows, strict=True):
                share = weight * own * count / max(1.0, sum(rows))
                for term, size in self.of(*version).items():
                    total[term] = total.get(term, 0.0) + share * size
        return total

    def of(self, group: GroupId, as_of: AsOf) -> ErrorTerms:
        """Return how much the logarithm of a group's number of rows changes by each error term."""
        version = (self._memo.leader(group), as_of)
        known = self._known.get(version)
        if known is None:
            self._known[version] = {}  # a cycle of groups adds no error
            known = self._known[version] = self._found(*version)
        return known

    def _as_of(self, group: GroupId, before: bool, span: Span) -> AsOf:
        return span.step() if self._memo.group(group).step else span.instant(before=before)

    def _rows(self, group: GroupId, as_of: AsOf) -> float:
        return self._group_sizes.at(group, as_of).rows if as_of.run else 0.0

    def _found(self, group: GroupId, as_of: AsOf) -> ErrorTerms:
        if not as_of.run:
            return {}
        if self._group_sizes.is_counted(group):
            return {("counted", group): c.COUNTED_ERROR}
        delta = self._deltas.get(group)
        if delta is not None and not as_of.is_instant:
            return self._of_delta(*delta, as_of)
        node = next(self._memo.alternatives(group)).node
        if isinstance(node, Stamped):
            return self.of(node.group, instant(as_of.run))
        if isinstance(node, Kept):
            return self.of(node.group, instant(as_of.base))
        if isinstance(node, Scan):
            return self._still_to_come(node.source, as_of.run)
        return self._of_operator(node, (group, as_of))

    def _of_operator(self, node: Relation, version: GroupAsOf) -> ErrorTerms:
        below = [self._input(given, version[1]) for given in node.inputs]
        inputs = [self.of(*one) for one in below]
        if not inputs or (isinstance(node, Limit) and node.count is not None):
            return {}
        if isinstance(node, UnionAll):
            rows = [self._rows(*one) for one in below]
            return _mixed(inputs, [count / max(1.0, sum(rows)) for count in rows])
        if isinstance(node, Aggregate):
            share = self._rows(*version) / max(1.0, self._rows(*below[0]))
            return _of_groups(node, inputs[0], share)
        found = dict(inputs[0])
        if isinstance(node, Filter):
            # The error applies to the odds: a filter that nearly all rows pass has little of it.
            stopped = max(0.0, 1.0 - self._rows(*version) / max(1.0, self._rows(*below[0])))
            for part, guessed in self._guessed_parts(node, below[0]):
                found[part] = found.get(part, 0.0) + stopped * guessed
        if isinstance(node, Join):
            if node.kind not in _HALVES:
                found = dict(_mixed(inputs, [1.0, 1.0]))
            found[node.condition] = found.get(node.condition, 0.0) + c.PARTNERS_ERROR
        return found

    def _guessed_parts(self, node: Filter, below: GroupAsOf) -> Iterator[tuple[Scalar, float]]:
        """Yield the parts of a predicate whose selectivity is guessed, each with the size of its
        error. What a sample tells has at most the error of the sample."""
        sample, untold = self._group_sizes.sample(*below), node.predicate
        if sample is not None:
            passed = sample.through(node.predicate)
            untold = passed.untold
            if passed.told != TRUE:
                guess = max(map(selectivity_error, conjuncts(passed.told)))
                yield passed.told, min(guess, error(sample, passed.sample))
        for part in conjuncts(untold):
            yield part, selectivity_error(part)

    def _input(self, given: object, as_of: AsOf) -> GroupAsOf:
        if not isinstance(given, Reference):
            raise TypeError(f"{given} is no reference")
        if as_of.is_instant:
            return given.group, as_of
        span = Span(as_of.base, as_of.run)
        return given.group, self._as_of(given.group, given.before, span)

    def _of_delta(self, tvr: Tvr, view: View, as_of: AsOf) -> ErrorTerms:
        """Return the error terms of a delta. The rows of a delta are a difference of two snapshots;
        its states are one per group that it touches."""
        now, then = instant(as_of.run), instant(as_of.base)
        new, old = self._rows(tvr.new, now), self._rows(tvr.new, then)
        if view is View.ROWS or view is View.SINGLES:
            came = max(new - old, 0.05 * new, 1.0)
            parts = [self.of(tvr.new, now), self.of(tvr.new, then)]
            return _mixed(parts, [new / came, -old / came])
        whole = self.of(tvr.new, now)
        return {**whole, ("touched", tvr.id): c.TOUCHED_ERROR}

    def _still_to_come(self, name: str, run: int) -> ErrorTerms:
        """Return the error terms of a source: what has arrived is counted, and each later arrival
        is an independent guess."""
        source = self._sources[name]
        if not source.changing:
            return {}
        there = [self._points[at - 1].fraction(name) for at in range(self._current, run + 1)]
        if not there or there[-1] <= 0.0:
            return {}
        return {
            ("arrives", name, self._current + at): c.ARRIVAL_ERROR * (after - before) / there[-1]
            for at, (before, after) in enumerate(pairwise(there), 1)
        }


def spread(one: Mapping[ErrorTerm, float], other: Mapping[ErrorTerm, float]) -> float:
    """Return the standard deviation of the difference of two costs, given their error terms."""
    terms = dict.fromkeys((*one, *other))
    return math.sqrt(sum((one.get(d, 0.0) - other.get(d, 0.0)) ** 2 for d in terms))


def _charges(chosen: ExtractedPlan) -> Iterator[tuple[int, int, list[EntryKey]]]:
    """Yield every cost of a plan: the index of its run, the unweighted cost, and the group that it
    is for with the groups that this one is computed from."""
    waiting = [(index, chosen.entry(index, chosen.root), chosen.root) for index in chosen.results]
    for (kept, index), place in chosen.partitions.items():
        yield index, chosen.solution.chain_costs[index][kept].own, [place]
        waiting.append((index, chosen.entry(index, place, made=True), place))
    while waiting:
        index, entry, place = waiting.pop()
        below, _ = inputs_of(entry, place, index)
        yield index, entry.own, [place, *below]
        waiting += [(index, entry.moved or chosen.entry(index, part), part) for part in below]


def _mixed(parts: list[ErrorTerms], shares: list[float]) -> ErrorTerms:
    """Combine the error terms of the parts of a sum (weighted by their shares) or of the factors of
    a product (a share of 1 each)."""
    found: dict[ErrorTerm, float] = {}
    for part, share in zip(parts, shares, strict=True):
        for term, size in part.items():
            found[term] = found.get(term, 0.0) + share * size
    return {term: max(-_BOUND, min(_BOUND, size)) for term, size in found.items()}


def _of_groups(node: Aggregate, below: ErrorTerms, share: float) -> ErrorTerms:
    """Return the error terms of a number of groups. ``share`` is groups per row: at many rows per
    group, more rows make no more groups; at one row per group the number of groups is that of the
    rows, and nothing more is guessed."""
    if not node.keys:
        return {}
    share = min(1.0, share)
    found = {term: share * size for term, size in below.items()}
    return {**found, ("groups", node.keys): (1.0 - share) * c.GROUPS_ERROR}
