"""Which snapshots are kept: a greedy search over what several readers may share (Tempura 6.3).

The temporal search counts the making of a chain at each of its readers, so it finds what pays for
one reader alone. Here chains are shared: those that a plan uses are paid for once and then read for
nothing but the reading, so that others may find them worth reading too; and what no plan has used
so far is tried, one chain after another, as long as that makes the whole cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.temporal.chosen import Chosen, choose
from planner.temporal.solve import Kept, Solver
from planner.temporal.space import Space

ROUNDS = 6
"""Most rounds of sharing what the last plan used: it settles after two or three."""


class Search:
    """``tries``: the most solutions that the greedy part may ask for, counted over one search."""

    def __init__(
        self, space: Space, solver: Solver, weights: Mapping[int, int], tries: int
    ) -> None:
        self._space = space
        self._solver = solver
        self._weights = weights
        self._tries = tries
        self._seen: dict[frozenset[Kept], Chosen | None] = {}

    def best(self, seeds: Iterable[frozenset[Kept]] = ()) -> Chosen | None:
        """The cheapest plan found from nothing and from each of the seeds."""
        best: Chosen | None = None
        for seed in (frozenset[Kept](), *seeds):
            best = _cheaper(best, self._settled(seed))
        if best is None:
            return None
        for kept in sorted(self._candidates(best)):
            if self._tries <= 0:
                break
            self._tries -= 1
            found = self._settled(best.used | {kept})
            if found is not None and found.total < best.total:
                best = found
        return best

    def _settled(self, shared: frozenset[Kept]) -> Chosen | None:
        """Share what the plan uses until it uses what it shares."""
        best: Chosen | None = None
        for _ in range(ROUNDS):
            if shared in self._seen:
                return _cheaper(best, self._seen[shared])
            found = choose(self._space, self._solver.solve(shared), self._weights)
            self._seen[shared] = found
            best = _cheaper(best, found)
            if found is None or found.used == shared:
                break
            shared = found.used
        return best

    def _candidates(self, best: Chosen) -> set[Kept]:
        """Chains that could be made, and are not used."""
        made = {kept for links in best.solution.links for kept in links}
        return made - best.used


def _cheaper(one: Chosen | None, other: Chosen | None) -> Chosen | None:
    if one is None or other is None:
        return one or other
    return other if other.total < one.total else one
