"""The part of SQL that the small engine is known to compute exactly as Spark does.

:mod:`forerun.include.verify.sail_gaps` names what it is known to get wrong, which is enough for a
simulation. A result that readers are given asks for more: of a query, only what is listed here may
occur. Each entry was compared with Spark (``tests/spark/test_sail_exact.py``). Three things are
left out although the values would mostly be the same: floating-point numbers, whose last digits
depend on the order of a sum; whole numbers that are computed, which overflow there without an
error; and sums that could leave the range of their type, for the same reason. Quotients and means
of DECIMALs are exact only in stages that are written for it
(:mod:`forerun.planner.exact.quotients`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import TypeGuard

from forerun.include.verify.sail_gaps import SAIL_GAPS, gaps_of
from forerun.planner.algebra.expressions import scalars_of
from forerun.planner.algebra.functions import decimal_result
from forerun.planner.algebra.relational import (
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
from forerun.planner.algebra.scalar import (
    Call,
    Literal,
    Ref,
    Scalar,
    references,
    substitute,
    value_places,
)
from forerun.planner.algebra.scalar import walk as walk_scalar
from forerun.planner.algebra.types import ColumnId, DataType
from forerun.planner.exact.narrowing import Narrowing
from forerun.planner.exact.quotients import CONDITIONS, has_digit_to_round, is_never_zero
from forerun.planner.request import Source

_OPERATORS = (Scan, Filter, Project, Join, Aggregate, UnionAll, Sort, Limit)
_JOINS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_TYPES = (*_WHOLE, "BOOLEAN", "STRING", "DATE", "DECIMAL")
_FUNCTIONS = (
    "=", "<=>", "<>", "<", "<=", ">", ">=", "and", "or", "not", "in", "isnull", "isnotnull", "case",
    "coalesce", "year", "substring",
)  # fmt: skip
_GAPS = tuple(gap for gap in SAIL_GAPS if not gap.only_text)
_AGGREGATES = ("count", "sum", "avg", "min", "max")
_MOST_ROWS = 10**13
"""No process gets through more rows, at a billion in a second, in the hours that a repair takes."""


def why_not_exact(query: Relation, sources: Iterable[Source]) -> Iterator[str]:
    """Say, each in a few words, what of a query may have another value on the small engine than on
    Spark. ``sources`` have the bounds of the files that are read."""
    for gap in gaps_of(query, _GAPS):
        yield gap.says
    known = tuple(sources)
    narrowing, rows = Narrowing(query, known), {source.name: source.rows for source in known}
    made = {c.id: s for node in walk(query) if isinstance(node, Project) for c, s in node.items}
    said = dict.fromkeys(_of_types(column.type for column in query.columns))
    for node in walk(query):
        said |= dict.fromkeys(_of_node(node))
        if isinstance(node, Aggregate):
            most = min(_MOST_ROWS, prod(1 + rows[s.source] for s in walk(node) if _is_scan(s)))
            for _, call in node.calls:
                inlined = replace(call, args=tuple(_inlined(arg, made) for arg in call.args))
                said |= dict.fromkeys(_of_aggregate(inlined, narrowing, most))
    yield from said


def _of_node(node: Relation) -> Iterator[str]:
    if not isinstance(node, _OPERATORS):
        yield f"{type(node).__name__} was not compared with Spark"
        return
    if isinstance(node, Join) and node.kind not in _JOINS:
        yield f"a join of kind {node.kind.value} was not compared with Spark"
    if isinstance(node, Project | Aggregate):
        yield from _of_types(column.type for column in node.columns)
    elif isinstance(node, Sort):
        yield from _of_types(key.column.type for key in node.keys)
    for scalar in _conditions(node):
        for part in walk_scalar(scalar):
            if isinstance(part, Call) and part.name == "/" and not is_never_zero(part.args[1]):
                yield "a quotient in a condition is NULL there where Spark fails by a divisor of 0"
    for scalar in scalars_of(node):
        for part in walk_scalar(scalar):
            if isinstance(part, Ref):
                yield from _of_types([part.type])
            elif isinstance(part, Call) and not _is_exact(part):
                yield f"{part.name} of {_types(part)} was not compared with Spark, or is not exact"


def _of_types(types: Iterable[DataType]) -> Iterator[str]:
    """Yield a sentence for each type that was not compared with Spark, or is not exact. The caller
    passes the types that are read or given out: other columns of sources do not matter."""
    for type_ in types:
        if type_.name not in _TYPES:
            yield f"{type_.sql} was not compared with Spark, or is not exact"


def _conditions(node: Relation) -> Iterator[Scalar]:
    """Yield what is computed for rows that Spark does not come to."""
    if isinstance(node, Filter):
        yield node.predicate
    elif isinstance(node, Join):
        yield node.condition
    elif isinstance(node, Aggregate):
        yield from (call.where for _, call in node.calls if call.where is not None)
    for scalar in scalars_of(node):
        for part in walk_scalar(scalar):
            if isinstance(part, Call) and part.name in CONDITIONS:
                yield part


def _of_aggregate(call: AggregateCall, narrowing: Narrowing, rows: int) -> Iterator[str]:
    if call.name not in _AGGREGATES:
        yield f"{call.name} was not compared with Spark"
    elif call.name in ("sum", "avg") and not _fits(call.args[0], narrowing, rows):
        yield f"a {call.name} of {call.args[0].type.sql} could overflow there without an error"


def _inlined(scalar: Scalar, made: Mapping[ColumnId, Scalar]) -> Scalar:
    """The expression in terms of columns of sources, of which bounds are known, as far as it is."""
    while found := {i: made[i] for i in references(scalar) if i in made}:
        if all(isinstance(one, Ref) and one.column.id == i for i, one in found.items()):
            break  # a column that is handed on under its own id
        scalar = substitute(scalar, found)
    return scalar


def _fits(value: Scalar, narrowing: Narrowing, rows: int) -> bool:
    """Return whether the sum of so many values is a number of its type."""
    type_ = value.type
    if type_.name == "DECIMAL":
        return bool(10 ** _digits(value, narrowing) * rows < 10**38)
    return type_.name in _DIGITS and bool(10 ** _digits(value, narrowing) * rows < 2**63)


def _digits(value: Scalar, narrowing: Narrowing) -> int:
    """Return how many digits a number has at most, those of its scale included: by the bounds of
    the files, or by its type where they say nothing."""
    if isinstance(value, Call) and value.name == "case":
        return max(_digits(value.args[place], narrowing) for place in value_places(value))
    bounds, type_ = narrowing.of(value).bounds, value.type
    if bounds is not None:
        return bounds.digits(type_.scale if type_.name == "DECIMAL" else 0)
    if isinstance(value, Literal) and value.text is None:
        return 1
    return _DIGITS.get(type_.name, type_.precision)


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
    if all(isinstance(arg, Literal) for arg in call.args) and set(names) <= set(_WHOLE):
        return (
            True  # what it is, is known when the query is planned, and it would have failed there
        )
    if any(name != "DECIMAL" for name in names):
        return False
    if call.name == "/":
        return call.type.name == "DECIMAL" and has_digit_to_round(given[0], call.type)
    if call.name == "neg":
        return call.type.name == "DECIMAL"
    # Beyond 38 digits Spark rounds; it does not where the scale is that of the exact value.
    scales = [type_.scale for type_ in given]
    exact = sum(scales) if call.name == "*" else max(scales)
    return call.type == decimal_result(call.name, *given) and call.type.scale == exact


def _keeps_values(before: DataType, after: DataType) -> bool:
    """Return whether a cast changes no value, and cannot fail."""
    if before == after:
        return True
    if after.name != "DECIMAL":
        return (before.name, after.name) in _WIDENED
    digits = _DIGITS.get(before.name, before.precision - before.scale)
    scale = before.scale if before.name == "DECIMAL" else 0
    known = before.name == "DECIMAL" or before.name in _DIGITS
    return known and after.scale >= scale and after.precision - after.scale >= digits


def _is_scan(node: Relation) -> TypeGuard[Scan]:
    return isinstance(node, Scan)


_INTERVALS = ("INTERVAL DAY", "INTERVAL MONTH", "INTERVAL YEAR")
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
_WIDENED = {(one, other) for i, one in enumerate(_WHOLE) for other in _WHOLE[i + 1 :]}


def _is_known(name: str) -> bool:
    return name in (*_TYPES, "VOID")


def _types(call: Call) -> str:
    return ", ".join(arg.type.sql for arg in call.args)
