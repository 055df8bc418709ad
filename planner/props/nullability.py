"""Nullability: derives which columns of a relation are never NULL."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from forerun.planner.algebra.aggregates.functions import function, is_aggregate
from forerun.planner.algebra.aggregates.record import Nulls
from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.predicates import STRICT, null_rejected
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
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
    Window,
    fold,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, value_places
from forerun.planner.algebra.types import ColumnId

NotNull = frozenset[ColumnId]
NONE: NotNull = frozenset()

_NEVER_NULL = frozenset({"isnull", "isnotnull", "<=>"})
# Strict functions that may return NULL for arguments that are not NULL.
_PARTIAL = frozenset({"try_cast"})
# In ANSI mode these raise an error where they otherwise return NULL (overflow, division by zero,
# text that cannot be cast).
_NULL_WITHOUT_ANSI = frozenset({"+", "-", "*", "/", "%", "neg", "negative", "cast", "round"})
_NUMBERS = frozenset({"row_number", "rank", "dense_rank", "ntile"})
"""Window-only functions whose result is never NULL."""


def not_null(
    relation: Relation,
    source_not_null: Mapping[str, AbstractSet[str]],
    state_not_null: Mapping[str, AbstractSet[str]] | None = None,
    *,
    ansi: bool = True,
) -> NotNull:
    """Return the output columns that are never NULL, whatever the data is.

    ``source_not_null`` names the columns declared NOT NULL per source, ``state_not_null`` the
    stored columns that are never NULL per artifact family. ``ansi`` is the engine's ANSI mode.
    Conservative: a column that is not returned may still be free of NULLs.
    """
    known = Nullability(source_not_null, state_not_null or {}, ansi)
    return fold(relation, known.of_node)


class Nullability:
    """The NOT NULL columns of the leaves, by name, and whether the engine is in ANSI mode."""

    def __init__(
        self,
        sources: Mapping[str, AbstractSet[str]],
        states: Mapping[str, AbstractSet[str]],
        ansi: bool,
    ) -> None:
        self.sources = sources
        self.states = states
        self.ansi = ansi

    def of_node(self, node: Relation, inputs: tuple[NotNull, ...]) -> NotNull:
        """Return the columns of a node that are never NULL, given those of its inputs."""
        return not_null_of(node, inputs, self)

    def is_not_null(self, scalar: Scalar, before: NotNull) -> bool:
        """Return whether a scalar over an input with not-null columns ``before`` is never NULL."""
        return is_never_null(scalar, before, ansi=self.ansi)


@operator_pass("nullability")
def not_null_of(node: Relation, inputs: tuple[NotNull, ...], known: Nullability) -> NotNull:
    """Return the columns of a node that are never NULL, given those of its inputs."""
    raise NotImplementedError


@not_null_of.register(Scan)
def _of_scan(node: Scan, _: tuple[NotNull, ...], known: Nullability) -> NotNull:
    declared = known.sources.get(node.source, frozenset())
    return frozenset(c.id for c in node.scanned if c.name in declared)


@not_null_of.register(StateRead)
def _of_state_read(node: StateRead, _: tuple[NotNull, ...], known: Nullability) -> NotNull:
    stored = known.states.get(node.family, frozenset())
    pairs = zip(node.read, node.stored, strict=True)
    return frozenset(column.id for column, name in pairs if name in stored)


@not_null_of.register(Values)
def _of_values(node: Values, _: tuple[NotNull, ...], known: Nullability) -> NotNull:
    return frozenset(
        column.id
        for position, column in enumerate(node.listed)
        if all(known.is_not_null(row[position], NONE) for row in node.rows)
    )


@not_null_of.register(Filter)
def _of_filter(node: Filter, inputs: tuple[NotNull, ...], _: Nullability) -> NotNull:
    return (inputs[0] | null_rejected(node.predicate)) & _ids(node.input)


@not_null_of.register(Project)
def _of_project(node: Project, inputs: tuple[NotNull, ...], known: Nullability) -> NotNull:
    return frozenset(c.id for c, item in node.items if known.is_not_null(item, inputs[0]))


@not_null_of.register(Aggregate)
def _of_aggregate(node: Aggregate, inputs: tuple[NotNull, ...], known: Nullability) -> NotNull:
    keys = frozenset(key.id for key in node.keys) & inputs[0]
    return keys | frozenset(
        column.id for column, call in node.calls if _call_is_not_null(node, call, inputs[0], known)
    )


def _call_is_not_null(
    node: Aggregate, call: AggregateCall, before: NotNull, known: Nullability
) -> bool:
    called = function(call.name)
    if called.nulls is Nulls.NEVER:
        return True
    # Without keys the one group may be empty; a FILTER clause may empty any group.
    if not node.keys or call.where is not None or called.nulls is Nulls.POSSIBLE:
        return False
    if not known.ansi and called.null_on_overflow:
        return False
    return bool(call.args) and known.is_not_null(call.args[0], before)


@not_null_of.register(Generate)
def _of_generate(node: Generate, inputs: tuple[NotNull, ...], _: Nullability) -> NotNull:
    counted = node.call.name == "posexplode" and not node.outer
    return inputs[0] | frozenset({node.made[0].id} if counted else ())


@not_null_of.register(Window)
def _of_window(node: Window, inputs: tuple[NotNull, ...], _: Nullability) -> NotNull:
    return inputs[0] | frozenset(c.id for c, call in node.calls if _is_numbered(call.name))


@not_null_of.register(Sort, Limit, Repeat)
def _of_handed_on(node: Relation, inputs: tuple[NotNull, ...], _: Nullability) -> NotNull:
    return inputs[0] & _ids(node)


def is_never_null(scalar: Scalar, known: AbstractSet[ColumnId], *, ansi: bool = True) -> bool:
    """Return whether a scalar is never NULL in a row whose columns ``known`` are not NULL."""
    if isinstance(scalar, Ref):
        return scalar.column.id in known
    if isinstance(scalar, Literal):
        return scalar.text is not None
    if scalar.name in _NEVER_NULL:
        return True
    if scalar.name == "coalesce":
        return any(is_never_null(arg, known, ansi=ansi) for arg in scalar.args)
    parts = scalar.args
    if scalar.name == "case":
        parts = tuple(scalar.args[place] for place in value_places(scalar))
    elif not _is_total(scalar, ansi):
        return False
    return all(is_never_null(part, known, ansi=ansi) for part in parts)


def _is_total(call: Call, ansi: bool) -> bool:
    """Return whether a call returns NULL only if one of its arguments is NULL."""
    if call.name in ("and", "or", "in"):
        return True
    if call.name not in STRICT or call.name in _PARTIAL:
        return False
    return ansi or call.name not in _NULL_WITHOUT_ANSI


def _is_numbered(name: str) -> bool:
    """Return whether a window function of this name is never NULL: it numbers rows, or is an
    aggregate that is never NULL."""
    return name in _NUMBERS or (is_aggregate(name) and function(name).nulls is Nulls.NEVER)


def _ids(node: Relation) -> NotNull:
    return frozenset(column.id for column in node.columns)


@not_null_of.register(Join)
def _of_join(node: Join, inputs: tuple[NotNull, ...], _: Nullability) -> NotNull:
    left, right = inputs
    matched = null_rejected(node.condition)
    if node.kind is JoinKind.INNER:
        return left | right | (matched & _ids(node))
    if node.kind in (JoinKind.LEFT, JoinKind.SINGLE, JoinKind.ANTI, JoinKind.MARK):
        return left
    if node.kind is JoinKind.RIGHT:
        return right
    if node.kind is JoinKind.SEMI:
        return left | (matched & _ids(node.left))
    return NONE


@not_null_of.register(Recursion)
def _of_recursion(*_: object) -> NotNull:
    return frozenset()


@not_null_of.register(UnionAll, SetOperation)
def _of_union(
    node: UnionAll | SetOperation, inputs: tuple[NotNull, ...], _: Nullability
) -> NotNull:
    sides = tuple(zip((side.columns for side in node.inputs), inputs, strict=True))
    if isinstance(node, SetOperation) and node.kind is SetKind.EXCEPT:
        sides = sides[:1]
    need = any if isinstance(node, SetOperation) and node.kind is SetKind.INTERSECT else all
    return frozenset(
        column.id
        for position, column in enumerate(node.columns)
        if need([columns[position].id in known for columns, known in sides])
    )
