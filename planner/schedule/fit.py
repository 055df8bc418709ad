"""Fits a monotone piecewise-linear function to noisy measurements, robustly.

Section 6.2 fits the execution time of batches, and of final aggregations, by piecewise-linear
functions. What a ledger holds is not clean: a run that was tried again took twice its time, one on
a cold machine a minute more. So measurements that lie far from the others lose their weight
(iteratively reweighted least squares: first absolute deviations, then Tukey's bisquare with the
median absolute deviation as scale), and residuals are relative, since a run of ten minutes varies
by more seconds than one of ten seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.piecewise import PiecewiseLinear

MOST_BREAKPOINTS = 3
_PLACES = 16
"""Between so many parts of the measurements, equal in number, a breakpoint may lie."""

_WORTH = 0.93
"""A breakpoint has to bring the error of measurements that were left out below this part of what it
was without: noise alone is followed by any further breakpoint, and predicted by none."""

_BOUND = 4.0
"""An error counts up to so many times the median one."""

_FOLDS = 5
_LEAST = 3
_ROUNDS, _SEARCH_ROUNDS = (8, 6), (3, 1)
"""Rounds of reweighting: by absolute deviations, then by the bisquare; fewer where breakpoints are
only compared."""

_BISQUARE = 4.685
"""The usual constant of the bisquare: 95 % as good as least squares on clean measurements."""

_FLOOR = 1e-9

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Fit:
    """The fitted function, and its leave-one-out error: the median, over the measurements, of how
    far a fit without a measurement is from it, as a part of it. ``left_out`` is what these fits
    say, in the order of the measurements."""

    function: PiecewiseLinear
    error: float
    left_out: tuple[float, ...]


def fit_monotone(points: Iterable[Point]) -> Fit:
    """Fit ``(x, y)``, both at least 0. Raises :class:`ScheduleError` for fewer than three
    measurements, or all of one x.

    After the last measurement the function rises at least as steeply as it does on average before:
    beyond what was seen, cheap growth is not believed.
    """
    given = list(points)
    order = sorted(range(len(given)), key=given.__getitem__)
    measured = [given[i] for i in order]
    if len(measured) < _LEAST or measured[0][0] == measured[-1][0]:
        raise ScheduleError(
            f"{len(measured)} measurements do not tell how time grows",
            hint=f"At least {_LEAST} are needed, of different sizes; or state the cost model.",
        )
    if measured[0][0] < 0 or any(y < 0 for _, y in measured):
        raise ScheduleError("a measurement is below 0")
    breaks = _choose_breaks(measured)
    weights = _robust_weights(measured, breaks)
    function = _function(measured, weights, breaks)
    left_out = _leave_one_out(measured, weights, breaks)
    error = median(
        abs(f - y) / max(y, _FLOOR) for f, (_, y) in zip(left_out, measured, strict=True)
    )
    said = dict(zip(order, left_out, strict=True))
    return Fit(function, error, tuple(said[i] for i in range(len(given))))


def _choose_breaks(points: Sequence[Point]) -> tuple[float, ...]:
    """Breakpoints are added one by one, the best first, while left-out measurements agree. An error
    counts up to a bound that all that are compared share: a line that misses a tenth of the
    measurements is not better for missing them by more."""
    places = _places(points)
    chosen: tuple[float, ...] = ()
    while len(chosen) < min(MOST_BREAKPOINTS, len(places)):
        without = _left_out_errors(points, chosen)
        bound = max(_BOUND * median(without), _FLOOR)
        more = _with_one_more(points, chosen, places, bound)
        for breakpoint_ in chosen:  # chosen to stand alone: beside the new one it may move
            others = tuple(x for x in more if x != breakpoint_)
            more = _with_one_more(points, others, places, bound)
        if _bounded(_left_out_errors(points, more), bound) > _WORTH * _bounded(without, bound):
            break
        chosen = more
    return chosen


def _with_one_more(
    points: Sequence[Point], breaks: tuple[float, ...], places: Sequence[float], bound: float
) -> tuple[float, ...]:
    tried = (tuple(sorted((*breaks, place))) for place in places if place not in breaks)
    return min(tried, key=lambda found: _bounded(_fit_errors(points, found), bound))


def _bounded(errors: Sequence[float], bound: float) -> float:
    return sum(min(error, bound) for error in errors)


def _places(points: Sequence[Point]) -> list[float]:
    xs = [x for x, _ in points]
    at = (xs[len(xs) * part // _PLACES] for part in range(1, _PLACES))
    return [x for x in dict.fromkeys(at) if xs[0] < x < xs[-1]]


def _fit_errors(points: Sequence[Point], breaks: tuple[float, ...]) -> list[float]:
    weights = _robust_weights(points, breaks, _SEARCH_ROUNDS)
    return _errors(_function(points, weights, breaks), points)


def _left_out_errors(points: Sequence[Point], breaks: tuple[float, ...]) -> list[float]:
    found: list[float] = []
    for fold in range(min(_FOLDS, len(points))):
        kept = [point for i, point in enumerate(points) if i % _FOLDS != fold]
        left_out = [point for i, point in enumerate(points) if i % _FOLDS == fold]
        function = _function(kept, _robust_weights(kept, breaks), breaks)
        found += _errors(function, left_out)
    return found


def _leave_one_out(
    points: Sequence[Point], weights: Sequence[float], breaks: tuple[float, ...]
) -> list[float]:
    """Return what the fit without each measurement says of it."""
    found = []
    for i, (x, _) in enumerate(points):
        others = [*points[:i], *points[i + 1 :]]
        function = _function(others, [*weights[:i], *weights[i + 1 :]], breaks)
        found.append(function.at(x))
    return found


def _errors(function: PiecewiseLinear, points: Sequence[Point]) -> list[float]:
    return [abs(function.at(x) - y) / max(y, _FLOOR) for x, y in points]


# -- weighted least squares ----------------------------------------------------------------------


def _robust_weights(
    points: Sequence[Point], breaks: tuple[float, ...], rounds: tuple[int, int] = _ROUNDS
) -> list[float]:
    """Return the weight of each measurement in the fit; 0 for one that is far from the others.
    ``rounds``: of absolute deviations, and of the bisquare."""
    scale = _scales(points)
    weights = [1.0] * len(points)
    for _ in range(rounds[0]):
        residuals = _residuals(points, weights, breaks, scale)
        least = max(median(residuals) / 10, _FLOOR)
        weights = [1 / max(residual, least) for residual in residuals]
    for _ in range(rounds[1]):
        residuals = _residuals(points, weights, breaks, scale)
        reach = _BISQUARE * max(1.4826 * median(residuals), _FLOOR)
        weights = [max(0.0, 1 - (residual / reach) ** 2) ** 2 for residual in residuals]
    return weights


def _scales(points: Sequence[Point]) -> list[float]:
    """Return the scale of each residual: the measurement, and not much less than the middle one."""
    least = max(median(y for _, y in points) / 10, _FLOOR)
    return [max(y, least) for _, y in points]


def _residuals(
    points: Sequence[Point],
    weights: Sequence[float],
    breaks: tuple[float, ...],
    scale: Sequence[float],
) -> list[float]:
    function = _function(points, weights, breaks)
    return [abs(function.at(x) - y) / s for (x, y), s in zip(points, scale, strict=True)]


def _function(
    points: Sequence[Point], weights: Sequence[float], breaks: tuple[float, ...]
) -> PiecewiseLinear:
    """The best function with these breakpoints whose start and slopes are not below 0."""
    edges = (0.0, *breaks, max(points[-1][0], *breaks, _FLOOR) if breaks else points[-1][0])
    rows = [_row(x, edges) for x, _ in points]
    gram_weights = [w / s**2 for w, s in zip(weights, _scales(points), strict=True)]
    start, *slopes = _solve(rows, [y for _, y in points], gram_weights)
    ys = [start]
    for slope, (left, right) in zip(slopes, pairwise(edges), strict=True):
        ys.append(ys[-1] + slope * (right - left))
    mean_slope = (ys[-1] - start) / edges[-1]
    return PiecewiseLinear(tuple(edges), tuple(ys), beyond=max(slopes[-1], mean_slope))


def _row(x: float, edges: Sequence[float]) -> list[float]:
    """One, and how much of x lies in each segment; the last segment has no end."""
    last = len(edges) - 2
    inside = (
        max(0.0, x - left) if i == last else min(max(0.0, x - left), right - left)
        for i, (left, right) in enumerate(pairwise(edges))
    )
    return [1.0, *inside]


def _solve(
    rows: Sequence[Sequence[float]], ys: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """Weighted least squares; while a coefficient is below 0, the lowest one is taken as 0. (With
    few columns that is the least of all such solutions but for rare ties of columns.)"""
    size = len(rows[0])
    # Columns of one size: rows are millions where the start is 1.
    unit = [max(_FLOOR, *(row[i] for row in rows)) for i in range(size)]
    gram = [[0.0] * size for _ in range(size)]
    right = [0.0] * size
    for row, y, weight in zip(rows, ys, weights, strict=True):
        scaled = [value / u for value, u in zip(row, unit, strict=True)]
        for i in range(size):
            right[i] += weight * scaled[i] * y
            for j in range(size):
                gram[i][j] += weight * scaled[i] * scaled[j]
    used = list(range(size))
    while used:
        found = _eliminate([[gram[i][j] for j in used] for i in used], [right[i] for i in used])
        lowest = min(range(len(used)), key=found.__getitem__)
        if found[lowest] >= 0:
            by_column = dict(zip(used, found, strict=True))
            return [by_column.get(i, 0.0) / unit[i] for i in range(size)]
        del used[lowest]
    return [0.0] * size


def _eliminate(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a symmetric system; a column that depends on the others gets 0."""
    size = len(right)
    for i in range(size):
        pivot = matrix[i][i]
        if pivot <= _FLOOR * (1 + max(map(abs, matrix[i]))):
            matrix[i] = [float(i == j) for j in range(size)]
            right[i] = 0.0
            pivot = 1.0
        for other in range(size):
            if other == i:
                continue
            factor = matrix[other][i] / pivot
            if factor:
                for j in range(i, size):
                    matrix[other][j] -= factor * matrix[i][j]
                right[other] -= factor * right[i]
    return [right[i] / matrix[i][i] for i in range(size)]
