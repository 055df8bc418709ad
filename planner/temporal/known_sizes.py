"""Of which groups an engine can tell the size by itself."""

from __future__ import annotations

from planner.algebra.relational import Aggregate, Project, Scan, Values
from planner.memo.memo import GroupId, Memo
from planner.memo.reference import BorrowedRows


def has_known_size(memo: Memo, group: GroupId) -> bool:
    """Return whether a group is a table as it lies, constant rows or the one row of an aggregate
    without keys, or computed from such row by row."""
    seen: set[GroupId] = set()
    waiting = [memo.leader(group)]
    while waiting:
        group = waiting.pop()
        if group in seen:
            continue
        seen.add(group)
        for expression in memo.alternatives(group):
            node = expression.node
            if isinstance(node, Scan | Values | BorrowedRows):
                return True
            if isinstance(node, Aggregate) and not node.keys:
                return True
            if isinstance(node, Project):
                waiting.append(memo.leader(expression.inputs[0].group))
    return False
