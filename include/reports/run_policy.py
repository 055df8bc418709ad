"""The runs of a report's day: when, at what price, and which of them give the result."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Literal
from zoneinfo import ZoneInfo

from forerun.include.reports.period import Period
from forerun.include.reports.sources.start_when import PriceAtMost, StartWhen, start_text
from forerun.include.reports.values.clock import DAY_S, parse_time
from forerun.include.reports.values.fields import SpecError, take_fields
from forerun.include.reports.values.hours import Hours, daily_curve
from forerun.include.reports.values.keywords import names_its_fields
from forerun.include.reports.values.lengths import Length

MOST_INHERITING = 100
"""So many days in a row may inherit: each adds a partition to what is read."""
_ANY_DAY = date(2026, 1, 1)


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class RunTime:
    """A run: when (:mod:`forerun.include.reports.values.clock`), and what compute costs then,
    relatively. An early run with a trigger, ``when``, starts as soon as that fires, and ``at`` is
    its latest time."""

    at: str
    """The time of the run, after the start of the day; the latest time, if it has a trigger."""
    weight: float = 1.0
    """What compute costs then, relatively: 0.25 is a quarter of a run of weight 1."""
    when: StartWhen | None = None
    """A trigger of an early run, which starts it before ``at``."""

    def __post_init__(self) -> None:
        take_fields(self, "RunTime")


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class Choose:
    """The times of a day's runs are chosen for each day: at most so many runs, the final one
    included. So many slots the report has; a day uses as many as are worth it."""

    at_most: int = 4
    """The most runs a day may have, the final one included; a day uses as many as are worth it."""

    def __post_init__(self) -> None:
        take_fields(self, "Choose")
        if self.at_most < 2:
            raise SpecError(
                f"Choose: at most {self.at_most} runs leave nothing to choose",
                hint="Give at least 2: an early run and the final one.",
            )

    @property
    def own_times(self) -> tuple[RunTime, ...]:
        """The times of a report that names none: evenly over the day, the last at its end."""
        minutes = (24 * 60 * run // self.at_most for run in range(1, self.at_most + 1))
        return tuple(RunTime(at=f"{each // 60:02}:{each % 60:02}") for each in minutes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """The retries of the final run's task: how many tries more, and how many seconds all pauses
    between them take together."""

    count: int
    pauses_s: float


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class RunPolicy:
    """The runs of a day in order; the last one is the final run."""

    runs: tuple[RunTime, ...] = ()
    """The runs, in order of time. With ``choose`` they are the report's own times, by default
    evenly over the day: they hold where nothing can be chosen, and the final run is never before
    the last of them."""
    reserve: Length = "+01:00"
    """The least time to keep free before the deadline, as elapsed time: the latest safe start of
    the final run is then, or earlier if its forecast says so."""
    cores: int = 2
    """How many cores a run has, for forecasts and for a cluster's ceiling."""
    results_at: tuple[int, ...] = ()
    """The early runs that publish the result over what has arrived by then, by number from 1; the
    final run always publishes."""
    problem: Literal["pdw", "ivm"] = "pdw"
    """What plans are compared by: ``pdw``, the weighted sum of what the runs cost, or ``ivm``, the
    cost of the last run, then of the one before it, and so on. With ``ivm`` every run publishes."""
    batch_after_losses: int = 3
    """After so many days on which early work was measured to cost more than batch, days are batch,
    whatever estimates say; 0 for never."""
    measure_batch_after: int = 0
    """After so many days that were something else, one is batch, to measure it; 0 for never, since
    such a day is done later than one with early runs."""
    expected_repairs: float = 0.0
    """How often a day is repaired after it is published, on the average: what a repair would save,
    times that, is what a final run may spend on state; 0 for nothing."""
    inherit_days: int = 0
    """How many days in a row may go on from what the day before has kept, for a report over a
    rolling range; then one is computed anew. 0 for none: each day is computed by itself."""
    early_engine: Literal["", "sail"] = ""
    """The engine of early runs, where it is to be another one than that of the final run: `sail`
    starts in a second, in the process of the task. It does what it is known to compute as Spark
    does; other early runs, and all that publish a result, stay Spark's."""
    choose: Choose | None = None
    """Choose the times for each day, in place of fixed ones."""
    prices: tuple[Hours, ...] = ()
    """What compute costs by the hour of the clock, for all 24 hours; they are then the weights of
    the runs, whenever these are."""

    @property
    def times_move(self) -> bool:
        """Return whether the times of a day's runs may be others than those that are written
        here."""
        return self.choose is not None or any(run.when is not None for run in self.runs)

    @property
    def early_results(self) -> tuple[int, ...]:
        """The early runs that publish a result, in order."""
        last = len(self.runs)
        wanted = range(1, last) if self.problem == "ivm" else self.results_at
        return tuple(sorted(run for run in wanted if run != last))

    @property
    def is_repairable(self) -> bool:
        """Return whether what a day keeps is to serve its repairs or later days, too."""
        return self.expected_repairs > 0 or self.inherit_days > 0

    def __post_init__(self) -> None:
        take_fields(self, "RunPolicy")
        if not self.runs and self.choose is not None:
            object.__setattr__(self, "runs", self.choose.own_times)
        if not self.runs:
            raise SpecError("the run policy has no run", hint="Give at least the final run.")
        for run in self.runs:
            if not (math.isfinite(run.weight) and run.weight > 0):
                raise SpecError(
                    f"the run at {run.at} has weight {run.weight:g}",
                    hint="A weight is the price of compute then: a number above 0, such as 0.25.",
                )
        times = [parse_time(run.at, "the time of a run").seconds for run in self.runs]
        for index, (before, after) in enumerate(pairwise(times), start=2):
            if after <= before:
                raise SpecError(
                    f"run {index} at {self.runs[index - 1].at} is not after "
                    f"run {index - 1} at {self.runs[index - 2].at}",
                    hint="List the runs in order of time; hours go on past 24:00.",
                )
        if not parse_time(self.reserve, "the reserve").elapsed:
            raise SpecError(
                f"the reserve {self.reserve!r} is a clock time",
                hint="It is a length of time: write +01:00 for one hour.",
            )
        if self.cores < 1:
            raise SpecError(f"the run policy has {self.cores} cores", hint="Give at least 1 core.")
        self._check_counts()
        if not 0 <= self.expected_repairs < math.inf:
            raise SpecError(
                f"the run policy expects {self.expected_repairs:g} repairs",
                hint="Give how many repairs a day has on the average: 0 or more, such as 0.1.",
            )
        self._check_inheriting()
        self._check_results()
        self._take_prices()
        self._check_triggers()
        if self.choose is not None:
            self._check_choice(self.choose)

    def _check_inheriting(self) -> None:
        if not 0 <= self.inherit_days <= MOST_INHERITING:
            raise SpecError(
                f"the run policy has {self.inherit_days} days in a row inherit",
                hint=f"Give how many: 28, at most {MOST_INHERITING}; or 0 for none.",
            )
        if self.inherit_days and self.expected_repairs:
            raise SpecError(
                "the run policy has days inherit, and expects repairs",
                hint="State that later days go on from serves repairs, too: leave "
                "expected_repairs out.",
            )

    def _check_counts(self) -> None:
        if self.batch_after_losses < 0:
            raise SpecError(
                f"the run policy is batch after {self.batch_after_losses} losing days",
                hint="Give how many of them: 3, or 0 to let the estimates alone decide.",
            )
        if self.measure_batch_after < 0:
            raise SpecError(
                f"the run policy measures batch after {self.measure_batch_after} days",
                hint="Give how many days: 30, or 0 for never.",
            )

    def _check_triggers(self) -> None:
        final = self.runs[-1]
        if final.when is not None:
            raise SpecError(
                f"the final run at {final.at} has a trigger: {start_text(final.when)}",
                hint="It starts at its own time, from which the day can be complete, and waits for "
                "all sources by itself. Give triggers to early runs.",
            )
        for run in self.runs:
            wanted = run.when.price if isinstance(run.when, PriceAtMost) else math.inf
            if self.prices and not any(hours.value <= wanted for hours in self.prices):
                raise SpecError(
                    f"the run at {run.at} waits for a price of at most {wanted:g}, and compute "
                    f"never costs less than {min(hours.value for hours in self.prices):g}",
                    hint="Name a price that some hour has.",
                )

    def _take_prices(self) -> None:
        if self.prices:
            priced = tuple(replace(run, weight=self._price_at(run)) for run in self.runs)
            object.__setattr__(self, "runs", priced)

    def _price_at(self, run: RunTime) -> float:
        curve = daily_curve(self.prices, _ANY_DAY, 1, ZoneInfo("UTC"), "the prices of the report")
        return curve.at(curve.start + parse_time(run.at, "the time of a run").seconds % DAY_S)

    def _check_choice(self, choose: Choose) -> None:
        if len(self.runs) != choose.at_most:
            raise SpecError(
                f"the run policy has {len(self.runs)} runs, and at most {choose.at_most} are "
                "chosen",
                hint="Name as many times of the report's own, or leave out runs.",
            )
        if any(run.when is not None for run in self.runs):
            raise SpecError(
                "the run policy chooses its times and has triggers",
                hint="Chosen times follow the data by themselves: leave out choose, or when.",
            )
        if self.early_results:
            raise SpecError(
                "the run policy chooses its times and has early results",
                hint="Who waits for an early result wants it at a known time: leave out choose.",
            )

    def _check_results(self) -> None:
        if self.problem == "ivm" and self.results_at:
            raise SpecError(
                "the run policy has both results_at and the problem ivm",
                hint="With ivm every run gives the result: leave out results_at.",
            )
        last = len(self.runs)
        for run in self.results_at:
            if run not in range(1, last + 1) or self.results_at.count(run) > 1:
                why = "twice" if run in range(1, last + 1) else f"of a day of {last} runs"
                raise SpecError(
                    f"results_at names run {run} {why}",
                    hint="Name early runs by their numbers from 1, each once, such as "
                    "results_at=(1, 2).",
                )


def check_in_period(policy: RunPolicy, period: Period | None, report: str) -> None:
    """Refuse runs before the period begins, and what is decided for days by themselves."""
    shortest = period.days[0] if period else 1
    first = policy.runs[0]
    if parse_time(first.at, "a run").seconds < -(shortest - 1) * DAY_S:
        what = f"its shortest period, of {shortest} days," if period else "its day"
        raise SpecError(
            f"report {report}: the run at {first.at} is before {what} begins",
            hint="-3d 12:00 is noon of the third day before the last one of a period."
            if period
            else "Give it a period, such as Weekly(), or write 00:00 or later.",
        )
    if period and policy.choose is not None:
        raise SpecError(
            f"report {report} has a period, and chooses the times of its runs",
            hint="Times are chosen for a day: name them instead of choose, such as -3d 24:00.",
        )
