"""Repeatability: whether a relation gives the same rows when it is computed again over the same
data.

A delta must take back exactly the rows that were there, to the bit, and what one run reads must be
what the next one reads. Two kinds of operators break that. A floating-point sum depends on the
order of its terms, which no engine guarantees, so its last digits may differ
(:attr:`Repeats.ROUNDED`). And some operators choose among rows: LIMIT among ties, ``first``, a row
number among equal rows (:attr:`Repeats.CHOSEN`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum

from forerun.planner.algebra.aggregates.functions import answer_of, function, is_aggregate
from forerun.planner.algebra.aggregates.record import Answer, Rounding
from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Generate,
    Join,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetOperation,
    Sort,
    StateRead,
    UnionAll,
    Values,
    Window,
    WindowCall,
    fold,
)
from forerun.planner.algebra.scalar import TRUE, Scalar, is_deterministic
from forerun.planner.algebra.types import Column


class Repeats(IntEnum):
    """The repeatability of a relation when it is recomputed, from best to worst: always the same
    rows, the same up to rounding, or possibly different rows."""

    ALWAYS = 0
    ROUNDED = 1
    CHOSEN = 2


RANKS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
"""Window functions that give the same value to rows that tie in the order."""


Known = Sequence[Repeats]


@operator_pass("repeatability")
def of_node(node: Relation, below: Known, inputs: Sequence[Relation]) -> Repeats:
    """Return how well an operator repeats, given that of each input (``below``) and the operators
    of the inputs."""
    raise NotImplementedError


def repeats(relation: Relation) -> Repeats:
    """Return how well a relation repeats as a whole."""
    return fold(relation, lambda node, below: of_node(node, below, node.inputs))


@of_node.register(Scan, StateRead, Values, UnionAll, SetOperation, Repeat, Sort, Recursion)
def _of_rows(_: Relation, below: Known, __: Sequence[Relation]) -> Repeats:
    return max(below, default=Repeats.ALWAYS)


@of_node.register(Filter)
def _of_filter(node: Filter, below: Known, _: Sequence[Relation]) -> Repeats:
    return _computed((node.predicate,), below)


@of_node.register(Generate)
def _of_generate(node: Generate, below: Known, _: Sequence[Relation]) -> Repeats:
    return _computed((node.call,), below)


@of_node.register(Project)
def _of_project(node: Project, below: Known, _: Sequence[Relation]) -> Repeats:
    return _computed((scalar for _, scalar in node.items), below)


@of_node.register(Join)
def _of_join(node: Join, below: Known, _: Sequence[Relation]) -> Repeats:
    return _computed((node.condition,), below)


@of_node.register(Aggregate)
def _of_aggregate(node: Aggregate, below: Known, _: Sequence[Relation]) -> Repeats:
    scalars = (part for _, call in node.calls for part in (*call.args, call.where or TRUE))
    return max([_computed(scalars, below), *(of_call(call) for _, call in node.calls)])


@of_node.register(Window)
def _of_windows(node: Window, below: Known, _: Sequence[Relation]) -> Repeats:
    return max([*below, *(_of_window(column, call) for column, call in node.calls)])


@of_node.register(Limit)
def _of_limit(node: Limit, below: Known, inputs: Sequence[Relation]) -> Repeats:
    cut = isinstance(inputs[0], Sort) and _tells_all_apart(inputs[0])
    return max(below) if cut or node.count == 0 else Repeats.CHOSEN


def _computed(scalars: Iterable[Scalar], below: Known) -> Repeats:
    if all(is_deterministic(scalar) for scalar in scalars):
        return max(below, default=Repeats.ALWAYS)
    return Repeats.CHOSEN


def of_call(call: AggregateCall) -> Repeats:
    """Return how well the value of an aggregate call repeats over the same bag of rows."""
    if answer_of(call) is not Answer.BAG:
        return Repeats.CHOSEN
    rounded = function(call.name).is_rounded(tuple(arg.type for arg in call.args))
    return Repeats.ROUNDED if rounded else Repeats.ALWAYS


def _of_window(column: Column, call: WindowCall) -> Repeats:
    if call.name in RANKS:
        return Repeats.ALWAYS
    if not is_aggregate(call.name) or (call.order and call.frame):
        return Repeats.CHOSEN  # numbers and row frames tell rows apart that tie in the order
    found = of_call(AggregateCall(call.name, call.args, call.distinct))
    exact = column.type.is_known and not column.type.is_floating
    adds_up = function(call.name).rounding is not Rounding.NEVER
    return found if exact or not adds_up else max(found, Repeats.ROUNDED)


def _tells_all_apart(node: Sort) -> bool:
    """Return whether a sort has all columns as keys: rows that tie are then equal, so it does not
    matter which of them a LIMIT takes."""
    return {c.id for c in node.columns} <= {key.column.id for key in node.keys}
