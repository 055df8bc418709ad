"""The fraction of rows for which a predicate is true.

After Selinger et al. (1979), "Access path selection in a relational DBMS": equality 1/distinct,
ranges by interpolation between the bounds, conjuncts independent, and fixed guesses where nothing
is known. Rows where an operand is NULL never qualify.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from forerun.planner.algebra.predicates import equality
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, conjuncts, references
from forerun.planner.algebra.types import ColumnId
from forerun.planner.cost import constants as c
from forerun.planner.stats.banded import share_in_bands
from forerun.planner.stats.values import ColumnEstimate, number

EQUAL = 0.1
"""Guess for ``expression = ...`` of unknown distinct count (Selinger's 1/10)."""
RANGE = 1.0 / 3.0
"""Guess for an open range (Selinger's 1/3)."""
PREFIX = 0.05
"""Guess for LIKE 'abc%': a prefix is more selective than an open range."""
CONTAINS = 0.1
"""Guess for LIKE '%abc%' and for a function that returns a boolean."""
LEAST = 1e-9

Columns = Mapping[ColumnId, ColumnEstimate]
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>", "<=>": "<=>"}


def selectivity(predicate: Scalar, columns: Columns) -> float:
    """Fraction of the rows in which the predicate is true, between 0 and 1."""
    ranges: dict[tuple[ColumnId, bool], float] = {}
    parts = conjuncts(predicate)
    result, in_bands = share_in_bands(parts, columns)
    for part in parts:
        if part in in_bands:
            continue
        bounded = _range(part, columns)
        if bounded is None:
            result *= _of(part, columns)
        else:
            column, is_upper, fraction = bounded
            place = (column, is_upper)
            ranges[place] = min(fraction, ranges.get(place, 1.0))
    return max(LEAST, result * _between(ranges, columns)) if result > 0.0 else 0.0


def selectivity_error(part: Scalar) -> float:
    """Return how wrong the estimated selectivity of a conjunct may be, by what it is estimated
    from: the standard deviation of its logarithm."""
    if isinstance(part, Literal):
        return 0.0
    if not isinstance(part, Call):
        return c.GUESS_ERROR
    if part.name in ("isnull", "isnotnull"):
        return c.COUNTED_ERROR
    if part.name in ("and", "or", "not"):
        return max(map(selectivity_error, part.args))
    of_column = any(isinstance(arg, Ref) for arg in (part.args[0], part.args[-1]))
    if part.name in ("=", "<=>", "in") and (of_column or equality(part)):
        return c.COLUMN_ERROR
    # Bounds tell what share is below a constant; of two columns they tell nothing.
    if part.name in ("<", "<=", ">", ">=") and of_column and len(references(part)) == 1:
        return c.COLUMN_ERROR
    return c.GUESS_ERROR


def is_guessed(predicate: Scalar) -> bool:
    """Return whether a part of the predicate is estimated by a fixed guess, which no statistics of
    columns say anything of: a pattern, a function, an inequality of two columns."""
    return any(selectivity_error(part) >= c.GUESS_ERROR for part in conjuncts(predicate))


def _between(ranges: Mapping[tuple[ColumnId, bool], float], columns: Columns) -> float:
    """Lower and upper bounds of one column overlap: P(a < x < b) = P(x < b) + P(x > a) - 1."""
    result = 1.0
    for column in sorted({column for column, _ in ranges}):
        above, below = ranges.get((column, False), 1.0), ranges.get((column, True), 1.0)
        both = above + below - 1.0
        if (column, False) in ranges and (column, True) in ranges:
            both = max(both, 1.0 / max(1.0, columns[column].distinct))
        result *= (1.0 - columns[column].nulls) * both
    return result


def _range(part: Scalar, columns: Columns) -> tuple[ColumnId, bool, float] | None:
    """``column < constant`` on a column with known bounds: the column, whether the constant is an
    upper bound, and the fraction of its values (NULLs aside) that qualify."""
    turned = column_and_constant(part)
    if turned is None:
        return None
    name, column, constant = turned
    if name not in ("<", "<=", ">", ">="):
        return None
    stats = columns[column.column.id]
    value = constant_value(constant, column)
    if value is not None and stats.mean is not None and stats.mean > 0.0:
        # Sums and counts of groups have no bounds: the tail of an exponential of the same mean.
        above = math.exp(-max(0.0, value) / stats.mean)
        return column.column.id, name[0] == "<", 1.0 - above if name[0] == "<" else above
    if value is None or stats.low is None or stats.high is None:
        return None
    if stats.high <= stats.low:
        holds = {"<": stats.low < value, "<=": stats.low <= value, ">": stats.low > value,
                 ">=": stats.low >= value}[name]  # fmt: skip
        return column.column.id, name[0] == "<", 1.0 if holds else 0.0
    below = min(1.0, max(0.0, (value - stats.low) / (stats.high - stats.low)))
    return column.column.id, name[0] == "<", below if name[0] == "<" else 1.0 - below


def column_and_constant(part: Scalar) -> tuple[str, Ref, Scalar] | None:
    """Return a comparison of a column with what reads none: the operator as it is with the column
    first, the column, and the other side."""
    if isinstance(part, Call) and part.name in _TURNED:
        one, other = part.args
        if isinstance(one, Ref) and not _has_reference(other):
            return part.name, one, other
        if isinstance(other, Ref) and not _has_reference(one):
            return _TURNED[part.name], other, one
    return None


def _has_reference(scalar: Scalar) -> bool:
    if isinstance(scalar, Call):
        return any(_has_reference(arg) for arg in scalar.args)
    return isinstance(scalar, Ref)


def constant_value(scalar: Scalar, column: Ref) -> float | None:
    """A constant's place on the column's number line; casts of literals are looked through."""
    while isinstance(scalar, Call) and scalar.name == "cast":
        scalar = scalar.args[0]
    if isinstance(scalar, Call) and scalar.name in ("+", "-"):
        return _shifted(scalar, column)
    if not isinstance(scalar, Literal):
        return None
    return number(scalar.text, column.type)


_DAYS = {"DAY": 1.0, "MONTH": 30.44, "YEAR": 365.25}


def _shifted(scalar: Call, column: Ref) -> float | None:
    """A number plus or minus another one, or a date literal and an interval literal, on the line of
    days."""
    start, interval = scalar.args
    value = constant_value(start, column)
    if value is not None and column.type.is_numeric:
        other = constant_value(interval, column)
        if other is None:
            return None
        return value + other if scalar.name == "+" else value - other
    if not isinstance(interval, Literal) or interval.text is None:
        return None
    days = _DAYS.get(interval.type.name.removeprefix("INTERVAL "))
    if days is None or value is None:
        return None
    try:
        length = float(interval.text) * days
    except ValueError:
        return None  # such as '1-2' YEAR TO MONTH
    return value + length if scalar.name == "+" else value - length


def _of(part: Scalar, columns: Columns) -> float:
    if isinstance(part, Literal):
        return 1.0 if part.text == "true" else 0.0
    if isinstance(part, Ref):
        return 0.5 * (1.0 - columns[part.column.id].nulls)
    if part.name == "or":
        missed = 1.0
        for arg in part.args:
            missed *= 1.0 - selectivity(arg, columns)
        return 1.0 - missed
    if part.name == "and":
        return selectivity(part, columns)
    if part.name == "not":
        return _of_not(part.args[0], columns)
    if part.name == "isnull":
        return _nulls(part.args[0], columns)
    if part.name == "isnotnull":
        return 1.0 - _nulls(part.args[0], columns)
    return _of_test(part, columns) * _known(part, columns)


def _of_not(inner: Scalar, columns: Columns) -> float:
    if isinstance(inner, Call) and inner.name in ("isnull", "isnotnull", "and", "or", "not"):
        return 1.0 - _of(inner, columns)
    # NULL operands qualify neither for the test nor for its negation.
    known = _known(inner, columns)
    return max(0.0, known - _of(inner, columns))


def _of_test(part: Call, columns: Columns) -> float:
    """Selectivity among rows whose operands are not NULL."""
    if part.name in ("=", "<=>"):
        return _equal(part, columns)
    if part.name == "<>":
        return 1.0 - _equal(part, columns)
    if part.name in ("<", "<=", ">", ">="):
        return RANGE
    if part.name == "in":
        distinct = _distinct(part.args[0], columns)
        each = EQUAL if distinct is None else 1.0 / max(1.0, distinct)
        return min(1.0, each * (len(part.args) - 1))
    if part.name == "like":
        return _like(part)
    return CONTAINS


def _equal(part: Call, columns: Columns) -> float:
    known = [d for d in (_distinct(arg, columns) for arg in part.args) if d is not None]
    turned = column_and_constant(part)
    if turned is not None:
        _, column, constant = turned
        stats = columns[column.column.id]
        if _is_outside(constant_value(constant, column), stats):
            return LEAST
    return 1.0 / max(1.0, *known) if known else EQUAL


def _is_outside(value: float | None, stats: ColumnEstimate) -> bool:
    if value is None or stats.low is None or stats.high is None:
        return False
    return not stats.low <= value <= stats.high


def _like(part: Call) -> float:
    pattern = part.args[1]
    if not isinstance(pattern, Literal) or pattern.text is None:
        return CONTAINS
    if "%" not in pattern.text and "_" not in pattern.text:
        return EQUAL
    return CONTAINS if pattern.text.startswith(("%", "_")) else PREFIX


def _distinct(scalar: Scalar, columns: Columns) -> float | None:
    """Distinct values of an expression, None if it is a constant or not known."""
    if isinstance(scalar, Ref):
        return columns[scalar.column.id].distinct
    if isinstance(scalar, Call) and scalar.name in ("cast", "upper", "lower", "trim", "neg"):
        return _distinct(scalar.args[0], columns)
    if isinstance(scalar, Call) and scalar.name in ("+", "-"):
        varying = [arg for arg in scalar.args if _has_reference(arg)]
        return _distinct(varying[0], columns) if len(varying) == 1 else None
    return None


def _known(scalar: Scalar, columns: Columns) -> float:
    """Fraction of the rows in which no column of the expression is NULL."""
    if isinstance(scalar, Ref):
        return 1.0 - columns[scalar.column.id].nulls
    if isinstance(scalar, Call) and scalar.name not in ("coalesce", "case", "isnull", "<=>"):
        result = 1.0
        for arg in scalar.args:
            result *= _known(arg, columns)
        return result
    return 1.0


def _nulls(scalar: Scalar, columns: Columns) -> float:
    return 1.0 - _known(scalar, columns)
