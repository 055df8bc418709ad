"""Join hints: what only the planner knows, that one side is in place and the other one small.

Spark sorts both sides of a join of two bucketed tables, because a bucket has a file per run. Where
one side fits in memory for sure, hashing it spares both sorts.
"""

from __future__ import annotations

from planner.algebra.predicates import split_condition
from planner.algebra.relational import (
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    StateRead,
    Version,
    walk,
)
from planner.cost import operators
from planner.cost.constants import HASH_SIDE_BYTES
from planner.temporal.assign import Choice, Mode
from planner.temporal.sizes import Sizes

HASH = "SHUFFLE_HASH"


def final_join_hint(
    choice: Choice, inputs: tuple[Relation, ...], sizes: Sizes, run: int
) -> dict[Relation, str]:
    """For a join in the final run whose big side is kept by the key: hash the small one."""
    node = choice.operator.relation
    if not isinstance(node, Join) or not split_condition(node)[0]:
        return {}
    left, right = (sizes.snapshot(i.operator, run) for i in choice.inputs)
    if operators.broadcast_side(node, left, right) is not None:
        return {}
    side = operators.hash_side(node, left, right)
    if side is None:
        return {}
    big = choice.inputs[1 - side]
    in_place = big.mode is Mode.KEPT and bool(big.key)
    return {inputs[side]: HASH} if in_place else {}


def delta_join_hints(relation: Relation, delta_bytes: float) -> dict[Relation, str]:
    """For joins of this run's partition with what is kept: hash the partition, if it is small."""
    if delta_bytes > HASH_SIDE_BYTES:
        return {}
    hints: dict[Relation, str] = {}
    for node in walk(relation):
        if not isinstance(node, Join) or node.kind not in (JoinKind.INNER, JoinKind.LEFT):
            continue
        left, right = _version(node.left), _version(node.right)
        if left is Version.DELTA and right in (Version.NEW, Version.OLD):
            hints[node.left] = HASH
        elif right is Version.DELTA and left in (Version.NEW, Version.OLD):
            hints[node.right] = HASH
    return hints


def _version(relation: Relation) -> Version | None:
    """The version of the family that a side reads row by row, None for anything else."""
    while isinstance(relation, Filter | Project):
        relation = relation.input
    return relation.version if isinstance(relation, StateRead) else None
