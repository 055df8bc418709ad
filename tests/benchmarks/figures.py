"""What the rows of executed days add up to: ratios to batch, sums, and estimates against actual."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from forerun.planner.cost.calibration import rank_correlation
from tests.benchmarks.results import BATCH, OWN, WITHOUT_FIGURES, Row

Measure = Callable[[Row], float]


def executor(row: Row) -> float:
    """CPU seconds of the executors."""
    return row.executor_s


def process(row: Row) -> float:
    """CPU seconds of the whole process tree."""
    return row.process_s


@dataclass(frozen=True, slots=True)
class Day:
    """A query's day. Costs are weighted as the runs are; those beside it run at the final run's
    weight."""

    query: str
    runs: tuple[Row, ...]
    batch: Row
    own: Row

    @property
    def final(self) -> Row:
        return self.runs[-1]

    @property
    def decided(self) -> str:
        return self.final.decided

    @property
    def kept(self) -> int:
        """Bytes that all runs kept."""
        return sum(row.bytes_kept for row in self.runs)

    def weighted(self, measure: Measure) -> float:
        return sum(row.weight * measure(row) for row in self.runs)

    def batch_cost(self, measure: Measure) -> float:
        return self.final.weight * measure(self.batch)

    def ratio(self, measure: Measure) -> float:
        return self.weighted(measure) / self.batch_cost(measure)

    def final_ratio(self, measure: Measure) -> float:
        return measure(self.final) / measure(self.batch)

    def own_ratio(self, measure: Measure) -> float:
        """Batch as we would write it, over batch: what rewriting saves by itself."""
        return measure(self.own) / measure(self.batch)


def days_of(rows: Iterable[Row]) -> list[Day]:
    """The days that ended, in the order of the queries' numbers; the rows are of one method under
    one set of conditions."""
    by_query: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.run not in WITHOUT_FIGURES:
            by_query.setdefault(row.query, {})[row.run] = row
    return [
        Day(
            query,
            tuple(found[run] for run in sorted(found.keys() - {BATCH, OWN}, key=int)),
            found[BATCH],
            found[OWN],
        )
        for query, found in sorted(by_query.items(), key=lambda item: _by_number(item[0]))
    ]


def _by_number(query: str) -> list[tuple[int, str]]:
    """``q2`` comes before ``q10``, and ``q14a`` before ``q14b``."""
    return [(int(number or 0), text) for text, number in re.findall(r"(\D+)(\d*)", query)]


@dataclass(frozen=True, slots=True)
class Sums:
    """Ratios of sums over all days, by one measure, and the queries above 1."""

    weighted: float
    final: float
    own: float
    above: tuple[str, ...]
    final_above: tuple[str, ...]

    @staticmethod
    def of(days: Sequence[Day], measure: Measure) -> Sums:
        batch = sum(measure(day.batch) for day in days)
        return Sums(
            weighted=sum(day.weighted(measure) for day in days)
            / sum(day.batch_cost(measure) for day in days),
            final=sum(measure(day.final) for day in days) / batch,
            own=sum(measure(day.own) for day in days) / batch,
            above=tuple(day.query for day in days if day.ratio(measure) > 1),
            final_above=tuple(day.query for day in days if day.final_ratio(measure) > 1),
        )


# -- estimates ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimated cost against actual: whether they have the same order (Spearman's rank
    correlation), and how far off they are once all are multiplied by the median of actual over
    estimate."""

    runs: int
    rank_correlation: float
    factor: float
    median_error: float

    @staticmethod
    def of(pairs: Sequence[tuple[float, float]]) -> Estimates:
        """Compare (estimate, actual) pairs, at least two of them."""
        factor = statistics.median(actual / estimate for estimate, actual in pairs)
        errors = [abs(factor * estimate - actual) / actual for estimate, actual in pairs]
        return Estimates(len(pairs), rank_correlation(pairs), factor, statistics.median(errors))


def estimated(days: Iterable[Day], measure: Measure) -> Iterator[tuple[float, float]]:
    """Estimate and actual of every application that ran and has both."""
    for day in days:
        for row in (*day.runs, day.batch, day.own):
            if row.estimated_s > 0 and measure(row) > 0:
                yield row.estimated_s, measure(row)


def state_share(days: Iterable[Day]) -> float | None:
    """Bytes that a day keeps over bytes that batch reads, the median over days that keep any."""
    shares = [day.kept / day.batch.bytes_read for day in days if day.kept]
    return statistics.median(shares) if shares else None
