"""Decides which expressions may be evaluated on more rows than the query says.

Where plain Spark succeeds, the rewritten query must succeed too. So an expression that can raise an
error (a division, a cast of a string, an overflow in ANSI mode) stays above every operator that
could remove the row on which it would fail. Conservative: what is not known to be total can fail.
"""

from __future__ import annotations

from collections.abc import Callable

from forerun.planner.algebra.nested import ELEMENT, FIELD
from forerun.planner.algebra.scalar import (
    COMPARISONS,
    Call,
    Literal,
    Scalar,
    is_deterministic,
    references,
    walk,
)
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import INTEGER_DIGITS, DataType

_TOTAL = COMPARISONS | frozenset({
    "and", "or", "not", "isnull", "isnotnull", "in", "like", "case", "coalesce", "||", "concat",
    "substring", "substr", "upper", "lower", "trim", "ltrim", "rtrim", "length", "char_length",
    "startswith", "endswith", "contains", "try_cast", "isnan", "nullif", "ifnull", "nvl", "if",
    "greatest", "least", "left", "right", "replace", FIELD, "named_struct", "array", "size",
    "array_contains", "map_keys", "map_values", "get",
})  # fmt: skip
_RAISING = frozenset({"raise_error", "assert_true"})
_OF_DATES = frozenset({
    "year", "month", "day", "dayofmonth", "dayofweek", "dayofyear", "quarter", "weekofyear",
    "hour", "minute", "second", "date_add", "date_sub", "datediff", "add_months", "trunc",
    "date_trunc", "last_day",
})  # fmt: skip
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_TIMES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_NTZ"})


def is_movable(predicate: Scalar) -> bool:
    """Return whether a predicate may be evaluated on rows on which the query does not evaluate it:
    it is deterministic and cannot fail."""
    return is_deterministic(predicate) and not can_fail(predicate)


def can_fail(scalar: Scalar, succeeds: Callable[[Call], bool] = lambda _: False) -> bool:
    """Return False only if evaluating the expression is known to succeed on every row;
    ``succeeds`` says of calls that their values are small enough."""
    return any(
        isinstance(node, Call) and _call_can_fail(node) and not succeeds(node)
        for node in walk(scalar)
    )


def _call_can_fail(call: Call) -> bool:
    if call.name in _TOTAL:
        return False
    if call.name in _RAISING:
        return True
    if not references(call):
        # A constant fails for every row or for none, and Spark folds it before it reads a row.
        return False
    types = tuple(arg.type for arg in call.args)
    if call.name == "cast":
        return not _is_total_cast(types[0], call.type)
    if call.name == ELEMENT:
        return kind_of(types[0]) != "p"  # an array has places that are out of it
    if call.name in _OF_DATES:
        return any(not (t.name in _TIMES or t.is_integer or isinstance(arg, Literal))
                   for t, arg in zip(types, call.args, strict=True))  # fmt: skip
    if call.name in ("+", "-", "*", "neg", "abs"):
        return not _is_total_arithmetic(call.type, types)
    return True


def _is_total_cast(source: DataType, target: DataType) -> bool:
    if source == target or target.name == "STRING":
        return True
    if target.is_floating:
        return source.is_numeric
    if source.is_integer and target.is_integer:
        return _INTEGERS.index(source.name) <= _INTEGERS.index(target.name)
    if target.name == "DECIMAL":
        whole = target.precision - target.scale
        if source.name == "DECIMAL":
            return source.precision - source.scale <= whole
        return source.is_integer and INTEGER_DIGITS[source.name] <= whole
    return source.name in _TIMES and target.name in _TIMES


def _is_total_arithmetic(result: DataType, operands: tuple[DataType, ...]) -> bool:
    if result.is_floating:
        return True
    if result.name == "DECIMAL":
        # Below 38 digits Spark's result types hold every result.
        return result.precision < 38
    # A date plus an interval or days overflows only 290,000 years from now.
    return any(t.name in _TIMES for t in operands)
