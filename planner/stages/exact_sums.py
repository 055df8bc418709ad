"""Sums of DECIMALs by long arithmetic: the same values from narrower types and fewer products.

Spark adds up DECIMALs of at most 8 digits as longs, and computes with at most 18 digits without
big integers. Declared types are rarely that narrow, while the values often are: a price below a
million has 8 digits in a DECIMAL(12,2). Two rewrites of an aggregate use the bounds of the files
that a run reads:

* **Narrowing.** In ``sum(e)`` each column of ``e`` is cast to the digits that its bounds need. All
  operations in ``e`` are exact in both forms (``+``, ``-``, ``*``, CASE and casts that lose no
  digit), so every row gives the same value. The sum is cast to the type that it had.
* **Factoring.** ``sum(x * f)`` where ``f`` has columns of few values only is the sum over their
  values of ``sum(x) * f``: the rows are grouped by these columns as well, each group is multiplied
  once, and the groups are added up. The distributive law, which holds for NULLs too: a NULL in
  ``x`` is not added, a NULL in ``f`` makes the product of its whole group NULL, and that is not
  added either. Counts are added up, minima and maxima taken of each other, and means taken apart
  into sums and counts (:mod:`planner.stages.means`).

Bounds are a declaration of the files' footers. Where one is wrong a cast fails, and with it the
run: no sum is ever wrong by it. Functions whose result depends on the order of the rows, as sums of
DOUBLEs do, are left alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from planner.algebra.aggregate_functions import function, result_type
from planner.algebra.aggregate_record import Empty, Mean
from planner.algebra.functions import MAX_PRECISION, decimal_result, widest_decimal
from planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Project,
    Relation,
    Scan,
    walk,
)
from planner.algebra.scalar import (
    Call,
    Literal,
    Ref,
    Scalar,
    is_deterministic,
    references,
    substitute,
)
from planner.algebra.types import BIGINT, Column, ColumnId, DataType, decimal
from planner.request import Source
from planner.stages.means import without_means
from planner.tvr.signed import ColumnIds

_LONG_SUM = 8
"""DECIMALs of so many digits Spark adds up as longs (its rule ``DecimalAggregates``)."""
_LONG = 18
"""DECIMALs of so many digits Spark keeps in a long."""
_MOST_COMBINATIONS = 1_000
"""Grouping also by factors pays while all groups fit into a small hash table."""
_ROWS_OF_A_GROUP = 100
"""... and while each of them stands for many rows."""
_MOST_ROWS = 1e9
"""A sum of n digits has ten more in Spark. So many rows, even if a join were ten times larger than
is estimated, do not fill them."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest value of an expression, NULLs aside."""

    low: Fraction
    high: Fraction

    def digits(self, scale: int) -> int:
        """Return how many digits a DECIMAL of this scale needs for every value."""
        most = math.ceil(max(abs(self.low), abs(self.high)) * 10**scale)
        return max(len(str(most)), scale, 1)

    def count(self, scale: int) -> float:
        """Return how many values of this scale there are."""
        return float((self.high - self.low) * 10**scale) + 1


@dataclass(frozen=True, slots=True)
class _Narrow:
    """An expression in narrow types; without ``bounds`` it is as it was."""

    scalar: Scalar
    bounds: Bounds | None


class ExactSums:
    """Rewrites aggregates by what is known of the columns of a query's sources."""

    def __init__(self, relation: Relation, sources: Iterable[Source], ids: ColumnIds) -> None:
        """``sources`` have the bounds of exactly the files that the run reads."""
        self._bounds = dict(_bounds(relation, {source.name: source for source in sources}))
        self._ids = ids

    def rewritten(self, node: Aggregate, rows: float, groups: float) -> Relation:
        """Return a relation of the same rows, or the node itself where nothing is gained.

        ``rows`` and ``groups`` are the estimates for its input and its output.
        """
        if rows > _MOST_ROWS:
            return node
        inlined = _inlined(node)
        exact = self._exact(inlined, rows, groups)
        return node if exact is inlined else exact

    def _exact(self, node: Aggregate, rows: float, groups: float) -> Relation:
        sums, finished = without_means(node, self._ids)
        calls = tuple((column, self._narrowed(call)) for column, call in sums.calls)
        factors = self._factors(sums, calls, rows, groups)
        if factors:
            regrouped = self._regrouped(sums, calls, factors)
            return Project(regrouped, finished) if finished else regrouped
        calls = tuple((column, self._narrowed(call)) for column, call in node.calls)
        if all(new is old for (_, new), (_, old) in zip(calls, node.calls, strict=True)):
            return node
        made = [(self._result(column, call), call) for column, call in calls]
        items: list[tuple[Column, Scalar]] = [(key, Ref(key)) for key in node.keys]
        for (column, _), (new, _) in zip(calls, made, strict=True):
            items.append((column, _as(Ref(new), column.type)))
        return Project(Aggregate(node.input, node.keys, tuple(made)), tuple(items))

    # -- narrowing ----------------------------------------------------------------------------

    def _narrowed(self, call: AggregateCall) -> AggregateCall:
        """Return a sum over the narrowest types, if it gains by them."""
        if not _is_sum(call) or call.distinct or call.args[0].type.name != "DECIMAL":
            return call
        old = call.args[0].type.precision
        new = self._narrow(call.args[0])
        digits = new.scalar.type.precision
        if new.bounds is None or not any(digits <= limit < old for limit in (_LONG_SUM, _LONG)):
            return call
        return AggregateCall("sum", (new.scalar,), where=call.where)

    def _narrow(self, scalar: Scalar) -> _Narrow:
        """Return the expression with equal values in narrow types, and with their bounds."""
        if isinstance(scalar, Ref):
            bounds = self._bounds.get(scalar.column.id)
            if bounds is None or scalar.type.name != "DECIMAL":
                return _Narrow(scalar, bounds)
            digits = min(bounds.digits(scalar.type.scale), scalar.type.precision)
            return _Narrow(_as(scalar, decimal(digits, scalar.type.scale)), bounds)
        if isinstance(scalar, Literal):
            if scalar.text is None or not (scalar.type.is_integer or _is_decimal(scalar)):
                return _Narrow(scalar, None)
            value = Fraction(scalar.text)
            return _Narrow(scalar, Bounds(value, value))
        if not _is_decimal(scalar):
            return _Narrow(scalar, None)
        if scalar.name in ("+", "-", "*"):
            return self._arithmetic(scalar)
        if scalar.name == "case":
            return self._case(scalar)
        if scalar.name == "cast":
            return self._cast(scalar)
        if scalar.name == "neg":
            return self._negative(scalar)
        return _Narrow(scalar, None)

    def _cast(self, call: Call) -> _Narrow:
        """Narrow a cast that loses no digit: its scale is that of the value, or larger."""
        inner = self._narrow(call.args[0])
        type_ = inner.scalar.type
        if inner.bounds is None or not (type_.is_integer or _is_decimal(inner.scalar)):
            return _Narrow(call, None)
        scale = call.type.scale
        digits = inner.bounds.digits(scale)
        if type_.scale > scale or digits > call.type.precision:
            return _Narrow(call, None)
        if _is_decimal(inner.scalar) and type_.scale == scale:
            return inner
        return _Narrow(_as(inner.scalar, decimal(digits, scale)), inner.bounds)

    def _negative(self, call: Call) -> _Narrow:
        inner = self._narrow(call.args[0])
        if inner.bounds is None or not _is_decimal(inner.scalar):
            return _Narrow(call, None)
        bounds = Bounds(-inner.bounds.high, -inner.bounds.low)
        return _Narrow(Call("neg", (inner.scalar,), inner.scalar.type), bounds)

    def _arithmetic(self, call: Call) -> _Narrow:
        left, right = (self._narrow(arg) for arg in call.args)
        one, two = left.bounds, right.bounds
        if one is None or two is None:
            return _Narrow(call, None)
        if not (_is_decimal(left.scalar) and _is_decimal(right.scalar)):
            return _Narrow(call, None)
        type_ = decimal_result(call.name, left.scalar.type, right.scalar.type)
        bounds = _computed(call.name, one, two)
        if type_.scale != call.type.scale or bounds.digits(type_.scale) > MAX_PRECISION:
            return _Narrow(call, None)
        return _Narrow(Call(call.name, (left.scalar, right.scalar), type_), bounds)

    def _case(self, call: Call) -> _Narrow:
        """Narrow the values of a CASE, not its conditions."""
        places = [*range(1, len(call.args), 2), len(call.args) - 1]
        values = [self._narrow(call.args[place]) for place in places]
        known = [v for v in values if not _is_null(v.scalar)]
        bounds = [v.bounds for v in known if v.bounds is not None]
        if len(bounds) < len(known) or not known or not all(_is_decimal(v.scalar) for v in known):
            return _Narrow(call, None)
        type_ = known[0].scalar.type
        for value in known[1:]:
            type_ = widest_decimal(type_, value.scalar.type)
        if type_.scale != call.type.scale:
            return _Narrow(call, None)
        args = list(call.args)
        for place, value in zip(places, values, strict=True):
            args[place] = (
                Literal(None, type_) if _is_null(value.scalar) else _as(value.scalar, type_)
            )
        within = Bounds(min(b.low for b in bounds), max(b.high for b in bounds))
        return _Narrow(Call("case", tuple(args), type_), within)

    # -- factoring ----------------------------------------------------------------------------

    def _factors(
        self,
        node: Aggregate,
        calls: tuple[tuple[Column, AggregateCall], ...],
        rows: float,
        groups: float,
    ) -> tuple[Column, ...]:
        """Return the columns to group by as well; none where that is not worth it."""
        few = {
            column.id: column
            for column in node.input.columns
            if self._combinations((column,)) <= _MOST_COMBINATIONS
        }
        keys = frozenset(key.id for key in node.keys)
        wanted: dict[ColumnId, Column] = {}
        for _, call in calls:
            if call.distinct or function(call.name).merged_by is None or not _reorders(call):
                return ()
            if _is_sum(call):
                outer, _ = _split(call.args[0], frozenset(few) | keys)
                used = {i for factor in outer for i in references(factor)}
                wanted |= {i: few[i] for i in sorted(used - keys)}
        found = tuple(wanted.values())
        combinations = self._combinations(found)
        if combinations > _MOST_COMBINATIONS or rows < _ROWS_OF_A_GROUP * groups * combinations:
            return ()
        return found

    def _combinations(self, columns: Iterable[Column]) -> float:
        """Return how many combinations of values the columns can have, NULLs included."""
        product = 1.0
        for column in columns:
            bounds = self._bounds.get(column.id)
            if bounds is None:
                return math.inf
            product *= bounds.count(column.type.scale) + 1
        return product

    def _regrouped(
        self,
        node: Aggregate,
        calls: tuple[tuple[Column, AggregateCall], ...],
        factors: tuple[Column, ...],
    ) -> Relation:
        keys = (*node.keys, *factors)
        given = frozenset(key.id for key in keys)
        within: dict[AggregateCall, Column] = {}
        over: list[tuple[Column, AggregateCall]] = []
        items: list[tuple[Column, Scalar]] = [(key, Ref(key)) for key in node.keys]
        for column, call in calls:
            outer: tuple[Scalar, ...] = ()
            part = call
            if _is_sum(call):
                outer, inner = _split(call.args[0], given)
                part = AggregateCall("sum", (inner,), where=call.where)
            if part not in within:
                within[part] = self._result(column, part)
            value: Scalar = Ref(within[part])
            for factor in outer:
                value = Call("*", (value, factor), decimal_result("*", value.type, factor.type))
            whole = AggregateCall(function(call.name).merged_by or call.name, (value,))
            made = self._result(column, whole)
            over.append((made, whole))
            total: Scalar = _as(Ref(made), column.type)
            if function(call.name).empty is Empty.ZERO and not node.keys:  # no groups to add up
                total = Call("coalesce", (total, Literal("0", BIGINT)), BIGINT)
            items.append((column, total))
        grouped = Aggregate(node.input, keys, tuple((c, call) for call, c in within.items()))
        return Project(Aggregate(grouped, node.keys, tuple(over)), tuple(items))

    def _result(self, like: Column, call: AggregateCall) -> Column:
        type_ = result_type(call.name, tuple(arg.type for arg in call.args))
        return self._ids.of_type(like.name, type_)


def _inlined(node: Aggregate) -> Aggregate:
    """Return the aggregate with its arguments in terms of the columns below a projection that
    computes them: bounds are known of these, not of what is computed."""
    below = node.input
    if not isinstance(below, Project):
        return node
    made = {column.id: scalar for column, scalar in below.items}
    if not all(is_deterministic(scalar) for scalar in made.values()):
        return node
    calls = tuple(
        (column, replace(call, args=tuple(substitute(arg, made) for arg in call.args)))
        for column, call in node.calls
    )
    inside = {column.id: column for column in below.input.columns}
    read = sorted({i for _, call in calls for arg in call.args for i in references(arg)})
    kept = {key.id for key in node.keys}
    kept |= {i for _, call in calls if call.where is not None for i in references(call.where)}
    items = [item for item in below.items if item[0].id in kept]
    there = {column.id for column, _ in items}
    items += [(inside[i], Ref(inside[i])) for i in read if i not in there]
    return Aggregate(Project(below.input, tuple(items)), node.keys, calls)


def _bounds(relation: Relation, sources: Mapping[str, Source]) -> Iterable[tuple[ColumnId, Bounds]]:
    """Yield the bounds of every column of the scans that has some. A column's id stays the same
    wherever its values go, kept rows included."""
    for node in walk(relation):
        if not isinstance(node, Scan):
            continue
        stats = dict(sources[node.source].stats)
        for column in node.columns:
            known = stats.get(column.name)
            if known is None or known.minimum is None or known.maximum is None:
                continue
            if column.type.is_integer or column.type.name == "DECIMAL":
                yield column.id, Bounds(Fraction(known.minimum), Fraction(known.maximum))


def _computed(op: str, one: Bounds, two: Bounds) -> Bounds:
    """Return the bounds of ``one op two``."""
    if op == "+":
        return Bounds(one.low + two.low, one.high + two.high)
    if op == "-":
        return Bounds(one.low - two.high, one.high - two.low)
    ends = [a * b for a in (one.low, one.high) for b in (two.low, two.high)]
    return Bounds(min(ends), max(ends))


def _split(scalar: Scalar, given: frozenset[ColumnId]) -> tuple[tuple[Scalar, ...], Scalar]:
    """Return the factors of a product that read columns of ``given`` only, and what is left; all
    that is left where there are no such factors, or nothing else, or where a product of sums would
    not be exact."""
    outer: list[Scalar] = []
    rest: list[Scalar] = []
    for factor in _product(scalar):
        read = references(factor)
        (outer if read and read <= given else rest).append(factor)
    if not outer or not any(references(factor) for factor in rest):
        return (), scalar
    inner = rest[0]
    for factor in rest[1:]:
        inner = Call("*", (inner, factor), decimal_result("*", inner.type, factor.type))
    total = result_type("sum", (inner.type,))
    digits = total.precision + sum(factor.type.precision + 1 for factor in outer)
    scale = inner.type.scale + sum(factor.type.scale for factor in outer)
    if digits > MAX_PRECISION or scale != scalar.type.scale:
        return (), scalar
    return tuple(outer), inner


def _product(scalar: Scalar) -> list[Scalar]:
    """Return the factors of a product of DECIMALs, flattened."""
    if isinstance(scalar, Call) and scalar.name == "*" and _is_decimal(scalar):
        return [factor for arg in scalar.args for factor in _product(arg)]
    return [scalar]


def _reorders(call: AggregateCall) -> bool:
    """Return whether the value does not depend on the order in which rows are added."""
    return not function(call.name).is_rounded(tuple(arg.type for arg in call.args))


def _is_sum(call: AggregateCall) -> bool:
    return function(call.name).mean is Mean.SUM


def _is_decimal(scalar: Scalar) -> bool:
    return scalar.type.name == "DECIMAL"


def _is_null(scalar: Scalar) -> bool:
    return isinstance(scalar, Literal) and scalar.text is None


def _as(scalar: Scalar, to: DataType) -> Scalar:
    return scalar if scalar.type == to else Call("cast", (scalar,), to)
