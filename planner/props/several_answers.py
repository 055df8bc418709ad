"""Queries to which SQL itself has several right answers, and by what.

A row number among rows that tie, the first value of a group, an approximate percentile: which row
is taken is left open, and the same engine takes another one with other files or other partitions.
Where two results of such a query differ, neither need be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forerun.planner.algebra.aggregates.functions import answer_of, is_aggregate, is_by_order
from forerun.planner.algebra.aggregates.record import Answer
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Limit,
    Relation,
    Sort,
    Window,
    WindowCall,
    walk,
)
from forerun.planner.props.keys import NamedKeys, is_key, keys
from forerun.planner.props.lists import determine_lists
from forerun.planner.props.repeatable import RANKS


def several_answers(relation: Relation, source_keys: NamedKeys) -> tuple[str, ...]:
    """Return, each in a few words, what of a query leaves open which answer is given. A LIMIT is
    named wherever rows may tie at its cut. ``source_keys`` are the declared keys by source: an
    order that has a key in it leaves nothing open."""
    return tuple(dict.fromkeys(_all(determine_lists(relation), source_keys)))


def _all(relation: Relation, source_keys: NamedKeys) -> Iterator[str]:
    for node in walk(relation):
        if isinstance(node, Aggregate):
            yield from _of_calls(call for _, call in node.calls)
        elif isinstance(node, Window):
            for _, call in node.calls:
                if _is_open(call, node, source_keys):
                    yield f"{call.name} OVER an order in which rows may tie"
        elif isinstance(node, Limit) and node.count != 0:
            below = node.input
            order = below.keys if isinstance(below, Sort) else ()
            ids = {key.column.id for key in order}
            if not ids >= {c.id for c in below.columns} and not is_key(
                ids, keys(below, source_keys)
            ):
                yield "LIMIT over an order in which rows may tie"


def _of_calls(calls: Iterable[AggregateCall]) -> Iterator[str]:
    for call in calls:
        if is_by_order(call.name) and answer_of(call) is not Answer.BAG:
            yield f"{call.name}, which depends on the order in which rows come"


def _is_open(call: WindowCall, node: Window, source_keys: NamedKeys) -> bool:
    if call.name in RANKS:
        return False
    whole = is_aggregate(call.name) and not is_by_order(call.name) and not call.frame
    if whole:
        return False  # all rows of the partition, or of those up to the last that ties
    ids = {key.column.id for key in call.order} | {column.id for column in call.partition}
    return not is_key(ids, keys(node.input, source_keys))
