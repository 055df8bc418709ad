"""Partial states of variances, covariances, correlations, skewness and kurtosis.

A state is the count of the rows that have all arguments, the mean of each argument, and sums of
products of deviations from the means (``M2`` of a variance, ``Ck`` of a covariance). States merge
by the formula of Chan, Golub and LeVeque ("Updating formulae and a pairwise algorithm for computing
sample variances", 1979), here for any number of parts at once::

    n = sum n_i      mean = sum(n_i * mean_i) / n
    P = sum(P_i + n_i * (mean_i - mean) * (mean'_i - mean'))

and of the third and fourth powers of the deviations of one argument, with d_i = mean_i - mean
(Pébay, "Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
statistical moments", 2008)::

    M3 = sum(M3_i + 3 * d_i * M2_i + n_i * d_i^3)
    M4 = sum(M4_i + 4 * d_i * M3_i + 6 * d_i^2 * M2_i + n_i * d_i^4)

No large squares are subtracted from one another, as in Spark's own CentralMomentAgg, Covariance and
Corr, which merge pairs by the same formula. The mean of parts with equal means is that mean to the
bit, so the deviations of a constant are exactly 0, and its correlation fails here as it does there.
A mean is a sum over a count: where sums overflow DOUBLE (values beyond 1e300) it is infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

from forerun.planner.algebra.aggregates.states import (
    ONE,
    ZERO,
    Fold,
    New,
    State,
    StateColumn,
    cast,
    count_rows,
    guarded,
    where_more_than,
)
from forerun.planner.algebra.relational import AggregateCall
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, conjunction
from forerun.planner.algebra.types import BIGINT, BOOLEAN, DOUBLE, Column

Product = tuple[int, ...]
Products = tuple[Product, ...]
"""Arguments, by position, whose deviations are multiplied and added up: pairs of any two, or three
or four times the only one."""
Finish = Callable[[Scalar, tuple[Scalar, ...], tuple[Scalar, ...]], Scalar]
"""The value of the function from the count, the means and the sums of products."""

VARIANCE: Products = ((0, 0),)
COVARIANCE: Products = ((0, 1),)
CORRELATION: Products = ((0, 1), (0, 0), (1, 1))
SKEWNESS: Products = ((0, 0), (0, 0, 0))
KURTOSIS: Products = ((0, 0), (0, 0, 0), (0, 0, 0, 0))
LINE: Products = ((0, 1), (1, 1))
"""The sums by which a straight line through pairs of (y, x) is found."""
_LETTERS = "xy"


def moments_state(call: AggregateCall, products: Products, finish: Finish) -> State:
    """The state of a function of sums of products of deviations."""
    values = tuple(
        guarded(call, cast(arg, DOUBLE), [a for a in call.args if a is not arg])
        for arg in call.args
    )
    there = conjunction(
        tuple(Call("isnotnull", (arg,), BOOLEAN) for arg in call.args)
        + ((call.where,) if call.where is not None else ())
    )
    names = [f"mean_{_LETTERS[i]}" for i in range(len(values))]
    names += [f"dev_{''.join(_LETTERS[i] for i in product)}" for product in products]
    columns = (StateColumn("count", BIGINT), *(StateColumn(name, DOUBLE) for name in names))

    def of_rows(weight: Column | None, new: New) -> Fold:
        _plain(weight)
        return _of_rows(there, values, products, new)

    def of_row(weight: Column | None) -> tuple[Scalar, ...]:
        _plain(weight)
        # Not 0: the deviation of NaN, and of an infinity, is NaN.
        apart = tuple(_minus(value, value) for value in values)
        own = Call("case", (there, ONE, ZERO), BIGINT)
        return (own, *values, *(_times(apart[i], apart[j]) for i, j, *_ in products))

    def merge(given: tuple[Scalar, ...], new: New) -> Fold:
        count, means, sums = given[0], given[1 : len(values) + 1], given[len(values) + 1 :]
        return _merged(count, means, dict(zip(products, sums, strict=True)), new)

    def finalize(given: tuple[Scalar, ...]) -> Scalar:
        return finish(given[0], given[1 : len(values) + 1], given[len(values) + 1 :])

    return State(columns, of_rows, of_row, merge, finalize)


def _plain(weight: Column | None) -> None:
    if weight is not None:
        raise ValueError("deviations are never taken back: the groups are computed again")


def _of_rows(there: Scalar, values: tuple[Scalar, ...], products: Products, new: New) -> Fold:
    count = new("count", BIGINT)
    calls = [(count, count_rows(there, None))]
    made: list[Scalar] = [Call("coalesce", (Ref(count), ZERO), BIGINT)]
    for value in values:
        mean, low, high = (new(name, DOUBLE) for name in ("mean", "low", "high"))
        calls += [(mean, AggregateCall("avg", (value,)))]
        calls += [(low, AggregateCall("min", (value,))), (high, AggregateCall("max", (value,)))]
        made.append(_mean(Ref(low), Ref(high), Ref(mean)))
    rows = cast(Ref(count), DOUBLE)
    for i, j in (product for product in products if len(product) == _PAIR):
        mean_product = new("product", DOUBLE)
        if i == j:
            call = AggregateCall("var_pop", (values[i],))
        else:
            call = AggregateCall("covar_pop", (values[i], values[j]))
        calls.append((mean_product, call))
        made.append(_times(Ref(mean_product), rows))
    for product in (product for product in products if len(product) > _PAIR):
        shape, squares = new("shape", DOUBLE), made[len(values) + 1]
        name, back = _POWERS[len(product)]
        calls.append((shape, AggregateCall(name, values)))
        made.append(back(Ref(shape), rows, squares))
    return Fold((), tuple(calls), tuple(made))


def _cubes(skew: Scalar, rows: Scalar, squares: Scalar) -> Scalar:
    """The sum of the third powers of the deviations, of which Spark gives the skewness; it gives
    none of a constant."""
    root = Call("sqrt", (_over(squares, _not_zero(rows)),), DOUBLE)
    return Call("coalesce", (_times(_times(skew, squares), root), squares), DOUBLE)


def _fourth_powers(excess: Scalar, rows: Scalar, squares: Scalar) -> Scalar:
    """The sum of the fourth powers, of which Spark gives the kurtosis less 3."""
    whole = Call("+", (excess, Literal("3.0", DOUBLE)), DOUBLE)
    parts = _over(_times(squares, squares), _not_zero(rows))
    return Call("coalesce", (_times(whole, parts), squares), DOUBLE)


_PAIR = 2
_POWERS = {3: ("skewness", _cubes), 4: ("kurtosis", _fourth_powers)}
"""The function of Spark's from which a sum of powers is had, and how."""


def _merged(
    count: Scalar, means: tuple[Scalar, ...], sums: dict[Product, Scalar], new: New
) -> Fold:
    rows = cast(count, DOUBLE)
    all_rows = new("all_rows", BIGINT)
    totals = [(all_rows, AggregateCall("sum", (count,)))]
    centers: list[Scalar] = []
    for mean in means:
        total, low, high = (new(name, DOUBLE) for name in ("total", "low", "high"))
        totals += [(total, AggregateCall("sum", (_times(rows, mean),)))]
        totals += [(low, AggregateCall("min", (mean,))), (high, AggregateCall("max", (mean,)))]
        some = cast(Call("greatest", (Ref(all_rows), ONE), BIGINT), DOUBLE)
        centers.append(_mean(Ref(low), Ref(high), _over(Ref(total), some)))
    merged = new("count", BIGINT)
    calls = [(merged, AggregateCall("sum", (count,)))]
    made: list[Scalar] = [Call("coalesce", (Ref(merged), ZERO), BIGINT)]
    for center in centers:  # the same in every row of the group
        mean_column = new("mean", DOUBLE)
        calls.append((mean_column, AggregateCall("max", (center,))))
        made.append(Ref(mean_column))
    apart = [_minus(mean, center) for mean, center in zip(means, centers, strict=True)]
    for product in sums:
        moved = new("dev", DOUBLE)
        calls.append((moved, AggregateCall("sum", (_moved(product, rows, apart, sums),))))
        made.append(Ref(moved))
    return Fold(tuple(totals), tuple(calls), tuple(made))


def _moved(
    product: Product, rows: Scalar, apart: Sequence[Scalar], sums: dict[Product, Scalar]
) -> Scalar:
    """A part's sum of products of deviations from the mean of all parts, from which its own mean is
    so far ``apart``: by the binomial theorem, of all products of fewer of them."""
    if len(product) == _PAIR:
        i, j = product
        return _plus(sums[product], _times(rows, _times(apart[i], apart[j])))
    (mean,), order = apart, len(product)
    powers: list[Scalar] = [mean]
    while len(powers) < order:
        powers.append(_times(powers[-1], mean))
    found = _plus(sums[product], _times(rows, powers[-1]))
    for fewer in range(_PAIR, order):
        times = Literal(f"{comb(order, fewer)}.0", DOUBLE)
        part = _times(times, _times(powers[order - fewer - 1], sums[product[:fewer]]))
        found = _plus(found, part)
    return found


def _mean(low: Scalar, high: Scalar, mean: Scalar) -> Scalar:
    """The mean of equal values is that value; a sum over a count may be off by its last bit."""
    return Call("case", (Call("=", (low, high), BOOLEAN), low, mean), DOUBLE)


def _plus(left: Scalar, right: Scalar) -> Call:
    return Call("+", (left, right), DOUBLE)


def _times(left: Scalar, right: Scalar) -> Call:
    return Call("*", (left, right), DOUBLE)


def _minus(left: Scalar, right: Scalar) -> Call:
    return Call("-", (left, right), DOUBLE)


def _over(left: Scalar, right: Scalar) -> Call:
    return Call("/", (left, right), DOUBLE)


def _degrees(count: Scalar, *, sample: bool) -> Scalar:
    """Return the divisor of the sum, never 0: an engine may compute a branch of CASE ahead of its
    condition."""
    if sample:
        count = Call("-", (count, ONE), BIGINT)
    return cast(Call("greatest", (count, ONE), BIGINT), DOUBLE)


def spread(*, sample: bool, root: bool = False) -> Finish:
    """A variance, covariance or (``root``) standard deviation. NULL over no rows, and of a sample
    of one."""

    def finish(count: Scalar, _: tuple[Scalar, ...], sums: tuple[Scalar, ...]) -> Scalar:
        value: Scalar = _over(sums[0], _degrees(count, sample=sample))
        value = Call("sqrt", (value,), DOUBLE) if root else value
        return where_more_than(count, ONE if sample else ZERO, value)

    return finish


def correlation(count: Scalar, _: tuple[Scalar, ...], sums: tuple[Scalar, ...]) -> Scalar:
    """Pearson's correlation, NULL over less than two rows. Where an argument is constant it divides
    by zero, as Spark's own: an error under ANSI, else NULL."""
    together, left, right = sums
    several = Call(">", (count, ONE), BOOLEAN)
    scale = Call("sqrt", (_times(left, right),), DOUBLE)
    divisor = Call("case", (several, scale, Literal("1.0", DOUBLE)), DOUBLE)
    return where_more_than(count, ONE, _over(together, divisor))


def skewness(count: Scalar, _: tuple[Scalar, ...], sums: tuple[Scalar, ...]) -> Scalar:
    """The mean cube of deviations in units of the standard one; NULL of none and of a constant."""
    squares, cubes = sums
    root = Call("sqrt", (_over(_not_zero(squares), _degrees(count, sample=False)),), DOUBLE)
    return _where_x_varies(squares, _over(cubes, _times(_not_zero(squares), root)))


def kurtosis(count: Scalar, _: tuple[Scalar, ...], sums: tuple[Scalar, ...]) -> Scalar:
    """The same of fourth powers, less 3, which a normal distribution has."""
    squares, _cubed, fourth = sums
    some = _not_zero(squares)
    ratio = _over(_times(_degrees(count, sample=False), fourth), _times(some, some))
    return _where_x_varies(squares, _minus(ratio, Literal("3.0", DOUBLE)))


def total(count: Scalar, _: tuple[Scalar, ...], sums: tuple[Scalar, ...]) -> Scalar:
    """The one sum itself, as ``regr_sxx`` and the like; NULL over no rows."""
    return where_more_than(count, ZERO, sums[0])


def slope(_: Scalar, __: tuple[Scalar, ...], sums: tuple[Scalar, ...]) -> Scalar:
    """The slope of the line of least squares, NULL where x is constant, or there is none."""
    return _where_x_varies(sums[1], _over(sums[0], _not_zero(sums[1])))


def intercept(_: Scalar, means: tuple[Scalar, ...], sums: tuple[Scalar, ...]) -> Scalar:
    """The height of the line at x = 0, NULL where there is no slope."""
    rise = _times(_over(sums[0], _not_zero(sums[1])), means[1])
    return _where_x_varies(sums[1], _minus(means[0], rise))


def fit(_: Scalar, __: tuple[Scalar, ...], sums: tuple[Scalar, ...]) -> Scalar:
    """The square of the correlation: NULL where x is constant, else 1 where y is."""
    together, left, right = sums
    scale = _not_zero(Call("sqrt", (_times(left, right),), DOUBLE))
    ratio = _over(together, scale)
    constant = Call("=", (left, _NOTHING), BOOLEAN)
    value = Call("case", (constant, Literal("1.0", DOUBLE), _times(ratio, ratio)), DOUBLE)
    return _where_x_varies(right, value)


_NOTHING = Literal("0.0", DOUBLE)


def _not_zero(divisor: Scalar) -> Scalar:
    """A divisor that is never 0, also where a branch of CASE is computed ahead of its condition."""
    nothing = Call("=", (divisor, _NOTHING), BOOLEAN)
    return Call("case", (nothing, Literal("1.0", DOUBLE), divisor), DOUBLE)


def _where_x_varies(spread_of_x: Scalar, value: Scalar) -> Scalar:
    varies = Call("<>", (spread_of_x, _NOTHING), BOOLEAN)
    return Call("case", (varies, value, Literal(None, DOUBLE)), DOUBLE)
