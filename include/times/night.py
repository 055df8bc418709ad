"""The night of a cluster as the store tells it now, and what is decided for all of its reports.

Each report that names a cluster keeps a small record there (:mod:`forerun.include.times
.cluster_reports`): when its runs are, and, if its times are chosen, what they are decided by.
Certain are the ceiling, the blackouts, a stop, and who holds cores. Who decides takes all records
as they are, plans the night of all (:func:`forerun.planner.schedule.many.plan_night`), and tells
those whose runs that moves by a newer schedule, which their waits follow.

What has begun is not moved: runs that hold cores, wait for some, or are about to start. Neither are
those of a report with times of its own; they wait for their turn. The reports of a group whose
final runs meet are one report of the night.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from forerun.include.days.handle import Day
from forerun.include.reports.cluster import Cluster
from forerun.include.state.cluster_report import ClusterReport, DayForecast, WantedDay, WantedRun
from forerun.include.state.expire import store_clock
from forerun.include.times.cluster_reports import reports_of
from forerun.include.times.leases import Leases
from forerun.include.times.outlook import prices_until
from forerun.planner.schedule.arrivals import arrival_curve
from forerun.planner.schedule.batch_cost import FittedCost
from forerun.planner.schedule.cluster import NightCluster, TakenCores, joined_blackouts
from forerun.planner.schedule.many import NightPlan, plan_night
from forerun.planner.schedule.night import WHOLE, NightReport, PlannedRun, ReportPlan, together
from forerun.planner.schedule.others import Others
from forerun.planner.schedule.piecewise import PiecewiseLinear

SOON_S = 300.0
"""A run that starts within so many seconds is as good as begun: nobody moves it, and a move by less
is none."""

_STOPPED_S = 3600.0
"""How long a stop will last nobody says. Nothing is planned for so long; then it is decided again.
"""

_OVERDUE_S = 60.0
"""Whoever holds cores for longer than forecast is taken to hold them for so long still."""

_BEYOND_S = 86_400.0
"""The night is planned for so long after the last deadline: what is late has to run at some time.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A day that is decided about ``now``, with its own record as it is then. ``application`` is
    what its runs are part of: its group, else its report."""

    day: Day
    now: float
    wanted: WantedDay
    application: str

    @property
    def record(self) -> ClusterReport:
        """The record of its report, with this day only."""
        spec = self.day.spec
        return ClusterReport(
            report=spec.name,
            owner=spec.owner,
            application=self.application,
            cores=spec.policy.cores,
            days=(self.wanted,),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NightMember:
    """A day of the night whose times are chosen: the record of its report, and the early ``slots``
    that its next runs may take."""

    record: ClusterReport
    day: WantedDay
    forecast: DayForecast
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedNight:
    """The decision about a night of the cluster of that ``name`` for the sake of a day: the plans
    of all reports, the days whose times are chosen by the name that they have there, and the
    ``own`` plan of the one that was decided about, with what the night leaves to it."""

    name: str
    decided_for: str
    cluster: NightCluster
    plan: NightPlan
    members: dict[str, list[NightMember]]
    own: ReportPlan
    others: Others

    @property
    def beside(self) -> list[NightMember]:
        """The days that have the same runs as the one that was decided about, itself included."""
        return self.members[self.own.report.name]

    def is_forced(self, plan: ReportPlan) -> bool:
        """Return whether the early runs of a plan are dearer than one batch: then they are there
        for a deadline, its own or that of others."""
        report, prices = plan.report, self.cluster.prices
        final = plan.runs[-1]
        start = min(final.start, self.cluster.end - report.batch_seconds)
        batch = report.cores * prices.integral(start, start + report.batch_seconds)
        return len(plan.runs) > 1 and plan.cost > batch

    def to_tell(self, *, but_own: bool) -> Iterator[tuple[NightMember, ReportPlan]]:
        """The days that have to be told of other runs than they had, with the plan of these; those
        of the ``own`` plan, too, where nobody else says it to them."""
        for plan in self.plan.plans:
            name = plan.report.name
            if name in self.plan.moved and not (but_own and plan is self.own):
                yield from ((one, plan) for one in self.members.get(name, ()))


def decide_night(choice: Choice, declared: Cluster) -> DecidedNight:
    """Decide the night of a cluster. Raises what reading the store raises, and
    :class:`forerun.planner.errors.ScheduleError` for a night that cannot be planned."""
    known = _KnownNight(choice, declared)
    cluster, reports = known.cluster(), known.reports
    widest = max(cluster.ceiling.values)
    # A ceiling may have been lowered since: who has no room now is planned when it has some.
    fits = [one for one in reports.values() if one.cores <= widest]
    plan = plan_night(fits, cluster, taken=known.held)
    own = next(one for one in plan.plans if one.report.name == known.own)
    first = [
        TakenCores(start=run.start, seconds=run.seconds, cores=one.report.cores)
        for one in plan.plans
        if _place(one) < _place(own)
        for run in one.runs
    ]
    return DecidedNight(
        name=declared.name,
        decided_for=f"{choice.day.at.report} {choice.day.at.day}",
        cluster=cluster,
        plan=plan,
        members=known.members,
        own=own,
        others=Others(cluster, own.report.cores, known.held, first),
    )


def _place(plan: ReportPlan) -> tuple[float, str]:
    """The place of a report in the order in which final runs begin: whatever is planned for it."""
    return plan.report.latest_batch, plan.report.name


class _KnownNight:
    """A night as it is known: its reports, and the cores that are held."""

    def __init__(self, choice: Choice, declared: Cluster) -> None:
        self._choice, self._now, store = choice, choice.now, choice.day.store
        self._look = look = Leases(store, declared).overview(store_clock(store))
        self._asked = {one.name for one in look.slots.live(look.now)}
        self._asked |= {one.name for one in look.waiting}
        self.held: list[TakenCores] = []
        self.reports: dict[str, NightReport] = {}
        self.members: dict[str, list[NightMember]] = {}
        self._meeting: dict[str, list[NightReport]] = {}
        self._fixed: dict[tuple[str, str, float], list[NightReport]] = {}
        self.own = ""
        self._read_asked()
        mine = choice.day.at.report, choice.day.at.day
        self._add(choice.record, choice.wanted)
        for record in reports_of(store, declared.name, choice.day.date):
            for day in record.days:
                if (record.report, day.day) != mine:
                    self._add(record, day)
        self._join()

    def cluster(self) -> NightCluster:
        """The cluster from now on, until everything has had time to run."""
        choice, look, now = self._choice, self._look, self._now
        last = max(max(one.deadline, one.arrivals.complete_at) for one in self.reports.values())
        prices = prices_until(choice.day.spec, choice.day.date, max(last, now) + _BEYOND_S)
        blackouts = look.cluster.dark_between(now, prices.end)
        if look.stop is not None and look.stop.stopped:
            blackouts.append((now, now + _STOPPED_S))
        return NightCluster(
            ceiling=look.cluster.ceiling_between(now, prices.end),
            prices=prices.between(now, prices.end),
            blackouts=joined_blackouts((max(start, now), end) for start, end in blackouts),
        )

    def _read_asked(self) -> None:
        """Read who holds cores, and who waits for some."""
        look = self._look
        choice = self._choice
        own = tuple(
            f"{one} {choice.day.at.day} " for one in (choice.application, choice.day.at.report)
        )
        for lease in look.slots.live(look.now):
            if not lease.name.startswith(own):
                left = max(lease.run_s - (look.now - lease.since), _OVERDUE_S)
                self.held.append(TakenCores(start=self._now, seconds=left, cores=lease.cores))
        for one in look.waiting:
            if not one.name.startswith(own) and one.run_s > 0 and one.latest_start is not None:
                due = one.latest_start + one.run_s
                self._put(_as_it_is(one.name, self._now, one.run_s, one.cores, due))

    def _put(self, report: NightReport) -> None:
        self.reports[report.name] = report

    def _add(self, record: ClusterReport, day: WantedDay) -> None:
        """Add what is left of a day."""
        names = {record.application, record.report}
        left = [
            run
            for run in day.runs
            if run.at + run.seconds > self._now
            and not any(f"{name} {day.day} run {run.run}" in self._asked for name in names)
        ]
        forecast = day.forecast
        if forecast is None:
            for run in left:
                due = day.latest_start + run.seconds
                name = f"{record.application} {day.day} at {run.at}"
                one = _as_it_is(name, run.at, run.seconds, record.cores, due, since=self._now)
                self._fixed.setdefault((record.application, day.day, run.at), []).append(one)
            return
        is_own = not self.own
        begun = [run for run in day.runs[:-1] if run.at <= self._now + SOON_S]
        if day.runs and not (left and left[-1] is day.runs[-1]):
            return  # its final run has its cores already, or waits for some
        for run in left:
            if run in begun:
                end = run.at + run.seconds
                start = max(run.at, self._now)
                self.held.append(TakenCores(start=start, seconds=end - start, cores=record.cores))
        slots = _slots_left(forecast, day, begun, self._now)
        to_come = () if is_own else tuple(run for run in left if run not in begun)
        report = _rest_of(record, day, forecast, begun, slots, to_come)
        name = report.name
        if record.application != record.report:
            name = f"{record.application} {day.day} until {forecast.ready:g}"
        self.own = self.own or name
        self.members.setdefault(name, []).append(
            NightMember(record=record, day=day, forecast=forecast, slots=slots)
        )
        self._meeting.setdefault(name, []).append(report)

    def _join(self) -> None:
        """Runs that one application does are one."""
        for name, reports in self._meeting.items():
            joined = together(name, reports) if len(reports) > 1 else replace(reports[0], name=name)
            decided = () if name == self.own else reports[0].decided
            self._put(replace(joined, decided=decided))
        for runs in self._fixed.values():
            seconds = sum(one.decided[0].seconds for one in runs)
            cores, due = max(one.cores for one in runs), min(one.deadline for one in runs)
            at = runs[0].decided[0].start
            self._put(_as_it_is(runs[0].name, at, seconds, cores, due))


def _as_it_is(
    name: str, at: float, seconds: float, cores: float, due: float, since: float = -math.inf
) -> NightReport:
    """A run that nobody moves: it begins at an instant, or when it has its cores."""
    start = max(at, since)
    seconds -= start - at
    return NightReport(
        name=name,
        cost=FittedCost(PiecewiseLinear((0.0, 1.0), (seconds, seconds), beyond=1.0)),
        arrivals=arrival_curve([(start, 1.0)]),
        deadline=due,
        cores=cores,
        at_most=1,
        decided=(PlannedRun(start=start, rows=1, seconds=seconds),),
        keeps=True,
    )


def _slots_left(
    forecast: DayForecast, day: WantedDay, begun: list[WantedRun], now: float
) -> tuple[int, ...]:
    """The early slots that runs to come may have: a slot without a run is over at its own time."""
    last = max((run.run for run in begun), default=0)
    used = {run.run for run in day.runs} if day.runs else {run for run, _ in forecast.slots}
    slots = [(run, own) for run, own in forecast.slots if run > last]
    while slots and slots[0][0] not in used and slots[0][1] <= now:
        slots.pop(0)
    return tuple(run for run, _ in slots)


def _rest_of(
    record: ClusterReport,
    day: WantedDay,
    forecast: DayForecast,
    begun: list[WantedRun],
    slots: tuple[int, ...],
    to_come: tuple[WantedRun, ...],
) -> NightReport:
    """The rest of a day whose times are chosen, as a report of the night."""
    (*points, last) = forecast.arrived
    rows = [(at, min(WHOLE - 1.0, WHOLE * part)) for at, part in points]
    curve = arrival_curve([*rows, (last[0], float(WHOLE))])
    parts, seconds = zip(*forecast.seconds, strict=True)
    slope = (seconds[-1] - seconds[-2]) / (parts[-1] - parts[-2]) / WHOLE
    batches, merging = zip(*forecast.merging, strict=True)
    cost = FittedCost(
        PiecewiseLinear(tuple(WHOLE * part for part in parts), seconds, slope),
        PiecewiseLinear(batches, merging, merging[-1] - merging[-2]),
    )
    done = max([round(forecast.done * WHOLE), *(curve.rows_at(run.at) for run in begun)])
    runs = forecast.batches + len(begun)
    whole = NightReport(
        name=f"{record.report} {day.day}",
        cost=cost,
        arrivals=curve,
        deadline=forecast.due,
        cores=record.cores,
        reserve=forecast.reserve,
        at_most=runs + len(slots) + 1,
    )
    decided = [PlannedRun(start=one.at, rows=1, seconds=one.seconds) for one in to_come]
    return whole.rest(done, runs, decided)
