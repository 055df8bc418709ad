"""Which columns of a relation are never NULL."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from planner.algebra.predicates import STRICT, null_rejected
from planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    SetKind,
    SetOperation,
    StateRead,
    UnionAll,
    Values,
    Window,
    fold,
)
from planner.algebra.scalar import Call, Literal, Ref, Scalar
from planner.algebra.types import ColumnId

NotNull = frozenset[ColumnId]
NONE: NotNull = frozenset()

_NEVER_NULL = frozenset({"isnull", "isnotnull", "<=>"})
# Strict calls that may answer NULL for arguments that are not.
_PARTIAL = frozenset({"try_cast"})
# Under ANSI these raise where they would else answer NULL (overflow, division by zero, bad text).
_NULL_WITHOUT_ANSI = frozenset({"+", "-", "*", "/", "%", "neg", "negative", "cast", "round"})
_NEVER_NULL_WINDOWS = frozenset({"row_number", "rank", "dense_rank", "ntile", "count"})
_OF_ITS_ROWS = frozenset({"sum", "min", "max", "avg", "first", "last", "any_value"})


def not_null(
    relation: Relation,
    source_not_null: Mapping[str, AbstractSet[str]],
    state_not_null: Mapping[str, AbstractSet[str]] | None = None,
    *,
    ansi: bool = True,
) -> NotNull:
    """Output columns that hold no NULL, whatever the data.

    ``source_not_null``: per source the names of its columns that are declared NOT NULL;
    ``state_not_null``: per family the stored names that are. Conservative: a column that is not
    in the answer may still be free of NULLs.
    """
    known = Nullability(source_not_null, state_not_null or {}, ansi)
    return fold(relation, known.of_node)


class Nullability:
    """The rules per node, given what its inputs guarantee."""

    def __init__(
        self,
        sources: Mapping[str, AbstractSet[str]],
        states: Mapping[str, AbstractSet[str]],
        ansi: bool,
    ) -> None:
        self._sources = sources
        self._states = states
        self._ansi = ansi

    def of_node(self, node: Relation, inputs: tuple[NotNull, ...]) -> NotNull:
        if isinstance(node, Scan):
            declared = self._sources.get(node.source, frozenset())
            return frozenset(c.id for c in node.scanned if c.name in declared)
        if isinstance(node, StateRead):
            stored = self._states.get(node.family, frozenset())
            pairs = zip(node.read, node.stored, strict=True)
            return frozenset(column.id for column, name in pairs if name in stored)
        if isinstance(node, Values):
            return frozenset(
                column.id
                for position, column in enumerate(node.listed)
                if all(self.is_not_null(row[position], NONE) for row in node.rows)
            )
        if isinstance(node, Filter):
            return (inputs[0] | null_rejected(node.predicate)) & _ids(node.input)
        if isinstance(node, Project):
            (before,) = inputs
            return frozenset(c.id for c, item in node.items if self.is_not_null(item, before))
        if isinstance(node, Join):
            return _of_join(node, *inputs)
        if isinstance(node, Aggregate):
            return self._of_aggregate(node, inputs[0])
        if isinstance(node, UnionAll | SetOperation):
            return _of_union(node, inputs)
        if isinstance(node, Window):
            counted = (c.id for c, call in node.calls if call.name in _NEVER_NULL_WINDOWS)
            return inputs[0] | frozenset(counted)
        # Sort, Limit, Repeat and what else passes its single input's rows on.
        return inputs[0] & _ids(node) if len(inputs) == 1 else NONE

    def _of_aggregate(self, node: Aggregate, before: NotNull) -> NotNull:
        keys = frozenset(key.id for key in node.keys) & before
        return keys | frozenset(
            column.id for column, call in node.calls if self._call_is_not_null(node, call, before)
        )

    def _call_is_not_null(self, node: Aggregate, call: AggregateCall, before: NotNull) -> bool:
        if call.name == "count":
            return True
        # Without keys the one group may be empty; a FILTER clause may empty any group.
        if not node.keys or call.where is not None or call.name not in _OF_ITS_ROWS:
            return False
        if not self._ansi and call.name in ("sum", "avg"):
            return False
        return bool(call.args) and self.is_not_null(call.args[0], before)

    def is_not_null(self, scalar: Scalar, before: NotNull) -> bool:
        return is_never_null(scalar, before, ansi=self._ansi)


def is_never_null(scalar: Scalar, known: AbstractSet[ColumnId], *, ansi: bool = True) -> bool:
    """True if the scalar is not NULL in any row in which the columns ``known`` are not."""
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
        parts = (*scalar.args[1:-1:2], scalar.args[-1])
    elif not _is_total(scalar, ansi):
        return False
    return all(is_never_null(part, known, ansi=ansi) for part in parts)


def _is_total(call: Call, ansi: bool) -> bool:
    """True if the call answers NULL only for NULL arguments."""
    if call.name in ("and", "or", "in"):
        return True
    if call.name not in STRICT or call.name in _PARTIAL:
        return False
    return ansi or call.name not in _NULL_WITHOUT_ANSI


def _ids(node: Relation) -> NotNull:
    return frozenset(column.id for column in node.columns)


def _of_join(node: Join, left: NotNull, right: NotNull) -> NotNull:
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


def _of_union(node: UnionAll | SetOperation, inputs: tuple[NotNull, ...]) -> NotNull:
    sides = tuple(zip((side.columns for side in node.inputs), inputs, strict=True))
    if isinstance(node, SetOperation) and node.kind is SetKind.EXCEPT:
        sides = sides[:1]
    need = any if isinstance(node, SetOperation) and node.kind is SetKind.INTERSECT else all
    return frozenset(
        column.id
        for position, column in enumerate(node.columns)
        if need([columns[position].id in known for columns, known in sides])
    )
