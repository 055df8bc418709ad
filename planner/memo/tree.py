"""From groups back to trees."""

from __future__ import annotations

from planner.algebra.relational import Relation
from planner.memo.memo import GroupId, Memo
from planner.memo.reference import Reference


def original(memo: Memo, group: GroupId) -> Relation:
    """A group as the query, or the rule that found the group, wrote it: by first expressions."""
    done: dict[GroupId, Relation] = {}
    stack = [memo.leader(group)]
    while stack:
        current = stack[-1]
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
