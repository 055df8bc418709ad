"""What has to be costed again where something differs: the groups above it, as far as they differ.

A group is made of others of the same run, and of chains: of those up to this run, and up to the
last one. So a difference spreads along two kinds of steps, and it ends where a group comes out the
same: where the dearer of two ways has become a little cheaper, nothing above it is looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from planner.memo.memo import GroupId
from planner.temporal.space import Slot, Space
from planner.temporal.tables import Kept


class Cone:
    """``above``: groups that are made of a group's rows or chains in the same run. ``later``: those
    that read in one run what a group's chains were in the run before. ``payers``: those whose cost
    depends on whether a chain's partition is paid for elsewhere."""

    def __init__(self, space: Space, twins: Mapping[Kept, Kept]) -> None:
        above: dict[GroupId, set[GroupId]] = defaultdict(set)
        later: dict[GroupId, set[GroupId]] = defaultdict(set)
        payers: dict[Kept, set[GroupId]] = defaultdict(set)
        self._space, self._twins = space, twins
        for group, parts in space.parts.items():
            for part in parts:
                above[part].add(group)
        for slot in space.slots:
            readers = {slot.whole, slot.snapshot}
            for kept in self._chains(slot):
                owner = space.slots[kept[0]].whole
                above[owner] |= readers
                later[owner] |= {*readers, slot.delta}
                payers[kept] |= {owner, slot.delta}
        for group in space.order:
            for owner in self._stamped_in(group):
                above[owner].add(group)
        self.above: Mapping[GroupId, set[GroupId]] = above
        self.later: Mapping[GroupId, set[GroupId]] = later
        self.payers: Mapping[Kept, set[GroupId]] = payers

    def _chains(self, slot: Slot) -> Iterable[Kept]:
        for key in self._space.keys[slot.index]:
            yield self._twins.get((slot.index, key), (slot.index, key))

    def _stamped_in(self, group: GroupId) -> Iterable[GroupId]:
        """The groups whose chains one is read from with the runs that wrote them."""
        for _, other in self._space.stamped.get(group, ()):
            for slot in self._space.by_whole.get(other, ()):
                for kept in self._chains(slot):
                    yield self._space.slots[kept[0]].whole
