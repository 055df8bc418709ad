"""The order that windows leave their rows in: one over another that is in the same order does not
sort them again, unless they were stored in between."""

from __future__ import annotations

from forerun.planner.algebra.relational import Filter, Project, Relation, SortKey, Window
from forerun.planner.algebra.scalar import Ref
from forerun.planner.algebra.types import Column
from forerun.planner.memo.groups import GroupId
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference

_Order = tuple[frozenset[Column], tuple[SortKey, ...]]
"""The partition and the order of a window."""


def is_in_order(memo: Memo, window: Window) -> bool:
    """Return whether a window reads rows that one below has put in the order of all its calls."""
    order = _order_of(window)
    if order is None or not isinstance(window.input, Reference):
        return False
    return _left_in(memo, window.input.group) == order


def is_read_in_order(memo: Memo, group: GroupId) -> bool:
    """Return whether a window reads rows of a group in the order that one below leaves them in:
    where they come from the store, it has to sort them."""
    waiting, seen = [memo.leader(group)], {memo.leader(group)}
    while waiting:
        for number in memo.group(waiting.pop()).parents:
            one = memo.expressions[number]
            if isinstance(one.node, Window) and not one.dropped and is_in_order(memo, one.node):
                return True
            above = memo.leader(one.group)
            if isinstance(one.node, Project | Filter) and not one.dropped and above not in seen:
                seen.add(above)
                waiting.append(above)
    return False


def _order_of(window: Window) -> _Order | None:
    """Return the order of all calls of a window; None of several: which is left is not known."""
    orders = {(frozenset(call.partition), call.order) for _, call in window.calls}
    return orders.pop() if len(orders) == 1 else None


def _left_in(memo: Memo, group: GroupId) -> _Order | None:
    """Return the order that a window leaves rows in, by the columns that are handed on."""
    node: Relation = next(memo.alternatives(group)).node
    if isinstance(node, Window):
        return _order_of(node)
    if not isinstance(node, Project | Filter) or not isinstance(node.input, Reference):
        return None
    below = _left_in(memo, node.input.group)
    if below is None or isinstance(node, Filter):
        return below
    names = {value.column: column for column, value in node.items if isinstance(value, Ref)}
    partition, order = below
    if not {*partition, *(key.column for key in order)} <= names.keys():
        return None
    renamed = (SortKey(names[key.column], key.ascending, key.nulls_first) for key in order)
    return frozenset(names[column] for column in partition), tuple(renamed)
