"""Merges a limit over a limit into one."""

from __future__ import annotations

from forerun.planner.algebra.relational import Limit, Relation
from forerun.planner.rules.normalize.rule import NormalizeContext, NormalizeRule


def _merge(node: Relation, _context: NormalizeContext) -> Relation | None:
    """``limit[n, offset o](limit[m, offset p](R))`` = ``limit[min(n, m - o), offset o + p](R)``.

    Both sides take the same rows, because the lower limit passes its rows on in order.
    """
    if not isinstance(node, Limit) or not isinstance(node.input, Limit):
        return None
    below = node.input
    counts = [] if node.count is None else [node.count]
    if below.count is not None:
        counts.append(max(below.count - node.offset, 0))
    return Limit(below.input, min(counts, default=None), node.offset + below.offset)


MERGE_LIMITS = NormalizeRule("MergeLimits", Limit, _merge)
