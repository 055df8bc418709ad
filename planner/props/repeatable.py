"""Whether a relation gives the same rows when it is computed once more over the same data.

What is taken back must be what was there, to the bit, and what was read in one run must be what is
read in the next. Two things stand against it. A floating-point sum depends on the order of its
terms, which no engine promises, so its last digits may be others (:attr:`Repeats.ROUNDED`). And
some operators choose: a LIMIT among ties, ``first``, a row number among equal rows
(:attr:`Repeats.CHOSEN`). Conservative: of functions that are not known, anything is taken for
possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum

from planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    Limit,
    Project,
    Relation,
    Sort,
    Window,
    WindowCall,
)
from planner.algebra.scalar import TRUE, Scalar, is_deterministic
from planner.algebra.types import Column


class Repeats(IntEnum):
    """How much of a relation comes again, the most first."""

    ALWAYS = 0
    ROUNDED = 1
    CHOSEN = 2


_OF_A_BAG = frozenset({
    "count", "sum", "avg", "mean", "min", "max", "bool_and", "bool_or", "every", "some", "any",
    "bit_and", "bit_or", "bit_xor", "count_if", "approx_count_distinct", "median",
})  # fmt: skip
"""Functions of which the order of the rows is no matter, but for rounding."""
_MOMENTS = frozenset({
    "stddev", "stddev_samp", "stddev_pop", "std", "variance", "var_samp", "var_pop", "corr",
    "covar_pop", "covar_samp", "skewness", "kurtosis", "regr_slope", "regr_intercept", "regr_r2",
})  # fmt: skip
"""Floating-point whatever they are of."""
_ADD_UP = frozenset({"sum", "avg", "mean"})
_RANKS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
"""Window functions that give equal rows one value."""


def of_node(node: Relation, below: Sequence[Repeats], inputs: Sequence[Relation]) -> Repeats:
    """Of an operator over relations of which that is known. ``inputs``: their own operators."""
    found = max(below, default=Repeats.ALWAYS)
    if not all(is_deterministic(scalar) for scalar in _scalars(node)):
        return Repeats.CHOSEN
    if isinstance(node, Aggregate):
        return max([found, *(of_call(call) for _, call in node.calls)])
    if isinstance(node, Window):
        return max([found, *(_of_window(column, call) for column, call in node.calls)])
    if isinstance(node, Limit):
        cut = isinstance(inputs[0], Sort) and _tells_all_apart(inputs[0])
        return found if cut or node.count == 0 else Repeats.CHOSEN
    return found


def of_call(call: AggregateCall) -> Repeats:
    """Of an aggregate function."""
    if call.name in _MOMENTS:
        return Repeats.ROUNDED
    if call.name not in _OF_A_BAG:
        return Repeats.CHOSEN
    # The average of integers is of an exact sum.
    rounded = any(arg.type.is_floating or not arg.type.is_known for arg in call.args)
    return Repeats.ROUNDED if rounded and call.name in _ADD_UP else Repeats.ALWAYS


def _of_window(column: Column, call: WindowCall) -> Repeats:
    if call.name in _RANKS:
        return Repeats.ALWAYS
    if call.name not in _OF_A_BAG or (call.order and call.frame):
        return Repeats.CHOSEN  # by rows, equal rows are told apart
    exact = column.type.is_known and not column.type.is_floating
    return Repeats.ALWAYS if exact or call.name not in _ADD_UP else Repeats.ROUNDED


def _tells_all_apart(node: Sort) -> bool:
    """Rows that tie are equal in all columns, so it is no matter which are taken."""
    return {c.id for c in node.columns} <= {key.column.id for key in node.keys}


def _scalars(node: Relation) -> Iterator[Scalar]:
    if isinstance(node, Filter):
        yield node.predicate
    elif isinstance(node, Project):
        yield from (scalar for _, scalar in node.items)
    elif isinstance(node, Join):
        yield node.condition
    elif isinstance(node, Aggregate):
        for _, call in node.calls:
            yield from (*call.args, call.where or TRUE)
