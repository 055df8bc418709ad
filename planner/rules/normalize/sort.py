"""Removes sorts whose order has no effect on the result, and merges limits."""

from __future__ import annotations

from forerun.planner.algebra.relational import Filter, Limit, Project, Relation, Sort
from forerun.planner.rules.normalize.rule import NormalizeContext, NormalizeRule


def without_inner_sorts(relation: Relation) -> Relation:
    """``op(sort(R))`` = ``op(R)`` for every operator that does not preserve its input's order.

    Joins, aggregates, unions, windows and outer sorts do not depend on the order of their input. A
    sort stays under a Limit, where it decides which rows there are, and at the top of the query,
    where it decides how they are shown; projections and filters may stand between.
    """
    done: dict[tuple[int, bool], Relation] = {}
    stack: list[tuple[Relation, bool, bool]] = [(relation, True, False)]
    while stack:
        node, is_seen, ready = stack.pop()
        place = (id(node), is_seen)
        below = _hands_on(node, is_seen)
        if not ready:
            if place not in done:
                stack.append((node, is_seen, True))
                stack.extend((child, below, False) for child in node.inputs)
            continue
        inputs = tuple(done[id(child), below] for child in node.inputs)
        if isinstance(node, Sort) and not is_seen:
            done[place] = inputs[0]
        else:
            same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            done[place] = node if same else node.with_inputs(inputs)
    return done[id(relation), True]


def _hands_on(node: Relation, is_seen: bool) -> bool:
    """Return whether the order of the node's input matters; ``is_seen`` says if that of its output
    does."""
    return isinstance(node, Limit) or (is_seen and isinstance(node, Project | Filter))


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
