"""Decides which groups have to be costed again when the shared partitions change.

A group is computed from others of the same run, and from chains up to this run or the last one. A
change spreads upward along both, and stops at every group whose entries come out the same, for
instance because only an alternative that was not chosen has become cheaper.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from forerun.planner.memo.groups import GroupId
from forerun.planner.memo.reference import Kept
from forerun.planner.temporal.solution import ChainId
from forerun.planner.temporal.space import Slot, Space


class Invalidation:
    """The reverse dependencies of a space.

    ``above`` maps a group to those that are computed from its rows or its chains in the same run;
    ``later`` to those that read its chains as of the previous run. ``payers`` maps a chain to the
    groups whose cost depends on whether its partition is shared.
    """

    def __init__(self, space: Space, twins: Mapping[ChainId, ChainId]) -> None:
        above: dict[GroupId, set[GroupId]] = defaultdict(set)
        later: dict[GroupId, set[GroupId]] = defaultdict(set)
        payers: dict[ChainId, set[GroupId]] = defaultdict(set)
        self._space, self._twins = space, twins
        for group, parts in space.parts.items():
            for part in parts:
                above[part].add(group)
        for slot in space.slots:
            readers = {slot.whole, slot.snapshot}
            for kept in self._chains(slot):
                owner = space.slots[kept[0]].whole
                above[owner] |= readers
                payers[kept].add(owner)
                later[owner] |= readers
                if slot.delta is not None:
                    later[owner].add(slot.delta)
                    payers[kept].add(slot.delta)
        for group in space.order:
            for owner, before in self._stored_in(group):
                (later if before else above)[owner].add(group)
        self.above: Mapping[GroupId, set[GroupId]] = above
        self.later: Mapping[GroupId, set[GroupId]] = later
        self.payers: Mapping[ChainId, set[GroupId]] = payers

    def _chains(self, slot: Slot) -> Iterable[ChainId]:
        for key in self._space.keys[slot.index]:
            yield self._twins.get((slot.index, key), (slot.index, key))

    def _stored_in(self, group: GroupId) -> Iterable[tuple[GroupId, bool]]:
        """Yield the groups whose chains a group reads as they lie: with the runs that wrote the
        rows, or what was kept before (true)."""
        for expression, other in self._space.stored.get(group, ()):
            before = isinstance(expression.node, Kept)
            for slot in self._space.by_whole.get(other, ()):
                if slot.replaced is before:
                    for kept in self._chains(slot):
                        yield self._space.slots[kept[0]].whole, before
