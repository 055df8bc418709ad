"""How sure the difference of two costs is: the interval that decides against batch.

Every figure is a product of what is known and of factors that are guessed: how much is still to
come of a source, what a predicate lets through, how many partners a row has, how many groups there
are. Each such *doubt* is an independent error of a factor; its size is the standard deviation of
the factor's logarithm. A group's rows depend on the doubts below it, and so do the costs of what
works on these rows; to first order the errors of logarithms add up. So a cost is known together
with how much it would change by each doubt, and so is the difference of two costs. What both plans
do with the same rows cancels: a filter that lets twice as many rows through makes both dearer.

Source: propagation of uncertainty to first order (the "delta method"; ISO GUM, 5.1). That errors
multiply along joins: Ioannidis and Christodoulakis, SIGMOD 1991.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise

from planner.algebra.predicates import equality
from planner.algebra.relational import (
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
from planner.algebra.scalar import TRUE, Call, Literal, Ref, Scalar, conjuncts
from planner.cost import constants as c
from planner.memo.memo import GroupId, Memo, Tvr, View
from planner.memo.reference import Reference, Stamped
from planner.request import PlanRequest
from planner.stats.sample import error
from planner.temporal.chosen import Chosen, inputs_of
from planner.temporal.figures import Figures
from planner.temporal.space import Space
from planner.temporal.tables import Place

Doubt = Hashable
"""What is guessed: a kind of figure, and of what."""
Doubts = Mapping[Doubt, float]
"""How much the logarithm of a figure changes by one standard deviation of each doubt."""

Moment = tuple[GroupId, int, int]
"""A group, the run that a step leads from (0: none), and the run it leads to."""

_BOUND = 3.0
"""At most this, for a figure that is a small difference of two large ones."""
_HALVES = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE)


class Uncertainty:
    """Of the groups of a memo and of the plans over it. ``request``: its current run knows what has
    arrived; later runs do not."""

    def __init__(self, space: Space, figures: Figures, request: PlanRequest) -> None:
        self._space = space
        self._memo: Memo = space.memo
        self._figures = figures
        self._current = request.current
        self._sources = {source.name: source for source in request.sources}
        self._points = request.points
        self._known: dict[tuple[GroupId, int, int], Doubts] = {}

    @cached_property
    def _deltas(self) -> dict[GroupId, tuple[Tvr, View]]:
        return {
            self._memo.leader(group): (tvr, view)
            for tvr in self._memo.tvrs
            for (version, view), group in tvr.edges.items()
            if version is Version.DELTA
        }

    def of_cost(self, chosen: Chosen, weights: Mapping[int, float]) -> dict[Doubt, float]:
        """How much the weighted cost of a plan changes by each doubt. ``weights``: by run."""
        total: dict[Doubt, float] = {}
        for index, own, places in _charges(chosen):
            span = chosen.solution.spans[index]
            weight = weights.get(span.run, 0.0)
            if not own or not weight:
                continue
            moments = [
                (group, span.base, span.run)
                if self._memo.group(group).step
                else (group, 0, span.base if before else span.run)
                for group, _, before in places
            ]
            rows = [self._rows(*moment) for moment in moments]
            for moment, count in zip(moments, rows, strict=True):
                share = weight * own * count / max(1.0, sum(rows))
                for doubt, size in self.of(*moment).items():
                    total[doubt] = total.get(doubt, 0.0) + share * size
        return total

    def of(self, group: GroupId, base: int, run: int) -> Doubts:
        """Of the rows of a step, or (``base`` 0) of a snapshot."""
        moment = (self._memo.leader(group), base, run)
        known = self._known.get(moment)
        if known is None:
            self._known[moment] = {}  # of what is made of itself, nothing more
            known = self._known[moment] = self._found(*moment)
        return known

    def _rows(self, group: GroupId, base: int, run: int) -> float:
        if self._memo.group(group).step:
            return self._figures.step(group, base, run).rows
        return self._figures.snapshot(group, run).rows if run else 0.0

    def _found(self, group: GroupId, base: int, run: int) -> Doubts:
        if not run:
            return {}
        if self._figures.is_counted(group):
            return {("counted", group): c.COUNTED_ERROR}
        delta = self._deltas.get(group)
        if delta is not None and base:
            return self._of_delta(*delta, base, run)
        node = next(self._memo.alternatives(group)).node
        if isinstance(node, Stamped):
            return self.of(node.group, 0, run)
        if isinstance(node, Scan):
            return self._still_to_come(node.source, run)
        return self._of_operator(node, (group, base, run))

    def _of_operator(self, node: Relation, moment: Moment) -> Doubts:
        below = [self._moment(given, *moment[1:]) for given in node.inputs]
        inputs = [self.of(*one) for one in below]
        if not inputs or (isinstance(node, Limit) and node.count is not None):
            return {}
        if isinstance(node, UnionAll):
            rows = [self._rows(*one) for one in below]
            return _mixed(inputs, [count / max(1.0, sum(rows)) for count in rows])
        if isinstance(node, Aggregate):
            share = self._rows(*moment) / max(1.0, self._rows(*below[0]))
            return _of_groups(node, inputs[0], share)
        found = dict(inputs[0])
        if isinstance(node, Filter):
            # Odds are what is guessed: of what nearly all rows pass, no more than all will.
            stopped = max(0.0, 1.0 - self._rows(*moment) / max(1.0, self._rows(*below[0])))
            for part, guessed in self._doubted(node, below[0]):
                found[part] = found.get(part, 0.0) + stopped * guessed
        if isinstance(node, Join):
            if node.kind not in _HALVES:
                found = dict(_mixed(inputs, [1.0, 1.0]))
            found[node.condition] = found.get(node.condition, 0.0) + c.PARTNERS_ERROR
        return found

    def _doubted(self, node: Filter, below: Moment) -> Iterator[tuple[Scalar, float]]:
        """What of a predicate is guessed, and how wrong the guess may be."""
        sample, untold = self._figures.sample(*below), node.predicate
        if sample is not None:
            passed = sample.through(node.predicate)
            untold = passed.untold
            if passed.told != TRUE:
                guess = max(map(_guessed, conjuncts(passed.told)))
                yield passed.told, min(guess, error(sample, passed.sample))
        for part in conjuncts(untold):
            yield part, _guessed(part)

    def _moment(self, given: object, base: int, run: int) -> Moment:
        if not isinstance(given, Reference):
            raise TypeError(f"{given} is no reference")
        if self._memo.group(given.group).step:
            return given.group, base, run
        return given.group, 0, base if given.before else run

    def _of_delta(self, tvr: Tvr, view: View, base: int, run: int) -> Doubts:
        """Rows of a delta are those of now less those of then; states those of the groups that its
        rows touch."""
        new, old = (self._rows(tvr.new, 0, at) for at in (run, base))
        if view is View.ROWS or view is View.SINGLES:
            came = max(new - old, 0.05 * new, 1.0)
            parts = [self.of(tvr.new, 0, run), self.of(tvr.new, 0, base)]
            return _mixed(parts, [new / came, -old / came])
        whole = self.of(tvr.new, 0, run)
        return {**whole, ("touched", tvr.id): c.TOUCHED_ERROR}

    def _still_to_come(self, name: str, run: int) -> Doubts:
        """What has arrived is counted; of what is to come, each part by itself is a guess."""
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


def spread(one: Mapping[Doubt, float], other: Mapping[Doubt, float]) -> float:
    """The standard deviation of the difference of two costs."""
    doubts = dict.fromkeys((*one, *other))
    return math.sqrt(sum((one.get(d, 0.0) - other.get(d, 0.0)) ** 2 for d in doubts))


def _charges(chosen: Chosen) -> Iterator[tuple[int, int, list[Place]]]:
    """Every cost of a plan: the index of its run, the cost, and what it is of: a group and what
    that is made of there."""
    waiting = [(index, chosen.cell(index, chosen.root), chosen.root) for index in chosen.results]
    for (kept, index), place in chosen.partitions.items():
        yield index, chosen.solution.links[index][kept].own, [place]
        waiting.append((index, chosen.cell(index, place, made=True), place))
    while waiting:
        index, cell, place = waiting.pop()
        below, _ = inputs_of(cell, place, index)
        yield index, cell.own, [place, *below]
        waiting += [(index, cell.moved or chosen.cell(index, part), part) for part in below]


def _mixed(parts: list[Doubts], shares: list[float]) -> Doubts:
    """The doubts of a sum (shares of its parts) or of a product (a share of 1 each)."""
    found: dict[Doubt, float] = {}
    for part, share in zip(parts, shares, strict=True):
        for doubt, size in part.items():
            found[doubt] = found.get(doubt, 0.0) + share * size
    return {doubt: max(-_BOUND, min(_BOUND, size)) for doubt, size in found.items()}


def _of_groups(node: Aggregate, below: Doubts, share: float) -> Doubts:
    """``share``: groups per row. Many rows a group: more rows make no more groups. One row a group:
    there are as many groups as rows, and no more to be wrong about."""
    if not node.keys:
        return {}
    share = min(1.0, share)
    found = {doubt: share * size for doubt, size in below.items()}
    return {**found, ("groups", node.keys): (1.0 - share) * c.GROUPS_ERROR}


def _guessed(part: Scalar) -> float:
    """How wrong the share that a conjunct lets through may be, by what it is estimated from."""
    if isinstance(part, Literal):
        return 0.0
    if isinstance(part, Call) and part.name in ("=", "<=>", "<", "<=", ">", ">=", "in"):
        one = part.args[0]
        if isinstance(one, Ref) or equality(part) or isinstance(part.args[-1], Ref):
            return c.COLUMN_ERROR
    if isinstance(part, Call) and part.name in ("isnull", "isnotnull"):
        return c.COUNTED_ERROR
    if isinstance(part, Call) and part.name in ("and", "or", "not"):
        return max(_guessed(arg) for arg in part.args)
    return c.GUESS_ERROR
