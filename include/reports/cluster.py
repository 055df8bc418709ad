"""A cluster as its owner declares it: how many cores the runs of its reports may use at once.

Reports and groups name it by the option ``cluster``; the store keeps what was declared last, and
the slots that are held (:mod:`forerun.include.times.leases`).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from forerun.include.reports.spec import PriceAtMost, ReportSpec
from forerun.include.reports.values.clock import parse_time, parse_zone
from forerun.include.reports.values.fields import SpecError, label, take_fields
from forerun.include.reports.values.hours import Hours, clock_span, daily_curve, spans_on
from forerun.include.reports.values.keywords import names_its_fields
from forerun.include.reports.values.lengths import Length
from forerun.include.reports.values.names import check_name, check_unique
from forerun.planner.contract.plan_v1 import later
from forerun.planner.schedule.step_curve import StepCurve

_SHORTEST_S = 10


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class Blackout:
    """Hours of every day in which nothing may run: clock time ``start`` up to ``end`` (``24:00`` is
    the end of the day)."""

    start: str
    """The clock time from which on nothing may run."""
    end: str
    """The clock time up to which nothing may run; ``24:00`` is the end of the day."""

    def __post_init__(self) -> None:
        take_fields(self, "Blackout")
        first, last = clock_span(self.start, self.end, "the blackout")
        if first >= last:
            raise SpecError(
                f"the blackout from {self.start} to {self.end} is empty",
                hint="One that goes past midnight is two: up to 24:00, and from 00:00 on.",
            )

    def on(self, day: date, zone: ZoneInfo) -> list[tuple[float, float]]:
        """The spans of a day, in seconds of the UNIX epoch, in which nothing may run."""
        return spans_on(day, clock_span(self.start, self.end, "the blackout"), zone)


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A ceiling on the cores that the runs of several reports use at once, with prices by the
    hour."""

    name: str
    """The name by which the store knows the cluster."""
    ceiling: tuple[Hours, ...]
    """How many cores runs may use at once, by the hours of the clock in ``timezone``, for all 24 of
    them."""
    prices: tuple[Hours, ...] = ()
    """What compute costs, by the hour, for reports that have no prices of their own."""
    blackouts: tuple[Blackout, ...] = ()
    """Hours in which nothing is begun but final runs at their latest safe start."""
    timezone: str = "UTC"
    """The time zone of all hours."""
    lease: Length = "+00:05"
    """A run that has not been heard of for so long gives its cores up. It is the time that is lost
    when a machine dies, and at most the time for which the store may be away."""
    budgets: tuple[tuple[str, float], ...] = later(())
    """By owner, how many core hours times price early runs may take on a day of the cluster's
    clock."""
    priorities: tuple[tuple[str, int], ...] = later(())
    """By owner, whose runs go first where nobody is late for it, the highest number first; 0 for an
    owner that is not named."""

    def __post_init__(self) -> None:
        what = label("cluster", self.name)
        take_fields(self, what)
        check_name(self.name, "the cluster")
        parse_zone(self.timezone)
        if not self.ceiling:
            raise SpecError(
                f"{what} has no ceiling",
                hint='Write ceiling=(Hours(start="00:00", end="24:00", value=16),) for 16 cores.',
            )
        self.ceiling_at(0.0)
        if self.prices:
            self._curve(self.prices, 0.0, f"the prices of {what}")
        if not parse_time(self.lease, f"{what}: the lease").elapsed or self.lease_s < _SHORTEST_S:
            raise SpecError(
                f"{what}: the lease {self.lease!r} is no length of time of at least "
                f"{_SHORTEST_S} seconds",
                hint="Write +00:05 for five minutes.",
            )
        self._check_owners()

    def _check_owners(self) -> None:
        for kind, pairs in (("budget", self.budgets), ("priority", self.priorities)):
            check_unique([owner for owner, _ in pairs], f"cluster {self.name}: the {kind} of owner")
            for owner, value in pairs:
                if not 0 <= value < math.inf:
                    raise SpecError(
                        f"cluster {self.name}: the {kind} of {owner} is {value:g}",
                        hint="Give a number from 0 on: a budget in core hours times price of a "
                        "day, such as 40; a priority such as 2.",
                    )

    def budget_of(self, owner: str) -> float | None:
        """Core hours times price that early runs of an owner may take of a day; None for any."""
        return dict(self.budgets).get(owner)

    def priority_of(self, owner: str) -> int:
        """Whose runs go first where nobody is late for it."""
        return dict(self.priorities).get(owner, 0)

    @property
    def lease_s(self) -> float:
        """The lease in seconds."""
        return float(parse_time(self.lease, "the lease").seconds)

    @property
    def most(self) -> float:
        """The ceiling in the hour in which it is highest."""
        return max(hours.value for hours in self.ceiling)

    def ceiling_at(self, instant: float) -> float:
        """Return how many cores may be used at an instant, in seconds of the UNIX epoch."""
        return self._curve(self.ceiling, instant, f"the ceiling of cluster {self.name}").at(instant)

    def price_at(self, instant: float) -> float:
        """Return the price of a core at an instant; 1 for a cluster without prices."""
        if not self.prices:
            return 1.0
        return self._curve(self.prices, instant, f"the prices of cluster {self.name}").at(instant)

    def day_at(self, instant: float) -> str:
        """The day on the cluster's clock in which an instant lies."""
        return self._local_day(instant).isoformat()

    def dark_until(self, instant: float) -> float | None:
        """Return when the blackout around an instant ends, or None if no blackout covers it."""
        day, zone = self._local_day(instant), parse_zone(self.timezone)
        spans = (span for one in self.blackouts for span in one.on(day, zone))
        return max((end for start, end in spans if start <= instant < end), default=None)

    def ceiling_between(self, start: float, end: float) -> StepCurve:
        """The ceiling from one instant to another, in seconds of the UNIX epoch."""
        days, what = self._days(start, end), f"the ceiling of cluster {self.name}"
        return _over_days(self.ceiling, days[0], len(days), self.timezone, what).between(start, end)

    def dark_between(self, start: float, end: float) -> list[tuple[float, float]]:
        """The blackouts that overlap the time between two instants, each with start and end."""
        zone = parse_zone(self.timezone)
        days, blackouts = self._days(start, end), self.blackouts
        spans = (span for day in days for one in blackouts for span in one.on(day, zone))
        return [(first, last) for first, last in spans if first < end and start < last]

    def _days(self, start: float, end: float) -> list[date]:
        """The days of the clock between two instants, and one on either side."""
        first = self._local_day(start) - timedelta(days=1)
        count = (self._local_day(end) - first).days + 2
        return [first + timedelta(days=number) for number in range(count)]

    def _curve(self, hours: tuple[Hours, ...], instant: float, what: str) -> StepCurve:
        # From the day before on: the hours of a day on which clocks change are not all its own.
        first = self._local_day(instant) - timedelta(days=1)
        return _over_days(hours, first, 3, self.timezone, what)

    def _local_day(self, instant: float) -> date:
        return datetime.fromtimestamp(instant, UTC).astimezone(parse_zone(self.timezone)).date()


@functools.lru_cache(maxsize=64)
def _over_days(
    hours: tuple[Hours, ...], first: date, days: int, timezone: str, what: str
) -> StepCurve:
    return daily_curve(hours, first, days, parse_zone(timezone), what)


def under_cluster(spec: ReportSpec, cluster: Cluster | None) -> ReportSpec:
    """The report as it runs on a cluster: with the cluster's prices, if it has none of its own.

    Raises :class:`SpecError` where no hour of the cluster has enough cores for one of its runs,
    where prices would be read on another clock than they were written for, and where a run waits
    for a price and there is none.
    """
    found = _under(spec, cluster) if cluster is not None else spec
    waits = [run for run in found.policy.runs if isinstance(run.when, PriceAtMost)]
    if waits and not found.policy.prices:
        raise SpecError(
            f"report {spec.name}: the run at {waits[0].at} waits for a price, and nothing says "
            "what compute costs by the hour",
            hint="Give prices to its RunPolicy, or to its cluster.",
        )
    return found


def _under(spec: ReportSpec, cluster: Cluster) -> ReportSpec:
    if spec.policy.cores > cluster.most:
        raise SpecError(
            f"a run of report {spec.name} needs {spec.policy.cores} cores, and cluster "
            f"{cluster.name} never has more than {cluster.most:g}",
            hint="Raise the ceiling, or give the report's RunPolicy fewer cores.",
        )
    if spec.policy.prices or not cluster.prices:
        return spec
    if spec.timezone != cluster.timezone:
        raise SpecError(
            f"cluster {cluster.name} has prices by the clock of {cluster.timezone}, report "
            f"{spec.name} lives by that of {spec.timezone}",
            hint="Give the report's RunPolicy prices in its own hours.",
        )
    return replace(spec, policy=replace(spec.policy, prices=cluster.prices))
