"""The value domain of the interpreter, its order and its equality, as Spark has them.

NULL is ``None``. Numbers are int, float and Decimal, text is str, a date is ``date``, a timestamp
a naive ``datetime`` in UTC, a day-time interval a ``timedelta``, a year-month interval
:class:`Months`, an array a tuple.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context
from typing import Any

Value = Any
Row = tuple[Value, ...]
Evaluate = Callable[[Row], Value]

EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
"""Wide enough for any product or quotient of two DECIMAL(38): rounding is always explicit."""


class EvaluationError(Exception):
    """What Spark raises at run time under ANSI rules; ``condition`` is Spark's error class."""

    condition = "INTERNAL"


class ArithmeticOverflowError(EvaluationError):
    condition = "ARITHMETIC_OVERFLOW"


class DivideByZeroError(EvaluationError):
    condition = "DIVIDE_BY_ZERO"


class CastError(EvaluationError):
    condition = "CAST_INVALID_INPUT"


class ScalarSubqueryError(EvaluationError):
    condition = "SCALAR_SUBQUERY_TOO_MANY_ROWS"


class NotInterpretedError(Exception):
    """The interpreter does not know the construct: the case is skipped, never guessed."""


@dataclass(frozen=True, slots=True, order=True)
class Months:
    """A year-month interval."""

    months: int


def group_key(value: Value) -> Hashable:
    """Equal for values that GROUP BY, DISTINCT and joins by ``<=>`` take as the same.

    Spark: NULLs are one group, NaN is one value, -0.0 is 0.0. Values of one column have one type,
    so the kinds never meet; the tag keeps NaN apart from text.
    """
    if isinstance(value, float):
        return ("nan",) if math.isnan(value) else value + 0.0
    if isinstance(value, tuple):
        return tuple(group_key(item) for item in value)
    return value


def row_key(row: Row) -> tuple[Hashable, ...]:
    keyed = (float, tuple)  # all others are their own key
    return tuple([group_key(value) if isinstance(value, keyed) else value for value in row])


def order_key(value: Value) -> tuple[Any, ...]:
    """Sorts non-NULL values of one type: NaN is the greatest number, false comes before true."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    if isinstance(value, str):
        return (0, value.encode())
    if isinstance(value, tuple):
        return (0, tuple((item is not None, order_key(item)) for item in value))
    return (0, value)


def compare(left: Value, right: Value) -> int:
    """-1, 0 or 1 for two non-NULL values; numbers of different kinds meet as Spark widens them."""
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    a, b = order_key(left), order_key(right)
    return (a > b) - (a < b)


def is_temporal(value: Value) -> bool:
    return isinstance(value, date | datetime | timedelta | Months)
