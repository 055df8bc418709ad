"""From trees to groups, and back."""

from __future__ import annotations

from planner.algebra.relational import Relation, fold
from planner.memo.memo import GroupId, Memo
from planner.memo.reference import Reference


def original(memo: Memo, group: GroupId, known: dict[GroupId, Relation] | None = None) -> Relation:
    """A group as the query, or the rule that found the group, wrote it: by first expressions.
    ``known``: other groups of the memo, if nothing has been added to it since; it is added to."""
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
    """The group of every node of a tree, by the node's identity."""
    found: dict[int, GroupId] = {}

    def of_node(node: Relation, inputs: tuple[GroupId, ...]) -> GroupId:
        below = tuple(memo.reference(group) for group in inputs)
        found[id(node)] = memo.add(node.with_inputs(below) if below else node)
        return found[id(node)]

    fold(relation, of_node)
    return found
