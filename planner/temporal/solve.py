"""The temporal search: dynamic programming over (group, distribution, time point).

For a given set of opened runs and of kept snapshots, the cheapest way to have every group in
every run, each from the cheapest ways to have what it is made of (Tempura 6.2, equation 6). A
snapshot can be had as of this run or the last one; what is kept of it can be read in every later
run. The cost of a way is a weighted sum over the runs in which its parts are computed; with weights
that grow faster than any cost, the sum compares as the reverse-lexicographic vector does, so one
search serves both cost functions. Costs are integers.

Reading what is kept costs the making of its partitions too, but for those of which the caller says
that they are *shared*: made anyway, and paid for once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from planner.memo.memo import GroupId
from planner.temporal.cone import Cone
from planner.temporal.fill import Filler, Terms
from planner.temporal.space import Space, dated
from planner.temporal.tables import Kept, Partition, Solution, Table
from planner.temporal.ways import Span, Ways


class Solver:
    """``weights``: of the opened runs, integers. ``committed``: chains that the base run has, whose
    cost is spent. ``twins``: which chain holds the rows of another one too (a table that the query
    reads twice)."""

    def __init__(
        self,
        space: Space,
        ways: Ways,
        spans: tuple[Span, ...],
        weights: Mapping[int, int],
        committed: frozenset[Kept],
        twins: Mapping[Kept, Kept],
        terms: Terms,
    ) -> None:
        self._space = space
        self._spans = spans
        self._twins = twins
        self._filler = Filler(space, ways, spans, weights, committed, twins, terms)

    @property
    def evaluations(self) -> int:
        """How often a way was costed."""
        return self._filler.evaluations

    @cached_property
    def _cone(self) -> Cone:
        return Cone(self._space, self._twins)

    def forget(self) -> None:
        """Let go of what is listed once for all solutions; it will be listed again."""
        self._filler.forget()
        self.__dict__.pop("_cone", None)

    def solve(
        self,
        shared: frozenset[Partition] = frozenset(),
        near: Solution | None = None,
        allowed: frozenset[Kept] | None = None,
    ) -> Solution:
        """Fill the tables, run by run, groups in order. With a solution of other shared partitions
        at hand, only what differs is costed again. ``allowed``: the only chains that may be kept,
        beside the committed ones; None for any."""
        solution = Solution(self._spans, shared, allowed)
        if near is None or near.allowed != allowed:
            for index in range(len(self._spans)):
                for group in self._space.order:
                    self._filler.fill(solution, index, group)
            return solution
        differ: set[GroupId] = set()
        for index in range(len(self._spans)):
            differ = self._fill_again(solution, near, index, differ)
        return solution

    def _fill_again(
        self, at: Solution, near: Solution, index: int, differ: set[GroupId]
    ) -> set[GroupId]:
        """Take a run over from a near solution, but for what may differ in it: what pays for other
        partitions, what reads chains that ``differ`` since the run before, and what is above that,
        as far as it comes out different. Returns the groups whose chains do."""
        paid = {kept for kept, run in near.shared ^ at.shared if run == index}
        again = set().union(
            *(self._cone.payers.get(kept, ()) for kept in paid),
            *(self._cone.later.get(group, ()) for group in differ),
        )
        at.cells[index], at.made[index] = near.cells[index], near.made[index]
        at.links[index], at.longer[index] = near.links[index], near.longer[index]
        found: set[GroupId] = set()
        if not again:
            return found
        at.cells[index], at.made[index] = Table(near.cells[index].of), Table(near.made[index].of)
        at.links[index], at.longer[index] = dict(near.links[index]), dict(near.longer[index])
        for group in self._space.order:
            if group in again:
                chains = self._fill_one(at, near, index, group)
                if chains:
                    found.add(group)
                if chains or self._cells_differ(at, near, index, group):
                    again |= self._cone.above.get(group, set())
        return found

    def _fill_one(self, at: Solution, near: Solution, index: int, group: GroupId) -> bool:
        """Fill a group again; whether a chain that holds it differs."""
        # Without what is filled again: a way that is gone must not stay behind.
        owned = [chain.kept for chain in self._filler.owned(group)]
        for kept in owned:
            at.links[index].pop(kept, None)
            at.longer[index].pop(kept, None)
        self._filler.fill(at, index, group)
        return any(
            table.get(kept) != known.get(kept)
            for table, known in (
                (at.links[index], near.links[index]),
                (at.longer[index], near.longer[index]),
            )
            for kept in owned
        )

    def _cells_differ(self, at: Solution, near: Solution, index: int, group: GroupId) -> bool:
        """Whether a group came out different. What did not is taken over as it was."""
        differ = False
        for version in (group, dated(group, True)):
            for table, known in (
                (at.cells[index].of, near.cells[index].of),
                (at.made[index].of, near.made[index].of),
            ):
                if table.get(version) != known.get(version):
                    differ = True
                elif version in known:
                    table[version] = known[version]
        return differ
