"""Find out whether a query ends in a LIMIT, and by which columns of the result its rows were
ordered."""

from __future__ import annotations

from forerun.include.verify.equality import Cut, OrderKey
from forerun.planner.algebra.relational import Limit, Project, Relation, Sort
from forerun.planner.algebra.scalar import Ref
from forerun.planner.algebra.types import ColumnId


def find_cut(relation: Relation) -> Cut | None:
    """The cut of a query's result, None if all rows are in it.

    A sort key that the result does not show ends the list: what is behind it cannot be told.
    """
    shown = {column.id: i for i, column in enumerate(relation.columns)}
    limited = skips = False
    node = relation
    while True:
        if isinstance(node, Limit):
            limited, skips, node = True, skips or node.offset > 0, node.input
        elif isinstance(node, Project):
            shown = _through(node, shown)
            node = node.input
        else:
            break
    if not limited:
        return None
    return Cut(_keys(node, shown) if isinstance(node, Sort) else (), skips=skips)


def _through(node: Project, shown: dict[ColumnId, int]) -> dict[ColumnId, int]:
    """Positions of the input's columns that the projection hands on as they are."""
    below: dict[ColumnId, int] = {}
    for column, value in node.items:
        if isinstance(value, Ref) and column.id in shown:
            below.setdefault(value.column.id, shown[column.id])
    return below


def _keys(node: Sort, shown: dict[ColumnId, int]) -> tuple[OrderKey, ...]:
    keys: list[OrderKey] = []
    for key in node.keys:
        if key.column.id not in shown:
            break
        keys.append(OrderKey(shown[key.column.id], key.ascending, key.nulls_first))
    return tuple(keys)
