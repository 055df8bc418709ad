"""Prices fitted to what executed runs took.

What a stage was charged for (:mod:`forerun.planner.cost.work`) times the prices should be the CPU
that it took. The fit is in two steps, because two things are measured. Executors say what each
stage took: that tells the prices of rows, bytes and groups, and of what starts in executors. The
process of a run says what the whole took: CPU of executors counts there some more (the garbage
collector and the driver work beside them), and the rest are starts.

Days of a few reports do not tell one price from another: what has rows has bytes. So the fit is
not the best one, but the best of those near the prices that there are: it minimizes the squares of
relative errors plus ``stiffness`` times the squares by which prices change relative to what they
were (ridge regression; Hoerl and Kennedy, 1970). No price changes by more than a factor of four
beyond what all do together.

Where a query is estimated to have a hundred times the rows that it has, no price is to blame. So
the further off a stage is, the less it counts (Cauchy's weights, fitted again until they settle).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from forerun.planner.cost.constants import MICRO
from forerun.planner.cost.prices import WORK, Prices
from forerun.planner.cost.work import Work

_LEAST_S = 1.0
"""Errors of what took less are divided by this: a tenth of a second is noise."""
_STIFFNESS = 0.1
"""Chosen by leaving out one report after the other over the days that Spark's prices come from."""
_FURTHEST = 4.0
"""Prices that days tell little of must not become nothing by what others are blamed for."""
_CREDIBLE = 0.3
"""An error that is this share of what was measured counts half."""
_ROUNDS = 8
_SWEEPS = 40
_OUTSIDE = 1.15
"""What CPU of executors is taken to count in their process before anything is known."""
_COLD = 0.4
"""The same of what part of starting a stage or a join executors do: code runs cold at first."""
_IN_EXECUTORS = ("stage_start", "join_start")

_Rows = Sequence[tuple[Sequence[float], float]]
"""What each factor is multiplied by, and what the sum should be."""


@dataclass(frozen=True, slots=True)
class ExecutedStage:
    """The work of a stage and the seconds of CPU that executors took for it."""

    work: Work
    executor_s: float


@dataclass(frozen=True, slots=True)
class ExecutedRun:
    """A run of a report by its stages. ``executor_s`` is all CPU of its executors, ``process_s``
    that of its processes; None if the application was not its own."""

    report: str
    stages: tuple[ExecutedStage, ...]
    executor_s: float
    process_s: float | None

    @property
    def work(self) -> Work:
        """All that the run is charged for, with opening it."""
        total = {"run_start": 1.0}
        for stage in self.stages:
            for name, count in stage.work.items():
                total[name] = total.get(name, 0.0) + count
        return total


@dataclass(frozen=True, slots=True)
class PriceFit:
    """The quality of fitted prices: errors are shares of what was measured. ``correlation`` is
    Spearman's, of estimates and measured processes."""

    runs: int
    median_error: float
    ninth_decile: float
    correlation: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Fitted prices. ``before`` and ``after`` say how old and new ones fit the same runs, and
    ``unseen`` how those fit a report that are fitted to all others; None where there is but one."""

    prices: Prices
    before: PriceFit
    after: PriceFit
    unseen: PriceFit | None


def calibrate(runs: Sequence[ExecutedRun], prices: Prices) -> Calibration:
    """Fit prices to runs, of which at least one must have had an application of its own. Raises
    ValueError if none had."""
    alone = [run for run in runs if run.process_s is not None]
    if not alone:
        raise ValueError("no run had an application of its own")
    fitted = _fitted(runs, prices)
    reports = sorted({run.report for run in alone})
    unseen = None
    if len(reports) > 1:
        pairs: list[tuple[float, float]] = []
        for report in reports:
            others = _fitted([run for run in runs if run.report != report], prices)
            pairs += _pairs([run for run in alone if run.report == report], others)
        unseen = _fit(pairs)
    return Calibration(fitted, _fit(_pairs(alone, prices)), _fit(_pairs(alone, fitted)), unseen)


def estimate_s(work: Work, prices: Prices) -> float:
    """Return what work should take, in seconds of CPU."""
    return sum(prices.of(name) * count for name, count in work.items()) / MICRO


def _fitted(runs: Sequence[ExecutedRun], prices: Prices) -> Prices:
    of_executors = _executor_prices(runs, prices)
    outside, starts = _process_prices([run for run in runs if run.process_s is not None], prices)
    for name, price in of_executors.items():
        starts[name] = starts.get(name, 0.0) + outside * price
    return prices.with_prices(starts)


def _executor_prices(runs: Sequence[ExecutedRun], prices: Prices) -> dict[str, float]:
    """Return what executors take for rows, bytes and groups and to start, in millionths of a
    second."""
    was = {name: prices.of(name) / _OUTSIDE for name in WORK}
    was |= {name: _COLD * prices.of(name) / _OUTSIDE for name in _IN_EXECUTORS}
    rows = [
        (
            [price * stage.work.get(name, 0.0) / MICRO for name, price in was.items()],
            stage.executor_s,
        )
        for run in runs
        for stage in run.stages
    ]
    factors = _solved(rows, [_level(rows)] * len(was))
    fitted = zip(was.items(), factors, strict=True)
    return {name: price * factor for (name, price), factor in fitted}


def _level(rows: _Rows) -> float:
    """Return by how much all prices together are off: the median over the stages that took long
    enough to tell."""
    ratios = [(took, took / sum(row)) for row, took in rows if took > 0 and sum(row) > 0]
    long = [ratio for took, ratio in ratios if took >= _LEAST_S]
    return statistics.median(long or [ratio for _, ratio in ratios] or [1.0])


def _process_prices(runs: Sequence[ExecutedRun], prices: Prices) -> tuple[float, dict[str, float]]:
    """Return how often CPU of executors counts in a process, and what starts beside them."""
    was = {name: (1 - _COLD) * prices.of(name) for name in _IN_EXECUTORS}
    was["run_start"] = prices.run_start
    rows = [
        (
            [
                _OUTSIDE * run.executor_s,
                *(price * run.work.get(name, 0.0) / MICRO for name, price in was.items()),
            ],
            run.process_s or 0.0,
        )
        for run in runs
    ]
    outside, *factors = _solved(rows, [1.0] * (len(was) + 1))
    fitted = zip(was.items(), factors, strict=True)
    return outside * _OUTSIDE, {name: price * factor for (name, price), factor in fitted}


def _solved(rows: _Rows, near: Sequence[float]) -> list[float]:
    """Return factors x, each near what it was, that minimize the squares of (row . x - took) / took
    where that is credible."""
    x = list(near)
    for _ in range(_ROUNDS):
        x = _weighted(rows, [_credibility(row, took, x) for row, took in rows], near, x)
    return x


def _credibility(row: Sequence[float], took: float, x: Sequence[float]) -> float:
    error = sum(a * b for a, b in zip(row, x, strict=True)) / max(took, _LEAST_S) - 1.0
    return 1.0 / (1.0 + (error / _CREDIBLE) ** 2)


def _weighted(
    rows: _Rows, weights: Sequence[float], near: Sequence[float], start: Sequence[float]
) -> list[float]:
    """Solve weighted least squares with the ridge, by coordinate descent on the normal equations,
    which converges because the squares are convex."""
    count = len(near)
    square = [[_STIFFNESS * (i == k) for i in range(count)] for k in range(count)]
    toward = [_STIFFNESS * target for target in near]
    for (row, took), weight in zip(rows, weights, strict=True):
        of = max(took, _LEAST_S)
        there = [(k, value / of) for k, value in enumerate(row) if value]
        for k, value in there:
            toward[k] += weight * value * took / of
            for i, other in there:
                square[k][i] += weight * value * other
    x = list(start)
    for _ in range(_SWEEPS):
        for k in range(count):
            best = (
                toward[k]
                - sum(a * b for a, b in zip(square[k], x, strict=True))
                + square[k][k] * x[k]
            ) / square[k][k]
            x[k] = min(max(near[k] / _FURTHEST, best), near[k] * _FURTHEST)
    return x


def _pairs(runs: Iterable[ExecutedRun], prices: Prices) -> list[tuple[float, float]]:
    return [(estimate_s(run.work, prices), run.process_s or 0.0) for run in runs]


def _fit(pairs: Sequence[tuple[float, float]]) -> PriceFit:
    errors = sorted(abs(estimate - took) / max(took, _LEAST_S) for estimate, took in pairs)
    return PriceFit(
        len(pairs),
        errors[len(errors) // 2],
        errors[min(len(errors) - 1, len(errors) * 9 // 10)],
        rank_correlation(pairs),
    )


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Return Spearman's correlation of pairs, of which there are at least two: Pearson's of their
    ranks, equal ones at their mean rank; 1 where there is nothing to tell apart."""
    one, other = (_ranks([pair[side] for pair in pairs]) for side in (0, 1))
    if len(set(one)) < 2 or len(set(other)) < 2:
        return 1.0
    return statistics.correlation(one, other)


def _ranks(values: Sequence[float]) -> list[float]:
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values)):
        places.setdefault(value, []).append(place)
    mean: Mapping[float, float] = {v: sum(of) / len(of) for v, of in places.items()}
    return [mean[value] for value in values]
