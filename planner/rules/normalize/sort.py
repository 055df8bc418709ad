"""Sorts that nothing can see are dropped."""

from __future__ import annotations

from planner.algebra.relational import Filter, Limit, Project, Relation, Sort


def without_inner_sorts(relation: Relation) -> Relation:
    """``op(sort(R))`` = ``op(R)`` for every operator that does not hand on its input's order.

    The order of a bag has no meaning to joins, aggregates, unions, windows and outer sorts. A sort
    stays under a Limit and at the top of the query, also with projections and filters between:
    there it decides which rows there are, or how they are shown.
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
    """True if the order of the node's input matters."""
    return isinstance(node, Limit) or (is_seen and isinstance(node, Project | Filter))
