"""Count the share of a source's rows that a predicate lets through, in a sample of them, and what
an array that is computed of a row has in it.

A uniform sample knows what no statistics of single columns do: which values come how often, what
goes together in a row, what a pattern or a function lets through. Predicates are evaluated column
by column, with Spark's NULLs. What the sample cannot answer (a function that is not listed here, a
value that does not cast) is no error: the guesses of :mod:`forerun.planner.stats.selectivity` stay.

Source: Lipton, Naughton and Schneider (1990), "Practical selectivity estimation through adaptive
sampling"; the rows let through of ``n`` are binomial. Values that were not drawn are counted by
those that were drawn once and twice: Chao (1984), "Nonparametric estimation of the number of
classes in a population"; Charikar, Chaudhuri, Motwani and Narasayya (2000), "Towards estimation
error guarantees for distinct values".
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, DecimalException
from itertools import compress, pairwise

from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, conjunction, conjuncts
from forerun.planner.algebra.types import ColumnId, DataType
from forerun.planner.request import ColumnStats, SampleValue, Source

Value = SampleValue | tuple[SampleValue, ...]
Values = Sequence[Value]
_FEW = 5
"""Values that were drawn once have to be at most one in so many."""
_FEWEST_BLOCKS = 2
"""Of one block nothing says how it differs from others."""


class _NotEvaluatedError(Exception):
    """The predicate has something in it that is not evaluated here."""


@dataclass(frozen=True, slots=True)
class Sample:
    """``size`` rows; the values of columns, by their ids: those that were drawn; and the number of
    the block that each row was drawn from, nothing if each was drawn by itself."""

    size: int
    columns: Mapping[ColumnId, Values]
    blocks: Sequence[int] = ()

    def through(self, predicate: Scalar) -> Passed:
        """Count what passes the predicate, conjunct by conjunct."""
        passed, told, untold = self, [], []
        for part in conjuncts(predicate):
            rest = passed.where(part)
            if rest is None:
                untold.append(part)
            else:
                passed = rest
                told.append(part)
        return Passed(passed, conjunction(tuple(told)), conjunction(tuple(untold)))

    def where(self, predicate: Scalar) -> Sample | None:
        """The rows for which the predicate is true; None if it cannot be told."""
        try:
            holds = [value is True for value in _evaluate(predicate, self)]
        except (_NotEvaluatedError, ArithmeticError, DecimalException, TypeError, ValueError):
            return None
        rest = {id_: list(compress(values, holds)) for id_, values in self.columns.items()}
        return Sample(sum(holds), rest, list(compress(self.blocks, holds)))

    def elements(self, array: Scalar, made: ColumnId, *, outer: bool) -> Sample | None:
        """A row for each element of an array that is computed of each row, the element in ``made``;
        one of NULL for an array without elements, if ``outer``. None if it cannot be told."""
        try:
            arrays = _evaluate(array, self)
        except (_NotEvaluatedError, ArithmeticError, DecimalException, TypeError, ValueError):
            return None
        nothing: tuple[SampleValue, ...] = (None,) * outer
        found = [one for one in arrays if isinstance(one, tuple | None)]
        if len(found) < len(arrays):
            return None
        pairs = [(n, value) for n, one in enumerate(found) for value in one or nothing]
        columns = {id_: [values[n] for n, _ in pairs] for id_, values in self.columns.items()}
        blocks = [self.blocks[n] for n, _ in pairs] if self.blocks else ()
        return Sample(len(pairs), {**columns, made: [value for _, value in pairs]}, blocks)


@dataclass(frozen=True, slots=True)
class Passed:
    """``sample``: the rows for which what could be ``told`` is true; ``untold``: what could not."""

    sample: Sample
    told: Scalar
    untold: Scalar


def distinct_values(drawn: Values, rows: float) -> float | None:
    """How many values there are among so many rows, by those that were drawn: the geometric mean of
    what can hardly be more (Chao) and of the guess whose error is bounded (GEE). None where values
    that were drawn once are more than a fifth: then nearly every row may have its own. Otherwise at
    most a fifth of the rows have values that were not drawn, so there is little to lose."""
    times = Counter(value for value in drawn if value is not None)
    once, twice = (sum(n == number for n in times.values()) for number in (1, 2))
    there = times.total()
    if once * _FEW > there:
        return None
    chao = len(times) + once * (once - 1) / (2.0 * (twice + 1.0))
    gee = len(times) + once * (math.sqrt(max(1.0, rows / max(1, there))) - 1.0)
    return math.sqrt(chao * gee)


def counted_stats(source: Source) -> Mapping[str, ColumnStats]:
    """Return the statistics of columns whose values a sample counts, where nothing else has counted
    them."""
    known, found = dict(source.stats), {}
    for name, values in source.sample:
        stats = known.get(name, ColumnStats())
        counted = None if stats.distinct else distinct_values(values, float(source.rows))
        if counted is not None:
            found[name] = replace(stats, distinct=counted)
    return found


def share(of: Sample, passed: Sample, guess: float) -> float:
    """The share that passes. The guess counts as much as one more row: what no row of a thousand
    passes may still be passed by some."""
    return (passed.size + guess) / (of.size + 1.0)


def error(of: Sample, passed: Sample) -> float:
    """The standard deviation of the logarithm of the odds to pass (half a row is added to each
    side, after Haldane and Anscombe); at least what the shares of blocks that follow one another
    differ by, since rows of one block may be alike (Wolter 1985, "Introduction to variance
    estimation", section 7.2: successive differences, for samples in equal steps)."""
    ours, others = passed.size + 0.5, of.size - passed.size + 0.5
    by_rows = math.sqrt(1.0 / ours + 1.0 / others)
    rows, through = Counter(of.blocks), Counter(passed.blocks)
    if len(rows) < _FEWEST_BLOCKS:
        return by_rows
    mean = passed.size / of.size
    beyond = [through[block] - mean * rows[block] for block in sorted(rows)]
    squares = sum((one - other) ** 2 for one, other in pairwise(beyond)) / (2 * len(rows) - 2)
    deviation = math.sqrt(squares * len(rows)) / of.size
    share = ours / (ours + others)
    return max(by_rows, deviation / (share * (1.0 - share)))


def _evaluate(scalar: Scalar, sample: Sample) -> Values:
    if isinstance(scalar, Ref):
        if scalar.column.id not in sample.columns:
            raise _NotEvaluatedError
        return sample.columns[scalar.column.id]
    if isinstance(scalar, Literal):
        return [_constant(scalar)] * sample.size
    columns = [_evaluate(arg, sample) for arg in scalar.args if not _is_interval(arg)]
    if scalar.name in ("cast", "try_cast"):
        return [None if v is None else _cast(v, scalar.type) for v in columns[0]]
    if len(columns) < len(scalar.args):
        return _moved(scalar, columns)
    if scalar.name in _COMPARED:
        columns = _comparable(columns)
    special = _SPECIAL.get(scalar.name)
    if special is not None:
        return [special(row) for row in zip(*columns, strict=True)]
    function = _STRICT.get(scalar.name)
    if function is None:
        raise _NotEvaluatedError
    return [None if None in row else function(*row) for row in zip(*columns, strict=True)]


def _constant(literal: Literal) -> Value:
    if literal.text is None:
        return None
    return _cast(literal.text, literal.type)


def _cast(value: Value, to: DataType) -> Value:
    """A value in another type, from a text or from a narrower number: what keeps its meaning."""
    if to.name == "STRING" and isinstance(value, str):
        return value
    if to.is_floating and isinstance(value, str | Decimal | float):
        return float(value)
    if (to.is_integer or to.name == "DECIMAL") and isinstance(value, str | Decimal | float):
        number = Decimal(value)
        return number.to_integral_value("ROUND_DOWN") if to.is_integer else number
    if to.name == "BOOLEAN" and isinstance(value, bool):
        return value
    if to.name == "BOOLEAN" and value in ("true", "false"):
        return value == "true"
    if to.name == "DATE" and isinstance(value, str):
        return dt.date.fromisoformat(value[:10])
    if to.name == "DATE" and isinstance(value, dt.date):
        return value.date() if isinstance(value, dt.datetime) else value
    if to.name.startswith("TIMESTAMP") and isinstance(value, str):
        return dt.datetime.fromisoformat(value).replace(tzinfo=None)
    if to.name.startswith("TIMESTAMP") and isinstance(value, dt.date):
        if isinstance(value, dt.datetime):
            return value
        return dt.datetime.combine(value, dt.time())
    raise _NotEvaluatedError


def _comparable(columns: list[Values]) -> list[Values]:
    """The same in the order of Spark, where NaN equals itself and is above all other numbers.
    Values of two kinds, never equal in Python, would be cast to one in Spark."""
    there = [value for column in columns for value in column if value is not None]
    if len({_KINDS.get(type(value)) for value in there}) > 1:
        raise _NotEvaluatedError
    if not any(isinstance(value, float) and math.isnan(value) for value in there):
        return columns
    return [[None if v is None else _above_all(v) for v in column] for column in columns]


def _above_all(value: Value) -> Value:
    return math.inf if isinstance(value, float) and math.isnan(value) else value


_KINDS: Mapping[type, str] = {
    Decimal: "number",
    float: "number",
    str: "text",
    bool: "truth",
    dt.date: "date",
    dt.datetime: "time",
}


# -- dates and intervals --------------------------------------------------------------------------


def _is_interval(scalar: Scalar) -> bool:
    return isinstance(scalar, Literal) and scalar.type.name.startswith("INTERVAL")


def _moved(call: Call, columns: list[Values]) -> Values:
    """Dates and timestamps plus or minus an interval literal of one unit."""
    interval = next(arg for arg in call.args if isinstance(arg, Literal) and _is_interval(arg))
    unit, text = interval.type.name.removeprefix("INTERVAL "), interval.text
    if call.name not in ("+", "-") or len(columns) != 1 or text is None:
        raise _NotEvaluatedError
    count = int(text) if call.name == "+" else -int(text)
    return [None if value is None else _later(value, unit, count) for value in columns[0]]


def _later(value: Value, unit: str, count: int) -> Value:
    if not isinstance(value, dt.date):
        raise _NotEvaluatedError
    if unit == "DAY":
        return value + dt.timedelta(days=count)
    if unit not in ("MONTH", "YEAR"):
        raise _NotEvaluatedError
    months = value.year * 12 + value.month - 1 + count * (12 if unit == "YEAR" else 1)
    year, month = divmod(months, 12)
    following = dt.date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last = (following - dt.timedelta(days=1)).day
    return value.replace(year=year, month=month + 1, day=min(value.day, last))


# -- functions ------------------------------------------------------------------------------------

Row = tuple[Value, ...]


def _and(row: Row) -> Value:
    return False if False in row else None if None in row else True


def _or(row: Row) -> Value:
    return True if True in row else None if None in row else False


def _case(row: Row) -> Value:
    for condition, value in zip(row[:-1:2], row[1:-1:2], strict=True):
        if condition is True:
            return value
    return row[-1]


def _in(row: Row) -> Value:
    value, listed = row[0], row[1:]
    if value is None:
        return None
    return True if value in listed else None if None in listed else False


def _coalesce(row: Row) -> Value:
    return next((value for value in row if value is not None), None)


def _like(text: str, pattern: str, escape: str = "\\") -> bool:
    return _pattern(pattern, escape).fullmatch(text) is not None


def _pattern(pattern: str, escape: str) -> re.Pattern[str]:
    parts, literal = [], False
    for char in pattern:
        if literal or char not in ("%", "_", escape):
            parts.append(re.escape(char))
            literal = False
        elif char == escape:
            literal = True
        else:
            parts.append(".*" if char == "%" else ".")
    return re.compile("".join(parts), re.DOTALL)  # the module keeps those it has compiled


def _substring(text: str, start: Decimal, length: Decimal | None = None) -> str:
    if start < 1:
        raise _NotEvaluatedError
    first = int(start) - 1
    return text[first:] if length is None else text[first : first + int(length)]


def _number(function: Callable[..., Value]) -> Callable[..., Value]:
    """Arithmetic of two kinds of numbers is that of floats."""

    def of_numbers(*args: Value) -> Value:
        numbers = [arg for arg in args if isinstance(arg, Decimal | float)]
        if len(numbers) < len(args):
            raise _NotEvaluatedError
        exact = all(isinstance(number, Decimal) for number in numbers)
        return function(*(numbers if exact else map(float, numbers)))

    return of_numbers


def _first(kind: type, function: Callable[..., Value]) -> Callable[..., Value]:
    """Return the function restricted to a first argument of this type. For another type Spark would
    take what it casts to, which is not evaluated here."""

    def of_kind(*args: Value) -> Value:
        if not isinstance(args[0], kind):
            raise _NotEvaluatedError
        return function(*args)

    return of_kind


def _split(text: Value, pattern: Value, most: Value = None) -> Value:
    """The parts of a text between what a pattern finds, as far as Java's patterns are Python's."""
    if not isinstance(text, str) or not isinstance(pattern, str) or most is not None:
        raise _NotEvaluatedError
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise _NotEvaluatedError from error
    if found.groups or not pattern:
        raise _NotEvaluatedError
    return tuple(found.split(text))


_SPECIAL: Mapping[str, Callable[[Row], Value]] = {
    "and": _and,
    "or": _or,
    "case": _case,
    "in": _in,
    "coalesce": _coalesce,
    "isnull": lambda row: row[0] is None,
    "isnotnull": lambda row: row[0] is not None,
    "<=>": lambda row: row[0] == row[1],
}
_COMPARED = frozenset({"=", "<=>", "<>", "<", "<=", ">", ">=", "in"})
_STRICT: Mapping[str, Callable[..., Value]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "not": operator.not_,
    "+": _number(operator.add),
    "-": _number(operator.sub),
    "*": _number(operator.mul),
    "/": _number(operator.truediv),
    "neg": _number(operator.neg),
    "abs": _number(abs),
    "like": _first(str, _like),
    "substring": _first(str, _substring),
    "substr": _first(str, _substring),
    "split": _split,
    "upper": _first(str, str.upper),
    "lower": _first(str, str.lower),
    "trim": _first(str, lambda text: text.strip(" ")),
    "length": _first(str, lambda text: Decimal(len(text))),
    "year": _first(dt.date, lambda date: Decimal(date.year)),
    "month": _first(dt.date, lambda date: Decimal(date.month)),
    "day": _first(dt.date, lambda date: Decimal(date.day)),
    "quarter": _first(dt.date, lambda date: Decimal((date.month + 2) // 3)),
}
