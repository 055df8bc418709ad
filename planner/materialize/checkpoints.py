"""Checkpoints of a run: rows that it stores on the way, so that a try after it was ended goes on
from them.

A try that is killed loses the stage that it was in. So a long stage is cut where an operator has
its rows, and the part below becomes a stage of its own. If a run is ended ``r`` times per CPU
second, as likely at one moment as at another, a stage that takes ``c`` seconds and is begun again
each time takes ``(exp(r c) - 1) / r`` in all until it is done: for a few interruptions,
``r c c / 2`` more. Two stages of half the length lose half of that, and cost what writing and
reading the rows between them does.

Cuts are added one by one, each the one that saves the most, as long as one clearly saves more than
it costs. What is stored is what the part above reads, and nothing below it is stored unless that
saves again by itself.
Source: on-demand state separation (Winter, "Managing dynamic workloads in relational database
systems", 2023, chapter 6): what is kept is what later operators still read. There it is taken out
of a query that is about to move; a driver that is killed cannot say so before.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from forerun.planner.algebra.relational import Aggregate, Join, SetOperation, Window
from forerun.planner.cost import operators
from forerun.planner.cost.constants import MICRO
from forerun.planner.memo.groups import GroupId
from forerun.planner.temporal.alternatives import AlternativeEnumerator
from forerun.planner.temporal.as_of import Span
from forerun.planner.temporal.extraction import ExtractedPlan, inputs_of
from forerun.planner.temporal.itemized import CountedAgain
from forerun.planner.temporal.solution import DpEntry, EntryKey, How
from forerun.planner.temporal.space import Space, is_storable

Cut = tuple[GroupId, bool]
"""A group whose rows are stored, and whether it is as of the last run rather than this one."""
_CUT_AT = (Aggregate, Join, SetOperation, Window)
"""The operators that may have done much by the time that they have rows."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The cuts of the result of a run. ``costs`` has the cost of each stage that stores rows, with
    its start and the writing, ``result`` what the stage of the result has left, without its start.
    ``added`` is by how much the run becomes dearer if it is not ended, ``expected`` what the stages
    take until they are done."""

    costs: dict[Cut, float] = field(default_factory=dict)
    result: float = 0.0
    added: float = 0.0
    expected: float = 0.0


NO_CHECKPOINTS = Checkpoints()
_CLEARLY = 0.9
"""A cut has to bring what is expected below this part of what it was. Of eight queries of TPC-H 10
that were cut for any gain (docs/lab/benchmarks.md), the two below it were to take 0.87, by what
their stages took 0.82 and 0.87; the others 0.89 to 0.97, but Q3, 0.80, and Q21, 1.31."""
_MOST_ENDS = 50.0
"""A stage that is expected to be ended so often is never done; from there on what it takes grows
by the square of its length, so that numbers stay finite and shorter stages better."""


def checkpoints(
    chosen: ExtractedPlan,
    space: Space,
    alternatives: AlternativeEnumerator,
    interruptions: float,
) -> dict[int, Checkpoints]:
    """Return where the results of a plan are cut, by the index of the run. ``alternatives`` have
    the prices that its stages state, and ``interruptions``, which is above 0, is how often a run is
    ended from outside per CPU second that it takes."""
    costs = CountedAgain(space, chosen, alternatives)
    found = {}
    for index in chosen.results:
        span = chosen.solution.spans[index]
        found[index] = _cut(_Stages(chosen, index, costs, alternatives, span), interruptions)
    return found


def until_done(cost: float, interruptions: float) -> float:
    """Return what a stage takes until it is done, begun again whenever it is ended."""
    rate = interruptions / MICRO
    ends = rate * cost
    return math.expm1(min(_MOST_ENDS, ends)) * max(1.0, ends / _MOST_ENDS) ** 2 / rate


def _cut(stages: _Stages, interruptions: float) -> Checkpoints:
    cuts: tuple[Cut, ...] = ()
    expected = stages.expected(cuts, interruptions)
    while further := [
        (stages.expected((*cuts, cut), interruptions), number, cut)
        for number, cut in enumerate(stages.candidates)
        if cut not in cuts
    ]:
        cost, _, cut = min(further)
        if cost >= _CLEARLY * expected:
            break
        cuts, expected = (*cuts, cut), cost
    made, result = stages.costs(cuts)
    added = sum(made.values()) + result - stages.costs(())[1]
    return Checkpoints(made, result, added if made else 0.0, expected)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the result: what it adds to its inputs, and the numbers of these, as often as they
    are read. ``stored`` is what it costs to write its rows, as a stage, None if they cannot be, and
    ``read`` what it costs to have them back."""

    cut: Cut
    own: float
    inputs: tuple[int, ...]
    stored: float | None = None
    read: float = 0.0


class _Stages:
    """The result of a run by its parts, each after its inputs, and the stages that it is cut into.
    ``candidates`` are the groups below the result that can be stored. One that is read twice is
    believed to be computed for the other reader all the same: a cut is not there to save what is
    computed twice, as Spark may do it once by itself."""

    def __init__(
        self,
        chosen: ExtractedPlan,
        index: int,
        costs: CountedAgain,
        alternatives: AlternativeEnumerator,
        span: Span,
    ) -> None:
        self._chosen = chosen
        self._index = index
        self._costs = costs
        self._alternatives = alternatives
        self._prices = alternatives.prices_of(span.run)
        self._span = span
        self.parts: list[_Part] = []
        self._collect()
        self._readers = self._counted()
        below = (part.cut for part in self.parts[:-1] if part.stored is not None)
        self.candidates = tuple(dict.fromkeys(below))

    def expected(self, cuts: Collection[Cut], interruptions: float) -> float:
        """Return what the stages take until they are done."""
        made, result = self.costs(cuts)
        return sum(until_done(cost, interruptions) for cost in (*made.values(), result))

    def costs(self, cuts: Collection[Cut]) -> tuple[dict[Cut, float], float]:
        """Return the costs of the stages that store rows, and of the one of the result."""
        made: dict[Cut, float] = {}
        costs: list[float] = []
        for part in self.parts:
            cost = part.own + sum(costs[below] for below in part.inputs)
            if part.cut in cuts and part.stored is not None:
                made.setdefault(part.cut, cost + part.stored)
                once = 1 / self._readers[part.cut]  # a share: of the sum of all readers, one reads
                cost = part.read * once + cost * (1 - once)
            costs.append(cost)
        return made, costs[-1]

    def _collect(self) -> None:
        numbers: dict[tuple[EntryKey, int], int] = {}
        root = self._chosen.root
        stack = [(root, self._chosen.entry(self._index, root))]
        while stack:
            place, entry = stack[-1]
            below = [
                (at, entry.moved or self._chosen.entry(self._index, at))
                for at in inputs_of(entry, place, self._index)[0]
            ]
            missing = [(at, one) for at, one in below if (at, id(one)) not in numbers]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if (place, id(entry)) not in numbers:
                inputs = tuple(numbers[at, id(one)] for at, one in below)
                numbers[place, id(entry)] = len(self.parts)
                self.parts.append(self._part(place, entry, inputs))

    def _part(self, place: EntryKey, entry: DpEntry, inputs: tuple[int, ...]) -> _Part:
        group, key, before = place
        own = self._costs.of_entry(self._index, entry, place)
        if not _can_be_stored(entry):
            return _Part((group, before), own, inputs)
        size = self._alternatives.size(group, before, self._span)
        buckets = operators.bucket_count(size)
        stored = operators.write(size, self._prices, buckets)
        read = operators.read(size, self._prices, buckets)
        if key:  # the rows are where they are wanted, and would have to be moved there again
            read += operators.exchange(size, self._prices)
        return _Part((group, before), own, inputs, stored, read)

    def _counted(self) -> Counter[Cut]:
        """Return how often each group is read that can be stored."""
        times = [0] * len(self.parts)
        times[-1] = 1
        readers: Counter[Cut] = Counter()
        for number in range(len(self.parts) - 1, -1, -1):
            part = self.parts[number]
            for below in part.inputs:
                times[below] += times[number]
            if part.stored is not None:
                readers[part.cut] += times[number]
        return readers


def _can_be_stored(entry: DpEntry) -> bool:
    if entry.how is not How.EXPRESSION or entry.expression is None:
        return False
    node = entry.expression.node
    storable = all(is_storable(column, grouped=False) for column in node.columns)
    return storable and isinstance(node, _CUT_AT)
