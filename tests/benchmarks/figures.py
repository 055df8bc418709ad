"""What executed days add up to: ratios to batch, sums, and estimates against actual."""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forerun.planner.cost.calibration import rank_correlation
from forerun.simulation.accounts import DayAccount
from tests.benchmarks.driver import Figures, Found, Name

Run = Mapping[str, Any]
"""The JSON of a :class:`forerun.simulation.accounts.RunAccount`."""
Measure = Callable[[Run], float]
BATCH, OWN = "batch", "own batch"
"""What is run beside the runs of a day: the user's own text, and stages of our own."""


def executor(run: Run) -> float:
    """CPU seconds of the executors."""
    return float(run["cpu_s"])


def process(run: Run) -> float:
    """CPU seconds of the whole process tree."""
    return float(run["process_cpu_s"])


MEASURES: tuple[tuple[str, Measure], ...] = (("executors", executor), ("processes", process))


def figures_of(day: DayAccount) -> Figures:
    """A day as the figures of a cell."""
    gaps = " ".join(gap["code"] for gap in day.not_covered)
    return {**day.as_json(), "not_covered": gaps}


@dataclass(frozen=True, slots=True)
class Day:
    """A day that ended. Costs are weighted as the runs are; those beside it run at the final run's
    weight."""

    name: Name
    runs: Sequence[Run]
    batch: Run
    own: Run

    @staticmethod
    def of(name: Name, figures: Figures) -> Day:
        return Day(name, figures["runs"], figures["batch"], figures["own_batch"])

    @property
    def query(self) -> str:
        return self.name[0]

    @property
    def final(self) -> Run:
        return self.runs[-1]

    @property
    def kept(self) -> int:
        """Bytes that all runs kept."""
        return sum(run["state_bytes"] for run in self.runs)

    def weighted(self, measure: Measure) -> float:
        return sum(float(run["weight"]) * measure(run) for run in self.runs)

    def batch_cost(self, measure: Measure) -> float:
        return float(self.final["weight"]) * measure(self.batch)

    def ratio(self, measure: Measure) -> float:
        """The weighted cost over batch; 0 where batch took nothing that could be measured."""
        batch = self.batch_cost(measure)
        return self.weighted(measure) / batch if batch else 0.0

    def final_ratio(self, measure: Measure) -> float:
        return measure(self.final) / measure(self.batch)

    def own_ratio(self, measure: Measure) -> float:
        """Batch as we would write it, over batch: what rewriting saves by itself."""
        return measure(self.own) / measure(self.batch)

    def taken(self, measure: Measure) -> str:
        """What each run took, in a row."""
        return ", ".join(seconds(measure(run)) for run in self.runs)


def days_of(found: Found) -> list[Day]:
    """The days that were measured, in the order of the queries' numbers."""
    days = (Day.of(name, figures) for name, figures in found.items())
    return sorted(days, key=lambda day: _by_number(day.query))


def _by_number(query: str) -> list[tuple[int, str]]:
    """``q2`` comes before ``q10``, and ``q14a`` before ``q14b``."""
    return [(int(number or 0), text) for text, number in re.findall(r"(\D+)(\d*)", query)]


def seconds(value: float) -> str:
    return f"{value:.1f}" if value >= 1 or not value else f"{value:.2f}"


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
        for run in (*day.runs, day.batch, day.own):
            if run["estimated_cost"] > 0 and measure(run) > 0:
                yield float(run["estimated_cost"]), measure(run)


def state_share(days: Iterable[Day]) -> float | None:
    """Bytes that a day keeps over bytes that batch reads, the median over days that keep any."""
    shares = [day.kept / day.batch["bytes_read"] for day in days if day.kept]
    return statistics.median(shares) if shares else None


def csv_of(days: Iterable[Day]) -> str:
    """A row for each run, for the file beside the page."""
    out = io.StringIO()
    names = (
        "weight", "arrived", "decided", "estimated_cost", "cpu_s", "process_cpu_s", "wall_s",
        "plan_ms", "rows_read", "state_rows_read", "bytes_read", "state_bytes",
    )  # fmt: skip
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("of", "run", *names))
    for day in days:
        beside = ((BATCH, day.batch), (OWN, day.own))
        for run, one in (*((str(run["index"]), run) for run in day.runs), *beside):
            if one:
                writer.writerow((" ".join(day.name), run, *(_rounded(one[name]) for name in names)))
    return out.getvalue()


def _rounded(value: object) -> object:
    return round(value, 3) if isinstance(value, float) else value
