"""The actions of the DISS dynamic program, each with the artifact that it means here.

========================  =====================================================================
paper (section 4.3.3)     here
========================  =====================================================================
scan                      read the source, or its deliveries; nothing is kept
no materialization, drop  compute from the parts below, as any expression of the memo says
materialize               a family of rows, anyhow: read it and add the changes
sort                      a family of rows by key: what a sort-merge join or a grouping would
                          shuffle and sort is in place
aggregate                 a family of partial states
hash join, one or both    families of the inputs by the join key: a delta asks for OLD of one side
hash tables               and NEW of the other
========================  =====================================================================

Several deltas (section 5): a day has one per run, and of the combinations of outputs that the paper
counts only four are ever wanted, since what is kept is kept in every run: the rows where the result
is given, the rows in every later run, the rows before it, and all changes. Deletes are deltas with
weights: their families hold the rows that are taken back too (see ``holdings``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from planner.cost import operators
from planner.materialize.diss import Action, Price, Program, Step
from planner.materialize.holdings import Holdings
from planner.memo.memo import Expression, GroupId
from planner.memo.reference import Reference, Stamped
from planner.temporal.space import Key, Slot, Space
from planner.temporal.store_costs import write_cost
from planner.temporal.tables import Kept, Solution
from planner.temporal.ways import Way, Ways


class Wants(StrEnum):
    """``ROWS``: where the result is given (F). ``ALL``: in every run after the first. ``OLD``: as
    of the run before, in each of these. ``DELTA``: the changes of each of these (D). ``STAMPED``:
    as ALL, with the run that wrote each row."""

    ROWS = "rows"
    ALL = "all"
    OLD = "old"
    DELTA = "delta"
    STAMPED = "stamped"


Goal = tuple[Wants, GroupId, Key]
_Action = Action[Goal, Kept]


@dataclass(frozen=True, slots=True)
class Day:
    """What the actions are costed by. ``near``: a solution of the same runs that keeps whatever it
    likes, from which the first partitions of chains have their costs; ``results``: the indices of
    the runs that give the result."""

    space: Space
    ways: Ways
    holdings: Holdings
    near: Solution
    weights: Mapping[int, int]
    twins: Mapping[Kept, Kept]
    committed: frozenset[Kept]
    stage_cost: int
    results: tuple[int, ...]


def steps_of(day: Day) -> tuple[Step[Kept], ...]:
    """The best sets of chains to keep, fewest bytes first, with what the day then costs."""
    actions = _Actions(day)
    root = (Wants.ROWS, day.space.root, ())
    program: Program[Goal, Kept] = Program(actions.prices())
    for goal, found in actions.below(root):
        program.meet(goal, found)
    return program.steps(root)


class _Actions:
    def __init__(self, day: Day) -> None:
        self._day = day
        self._prices = day.ways.prices
        self._space, self._memo = day.space, day.space.memo
        self._spans = day.near.spans
        after = range(1, len(self._spans))
        self._instances = {
            Wants.ROWS: [(i, False) for i in day.results],
            Wants.OLD: [(i, True) for i in after],
            **{
                wants: [(i, False) for i in after]
                for wants in (Wants.ALL, Wants.DELTA, Wants.STAMPED)
            },
        }

    def prices(self) -> dict[Kept, Price]:
        """Of the chains that can be kept from the first run on."""
        day, prices = self._day, {}
        for kept, link in day.near.links[0].items():
            slot = self._space.slots[kept[0]]
            cost = link.cost
            for span in self._spans[1:-1]:
                size = day.ways.size(slot.delta, False, span)
                cost += day.weights[span.run] * write_cost(size, day.stage_cost, day.ways.prices)
            committed = kept in day.committed
            size_of_chain = day.holdings.chain(kept, self._spans, committed=committed)
            prices[kept] = Price(size_of_chain, cost)
        return prices

    def below(self, root: Goal) -> Iterator[tuple[Goal, list[_Action]]]:
        """Every goal that is reached from the root, with its actions, parts first."""
        found: dict[Goal, list[_Action]] = {}
        waiting = [root]
        while waiting:
            goal = waiting.pop()
            if goal in found:
                continue
            place = self._place(goal)
            found[goal] = [
                action
                for action in self._of(goal)
                if all(self._place(below) < place for below in action.goals)
            ]
            waiting += [below for action in found[goal] for below in action.goals]
        for goal in sorted(found, key=lambda goal: (self._place(goal), goal)):
            yield goal, found[goal]

    def _place(self, goal: Goal) -> tuple[int, bool]:
        """Goals of a group come after those of its parts; of its keys, anyhow is first."""
        return self._space.place.get(goal[1], len(self._space.order)), bool(goal[2])

    def _of(self, goal: Goal) -> Iterator[_Action]:
        wants, group, key = goal
        if wants is not Wants.STAMPED:
            for expression in self._memo.alternatives(group):
                if isinstance(expression.node, Stamped):
                    yield Action(0, goals=((Wants.STAMPED, self._stamped(expression), key),))
                else:
                    yield from self._computed(expression, goal)
            if key:
                yield Action(self._moved(goal), goals=((wants, group, ()),))
        if wants is not Wants.DELTA:
            for slot in self._space.slots_of(group):
                yield from self._kept(slot, goal)

    def _stamped(self, expression: Expression) -> GroupId:
        if not isinstance(expression.node, Stamped):
            raise TypeError(expression.node)
        return self._memo.leader(expression.node.group)

    # -- computed -----------------------------------------------------------------------------

    def _computed(self, expression: Expression, goal: Goal) -> Iterator[_Action]:
        """The ways that there are in each of the runs."""
        wants, group, key = goal
        total: dict[tuple[Key, ...], int] | None = None
        static = self._is_static(group)
        for index, before in self._instances[wants]:
            span = self._spans[index]
            own: dict[tuple[Key, ...], int] = {}
            for way in self._day.ways.of(expression, key, before and not static, span):
                if not key or way.gives == key:
                    asked = tuple(ask.key for ask in way.asks)
                    cost = self._day.weights[span.run] * self._own(way)
                    own[asked] = min(cost, own.get(asked, cost))
            total = (
                own
                if total is None
                else {asked: total[asked] + own[asked] for asked in total.keys() & own.keys()}
            )
        for asked, cost in sorted((total or {}).items()):
            goals = tuple(
                (self._wanted_of(given, wants), self._memo.leader(given.group), below)
                for given, below in zip(expression.inputs, asked, strict=True)
            )
            yield Action(cost, goals=goals)

    def _own(self, way: Way) -> int:
        return way.own - (way.gain if way.hashes is not None else 0)

    def _wanted_of(self, given: Reference, wants: Wants) -> Wants:
        """What an operator that is wanted so wants of an input."""
        if self._memo.group(given.group).step:
            return Wants.DELTA
        if given.before and not self._is_static(given.group):
            return Wants.OLD
        return Wants.ALL if wants is Wants.DELTA else wants

    def _is_static(self, group: GroupId) -> bool:
        tvr = self._memo.tvr_of(group)
        return tvr is not None and not tvr.changing

    def _moved(self, goal: Goal) -> int:
        wants, group, _ = goal
        before = not self._is_static(group)
        return sum(
            self._day.weights[self._spans[index].run]
            * round(
                operators.exchange(
                    self._day.ways.size(group, old and before, self._spans[index]), self._prices
                )
            )
            for index, old in self._instances[wants]
        )

    # -- kept ---------------------------------------------------------------------------------

    def _kept(self, slot: Slot, goal: Goal) -> Iterator[_Action]:
        wants, group, key = goal
        for place in self._space.keys[slot.index]:
            kept = (slot.index, place)
            kept = self._day.twins.get(kept, kept)
            if key not in ((), place) or kept not in self._day.near.links[0]:
                continue
            if kept not in self._day.committed and not self._day.near.links[0][kept].start:
                continue
            cost = self._kept_up(slot, place) + self._read(
                slot, wants, consolidate=group == slot.whole
            )
            yield Action(cost, (kept,), ((Wants.DELTA, slot.delta, ()),))

    def _kept_up(self, slot: Slot, key: Key) -> int:
        """Of putting the changes of each run in place."""
        if not key:
            return 0
        return sum(
            self._day.weights[span.run]
            * round(operators.exchange(self._day.ways.size(slot.delta, False, span), self._prices))
            for span in self._spans[1:]
        )

    def _read(self, slot: Slot, wants: Wants, *, consolidate: bool) -> int:
        cost = 0
        for index, before in self._instances[wants]:
            span = self._spans[index]
            if not span.base:
                continue  # nothing is kept yet: the first partition has been paid for
            size = self._day.ways.size(slot.snapshot, before, span)
            own = operators.read(size, self._prices)
            if slot.weighted and consolidate:
                own += operators.group(size.rows, size.rows, (), 1, self._prices)
                own += operators.exchange(size, self._prices)
            cost += self._day.weights[span.run] * round(own)
        return cost
