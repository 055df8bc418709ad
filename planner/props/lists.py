"""Lists of a group of which the order of the elements does not matter.

``collect_set(x)`` gives the values of a group in an order that nothing decides. Where every use of
the list comes out the same in whatever order the elements are (``array_sort(collect_set(x))``,
``size(collect_set(x))``), the values alone decide, as they do where a text is joined of texts in
their own order (``listagg(x) WITHIN GROUP (ORDER BY x)``). Such a list is *determined*: it is
computed in the order of its values, so that it is the same list however it is put together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from forerun.planner.algebra.aggregates.functions import answer_of, function
from forerun.planner.algebra.aggregates.record import Answer
from forerun.planner.algebra.aggregates.types import are_told_apart
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Project,
    Relation,
    rewrite,
)
from forerun.planner.algebra.scalar import Call, Ref, Scalar, references
from forerun.planner.algebra.types import ColumnId

_WHATEVER_ORDER = frozenset(
    (
        "array_sort", "sort_array", "size", "cardinality", "array_size", "array_max", "array_min",
        "array_contains",
    )
)  # fmt: skip
"""Functions of an array that come out the same in whatever order its elements are, if equal
elements are the same; ``array_sort`` without a comparison of its own."""


def determine_lists(relation: Relation) -> Relation:
    """Mark the lists of which the order does not matter as determined."""

    def at_node(node: Relation) -> Relation:
        if isinstance(node, Aggregate):
            calls = tuple((column, _by_itself(call)) for column, call in node.calls)
            return node if calls == node.calls else Aggregate(node.input, node.keys, calls)
        if not isinstance(node, Project):
            return node
        filters, below = _filters(node.input)
        if not isinstance(below, Aggregate):
            return node
        uses = [scalar for _, scalar in node.items] + [one.predicate for one in filters]
        calls = tuple((column, _marked(call, column.id, uses)) for column, call in below.calls)
        if calls == below.calls:
            return node
        found: Relation = Aggregate(below.input, below.keys, calls)
        for one in reversed(filters):
            found = Filter(found, one.predicate)
        return Project(found, node.items)

    return rewrite(relation, at_node)


def _by_itself(call: AggregateCall) -> AggregateCall:
    """Mark a list that is in the order of its own values, of which equal ones are the same."""
    if call.within and answer_of(call) is not Answer.BAG and call.args[0] == call.args[-1]:
        return replace(call, determined=are_told_apart((call.args[0].type,)))
    return call


def _filters(node: Relation) -> tuple[list[Filter], Relation]:
    """Return the filters of a group, uppermost first, and what they filter."""
    found = []
    while isinstance(node, Filter):
        found.append(node)
        node = node.input
    return found, node


def _marked(call: AggregateCall, made: ColumnId, uses: list[Scalar]) -> AggregateCall:
    known = function(call.name)
    if not known.in_order or answer_of(call) is Answer.BAG:
        return call
    if not are_told_apart(tuple(arg.type for arg in call.args)):
        return call
    if not all(_takes_any_order(scalar, made) for scalar in uses):
        return call
    return replace(call, determined=True)


def _takes_any_order(scalar: Scalar, made: ColumnId) -> bool:
    """Return whether a scalar comes out the same in whatever order a list is."""
    return all(made not in references(one) for one in _outside(scalar, made))


def _outside(scalar: Scalar, made: ColumnId) -> Iterator[Scalar]:
    """Yield the parts of a scalar that are no function of the list in whatever order it is."""
    if not isinstance(scalar, Call):
        yield scalar
        return
    first, rest = scalar.args[:1], scalar.args[1:]
    compares = scalar.name == "array_sort" and bool(rest)
    of_list = all(isinstance(arg, Ref) and arg.column.id == made for arg in first)
    if scalar.name in _WHATEVER_ORDER and of_list and not compares:
        first = ()
    for arg in (*first, *rest):
        yield from _outside(arg, made)
