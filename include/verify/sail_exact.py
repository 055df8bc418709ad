"""What of a query the small engine is known to compute exactly as Spark does.

:mod:`include.verify.sail_gaps` names what it is known to get wrong, which is enough for a
simulation. A result that readers are given asks for more: of a query, only what is listed here may
occur. Each entry was compared with Spark (``tests/spark/test_sail_exact.py``). Three things are
left out although the values would mostly be the same: floating-point numbers, whose last digits
depend on the order of a sum; whole numbers that are computed, which overflow there without an
error; and sums of DECIMALs that could leave 38 digits, for the same reason. Quotients and means of
DECIMALs are exact only in stages that are written for it (:mod:`planner.exact.quotients`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from include.verify.sail_gaps import SAIL_GAPS, gaps_of
from planner.algebra.functions import decimal_result
from planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Scan,
    Sort,
    UnionAll,
    walk,
)
from planner.algebra.scalar import Call, Literal, Scalar
from planner.algebra.scalar import walk as walk_scalar
from planner.algebra.types import DataType
from planner.exact.narrowing import Narrowing
from planner.request import Source

_OPERATORS = (Scan, Filter, Project, Join, Aggregate, UnionAll, Sort, Limit)
_JOINS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_TYPES = (*_WHOLE, "BOOLEAN", "STRING", "DATE", "DECIMAL")
_FUNCTIONS = (
    "=", "<=>", "<>", "<", "<=", ">", ">=", "and", "or", "not", "in", "isnull", "isnotnull", "case",
    "coalesce", "year", "substring",
)  # fmt: skip
_AGGREGATES = ("count", "sum", "avg", "min", "max")
_MOST_ROWS = 10**12
"""So many rows a sum may be of. The largest value times this must be a number of its type."""


def why_not_exact(query: Relation, sources: Iterable[Source]) -> Iterator[str]:
    """Say, each in a few words, what of a query may have another value on the small engine than on
    Spark. ``sources`` have the bounds of the files that are read."""
    for gap in gaps_of(query, SAIL_GAPS):
        yield gap.says
    narrowing = Narrowing(query, sources)
    said: dict[str, None] = {}
    for node in walk(query):
        said |= dict.fromkeys(_of_node(node, narrowing))
    yield from said


def _of_node(node: Relation, narrowing: Narrowing) -> Iterator[str]:
    if not isinstance(node, _OPERATORS):
        yield f"{type(node).__name__} was not compared with Spark"
        return
    if isinstance(node, Join) and node.kind not in _JOINS:
        yield f"a join of kind {node.kind.value} was not compared with Spark"
    for column in node.columns:
        if column.type.name not in _TYPES:
            yield f"{column.type.sql} was not compared with Spark, or is not exact"
    for scalar in _scalars(node):
        for part in walk_scalar(scalar):
            if isinstance(part, Call) and not _is_exact(part):
                yield f"{part.name} of {_types(part)} was not compared with Spark, or is not exact"
    if isinstance(node, Aggregate):
        for _, call in node.calls:
            yield from _of_aggregate(call, narrowing)


def _scalars(node: Relation) -> Iterator[Scalar]:
    if isinstance(node, Project):
        yield from (scalar for _, scalar in node.items)
    elif isinstance(node, Filter):
        yield node.predicate
    elif isinstance(node, Join):
        yield node.condition
    elif isinstance(node, Aggregate):
        for _, call in node.calls:
            yield from call.args
            if call.where is not None:
                yield call.where


def _of_aggregate(call: AggregateCall, narrowing: Narrowing) -> Iterator[str]:
    if call.name not in _AGGREGATES:
        yield f"{call.name} was not compared with Spark"
    elif call.name in ("sum", "avg") and not _fits(call.args[0], narrowing):
        yield f"a {call.name} of {call.args[0].type.sql} could overflow there without an error"


def _fits(value: Scalar, narrowing: Narrowing) -> bool:
    """Whether a sum of so many values is a number of its type, by the bounds of the files, or by
    the type where they say nothing."""
    type_ = value.type
    if type_.name == "DECIMAL":
        bounds = narrowing.of(value).bounds
        digits = bounds.digits(type_.scale) if bounds is not None else type_.precision
        return bool(10**digits * _MOST_ROWS < 10**38)
    # BIGINT holds the sum of a billion values of up to 32 bits.
    return type_.name in _WHOLE[:-1]


def _is_exact(call: Call) -> bool:
    given = [arg.type for arg in call.args]
    names = [type_.name for type_ in given]
    if call.name == "cast":
        return _keeps_values(given[0], call.type)
    if call.name == "like":  # a backslash is another sign to each engine
        pattern = call.args[1]
        known = isinstance(pattern, Literal) and pattern.text is not None and len(call.args) == 2
        return known and "\\" not in str(pattern)
    if call.name in ("+", "-", "*", "/", "neg"):
        return _is_exact_arithmetic(call, given, names)
    return call.name in _FUNCTIONS and all(_is_known(name) for name in names)


def _is_exact_arithmetic(call: Call, given: list[DataType], names: list[str]) -> bool:
    if names[0] == "DATE":
        return call.name in ("+", "-") and names[1] in _INTERVALS
    if all(isinstance(arg, Literal) for arg in call.args):
        return all(name in _WHOLE for name in names)
    if any(name != "DECIMAL" for name in names):
        return False
    if call.name in ("/", "neg"):
        return call.type.name == "DECIMAL"
    # Beyond 38 digits Spark rounds; it does not where the scale is that of the exact value.
    scales = [type_.scale for type_ in given]
    exact = sum(scales) if call.name == "*" else max(scales)
    return call.type == decimal_result(call.name, *given) and call.type.scale == exact


def _keeps_values(before: DataType, after: DataType) -> bool:
    """Whether a cast changes no value, and cannot fail."""
    if before == after:
        return True
    if after.name != "DECIMAL":
        return (before.name, after.name) in _WIDENED
    digits = _DIGITS.get(before.name, before.precision - before.scale)
    scale = before.scale if before.name == "DECIMAL" else 0
    known = before.name == "DECIMAL" or before.name in _DIGITS
    return known and after.scale >= scale and after.precision - after.scale >= digits


_INTERVALS = ("INTERVAL DAY", "INTERVAL MONTH", "INTERVAL YEAR")
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
_WIDENED = {(one, other) for i, one in enumerate(_WHOLE) for other in _WHOLE[i + 1 :]}


def _is_known(name: str) -> bool:
    return name in (*_TYPES, "VOID")


def _types(call: Call) -> str:
    return ", ".join(arg.type.sql for arg in call.args)
