"""The temporal search: dynamic programming over (group, distribution, time point).

For a given set of opened runs, it finds the cheapest way to have every group in every run, each
from the cheapest ways to have its inputs (Tempura 6.2, equation 6). A snapshot can be had as of
this run or the last one; what is kept of it can be read in every later run. The cost of an entry is
the weighted sum, over the runs, of what its parts cost there. With weights that grow faster than
any cost, the sum orders plans as the reverse-lexicographic vector does, so one search serves both
cost functions. Costs are integers.

Who reads a chain also pays for making its partitions, except for those that the caller declares
*shared*: they are made in any case, and paid for once.
"""

from __future__ import annotations

from functools import cached_property

from forerun.planner.memo.groups import GroupId
from forerun.planner.temporal.as_of import group_version, in_common
from forerun.planner.temporal.group_costs import DpProblem, GroupCosts
from forerun.planner.temporal.invalidation import Invalidation
from forerun.planner.temporal.listed import Listed
from forerun.planner.temporal.solution import ChainId, DpTable, Partition, Solution


class Solver:
    """Solves the dynamic program of a problem, for one set of shared partitions after another.
    ``near`` is what a solver of the same problem has listed for other opened runs."""

    def __init__(self, problem: DpProblem, near: Listed | None = None) -> None:
        self._space = problem.space
        self._spans = problem.spans
        self._twins = problem.twins
        self._group_costs = GroupCosts(problem, near)

    @property
    def evaluations(self) -> int:
        """Return how many alternatives were costed so far."""
        return self._group_costs.evaluations

    @property
    def listed(self) -> Listed:
        """Return the lists of alternatives that have been made so far."""
        return self._group_costs.listed

    @cached_property
    def _invalidation(self) -> Invalidation:
        return Invalidation(self._space, self._twins)

    def forget(self) -> None:
        """Drop what is cached for all solutions, to free memory. It is made again when it is
        needed."""
        self._group_costs.forget()
        self.__dict__.pop("_invalidation", None)

    def solve(
        self,
        shared: frozenset[Partition] = frozenset(),
        near: Solution | None = None,
        allowed: frozenset[ChainId] | None = None,
    ) -> Solution:
        """Fill the DP tables, run by run, each group after its parts.

        If ``near`` is a solution with the same ``allowed`` chains, perhaps for other shared
        partitions or other opened runs, then in the runs that both begin with only what differs
        from it is costed again. ``allowed`` are the only chains that may be kept besides the
        committed ones; None allows any.
        """
        solution = Solution(self._spans, shared, allowed)
        common = 0
        if near is not None and near.allowed == allowed:
            common, differ = in_common(self._spans, near.spans), set[GroupId]()
            for index in range(common):
                differ = self._fill_again(solution, near, index, differ)
        for index in range(common, len(self._spans)):
            for group in self._space.order:
                self._group_costs.fill(solution, index, group)
        return solution

    def _fill_again(
        self, at: Solution, near: Solution, index: int, differ: set[GroupId]
    ) -> set[GroupId]:
        """Take over one run from a near solution and cost again only what may differ in it: the
        groups that pay for other partitions now, the groups that read chains which ``differ`` since
        the previous run, and the groups above those, as long as entries change. Returns the groups
        whose chains changed."""
        paid = {kept for kept, run in near.shared ^ at.shared if run == index}
        again = set().union(
            *(self._invalidation.payers.get(kept, ()) for kept in paid),
            *(self._invalidation.later.get(group, ()) for group in differ),
        )
        at.entries[index], at.made[index] = near.entries[index], near.made[index]
        at.chain_costs[index], at.extended[index] = near.chain_costs[index], near.extended[index]
        found: set[GroupId] = set()
        if not again:
            return found
        at.entries[index], at.made[index] = (
            DpTable(near.entries[index].of),
            DpTable(near.made[index].of),
        )
        at.chain_costs[index], at.extended[index] = (
            dict(near.chain_costs[index]),
            dict(near.extended[index]),
        )
        for group in self._space.order:
            if group in again:
                chains = self._fill_one(at, near, index, group)
                if chains:
                    found.add(group)
                if chains or self._entries_differ(at, near, index, group):
                    again |= self._invalidation.above.get(group, set())
        return found

    def _fill_one(self, at: Solution, near: Solution, index: int, group: GroupId) -> bool:
        """Cost a group again; return whether the cost of a chain that it owns changed."""
        # Remove the old costs first: a chain that is no longer possible must not stay behind.
        owned = [chain.kept for chain in self._group_costs.owned(group)]
        for kept in owned:
            at.chain_costs[index].pop(kept, None)
            at.extended[index].pop(kept, None)
        self._group_costs.fill(at, index, group)
        return any(
            table.get(kept) != known.get(kept)
            for table, known in (
                (at.chain_costs[index], near.chain_costs[index]),
                (at.extended[index], near.extended[index]),
            )
            for kept in owned
        )

    def _entries_differ(self, at: Solution, near: Solution, index: int, group: GroupId) -> bool:
        """Return whether the entries of a group changed. Unchanged ones are replaced by the near
        solution's objects, to share memory."""
        differ = False
        for version in (group, group_version(group, True)):
            for table, known in (
                (at.entries[index].of, near.entries[index].of),
                (at.made[index].of, near.made[index].of),
            ):
                if table.get(version) != known.get(version):
                    differ = True
                elif version in known:
                    table[version] = known[version]
        return differ
