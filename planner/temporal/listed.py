"""The alternatives of each group in each run, listed once for all solutions of the dynamic program.

None of it depends on the shared partitions, and what a run may do depends on it and on the opened
runs before it only. So sets of opened runs that begin alike share their lists.
"""

from __future__ import annotations

from typing import NamedTuple

from forerun.planner.memo.groups import Expression, GroupId
from forerun.planner.temporal.alternatives import ResolvedAlternative
from forerun.planner.temporal.as_of import GroupVersion, Span, in_common
from forerun.planner.temporal.solution import ChainId
from forerun.planner.temporal.space import Key, Slot


class HeldChain(NamedTuple):
    """A chain that holds a slot's rows, as a group reads it. ``kept`` is its id, which differs from
    slot and ``key`` if a twin holds the rows. ``now`` says that this run's partition of it is
    costed before the group is."""

    slot: Slot
    key: Key
    kept: ChainId
    now: bool


class ChainRead(NamedTuple):
    """A way to read a group from a chain. ``delivers`` is the distribution of the rows that are
    read, ``own`` the cost of reading them. ``added`` lists the groups that may be added to what
    earlier runs kept, each with the cost of reading and adding."""

    chain: HeldChain
    delivers: Key
    own: int
    placed: bool
    added: tuple[tuple[GroupId, int], ...]


class GroupLists(NamedTuple):
    """Everything that may be tried for a group in a run."""

    resolved: tuple[ResolvedAlternative, ...]
    stored: tuple[tuple[Expression, tuple[HeldChain, ...]], ...]
    reads: tuple[ChainRead, ...]


class Listed:
    """The lists shared by all solutions of one set of opened runs, given as ``spans``; each is made
    when it is first needed. ``runs`` holds the alternatives of each group in each run, and
    ``chains`` those that hold a slot's rows as a group reads them."""

    def __init__(self, spans: tuple[Span, ...]) -> None:
        self.spans = spans
        self.runs: list[dict[GroupVersion, GroupLists]] = [{} for _ in spans]
        self.chains: dict[tuple[int, GroupId], tuple[HeldChain, ...]] = {}

    def going_on(self, spans: tuple[Span, ...]) -> Listed:
        """Return the lists of another set of opened runs; it shares those of the runs that both
        begin with, since what a run may do depends on it and on those before it only."""
        other = Listed(spans)
        common = in_common(self.spans, spans)
        other.runs[:common] = self.runs[:common]
        other.chains = self.chains
        return other
