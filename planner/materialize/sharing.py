"""Choose the partitions that are shared: a greedy search over what several readers can use (Tempura
6.3).

The temporal search charges each reader of a chain for making it, so it keeps only what pays for one
reader alone. Here partitions are shared: those that a plan writes are paid for once and then cost
only the reading, so other readers may use them too. Chains that no plan has used so far are tried
one after another and kept if the whole plan gets cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from forerun.planner.memo.groups import GroupId
from forerun.planner.temporal.extraction import ExtractedPlan, extract_plan
from forerun.planner.temporal.solution import ChainId, Partition, Solution
from forerun.planner.temporal.solve import Solver
from forerun.planner.temporal.space import Space

ROUNDS = 6
"""The most rounds of sharing what the last plan writes. It settles after two or three."""


_Shared = frozenset[Partition]
_Allowed = frozenset[ChainId] | None


@dataclass(frozen=True, slots=True)
class _Change:
    """A change to the set of partitions that the best plan so far writes: ``less`` are left out,
    ``more`` are added."""

    less: frozenset[Partition] = frozenset()
    more: frozenset[Partition] = frozenset()


class GreedySharing:
    """Searches one set of opened runs for the partitions to share.

    ``tries`` is the most changes that :meth:`better` tries, over all of its calls. ``early`` are
    the indices of the early runs that give the result too. With ``whole``, every plan that was seen
    keeps its DP tables, since any of them may be chosen. ``cut`` says that the tries ended before
    the changes did. ``near`` is a solution to start from, of another set that begins with the same
    runs; ``root`` is the solution when nothing is shared, for the next set to start from.
    """

    def __init__(
        self,
        space: Space,
        solver: Solver,
        weights: Mapping[int, int],
        tries: int,
        early: tuple[int, ...] = (),
        *,
        whole: bool = False,
        near: Solution | None = None,
    ) -> None:
        self._space = space
        self._solver = solver
        self._weights = weights
        self._tries = tries
        self._early = early
        self._keeps_whole = whole
        self.cut = False
        self._near = near
        self.root: Solution | None = None
        self._observed: dict[tuple[_Shared, _Allowed], ExtractedPlan | None] = {}

    @property
    def evaluations(self) -> int:
        """Return how many alternatives the solver has costed."""
        return self._solver.evaluations

    @property
    def seen(self) -> Iterator[ExtractedPlan]:
        """Every plan that was looked at; with its DP tables if the search keeps them ``whole``."""
        return (found for found in self._observed.values() if found is not None)

    def forget(self) -> None:
        """Drop all plans and tables, to free memory. What is needed again is searched for again."""
        self._observed.clear()
        self._near = self.root = None
        self._solver.forget()

    def first(self) -> ExtractedPlan | None:
        """Return the cheapest plan found when nothing is shared at first; None if there is no
        plan."""
        return self._whole(self._settled(frozenset()))

    def with_chains(self, allowed: frozenset[ChainId]) -> ExtractedPlan | None:
        """Return the cheapest plan found that keeps only these chains and the committed ones. Its
        tables are dropped unless the search keeps them ``whole``."""
        return self._settled(frozenset(), allowed)

    def sharing(self, kept: frozenset[Partition]) -> ExtractedPlan | None:
        """Return the cheapest plan found when these partitions are shared at first, as those of
        another plan."""
        return self._whole(self._settled(kept))

    def better(self, best: ExtractedPlan) -> ExtractedPlan:
        """Return the cheapest plan found from ``best`` by one change at a time, ``best`` itself if
        none helps."""
        for change in (*self._with_less(best), *self._with_more(best)):
            if self._tries <= 0:
                self.cut = True
                break
            self._tries -= 1
            found = self._settled((best.used - change.less) | change.more)
            if found is not None and found.total < best.total:
                best = self._whole(found) or best
        return best

    def _whole(self, found: ExtractedPlan | None) -> ExtractedPlan | None:
        """Return a plan with its DP tables, which are solved for again if they were dropped: one
        plan's tables may take a hundred megabytes."""
        if found is None or found.has_tables:
            return found
        solution = self._solver.solve(found.solution.shared, self._near, found.solution.allowed)
        return extract_plan(self._space, solution, self._weights, self._early)

    def _settled(self, shared: _Shared, allowed: _Allowed = None) -> ExtractedPlan | None:
        """Share what the plan writes and plan again, until it writes exactly what is shared or the
        rounds end. Returns the cheapest plan of all rounds."""
        best: ExtractedPlan | None = None
        for _ in range(ROUNDS):
            if (shared, allowed) in self._observed:
                return _cheaper(best, self._observed[shared, allowed])
            solution = self._solver.solve(shared, self._near, allowed)
            self._near = solution
            if not shared and allowed is None:
                self.root = solution
            found = extract_plan(self._space, solution, self._weights, self._early)
            light = None if found is None else found.without_tables()
            self._observed[shared, allowed] = found if self._keeps_whole else light
            best = _cheaper(best, found)
            if found is None or found.used == shared:
                break
            shared = found.used
        return best

    def _with_less(self, best: ExtractedPlan) -> Iterator[_Change]:
        """Yield changes that stop sharing one partition, those of later runs first. Its readers
        then pay for it or do something else."""
        for partition in sorted(best.used, key=lambda used: (-used[1], used[0])):
            yield _Change(less=frozenset({partition}))

    def _with_more(self, best: ExtractedPlan) -> Iterator[_Change]:
        """Yield changes that add all partitions of one chain."""
        for partitions in self._costliest_first(best.solution, best.worked).values():
            yield _Change(more=frozenset(partitions))

    def costliest_first(self, solution: Solution) -> Iterator[ChainId]:
        """Yield the chains that a solution could keep, those whose rows cost most to compute in the
        last run first."""
        return iter(self._costliest_first(solution, set()))

    def _costliest_first(
        self, solution: Solution, worked: set[tuple[int, GroupId]]
    ) -> dict[ChainId, set[Partition]]:
        """Return the chains with their partitions: first those of groups that the last run
        computes, and among them those that cost most there."""
        made: dict[ChainId, set[Partition]] = {}
        for index, chain_costs in enumerate(solution.chain_costs):
            for kept, chain_cost in chain_costs.items():
                if not chain_cost.goes_on:
                    made.setdefault(kept, set()).add((kept, index))
        last = len(solution.spans) - 1
        at_the_end = {group for index, group in worked if index == last}
        entries = solution.made[last]

        def order(kept: ChainId) -> tuple[bool, int, ChainId]:
            slot = self._space.slots[kept[0]]
            entry = entries.get((slot.whole, (), False))
            cost = 0 if entry is None else entry.cost
            return (slot.whole not in at_the_end and slot.delta not in at_the_end, -cost, kept)

        return {kept: made[kept] for kept in sorted(made, key=order)}


def _cheaper(one: ExtractedPlan | None, other: ExtractedPlan | None) -> ExtractedPlan | None:
    """Return the cheaper of two plans, where None is no plan; the first one if they cost the
    same."""
    if one is None or other is None:
        return one or other
    return other if other.total < one.total else one
