"""The DP tables that the temporal search fills.

A *chain* is a snapshot that is kept run by run. Each run writes one *partition* of it: the run in
which the chain starts writes the whole snapshot, each later run appends the delta.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from forerun.planner.memo.groups import Expression, GroupId
from forerun.planner.memo.reference import Kept
from forerun.planner.temporal.as_of import GroupVersion, Span, group_of, group_version
from forerun.planner.temporal.physical import PhysicalAlternative
from forerun.planner.temporal.space import Key, Slot

ChainId = tuple[int, Key]
"""The index of a slot, and the key by which its rows are distributed."""
Partition = tuple[ChainId, int]
"""A chain, and the index of the opened run that writes this partition of it."""


class How(StrEnum):
    """The way in which an entry gets its rows. ``EXPRESSION``: by computing an expression.
    ``MOVED``: by shuffling the group's cheapest entry. ``READ``: by reading a chain. ``ADDED``: by
    reading a chain up to the last run and adding this run's delta. ``SPLIT``: from the step group
    that gives the old rows and what came. ``EMPTY``: there are none, since nothing has come that
    they could be made of."""

    EXPRESSION = "expression"
    MOVED = "moved"
    READ = "read"
    ADDED = "added"
    SPLIT = "split"
    EMPTY = "empty"


class DpEntry(NamedTuple):
    """The cheapest way to have a group in a run, for one distribution.

    ``cost`` is weighted and includes the inputs; ``own`` is what the entry adds to them in its run,
    unweighted, in millionths of a CPU second. ``hashed`` says that the join builds a hash table,
    ``placed`` that the rows have their distribution without a shuffle in this run. ``moved`` is the
    entry that is shuffled. ``kept`` is the chain that is read, and ``slot`` tells its columns as
    this group has them. ``added`` is the delta that is added to the chain, or the step group of a
    split.
    """

    cost: int
    how: How
    own: int = 0
    expression: Expression | None = None
    alternative: PhysicalAlternative | None = None
    hashed: bool = False
    kept: ChainId | None = None
    placed: bool = False
    moved: DpEntry | None = None
    slot: Slot | None = None
    added: GroupId = -1

    @property
    def reads_before(self) -> bool:
        """Return whether the entry reads all rows that the run before has kept of a group."""
        return self.expression is not None and isinstance(self.expression.node, Kept)


@dataclass(frozen=True, slots=True)
class ChainTerms:
    """The limits on what chains may do.

    Without ``keeping`` nothing is kept, and without ``rewrites`` the query is computed as it was
    written, too, as batch does.
    ``late`` says whether a chain may also start in an early run that is not the first one.
    ``read_only`` are the committed chains that are read and never appended to, since another report
    keeps them, or they were kept in another form.
    """

    keeping: bool = True
    rewrites: bool = True
    late: bool = True
    read_only: frozenset[ChainId] = frozenset()


class ChainCost(NamedTuple):
    """The cost of a chain up to a run. ``charge`` is what a reader pays for it: the weighted cost
    of all partitions that are not shared. ``cost`` is the same as if this run's partition were not
    shared. ``start`` says that this run's partition is the whole snapshot; ``own`` is the
    unweighted cost of writing it. ``goes_on``: it writes none, since its step adds nothing."""

    cost: int
    charge: int
    start: bool
    own: int
    goes_on: bool = False


EntryKey = tuple[GroupId, Key, bool]
"""A group, its distribution, and whether it is as of the last run rather than this one."""


class DpTable(Mapping[EntryKey, DpEntry]):
    """The entries of one run. ``of`` maps a group version to the entries of the group by
    distribution; a solution takes these over from another one group by group."""

    __slots__ = ("of",)

    def __init__(self, of: Mapping[GroupVersion, dict[Key, DpEntry]] | None = None) -> None:
        self.of: dict[GroupVersion, dict[Key, DpEntry]] = dict(of or {})

    def __getitem__(self, place: EntryKey) -> DpEntry:
        return self.of[group_version(place[0], place[2])][place[1]]

    def __iter__(self) -> Iterator[EntryKey]:
        for version, entries in self.of.items():
            for key in entries:
                group, before = group_of(version)
                yield group, key, before

    def __len__(self) -> int:
        return sum(len(entries) for entries in self.of.values())


class Solution:
    """The result of one search: one item per opened run in each of the lists.

    ``entries`` are the cheapest entries, ``made`` the cheapest of those that compute an expression
    of the group, shuffled where needed, and ``chain_costs`` the cheapest chains. ``extended`` has
    the cheapest chain that extends an older one where starting anew is no dearer, because readers
    of a delta need the appended partition. ``shared`` are the partitions that readers need not pay
    for; ``allowed`` are the chains that may be kept besides the committed ones, None for any.
    """

    def __init__(
        self,
        spans: tuple[Span, ...],
        shared: frozenset[Partition],
        allowed: frozenset[ChainId] | None = None,
    ) -> None:
        self.spans = spans
        self.shared = shared
        self.allowed = allowed
        self.entries = [DpTable() for _ in spans]
        self.made = [DpTable() for _ in spans]
        self.chain_costs: list[dict[ChainId, ChainCost]] = [{} for _ in spans]
        self.extended: list[dict[ChainId, ChainCost]] = [{} for _ in spans]

    def appended(self, index: int, kept: ChainId) -> ChainCost | None:
        """Return the cost of the chain to which the run at this index appends its delta; None if it
        does not append to it."""
        chain_cost = self.chain_costs[index].get(kept)
        return (
            self.extended[index].get(kept)
            if chain_cost is not None and chain_cost.start
            else chain_cost
        )

    def with_extended(self, partitions: Iterable[Partition]) -> Solution:
        """Return a copy in which the chains at these partitions go on instead of starting anew. It
        shares its DP entries with this solution."""
        other = Solution(self.spans, self.shared, self.allowed)
        other.entries, other.made, other.extended = self.entries, self.made, self.extended
        other.chain_costs = [dict(chain_costs) for chain_costs in self.chain_costs]
        for kept, index in partitions:
            other.chain_costs[index][kept] = self.extended[index][kept]
        return other
