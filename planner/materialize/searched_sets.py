"""The sets of opened runs that were searched one after the other, and what of them is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forerun.planner.materialize.candidate import Candidate, in_order
from forerun.planner.materialize.sharing import GreedySharing
from forerun.planner.temporal.as_of import Span, in_common
from forerun.planner.temporal.listed import Listed
from forerun.planner.temporal.solution import Solution
from forerun.planner.temporal.solve import Solver


@dataclass(frozen=True, slots=True)
class Searched:
    """A set of opened runs, with the search for its best plan."""

    opened: tuple[int, ...]
    search: GreedySharing
    solver: Solver


@dataclass(frozen=True, slots=True)
class Begun:
    """The first result of a search, from which searches that begin with the same runs go on."""

    size: int
    listed: Listed
    root: Solution


class SearchedSets:
    """Sets of opened runs and their searches, the smallest sets first."""

    def __init__(self) -> None:
        self._searched: dict[tuple[int, ...], Searched] = {}
        self._begun: list[Begun] = []

    def __iter__(self) -> Iterator[Searched]:
        return iter(self._searched.values())

    def of(self, opened: tuple[int, ...]) -> Searched:
        """Return the search of these runs."""
        return self._searched[opened]

    def add(self, one: Searched) -> None:
        """Add a set whose first plan was searched for. What sets of its size and of the size before
        begin with is kept for the next ones: they most often open the same runs and one more."""
        size = len(one.opened)
        self._searched[one.opened] = one
        self._begun = [begun for begun in self._begun if begun.size >= size - 1]
        if one.search.root is not None:
            self._begun.append(Begun(size, one.solver.listed, one.search.root))

    def nearest(self, spans: tuple[Span, ...]) -> Begun | None:
        """Return what was found for the set that begins with the most of the same steps."""
        return max(
            self._begun,
            key=lambda begun: in_common(begun.listed.spans, spans),
            default=None,
        )

    def lean(self, found: list[Candidate], batch: Candidate | None) -> list[Candidate]:
        """Drop the DP tables of all candidates but the leading ones: for hundreds of joins, the
        tables of one set of opened runs take tens of megabytes."""
        ranked = sorted(found, key=in_order)
        keeping = [one for one in ranked if one.keeps]
        worth = [one for one in keeping if batch is not None and one.is_worth_it(batch)]
        leading = [group[0].opened for group in (ranked, keeping, worth) if group]
        for searched in self:
            if searched.opened not in leading:
                searched.search.forget()
        return [one if one.opened in leading else one.without_tables() for one in found]
