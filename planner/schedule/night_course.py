"""A night as it turns out: arrivals, times and failures that are not those of a forecast.

An event loop over a virtual clock. The times of all reports are decided when the night begins, and
those of one again whenever its data come otherwise than was forecast, by the same rules
(:mod:`forerun.planner.schedule.deciding`): before an early run, when its source is complete, and
when its final run should begin and cannot yet. A night that turns out as it was forecast is the
plan of the night.

Whenever something ends, arrives or opens, the runs whose time has come are looked at, the least lax
first, and last those that are late whatever happens: each starts where its cores are free now, and
else keeps the first place where they will be, so that nothing that is less urgent can delay it
(conservative backfilling). A run is never stopped. An early run does what is there then, and is
skipped if the time of the next one has come meanwhile.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from forerun.planner.schedule.arrivals import ArrivalCurve, arrival_curve
from forerun.planner.schedule.cluster import Cluster, FreeCores, peak
from forerun.planner.schedule.deciding import decide, decide_all, place, priced
from forerun.planner.schedule.night import NightPlan, NightReport, PlannedRun, ReportPlan
from forerun.planner.schedule.others import Others, TakenCores
from forerun.planner.schedule.piecewise import TICK

_OVERDUE_S = 60.0
"""A run that takes longer than it should is expected to end this much later, again and again."""

_AS_FORECAST = 0.1
"""Of a source of which no more than this part of the day is missing or too much, nothing is decided
again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turnout:
    """The turnout of a report's day: its ``arrivals``, by what factor its runs are ``slower``,
    which of its tries fail, counted from 1, and at which its machine is ``lost``: of these nobody
    hears, and their cores stay taken until the lease ends, ``lease`` seconds after the start."""

    arrivals: ArrivalCurve
    slower: float = 1.0
    failed: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    lease: float = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at a run: when its cores were taken and given back, over how many rows, and
    whether it counts."""

    start: float
    end: float
    rows: int
    final: bool
    outcome: str = "done"


@dataclass(slots=True)
class ReportCourse:
    """The course of a report: its tries in order, the rows that it has ``done`` in so many
    ``committed`` runs, and the instant of its result. Its cores are ``busy_until`` an instant, and
    expected to be until ``expected_end``.

    ``plan`` is what was decided first. ``ahead`` are the runs to come as it was decided last, by
    what is ``forecast`` of its rows since; at the instants ``looks`` a source that should be
    complete is looked at: it may be late. ``asked``: when an early run was due last.
    """

    plan: ReportPlan
    turnout: Turnout
    tries: list[Attempt] = field(default_factory=list)
    done: int = 0
    committed: int = 0
    busy_until: float = -math.inf
    expected_end: float = -math.inf
    finished: float = math.inf
    ahead: list[PlannedRun] = field(init=False)
    forecast: ArrivalCurve = field(init=False)
    looks: list[float] = field(init=False)
    asked: float = -math.inf

    def __post_init__(self) -> None:
        report = self.plan.report
        self.ahead, self.forecast = list(self.plan.runs), report.arrivals
        latest = report.latest_start
        self.looks = [] if report.times else sorted({self.plan.final.start, latest})

    @property
    def name(self) -> str:
        return self.plan.report.name

    @property
    def missing(self) -> float:
        """Seconds by which the deadline was missed, 0 if it was met."""
        late = self.finished - self.plan.report.deadline
        return late if late > TICK else 0.0

    def cost(self, cluster: Cluster) -> float:
        """Return what all tries paid, in core seconds."""
        integral = cluster.prices.integral
        return self.plan.report.cores * sum(integral(one.start, one.end) for one in self.tries)


@dataclass(frozen=True, slots=True)
class NightCourse:
    """The course of a night: its reports, and the cluster that they shared."""

    reports: tuple[ReportCourse, ...]
    cluster: Cluster

    @property
    def missed(self) -> tuple[ReportCourse, ...]:
        return tuple(one for one in self.reports if one.missing)

    @property
    def cost(self) -> float:
        """What all tries paid, in core seconds."""
        return sum(one.cost(self.cluster) for one in self.reports)

    @property
    def peak(self) -> float:
        """The most cores that were taken at once."""
        return peak(
            (t.start, t.end, one.plan.report.cores) for one in self.reports for t in one.tries
        )


def run_night(
    plans: Sequence[ReportPlan],
    cluster: Cluster,
    turnouts: Mapping[str, Turnout],
    held: Sequence[TakenCores] = (),
) -> NightCourse:
    """Run a night to its end, for which that was decided, beside cores that are ``held`` when it
    begins. A report without a turnout is as it was forecast."""
    courses = tuple(
        ReportCourse(plan, turnouts.get(plan.report.name, Turnout(arrivals=plan.report.arrivals)))
        for plan in plans
    )
    events = _first_events(courses, cluster, held)
    while events and any(course.finished == math.inf for course in courses):
        now = heapq.heappop(events)
        while events and events[0] <= now + TICK:
            heapq.heappop(events)
        still = [one for one in held if one.end > now + TICK]
        again = _decided_again(courses, cluster, now, still)
        for at in (*again, *_dispatch(courses, cluster, now, still)):
            heapq.heappush(events, at)
    return NightCourse(courses, cluster)


def plan_night(
    reports: Sequence[NightReport],
    cluster: Cluster,
    *,
    held: Sequence[TakenCores] = (),
    on_report: Callable[[], None] = lambda: None,
) -> NightPlan:
    """Plan a night: decide for all reports, and let it turn out as forecast. Raises what
    :func:`forerun.planner.schedule.deciding.decide_all` raises."""
    return place_all(decide_all(reports, cluster, held, on_report=on_report), cluster, held)


def place_all(
    plans: Sequence[ReportPlan], cluster: Cluster, held: Sequence[TakenCores] = ()
) -> NightPlan:
    """Plans as they go under the ceiling, where nothing turns out otherwise than forecast."""
    course = run_night(plans, cluster, {}, held)
    return NightPlan(plans=tuple(_as_it_went(one, cluster) for one in course.reports))


def _as_it_went(course: ReportCourse, cluster: Cluster) -> ReportPlan:
    runs = tuple(
        PlannedRun(start=one.start, rows=one.rows, seconds=one.end - one.start)
        for one in course.tries
    )
    return priced(course.plan.report, runs, cluster)


def _first_events(
    courses: Sequence[ReportCourse], cluster: Cluster, held: Sequence[TakenCores]
) -> list[float]:
    """Return the instants known beforehand: planned starts, complete sources, hours that open."""
    events = [*cluster.ceiling.starts, *(one.end for one in cluster.blackouts)]
    events += [one.end for one in held]
    for course in courses:
        times = [*(run.start for run in course.ahead), *course.looks]
        events += [max(at, cluster.start) for at in (*times, course.turnout.arrivals.complete_at)]
    heapq.heapify(events)
    return events


# -- what is decided again -----------------------------------------------------------------------


def _decided_again(
    courses: Sequence[ReportCourse], cluster: Cluster, now: float, held: Sequence[TakenCores]
) -> Iterator[float]:
    """Decide again for the reports whose data are not as forecast; the instants at which there is
    something to look at then."""
    for course in courses:
        if course.finished < math.inf or course.busy_until > now + TICK:
            continue
        if course.plan.report.times or not _is_otherwise(course, now):
            continue
        course.forecast = _forecast(course, now)
        report = course.plan.report.after(course.done, course.committed, course.forecast)
        cores = _beside(courses, course, cluster, now, held)
        found = decide(report, cluster, cores, now)
        course.ahead = list(found.runs)
        yield from (run.start for run in found.runs)


def _is_otherwise(course: ReportCourse, now: float) -> bool:
    """Return whether it is time to look at what has come, and that is not what should have."""
    if course.turnout.arrivals.rows_at(now) == course.turnout.arrivals.total:
        was_known = course.forecast.complete_at <= now + TICK
        return not was_known or course.forecast.total != course.turnout.arrivals.total
    is_due = len(course.ahead) > 1 and course.asked < course.ahead[0].start <= now + TICK
    if is_due:
        course.asked = now
    is_late = bool(course.looks) and course.looks[0] <= now + TICK
    if is_late:
        course.looks = [at for at in course.looks if at > now + TICK]
    off = abs(course.turnout.arrivals.rows_at(now) - course.forecast.rows_at(now))
    return (is_late and off > 0) or (is_due and off > _AS_FORECAST * course.forecast.total)


def _forecast(course: ReportCourse, now: float) -> ArrivalCurve:
    """Return the forecast of a source that has come otherwise: one with less than it should have is
    late, one with more is larger; and what is complete is known."""
    arrivals, before = course.turnout.arrivals, course.forecast
    there, expected = arrivals.rows_at(now), before.rows_at(now)
    if there == arrivals.total:
        return arrival_curve([(now, float(there))])
    if there > expected > 0:
        return before.scaled(there / expected)
    return before.shifted(max(0.0, now - before.time_of(max(1, there))))


def _beside(
    courses: Sequence[ReportCourse],
    own: ReportCourse,
    cluster: Cluster,
    now: float,
    held: Sequence[TakenCores],
) -> Others:
    """Return what those who hold cores leave, and those before by what they have decided."""
    taken, planned, mine = list(held), [], place(own.plan.report)
    for one in courses:
        cores = one.plan.report.cores
        if one is own or (one.finished < math.inf and one.busy_until <= now):
            continue
        free_from = now
        if one.busy_until > now + TICK:
            free_from = max(one.expected_end, now + _OVERDUE_S)
            taken.append(TakenCores(start=now, seconds=free_from - now, cores=cores))
        if place(one.plan.report) < mine:
            for run in one.ahead:
                start = max(run.start, free_from)
                planned.append(TakenCores(start=start, seconds=run.seconds, cores=cores))
    return Others(cluster, own.plan.report.cores, taken, planned)


# -- what may start ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Next:
    """The next run of a report: its rows, how long it should take, and how long it can wait."""

    course: ReportCourse
    rows: int
    seconds: float
    final: bool
    laxity: float


def _next(course: ReportCourse, now: float) -> _Next | None:
    """Return the run that a report would start now, None if there is none."""
    if course.finished < math.inf or course.busy_until > now + TICK:
        return None
    report, arrivals = course.plan.report, course.turnout.arrivals
    there, merge = arrivals.rows_at(now) - course.done, report.cost.final_aggregation
    is_complete = arrivals.rows_at(now) == arrivals.total
    left = arrivals.total if is_complete else max(course.forecast.total, arrivals.rows_at(now))
    rest = report.cost.cost(max(left - course.done, 1)) + merge(course.committed + 1)
    laxity = report.deadline - now - rest
    # Whose time has come when the next one's has, too, is skipped: that one does its work.
    due = [run for run in course.ahead[:-1] if run.start <= now + TICK]
    is_early = bool(due) and not (is_complete and course.ahead[-1].start <= now + TICK)
    if is_early and there > 0:
        return _Next(course, there, report.cost.cost(there), False, laxity)
    if not is_complete or course.ahead[-1].start > now + TICK:
        return None
    return _Next(course, there, rest, True, laxity)


def _dispatch(
    courses: Sequence[ReportCourse], cluster: Cluster, now: float, held: Sequence[TakenCores]
) -> list[float]:
    """Start every run that fits now. Returns the instants at which they end: what has to wait does
    so for these, or for an hour that opens, which is an event anyway."""
    ready = [one for course in courses if (one := _next(course, now)) is not None]
    if not ready:
        return []
    free = FreeCores(cluster)
    for taken in held:
        free.take(now, taken.end - now, taken.cores)
    for course in courses:
        if course.busy_until > now + TICK:
            expected = max(course.expected_end, now + _OVERDUE_S)
            free.take(now, expected - now, course.plan.report.cores)
    events = []
    # What is late whatever happens takes no other deadline along with its own.
    for one in sorted(ready, key=lambda one: (one.laxity < 0, one.laxity, one.course.name)):
        cores = one.course.plan.report.cores
        start = free.earliest(now, one.seconds, cores)
        free.take(start, one.seconds, cores)
        if start <= now + TICK:
            _start(one, now)
            events.append(one.course.busy_until)
    return events


def _start(one: _Next, now: float) -> None:
    """Take the cores of a run, and write down how it will end."""
    course, turnout = one.course, one.course.turnout
    number = len(course.tries) + 1
    end = now + one.seconds * turnout.slower
    outcome = "failed" if number in turnout.failed else "done"
    if number in turnout.lost:
        end, outcome = now + turnout.lease, "lost"
    course.busy_until, course.expected_end = end, now + one.seconds
    course.tries.append(
        Attempt(start=now, end=end, rows=one.rows, final=one.final, outcome=outcome)
    )
    if outcome == "done":
        course.done += one.rows
        course.committed += 1
        later = [run for run in course.ahead[:-1] if run.start > now + TICK]
        course.ahead = [*later, course.ahead[-1]]
        if one.final:
            course.finished = end
