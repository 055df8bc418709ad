"""What stays as it was from one run to the next, so that nothing has to be done for it.

A source that does not grow never changes, and one that is complete changes no more: from there on
it is static (Tempura 5.4, step 3). Of the step to the run that is planned it is known, by the pins,
which sources have brought nothing. Of later steps it is a forecast; a wrong one makes estimates
wrong and no rows, since each run is planned anew when its own pins are known.
"""

from __future__ import annotations

from forerun.planner.algebra.relational import Relation, sources
from forerun.planner.memo.groups import GroupId
from forerun.planner.memo.reference import Reference
from forerun.planner.memo.tree import original
from forerun.planner.props.emptiness import is_empty
from forerun.planner.temporal.as_of import Span
from forerun.planner.temporal.group_sizes import GroupSizes
from forerun.planner.temporal.space import Slot, Space


class Unchanged:
    """Tells, for each step, which sources, snapshots and chains it leaves as they were, and which
    groups of it have no rows."""

    def __init__(self, space: Space, group_sizes: GroupSizes) -> None:
        self._space = space
        self._memo = space.memo
        self._group_sizes = group_sizes
        self._sources_in: dict[Span, frozenset[str]] = {}
        self._read: dict[GroupId, frozenset[str]] = {}
        self._relations: dict[GroupId, Relation] = {}
        self._empty: dict[frozenset[str], frozenset[GroupId]] = {}

    def sources(self, span: Span) -> frozenset[str]:
        """Return the growing sources that bring nothing in a step."""
        known = self._sources_in.get(span)
        if known is None:
            known = self._sources_in[span] = frozenset(
                name
                for name in self._memo.changing
                if self._group_sizes.is_unchanged(name, span.base, span.run)
            )
        return known

    def is_same(self, group: GroupId, span: Span) -> bool:
        """Return whether a snapshot has the same rows at the beginning and at the end of a step."""
        if group in self._space.static:
            return True
        unchanged = self.sources(span)
        return bool(unchanged) and self._growing_in(group) <= unchanged

    def goes_on(self, slot: Slot, span: Span) -> bool:
        """Return whether a step adds nothing to a chain, which is read on as it is."""
        return self.is_same(slot.tvr.new, span)

    def is_empty(self, group: GroupId, span: Span) -> bool:
        """Return whether a group that depends on the step has no rows in it."""
        unchanged = self.sources(span)
        if not unchanged:
            return False
        if unchanged not in self._empty:
            self._empty[unchanged] = self._without_rows(unchanged)
        return group in self._empty[unchanged]

    def _growing_in(self, group: GroupId) -> frozenset[str]:
        """Return the growing sources that a snapshot is made of."""
        if group not in self._read:
            relation = original(self._memo, group, self._relations)
            self._read[group] = sources(relation) & self._memo.changing
        return self._read[group]

    def _without_rows(self, unchanged: frozenset[str]) -> frozenset[GroupId]:
        """Return the groups of the space that have no rows in a step that leaves these sources as
        they were. All expressions of a group give the same rows, so one that has none is enough."""
        found: set[GroupId] = set()
        for group in self._space.order:
            if group not in self._space.steps:
                continue
            for expression in self._memo.alternatives(group):
                inputs = tuple(
                    isinstance(given, Reference) and self._memo.leader(given.group) in found
                    for given in expression.node.inputs
                )
                if is_empty(expression.node, inputs, unchanged):
                    found.add(group)
                    break
        return frozenset(found)
