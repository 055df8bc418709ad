"""Aggregate functions over the values of one group, with Spark's types and empty-group answers."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

from forerun.planner.algebra.aggregates.functions import canonical
from forerun.planner.algebra.relational import AggregateCall
from forerun.planner.algebra.types import BIGINT, DataType, decimal
from tests.oracles.casts import to_decimal, to_integer
from tests.oracles.nested import top_items
from tests.oracles.scalars import Layout, compile_predicate, compile_scalar
from tests.oracles.typing_rules import type_of
from tests.oracles.values import (
    EXACT,
    DivideByZeroError,
    NotInterpretedError,
    Row,
    Value,
    compare,
    order_key,
    row_key,
)

Items = list[tuple[Value, ...]]
Fold = Callable[[Items, list[DataType]], Value]


def compile_aggregate(call: AggregateCall, layout: Layout) -> Callable[[list[Row]], Value]:
    """From the rows of a group to the value of the aggregate."""
    args = [compile_scalar(arg, layout) for arg in call.args]
    types = [type_of(arg) for arg in call.args]
    keep = compile_predicate(call.where, layout) if call.where is not None else None
    fold = _ORDERED.get((call.name, call.within)) or fold_of(call.name)

    def evaluate(rows: list[Row]) -> Value:
        kept = rows if keep is None else [row for row in rows if keep(row)]
        items = [tuple(arg(row) for arg in args) for row in kept]
        return fold_items(fold, items, types, distinct=call.distinct)

    return evaluate


def fold_items(fold: Fold, items: Items, types: list[DataType], *, distinct: bool) -> Value:
    if distinct:
        items = list({row_key(item): item for item in items}.values())
    return fold(items, types)


def fold_of(name: str) -> Fold:
    known = canonical(name)
    if known not in _FOLDS:
        raise NotInterpretedError(f"aggregate {name}")
    return _FOLDS[known]


def _present(items: Items) -> list[Value]:
    return [item[0] for item in items if item[0] is not None]


def _count(items: Items, types: list[DataType]) -> int:
    """count(*) counts rows; count(a, b) the rows where none is NULL."""
    return sum(all(value is not None for value in item) for item in items)


def total(values: list[Value]) -> Value:
    """The sum of numbers of one kind; doubles as exactly as can be, infinities as IEEE has it."""
    if isinstance(values[0], float):
        finite = all(math.isfinite(value) for value in values)
        try:
            return math.fsum(values) if finite else sum(values)
        except OverflowError:
            return sum(values)
    if isinstance(values[0], Decimal):
        result = Decimal(0)
        for value in values:
            result = EXACT.add(result, value)
        return result
    return sum(values)


def _sum(items: Items, types: list[DataType]) -> Value:
    values = _numbers(_present(items))
    if not values:
        return None
    (type_,) = types
    if type_.is_integer:
        return to_integer(total(values), BIGINT)
    if type_.name == "DECIMAL":
        return to_decimal(total(values), decimal(min(38, type_.precision + 10), type_.scale))
    return float(total(values))


def _numbers(values: list[Value]) -> list[Value]:
    return [float(v) if isinstance(v, str) else v for v in values]


def _average(items: Items, types: list[DataType]) -> Value:
    values = _numbers(_present(items))
    if not values:
        return None
    (type_,) = types
    if type_.name != "DECIMAL":
        return total([float(value) for value in values]) / len(values)
    result = decimal(min(38, type_.precision + 4), min(38, type_.scale + 4))
    return to_decimal(EXACT.divide(total(values), Decimal(len(values))), result)


def _extreme(sign: int) -> Fold:
    def fold(items: Items, types: list[DataType]) -> Value:
        best = None
        for value in _present(items):
            if best is None or compare(value, best) * sign > 0:
                best = value
        return best

    return fold


def _by(sign: int) -> Fold:
    def fold(items: Items, types: list[DataType]) -> Value:
        best = None
        for value, by in items:
            if by is not None and (best is None or compare(by, best[1]) * sign > 0):
                best = (value, by)
        return None if best is None else best[0]

    return fold


def _deviations(items: list[tuple[float, ...]], i: int, j: int) -> float:
    """The sum of the products of the deviations of two arguments from their means: exact, then
    rounded once. NaN and infinities have no deviation."""
    if not all(math.isfinite(value) for item in items for value in item):
        return math.nan
    exact = [tuple(map(Fraction, item)) for item in items]
    means = [sum(column) / len(exact) for column in zip(*exact, strict=True)]
    try:
        return float(sum((item[i] - means[i]) * (item[j] - means[j]) for item in exact))
    except OverflowError:
        return math.inf


def _complete(items: Items) -> list[tuple[float, ...]]:
    return [tuple(map(float, item)) for item in items if all(v is not None for v in item)]


def _spread(*, sample: bool, root: bool = False) -> Fold:
    """A variance of one argument, a covariance of two."""

    def fold(items: Items, types: list[DataType]) -> Value:
        rows = _complete(items)
        below = len(rows) - 1 if sample else len(rows)
        if below <= 0:
            return None
        value = _deviations(rows, 0, len(types) - 1) / below
        return math.sqrt(value) if root else value

    return fold


def _shape(order: int) -> Fold:
    """The mean power of the deviations, in units of the standard deviation: NULL of a constant."""

    def fold(items: Items, types: list[DataType]) -> Value:
        rows = _complete(items)
        if not rows:
            return None
        mean = total([row[0] for row in rows]) / len(rows)
        square, power = (
            total([(row[0] - mean) ** n for row in rows]) / len(rows) for n in (2, order)
        )
        if square == 0.0:
            return None
        value = power / square ** (order / 2)
        return value if order == 3 else value - 3.0

    return fold


def _every(items: Items, types: list[DataType]) -> Value:
    values = _present(items)
    return all(values) if values else None


def _some(items: Items, types: list[DataType]) -> Value:
    values = _present(items)
    return any(values) if values else None


def _first(items: Items, types: list[DataType]) -> Value:
    """A second argument that is true asks to leave NULLs out."""
    some = [item for item in items if item[1:] != (True,) or item[0] is not None]
    return some[0][0] if some else None


def _last(items: Items, types: list[DataType]) -> Value:
    return items[-1][0] if items else None


def _collect(items: Items, types: list[DataType]) -> Any:
    """The order of a collected list is open in SQL: sorted, so that equal bags are equal."""
    return tuple(sorted(_present(items), key=order_key))


def _collect_set(items: Items, types: list[DataType]) -> Any:
    return _collect(list({row_key(item): item for item in items}.values()), types)


def _listed(*, backwards: bool) -> Fold:
    """Texts joined in the order of the last argument, with what is between them before it; texts
    that tie in it are in their own."""

    def fold(items: Items, types: list[DataType]) -> Value:
        some = [item for item in items if item[0] is not None]
        some.sort(key=lambda item: order_key((item[-1], item[0])), reverse=backwards)
        between = some[0][1] if some and len(types) > 2 else ""
        return between.join(item[0] for item in some) if some else None

    return fold


def _percentile(items: Items, types: list[DataType]) -> Value:
    """A place among the values; a third argument says how often each comes."""
    many = [(item[0],) * item[2] if len(item) > 2 else (item[0],) for item in items]
    given = (value for one in many for value in one if value is not None)
    values = sorted(map(float, given), key=order_key)
    if not values:
        return None
    fraction = float(items[0][1]) if len(types) > 1 else 0.5
    position = fraction * (len(values) - 1)
    low, high = math.floor(position), math.ceil(position)
    return values[low] + (values[high] - values[low]) * (position - low)


def _place(*, backwards: bool) -> Fold:
    """The value up to which, in the order of the second argument, the share that the first one says
    has come."""

    def fold(items: Items, types: list[DataType]) -> Value:
        values = sorted(
            (item[1] for item in items if item[1] is not None), key=order_key, reverse=backwards
        )
        if not values:
            return None
        return float(values[max(0, math.ceil(len(values) * float(items[0][0])) - 1)])

    return fold


def _from_above(items: Items, types: list[DataType]) -> Value:
    """A percentile of the second argument in descending order."""
    values = [-float(item[1]) for item in items if item[1] is not None]
    found = _percentile([(value, items[0][0]) for value in values], types)
    return None if found is None else -found


def _sketch(merge: Callable[[set[Value], set[Value]], set[Value]]) -> Fold:
    """A sketch of a few values stands for the set of them, and so does a value that is none."""

    def fold(items: Items, types: list[DataType]) -> Any:
        sets = ({*(one if isinstance(one, tuple) else (one,))} for one in _present(items))
        return tuple(sorted(reduce(merge, sets, set()), key=order_key))

    return fold


def _gathered(items: Items, types: list[DataType]) -> Any:
    """A sketch that knows how often each value comes stands for the bag of them."""
    bags = (one if isinstance(one, tuple) else (one,) for (one, *_) in items if one is not None)
    return tuple(sorted((value for bag in bags for value in bag), key=order_key))


def _top(items: Items, types: list[DataType]) -> Any:
    return top_items(_gathered(items, types), items[0][1] if items and len(types) > 1 else 5)


def _mode(choose: Callable[..., Value]) -> Fold:
    """The value that comes most often; of several, the one that is chosen."""

    def fold(items: Items, types: list[DataType]) -> Value:
        counts = Counter(_present(items))
        most = max(counts.values(), default=0)
        return choose((v for v, n in counts.items() if n == most), key=order_key, default=None)

    return fold


_ORDERED = {
    ("listagg", "ASC"): _listed(backwards=False),
    ("listagg", "DESC"): _listed(backwards=True),
    ("mode", "DESC"): _mode(max),
    ("percentile_disc", "ASC"): _place(backwards=False),
    ("percentile_disc", "DESC"): _place(backwards=True),
    ("percentile_cont", "DESC"): _from_above,
}
"""Functions that the order of WITHIN GROUP makes others."""


def _correlation(items: Items, types: list[DataType]) -> Value:
    rows = _complete(items)
    if len(rows) < 2:
        return None
    together, left, right = (_deviations(rows, i, j) for i, j in ((0, 1), (0, 0), (1, 1)))
    scale = math.sqrt(left * right)
    if scale == 0.0:
        raise DivideByZeroError("the correlation of a constant")
    return together / scale


def _line(what: str) -> Fold:
    """Functions of the line of least squares through (y, x)."""

    def fold(items: Items, types: list[DataType]) -> Value:
        rows = _complete(items)
        if not rows:
            return None
        of_y, of_x = (_deviations([(row[place],) for row in rows], 0, 0) for place in (0, 1))
        together = _deviations(rows, 0, 1)
        if what in ("sxx", "syy", "sxy"):
            return {"sxx": of_x, "syy": of_y, "sxy": together}[what]
        if of_x == 0.0:
            return None
        if what == "r2":
            return 1.0 if of_y == 0.0 else (together / math.sqrt(of_y * of_x)) ** 2
        slope = together / of_x
        mean_y, mean_x = (total([row[place] for row in rows]) / len(rows) for place in (0, 1))
        return slope if what == "slope" else mean_y - slope * mean_x

    return fold


def _bits(combine: Callable[[int, int], int]) -> Fold:
    def fold(items: Items, types: list[DataType]) -> Value:
        values = _present(items)
        return reduce(combine, values) if values else None

    return fold


_FOLDS: dict[str, Fold] = {
    "bit_and": _bits(operator.and_), "bit_or": _bits(operator.or_),
    "bit_xor": _bits(operator.xor),
    "count": _count, "sum": _sum, "avg": _average,
    "count_if": lambda items, types: sum(item[0] is True for item in items),
    "min": _extreme(-1), "max": _extreme(1), "min_by": _by(-1), "max_by": _by(1),
    "stddev_samp": _spread(sample=True, root=True),
    "stddev_pop": _spread(sample=False, root=True),
    "var_samp": _spread(sample=True), "var_pop": _spread(sample=False),
    "covar_samp": _spread(sample=True), "covar_pop": _spread(sample=False),
    **{f"regr_{what}": _line(what) for what in ("sxx", "syy", "sxy", "r2", "slope", "intercept")},
    "skewness": _shape(3), "kurtosis": _shape(4), "listagg": _listed(backwards=False),
    "regr_count": _count, "corr": _correlation,
    "bool_and": _every, "bool_or": _some, "first": _first,
    "any_value": _first, "last": _last, "collect_list": _collect, "collect_set": _collect_set,
    "median": _percentile, "percentile": _percentile, "mode": _mode(min),
    **dict.fromkeys(
        ("hll_sketch_agg", "hll_union_agg", "theta_sketch_agg", "theta_union_agg",
         "bitmap_construct_agg", "bitmap_or_agg"), _sketch(operator.or_),
    ),
    **{f"kll_{made}_agg_{type_}": _gathered for made in ("sketch", "merge")
       for type_ in ("bigint", "float", "double")},
    "approx_top_k": _top, "approx_top_k_accumulate": _gathered, "approx_top_k_combine": _gathered,
    # Of the few values of a test, the estimate is the number itself.
    "approx_count_distinct": lambda items, types: len({row_key((v,)) for v in _present(items)}),
}  # fmt: skip
"""By canonical names. The formulas are the oracle's own, in two passes over all values."""
