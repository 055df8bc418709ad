"""Which snapshots are kept: a greedy search over what several readers may share (Tempura 6.3).

The temporal search counts the making of a chain at each of its readers, so it finds what pays for
one reader alone. Here chains are shared: those that a plan uses are paid for once and then read for
nothing but the reading, so that others may find them worth reading too; and what no plan has used
so far is tried, one chain after another, as long as that makes the whole cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planner.memo.memo import GroupId
from planner.temporal.chosen import Chosen, choose
from planner.temporal.solve import Solver
from planner.temporal.space import Space
from planner.temporal.tables import Kept, Partition, Solution

ROUNDS = 6
"""Most rounds of sharing what the last plan used: it settles after two or three."""


_Shared = frozenset[Partition]
_Allowed = frozenset[Kept] | None


@dataclass(frozen=True, slots=True)
class _Change:
    """Another set of partitions to share, from that of the best plan so far."""

    less: frozenset[Partition] = frozenset()
    more: frozenset[Partition] = frozenset()


class Search:
    """``tries``: the most solutions that the greedy part may ask for, counted over one search.
    ``early``: the indices of the early runs that give the result too. ``whole``: plans that were
    seen keep their tables, since any of them may be chosen. ``cut``: whether changes were left that
    the tries did not last for."""

    def __init__(
        self,
        space: Space,
        solver: Solver,
        weights: Mapping[int, int],
        tries: int,
        early: tuple[int, ...] = (),
        *,
        whole: bool = False,
    ) -> None:
        self._space = space
        self._solver = solver
        self._weights = weights
        self._tries = tries
        self._early = early
        self._keeps_whole = whole
        self.cut = False
        self._near: Solution | None = None
        self._seen: dict[tuple[_Shared, _Allowed], Chosen | None] = {}

    @property
    def evaluations(self) -> int:
        return self._solver.evaluations

    @property
    def seen(self) -> Iterator[Chosen]:
        """Every plan that was looked at; with its tables, if they are kept ``whole``."""
        return (found for found in self._seen.values() if found is not None)

    def forget(self) -> None:
        """Let go of all tables. What is asked for again is searched for again."""
        self._seen.clear()
        self._near = None
        self._solver.forget()

    def first(self) -> Chosen | None:
        """The cheapest plan found from nothing."""
        return self._whole(self._settled(frozenset()))

    def with_chains(self, allowed: frozenset[Kept]) -> Chosen | None:
        """The cheapest plan found that keeps no other chains than these and the committed ones."""
        return self._settled(frozenset(), allowed)

    def sharing(self, kept: frozenset[Partition]) -> Chosen | None:
        """The cheapest plan found from what is kept in another one."""
        return self._whole(self._settled(kept))

    def better(self, best: Chosen) -> Chosen:
        """The cheapest plan found from another one, by one change at a time."""
        for change in (*self._with_less(best), *self._with_more(best)):
            if self._tries <= 0:
                self.cut = True
                break
            self._tries -= 1
            found = self._settled((best.used - change.less) | change.more)
            if found is not None and found.total < best.total:
                best = self._whole(found) or best
        return best

    def _whole(self, found: Chosen | None) -> Chosen | None:
        """With its tables: those of plans that were seen before are not kept, each may take a
        hundred megabytes."""
        if found is None or found.has_tables:
            return found
        solution = self._solver.solve(found.solution.shared, self._near, found.solution.allowed)
        return choose(self._space, solution, self._weights, self._early)

    def _settled(self, shared: _Shared, allowed: _Allowed = None) -> Chosen | None:
        """Share what the plan uses until it uses what it shares."""
        best: Chosen | None = None
        for _ in range(ROUNDS):
            if (shared, allowed) in self._seen:
                return _cheaper(best, self._seen[shared, allowed])
            solution = self._solver.solve(shared, self._near, allowed)
            self._near = solution
            found = choose(self._space, solution, self._weights, self._early)
            light = None if found is None else found.without_tables()
            self._seen[shared, allowed] = found if self._keeps_whole else light
            best = _cheaper(best, found)
            if found is None or found.used == shared:
                break
            shared = found.used
        return best

    def _with_less(self, best: Chosen) -> Iterator[_Change]:
        """Without one partition that is used: what its readers would rather do if they paid."""
        for partition in sorted(best.used, key=lambda used: (-used[1], used[0])):
            yield _Change(less=frozenset({partition}))

    def _with_more(self, best: Chosen) -> Iterator[_Change]:
        """With a chain that is not used."""
        for partitions in self._dear_first(best.solution, best.worked).values():
            yield _Change(more=frozenset(partitions))

    def dear_first(self, solution: Solution) -> Iterator[Kept]:
        """The chains that a solution could keep, what is dear to compute at the end first."""
        return iter(self._dear_first(solution, set()))

    def _dear_first(
        self, solution: Solution, worked: set[tuple[int, GroupId]]
    ) -> dict[Kept, set[Partition]]:
        """Chains with their partitions: first those of what the last run computes, and of them
        what is dear there."""
        made: dict[Kept, set[Partition]] = {}
        for index, links in enumerate(solution.links):
            for kept in links:
                made.setdefault(kept, set()).add((kept, index))
        last = len(solution.spans) - 1
        at_the_end = {group for index, group in worked if index == last}
        cells = solution.made[last]

        def order(kept: Kept) -> tuple[bool, int, Kept]:
            slot = self._space.slots[kept[0]]
            cell = cells.get((slot.whole, (), False))
            cost = 0 if cell is None else cell.cost
            return (slot.whole not in at_the_end and slot.delta not in at_the_end, -cost, kept)

        return {kept: made[kept] for kept in sorted(made, key=order)}


def _cheaper(one: Chosen | None, other: Chosen | None) -> Chosen | None:
    if one is None or other is None:
        return one or other
    return other if other.total < one.total else one
