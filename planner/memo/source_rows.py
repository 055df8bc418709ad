"""Trace the rows of a group to rows of sources (:mod:`forerun.planner.props.source_rows`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from forerun.planner.algebra.relational import Version
from forerun.planner.memo.groups import Expression, GroupId
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference, StepLeaf
from forerun.planner.props.source_rows import SourceRows, source_rows_of, strongest


def source_rows(memo: Memo, given: Reference) -> SourceRows:
    """Return of which rows of sources the rows of a group are, as of this run or of the last one.

    What one expression of a group tells holds for the group. Of a snapshot the first one is asked,
    in which the query wrote it: the others are made of the same leaves. Of a delta all are, as one
    may tell more than another."""
    return _Walk(memo).of_group(memo.leader(given.group), given.before)


@dataclass(frozen=True, slots=True)
class _Walk:
    """A walk through a memo as it is now. ``known`` has nothing of a group that is being looked at,
    as a memo may have cycles."""

    memo: Memo
    known: dict[tuple[GroupId, bool], SourceRows] = field(default_factory=dict)

    def of_group(self, group: GroupId, before: bool) -> SourceRows:
        place = (group, before)
        if place not in self.known:
            self.known[place] = ()
            self.known[place] = strongest(
                row
                for expression in self._asked(group)
                for row in self._of_expression(expression, before)
            )
        return self.known[place]

    def _asked(self, group: GroupId) -> Iterator[Expression]:
        if self.memo.group(group).step:
            yield from self.memo.alternatives(group)
        else:
            yield next(self.memo.alternatives(group))

    def _of_expression(self, expression: Expression, before: bool) -> SourceRows:
        node, memo = expression.node, self.memo
        if isinstance(node, StepLeaf):
            return ()
        below = tuple(
            self.of_group(memo.leader(i.group), i.before or before) for i in expression.inputs
        )
        found = source_rows_of(node, below)
        if not before or expression.inputs:
            return found
        return tuple(replace(row, version=Version.OLD) for row in found)
