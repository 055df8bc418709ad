"""Conversions between operator trees and groups of a memo."""

from __future__ import annotations

from forerun.planner.algebra.relational import Relation, fold
from forerun.planner.memo.groups import GroupId
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference


def original(memo: Memo, group: GroupId, known: dict[GroupId, Relation] | None = None) -> Relation:
    """Return a group as an operator tree, taking the first expression of every group: the form in
    which the query, or the rule that found the group, wrote it.

    ``known`` caches trees between calls and is added to; it is valid while the memo is unchanged.
    """
    done = {} if known is None else known
    stack = [memo.leader(group)]
    while stack:
        current = stack[-1]
        if current in done:
            stack.pop()  # what is given for a group stays the same object
            continue
        node = next(memo.alternatives(current)).node
        below = [memo.leader(i.group) for i in node.inputs if isinstance(i, Reference)]
        missing = [g for g in below if g not in done]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        inputs = tuple(done[g] for g in below)
        done[current] = node.with_inputs(inputs) if inputs else node
    return done[memo.leader(group)]


def groups_of(memo: Memo, relation: Relation) -> dict[int, GroupId]:
    """Return the group of every node of a tree that is in the memo, by the node's identity.

    Raises :class:`ValueError` if some node is not: who reads a memo does not add to it."""
    found: dict[int, GroupId] = {}

    def of_node(node: Relation, inputs: tuple[GroupId, ...]) -> GroupId:
        below = tuple(memo.reference(group) for group in inputs)
        group = memo.find(node.with_inputs(below) if below else node)
        if group is None:
            raise ValueError(f"{node} is in no group of the memo")
        found[id(node)] = group
        return group

    fold(relation, of_node)
    return found
