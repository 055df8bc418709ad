"""Emptiness: whether an operator gives no rows because of what its inputs do not give.

Where a source brings nothing in a step, whatever is joined with its delta is empty, too, and need
not be looked at (Tempura 5.4: what is known of the rows of a step prunes the space of its plans).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetKind,
    SetOperation,
    Sort,
    StateRead,
    UnionAll,
    Values,
    Version,
    Window,
)
from forerun.planner.algebra.scalar import Ref

_NEEDS_BOTH = (JoinKind.INNER, JoinKind.SEMI)
_KEEPS_LEFT = (JoinKind.LEFT, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE)


@operator_pass("emptiness")
def is_empty(node: Relation, inputs: tuple[bool, ...], unchanged: Container[str]) -> bool:
    """Return whether an operator is known to give no rows, given which of its inputs give none, in
    a step in which the ``unchanged`` sources bring nothing. False: it may have rows."""
    raise NotImplementedError


@is_empty.register(Scan)
def _of_scan(node: Scan, _: tuple[bool, ...], unchanged: Container[str]) -> bool:
    return node.version is Version.DELTA and node.source in unchanged


@is_empty.register(StateRead)
def _of_what_is_kept(*_: object) -> bool:
    return False


@is_empty.register(Values)
def _of_values(node: Values, *_: object) -> bool:
    return not node.rows


@is_empty.register(Filter, Project, Sort, Limit, Window, Generate, Repeat)
def _of_its_input(_: Relation, inputs: tuple[bool, ...], __: Container[str]) -> bool:
    return inputs[0]


@is_empty.register(Aggregate)
def _of_aggregate(node: Aggregate, inputs: tuple[bool, ...], _: Container[str]) -> bool:
    return bool(node.keys) and inputs[0]  # without keys, of no rows it gives one


@is_empty.register(Recursion)
def _of_recursion(*_: object) -> bool:
    return False  # it may begin with constants


@is_empty.register(UnionAll)
def _of_union(_: UnionAll, inputs: tuple[bool, ...], __: Container[str]) -> bool:
    return all(inputs)


@is_empty.register(Join)
def _of_join(node: Join, inputs: tuple[bool, ...], _: Container[str]) -> bool:
    left, right = inputs
    if node.kind in _NEEDS_BOTH:
        return left or right
    if node.kind in _KEEPS_LEFT:
        return left
    return right if node.kind is JoinKind.RIGHT else left and right


@is_empty.register(SetOperation)
def _of_set_operation(node: SetOperation, inputs: tuple[bool, ...], _: Container[str]) -> bool:
    left, right = inputs
    return left or (right and node.kind is SetKind.INTERSECT)


def is_without_rows(relation: Relation) -> bool:
    """Return whether a relation is known to have no rows."""
    return isinstance(relation, Values) and not relation.rows


def union_of(union: UnionAll, inputs: Sequence[Relation]) -> Relation:
    """Return a union without the branches that have no rows; where one is left, that one, unless
    the union changes its types."""
    rows = [given for given in inputs if not is_without_rows(given)]
    if len(rows) == len(inputs):
        return union.with_inputs(tuple(inputs))
    if len(rows) == 1:
        pairs = tuple(zip(union.columns, rows[0].columns, strict=True))
        if all(merged.type == column.type for merged, column in pairs):
            return Project(rows[0], tuple((merged, Ref(column)) for merged, column in pairs))
    return replace(union, branches=tuple(rows if len(rows) > 1 else inputs))
