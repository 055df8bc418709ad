"""The tables that the temporal search fills: what it found best, and of what.

A *chain* is a snapshot that is kept run by run: it starts with the whole in some run, and each
later run appends its delta, a *partition* of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from planner.memo.memo import Expression, GroupId
from planner.temporal.space import Dated, Key, Slot, dated
from planner.temporal.ways import Span, Way

Kept = tuple[int, Key]
"""A slot, by index, and how its rows are distributed."""
Partition = tuple[Kept, int]
"""A chain, and the index of the opened run that writes this partition of it."""


class How(StrEnum):
    """``EXPRESSION`` computed; ``MOVED`` shuffled from the group's own best; ``READ`` whole from
    what is kept up to the run; ``ADDED`` what was kept, and this run's delta in place; ``SPLIT``
    as a step, from what there was and what came."""

    EXPRESSION = "expression"
    MOVED = "moved"
    READ = "read"
    ADDED = "added"
    SPLIT = "split"


class Cell(NamedTuple):
    """The best way to have a group. ``own``: what it adds to its parts in this run, not weighted.
    ``placed``: the rows are in place, without a shuffle in this run. ``moved``: what is shuffled.
    ``slot``: what is read of ``kept``, by the columns of this group; ``added``: the delta that is
    added to it in place, or the step that is split.
    """

    cost: int
    how: How
    own: int = 0
    expression: Expression | None = None
    way: Way | None = None
    hashed: bool = False
    kept: Kept | None = None
    placed: bool = False
    moved: Cell | None = None
    slot: Slot | None = None
    added: GroupId = -1


class Link(NamedTuple):
    """A chain up to a run: ``charge``: the cost of all partitions that are not shared, weighted;
    ``cost``: the same, as if this run's were not shared; ``start``: this run's partition is the
    whole; ``own``: of writing it."""

    cost: int
    charge: int
    start: bool
    own: int


Place = tuple[GroupId, Key, bool]
"""A group, its distribution, and whether it is as of the last run."""


class Table(Mapping[Place, Cell]):
    """The cells of one run. They are found, and taken over from one solution by the next, by
    dated group: ``of``."""

    __slots__ = ("of",)

    def __init__(self, of: Mapping[Dated, dict[Key, Cell]] | None = None) -> None:
        self.of: dict[Dated, dict[Key, Cell]] = dict(of or {})

    def __getitem__(self, place: Place) -> Cell:
        return self.of[dated(place[0], place[2])][place[1]]

    def __iter__(self) -> Iterator[Place]:
        for version, cells in self.of.items():
            for key in cells:
                yield (~version, key, True) if version < 0 else (version, key, False)

    def __len__(self) -> int:
        return sum(len(cells) for cells in self.of.values())


class Solution:
    """Tables of one search: cells by run index and (group, key, before), those that are ``made`` of
    expressions apart; chains by run index.
    ``shared``: the partitions that it takes for made; ``allowed``: the chains it may keep, None for
    any. ``longer``: where a chain had better start anew, the best one that goes on, for readers
    that ask for what a run has appended."""

    def __init__(
        self,
        spans: tuple[Span, ...],
        shared: frozenset[Partition],
        allowed: frozenset[Kept] | None = None,
    ) -> None:
        self.spans = spans
        self.shared = shared
        self.allowed = allowed
        self.cells = [Table() for _ in spans]
        self.made = [Table() for _ in spans]
        self.links: list[dict[Kept, Link]] = [{} for _ in spans]
        self.longer: list[dict[Kept, Link]] = [{} for _ in spans]

    def appended(self, index: int, kept: Kept) -> Link | None:
        """The best chain to which the run appends a partition; None if there is none."""
        link = self.links[index].get(kept)
        return self.longer[index].get(kept) if link is not None and link.start else link

    def with_longer(self, partitions: Iterable[Partition]) -> Solution:
        """The same with the longer chains at these partitions."""
        other = Solution(self.spans, self.shared, self.allowed)
        other.cells, other.made, other.longer = self.cells, self.made, self.longer
        other.links = [dict(links) for links in self.links]
        for kept, index in partitions:
            other.links[index][kept] = self.longer[index][kept]
        return other
