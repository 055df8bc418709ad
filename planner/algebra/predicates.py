"""Take conditions apart: the equalities between the sides of a join, and the rows never let
through."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

from forerun.planner.algebra.relational import Join, JoinKind
from forerun.planner.algebra.scalar import (
    COMPARISONS,
    TRUE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    conjuncts,
    operands,
    references,
)
from forerun.planner.algebra.types import BOOLEAN, Column, ColumnId

STRICT = (COMPARISONS - {"<=>"}) | frozenset({
    "+", "-", "*", "/", "%", "||", "neg", "cast", "try_cast", "not", "like", "abs", "year", "month",
    "day", "dayofmonth", "quarter", "hour", "minute", "second", "substring", "substr", "upper",
    "lower", "trim", "ltrim", "rtrim", "length", "char_length", "round", "floor", "ceil", "ceiling",
    "date_add", "date_sub", "datediff", "add_months", "left", "right", "replace", "negative",
})  # fmt: skip
"""Calls that are NULL as soon as one argument is (Spark's null-intolerant expressions)."""

EMPTY: frozenset[ColumnId] = frozenset()


class Condition(NamedTuple):
    """A join condition taken apart: ``pairs`` are the conjuncts ``left column = right column`` of
    equal types, ``residual`` the conjunction of all others (TRUE for none)."""

    pairs: tuple[tuple[Column, Column], ...]
    residual: Scalar

    @property
    def left(self) -> tuple[Column, ...]:
        return tuple(left for left, _ in self.pairs)

    @property
    def right(self) -> tuple[Column, ...]:
        return tuple(right for _, right in self.pairs)


def split_condition(join: Join) -> Condition:
    """The equality pairs of a join, (left column, right column) each, and the residual.

    A pair occurs once. Equalities of columns of different types are in the residual: Spark would
    cast one side, and rows that are hash-partitioned by the other type lie elsewhere. Of a mark,
    ``(a = b) <=> true`` is a pair too: NULL is no partner, as in other joins. A join keeps it: it
    is asked for again and again.
    """
    known: Condition | None = join.__dict__.get("_condition")
    if known is None:
        known = join.__dict__["_condition"] = _taken_apart(join)
    return known


def _taken_apart(join: Join) -> Condition:
    left = {column.id for column in join.left.columns}
    right = {column.id for column in join.right.columns}
    pairs: list[tuple[Column, Column]] = []
    residual: list[Scalar] = []
    for given in conjuncts(join.condition):
        certain = certainly(given) if join.mark is not None else None
        part = given if certain is None else certain
        pair = equality(part)
        if pair is not None and pair[0].type == pair[1].type:
            one, other = pair
            if one.id in right and other.id in left:
                one, other = other, one
            if one.id in left and other.id in right:
                if (one, other) not in pairs:
                    pairs.append((one, other))
                continue
        residual.append(given)
    return Condition(tuple(pairs), conjunction(tuple(residual)))


def is_null_safe(join: Join) -> bool:
    """Return whether a column of one side has to be the same as one of the other, NULL or not
    (``a <=> b``): Spark hashes rows by it, but by a value that nothing else is distributed by."""
    left = {column.id for column in join.left.columns}
    right = {column.id for column in join.right.columns}
    for part in conjuncts(join.condition):
        match part:
            case Call("<=>", (Ref(one), Ref(other))):
                if (one.id in left) is not (other.id in left) and {one.id, other.id} & right:
                    return True
    return False


def null_aware_pair(join: Join) -> tuple[Scalar, Scalar] | None:
    """The values of both sides of an anti join whose whole condition is that of ``NOT IN`` over one
    column, the left one first. Spark hashes the right side of such a join; any other condition
    without an equality compares all rows with all."""
    pairs = null_aware_pairs(join)
    return pairs[0] if len(pairs) == 1 else None


def null_aware_pairs(join: Join) -> tuple[tuple[Scalar, Scalar], ...]:
    """The values of both sides of an anti join whose whole condition is that of ``NOT IN``, column
    by column, the left one first: each equal, or unknown whether they are. None of another join."""
    if join.kind is not JoinKind.ANTI:
        return ()
    pairs = [_null_aware(join, part) for part in conjuncts(join.condition)]
    return tuple(pair for pair in pairs if pair is not None) if all(pairs) else ()


def _null_aware(join: Join, part: Scalar) -> tuple[Scalar, Scalar] | None:
    either = tuple(operands("or", part))
    if len(either) != 2:
        return None
    equal, unknown = either
    if unknown != Call("isnull", (equal,), BOOLEAN):
        return None
    left, right = join.left.column_ids, join.right.column_ids
    match equal:
        case Call("=", (one, other)) if references(one) <= left and references(other) <= right:
            return one, other
        case Call("=", (one, other)) if references(one) <= right and references(other) <= left:
            return other, one
    return None


def certainly(part: Scalar) -> Scalar | None:
    """The predicate of ``predicate <=> true``, which is false where the predicate is NULL."""
    if isinstance(part, Call) and part.name == "<=>" and part.args[1] == TRUE:
        return part.args[0]
    return None


def equality(part: Scalar) -> tuple[Column, Column] | None:
    """The two columns of ``column = column``, else None."""
    if isinstance(part, Call) and part.name == "=":
        one, other = part.args
        if isinstance(one, Ref) and isinstance(other, Ref):
            return one.column, other.column
    return None


def null_strict(scalar: Scalar) -> frozenset[ColumnId]:
    """Columns of which one NULL makes the scalar NULL."""
    if isinstance(scalar, Ref):
        return frozenset({scalar.column.id})
    if isinstance(scalar, Literal):
        return EMPTY
    if scalar.name == "in":
        # NULL IN (...) is NULL whatever the list; a NULL in the list is not so simple.
        return null_strict(scalar.args[0])
    if scalar.name in STRICT:
        return frozenset().union(*(null_strict(arg) for arg in scalar.args))
    return EMPTY


def null_rejected(predicate: Scalar) -> frozenset[ColumnId]:
    """Columns that are not NULL in any row that the predicate lets through.

    The predicate lets a row through when it is true, so: what makes it NULL or false is rejected.
    Conservative: a column that is not named may still be rejected.
    """
    if isinstance(predicate, Call):
        if predicate.name == "and":
            return frozenset().union(*(null_rejected(arg) for arg in predicate.args))
        if predicate.name == "or":
            first, *rest = (null_rejected(arg) for arg in predicate.args)
            return first.intersection(*rest)
        if predicate.name == "isnotnull":
            return null_strict(predicate.args[0])
        if predicate.name == "not":
            return _rejected_by_not(predicate.args[0])
        if predicate.name == "<=>":
            return _rejected_by_null_safe(predicate)
    return null_strict(predicate)


def _rejected_by_not(inner: Scalar) -> frozenset[ColumnId]:
    if isinstance(inner, Call):
        if inner.name == "isnull":
            return null_strict(inner.args[0])
        if inner.name == "or":
            # not (a or b) = not a and not b
            return frozenset().union(*(_rejected_by_not(arg) for arg in inner.args))
        if inner.name == "and":
            first, *rest = (_rejected_by_not(arg) for arg in inner.args)
            return first.intersection(*rest)
        if inner.name == "not":
            return null_rejected(inner.args[0])
    return null_strict(inner)


def _rejected_by_null_safe(predicate: Call) -> frozenset[ColumnId]:
    """``x <=> literal`` with a literal that is not NULL is never true for a NULL x."""
    one, other = predicate.args
    if isinstance(other, Literal) and other.text is not None:
        return null_strict(one)
    if isinstance(one, Literal) and one.text is not None:
        return null_strict(other)
    return EMPTY


def rejects_nulls_of(predicate: Scalar, columns: AbstractSet[ColumnId]) -> bool:
    """True if a row whose ``columns`` are all NULL never passes the predicate."""
    return any(not null_rejected(part).isdisjoint(columns) for part in conjuncts(predicate))
