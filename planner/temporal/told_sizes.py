"""Spark's static size estimate of the groups of a memo, by which it plans the user's own text."""

from __future__ import annotations

from collections.abc import Mapping

from forerun.planner.algebra.relational import Join, JoinKind, Relation
from forerun.planner.cost.operators import Size
from forerun.planner.cost.told_sizes import Files, told_bytes
from forerun.planner.memo.groups import GroupId
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference

ToldSides = tuple[Size, Size]
"""The sides of a join, as Spark knows them before it computes anything."""


class ToldSizes:
    """Spark's static size estimate, in bytes, of each group at one instant.

    The memo does not keep the text's join order, so an inner join of two tables that are both
    broadcast (below ``one_by_one`` bytes) is taken as large as its larger side. For a stage the
    order is known, and ``one_by_one`` is 0.
    """

    def __init__(self, memo: Memo, files: Mapping[str, Files], one_by_one: float = 0.0) -> None:
        self._memo = memo
        self._files = files
        self._one_by_one = one_by_one
        self._told: dict[GroupId, float] = {}

    def sides(self, join: Join) -> ToldSides:
        """Return the sides of a join over groups. Their rows, which nobody tells, are 1 each."""
        left, right = (Size(1.0, self._of(self._below(one))) for one in join.inputs)
        return left, right

    def _of(self, group: GroupId) -> float:
        waiting = [group]
        while waiting:
            at = waiting[-1]
            node = next(self._memo.alternatives(at)).node
            below = [self._below(one) for one in node.inputs]
            missing = [one for one in below if one not in self._told]
            waiting += missing
            if not missing:
                self._told[at] = self._of_node(node, tuple(self._told[one] for one in below))
                waiting.pop()
        return self._told[group]

    def _of_node(self, node: Relation, below: tuple[float, ...]) -> float:
        inner = isinstance(node, Join) and node.kind is JoinKind.INNER
        if inner and max(below) < self._one_by_one:
            return max(below)
        return told_bytes(node, below, self._files)

    def _below(self, given: Relation) -> GroupId:
        if not isinstance(given, Reference):
            raise TypeError(f"{given} is no reference")
        return self._memo.leader(given.group)
