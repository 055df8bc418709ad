"""Choose the side of a join that a run computes and counts first, and is then expected to
broadcast."""

from __future__ import annotations

from collections.abc import Sequence

from forerun.planner.algebra.relational import Join, Project
from forerun.planner.cost.operators import Size
from forerun.planner.cost.prices import Prices
from forerun.planner.cost.small_sides import sent_table, small_side, tells_size
from forerun.planner.memo.groups import GroupId
from forerun.planner.memo.memo import Memo


def counted_side(
    memo: Memo, join: Join, groups: Sequence[GroupId], sizes: Sequence[Size], prices: Prices
) -> int | None:
    """Return that input of a join over these groups, if the prices are of such runs."""
    if not prices.counts_sides:
        return None
    known = has_known_size(memo, groups[0]), has_known_size(memo, groups[1])
    both = sizes[0], sizes[1]
    side = small_side(join, both, known, prices)
    if side is None:
        return sent_table(join, both, known, prices)
    return None if sizes[side].bytes >= prices.counted_bytes else side


def has_known_size(memo: Memo, group: GroupId) -> bool:
    """Return whether the engine can tell the size of a group, as of a relation
    (:func:`forerun.planner.stages.small_sides.is_known`)."""
    seen: set[GroupId] = set()
    waiting = [memo.leader(group)]
    while waiting:
        group = waiting.pop()
        if group in seen:
            continue
        seen.add(group)
        for expression in memo.alternatives(group):
            node = expression.node
            if tells_size(node):
                return True
            if isinstance(node, Project):
                waiting.append(memo.leader(expression.inputs[0].group))
    return False
