"""The actions of the DISS dynamic program, each with the artifact that it means here.

========================  =====================================================================
paper (section 4.3.3)     here
========================  =====================================================================
scan                      read the source, or its deliveries; nothing is kept
no materialization, drop  compute from the parts below, by any expression of the memo
materialize               a family of rows in any distribution: read it and add the changes
sort                      a family of rows by key: what a sort-merge join or a grouping would
                          shuffle and sort is in place
aggregate                 a family of partial states
hash join, one or both    families of the inputs by the join key: a delta requires OLD of one side
hash tables               and NEW of the other
========================  =====================================================================

Several deltas (section 5): a day has one per run. What is kept is kept in every run, so of the
combinations of outputs that the paper counts only four are ever wanted: the rows in the runs that
give the result, the rows in every later run, the rows before each of these, and all changes.
Deletes are deltas with weights: their families also hold the rows that are retracted (see
``footprint``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from forerun.planner.cost import operators
from forerun.planner.cost.prices import Prices
from forerun.planner.materialize.diss import BudgetStep, GoalAction, Price, Program
from forerun.planner.materialize.footprint import Footprint
from forerun.planner.memo.groups import Expression, GroupId
from forerun.planner.memo.reference import Reference, Stamped
from forerun.planner.temporal.alternatives import AlternativeEnumerator, forced_penalty
from forerun.planner.temporal.as_of import Span
from forerun.planner.temporal.physical import PhysicalAlternative
from forerun.planner.temporal.solution import ChainId, Solution
from forerun.planner.temporal.space import Key, Slot, Space
from forerun.planner.temporal.store_costs import buckets_of


class Wants(StrEnum):
    """The rows that a goal wants of a group. ``ROWS``: its rows in the runs that give the result
    (F). ``ALL``: its rows in every run after the first. ``OLD``: its rows as of the run before, in
    each of these. ``DELTA``: its changes in each of these (D). ``STAMPED``: as ALL, with the run
    that wrote each row."""

    ROWS = "rows"
    ALL = "all"
    OLD = "old"
    DELTA = "delta"
    STAMPED = "stamped"


Goal = tuple[Wants, GroupId, Key]
"""What is wanted, of which group, distributed by which key."""
_DissAction = GoalAction[Goal, ChainId]


@dataclass(frozen=True, slots=True)
class DissInput:
    """The input of costing actions. ``near`` is a solution over the same runs that may keep any
    chain; it gives the costs of the chains' first partitions. ``results`` are the indices of the
    runs that give the result."""

    space: Space
    alternatives: AlternativeEnumerator
    footprint: Footprint
    near: Solution
    weights: Mapping[int, int]
    twins: Mapping[ChainId, ChainId]
    committed: frozenset[ChainId]
    results: tuple[int, ...]


def steps_of(day: DissInput) -> tuple[BudgetStep[ChainId], ...]:
    """Return the best sets of chains to keep, fewest bytes first, with what the day then costs."""
    actions = _Actions(day)
    root = (Wants.ROWS, day.space.root, ())
    program: Program[Goal, ChainId] = Program(actions.prices())
    for goal, found in actions.below(root):
        program.meet(goal, found)
    return program.steps(root)


class _Actions:
    """Lists the actions for each goal, with costs summed over the runs of the day."""

    def __init__(self, day: DissInput) -> None:
        self._day = day
        self._space, self._memo = day.space, day.space.memo
        self._spans = day.near.spans
        self._penalty = forced_penalty(day.weights)
        after = range(1, len(self._spans))
        self._instances = {
            Wants.ROWS: [(i, False) for i in day.results],
            Wants.OLD: [(i, True) for i in after],
            **{
                wants: [(i, False) for i in after]
                for wants in (Wants.ALL, Wants.DELTA, Wants.STAMPED)
            },
        }

    def _prices(self, span: Span) -> Prices:
        return self._day.alternatives.prices_of(span.run)

    def prices(self) -> dict[ChainId, Price]:
        """Return the prices of the chains that can be kept from the first run on: the cost of
        making the first partition and of writing the later ones."""
        day, prices = self._day, {}
        for kept, chain_cost in day.near.chain_costs[0].items():
            slot = self._space.slots[kept[0]]
            cost = chain_cost.cost
            for span in self._spans[1:-1]:
                if slot.delta is None:
                    break
                size = day.alternatives.size(slot.delta, False, span)
                written = operators.write(size, self._prices(span), self._buckets_of(slot))
                cost += day.weights[span.run] * round(written)
            committed = kept in day.committed
            size_of_chain = day.footprint.chain(kept, self._spans, committed=committed)
            prices[kept] = Price(size_of_chain, cost)
        return prices

    def below(self, root: Goal) -> Iterator[tuple[Goal, list[_DissAction]]]:
        """Yield every goal that is reachable from the root with its actions, each after the goals
        that its actions set."""
        found: dict[Goal, list[_DissAction]] = {}
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
        """Return the sort key of a goal: goals of a group come after those of its parts, and within
        a group those without a distribution come first."""
        return self._space.place.get(goal[1], len(self._space.order)), bool(goal[2])

    def _of(self, goal: Goal) -> Iterator[_DissAction]:
        """Yield the actions that meet a goal: compute it, shuffle it, or read what is kept."""
        wants, group, key = goal
        if wants is not Wants.STAMPED:
            for expression in self._memo.alternatives(group):
                if isinstance(expression.node, Stamped):
                    yield GoalAction(0, goals=((Wants.STAMPED, self._stamped(expression), key),))
                else:
                    yield from self._computed(expression, goal)
            if key:
                yield GoalAction(self._moved(goal), goals=((wants, group, ()),))
        if wants is not Wants.DELTA:
            for slot in self._space.slots_of(group):
                yield from self._kept(slot, goal)

    def _stamped(self, expression: Expression) -> GroupId:
        if not isinstance(expression.node, Stamped):
            raise TypeError(expression.node)
        return self._memo.leader(expression.node.group)

    # -- computed -----------------------------------------------------------------------------

    def _computed(self, expression: Expression, goal: Goal) -> Iterator[_DissAction]:
        """Yield an action for each combination of input distributions that has an alternative in
        every run that the goal is about."""
        wants, group, key = goal
        total: dict[tuple[Key, ...], int] | None = None
        static = self._is_static(group)
        for index, before in self._instances[wants]:
            span = self._spans[index]
            own: dict[tuple[Key, ...], int] = {}
            for alternative in self._day.alternatives.of(
                expression, key, before and not static, span
            ):
                if not key or alternative.delivers == key:
                    asked = tuple(requirement.key for requirement in alternative.requirements)
                    cost = self._day.weights[span.run] * self._own(alternative)
                    cost += self._penalty if alternative.penalized else 0
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
            yield GoalAction(cost, goals=goals)

    def _own(self, alternative: PhysicalAlternative) -> int:
        """Return the cost of an alternative, taking the other side of a hash join to need no
        shuffle."""
        return alternative.own - (
            alternative.hash_gain if alternative.hashed_input is not None else 0
        )

    def _wanted_of(self, given: Reference, wants: Wants) -> Wants:
        """Return what an operator wants of an input, given what is wanted of the operator."""
        if self._memo.group(given.group).step:
            return Wants.DELTA
        if given.before and not self._is_static(given.group):
            return Wants.OLD
        return Wants.ALL if wants is Wants.DELTA else wants

    def _is_static(self, group: GroupId) -> bool:
        tvr = self._memo.tvr_of(group)
        return tvr is not None and not tvr.changing

    def _moved(self, goal: Goal) -> int:
        """Return the weighted cost of shuffling the group in every run that the goal is about."""
        wants, group, _ = goal
        before = not self._is_static(group)
        return sum(
            self._day.weights[self._spans[index].run]
            * round(
                operators.exchange(
                    self._day.alternatives.size(group, old and before, self._spans[index]),
                    self._prices(self._spans[index]),
                )
            )
            for index, old in self._instances[wants]
        )

    # -- kept ---------------------------------------------------------------------------------

    def _kept(self, slot: Slot, goal: Goal) -> Iterator[_DissAction]:
        """Yield an action for each chain that the goal can be read from: keep it up to date and
        read it."""
        wants, group, key = goal
        if slot.replaced:
            return  # no delta keeps it up to date
        for place in self._space.keys[slot.index]:
            kept = (slot.index, place)
            kept = self._day.twins.get(kept, kept)
            if key not in ((), place) or kept not in self._day.near.chain_costs[0]:
                continue
            if kept not in self._day.committed and not self._day.near.chain_costs[0][kept].start:
                continue
            cost = self._kept_up(slot, place) + self._read(
                slot, wants, consolidate=group == slot.whole
            )
            changes = () if slot.delta is None else ((Wants.DELTA, slot.delta, ()),)
            yield GoalAction(cost, (kept,), changes)

    def _kept_up(self, slot: Slot, key: Key) -> int:
        """Return the weighted cost of shuffling the delta of each later run into place."""
        delta = slot.delta
        if not key or delta is None:
            return 0
        return sum(
            self._day.weights[span.run]
            * round(
                operators.exchange(
                    self._day.alternatives.size(delta, False, span), self._prices(span)
                )
            )
            for span in self._spans[1:]
        )

    def _buckets_of(self, slot: Slot) -> int:
        return buckets_of(slot, self._day.alternatives, self._spans)

    def _read(self, slot: Slot, wants: Wants, *, consolidate: bool) -> int:
        """Return the weighted cost of reading the slot's snapshot in every run that the goal is
        about."""
        cost = 0
        for index, before in self._instances[wants]:
            span = self._spans[index]
            if not span.base:
                continue  # nothing is kept yet; the price has the cost of the first partition
            size = self._day.alternatives.size(slot.snapshot, before, span)
            partitions, prices = index + (not before), self._prices(span)
            own = operators.read(size, prices, self._buckets_of(slot), partitions)
            if slot.weighted and consolidate:
                own += operators.group(size.rows, size.rows, prices)
                own += operators.exchange(size, prices)
            cost += self._day.weights[span.run] * round(own)
        return cost
