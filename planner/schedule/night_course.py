"""A night as it turns out: a plan, and arrivals, times and failures that are not those of the plan.

An event loop over a virtual clock. Whenever something ends, arrives or opens, the runs that may
start are looked at, the least lax first, and last those that are late whatever happens: each starts
where its cores are free now, and else keeps the first place where they will be, so that nothing
that is less urgent can delay it (conservative backfilling). A run is never stopped.

What a report's next run is follows the day, not only the plan: an early run starts at its time, or
when its cores are free, with the rows that are there, and is skipped if the time of the next one
has come meanwhile; once the source is complete the final run is next, whatever was planned
before it; and it starts at its planned time, or earlier if what arrived makes it longer than
planned, so that its reserve is kept. If a source is so late that the final run could no longer
leave the reserve, what is there is done in one more early run.

Where the night is decided ``again``, it is so when it is in Airflow: when an early run is due, and
when a source is complete before the final run's time. The report then knows what has come of its
own rows, is planned anew, and the others keep their runs unless these are in somebody's way.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.arrivals import ArrivalCurve
from forerun.planner.schedule.cluster import (
    FreeCores,
    NightCluster,
    TakenCores,
    joined_blackouts,
    peak,
)
from forerun.planner.schedule.many import plan_night
from forerun.planner.schedule.night import NightReport, ReportPlan
from forerun.planner.schedule.piecewise import TICK
from forerun.planner.schedule.today import curve_complete, put_right

_OVERDUE_S = 60.0
"""A run that takes longer than it should is expected to end this much later, again and again."""

_SMALLEST = 0.9
"""A day that would have less than this part of the usual rows is taken to be late instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turnout:
    """The course that a report's day turns out to take: its ``arrivals``, by what factor its runs
    are ``slower``, which of its tries fail, counted from 1, and at which its machine is ``lost``:
    nobody hears of these, and their cores stay taken until the lease ends, ``lease`` seconds after
    the start."""

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
    ``committed`` runs, the last of them begun at ``last_commit``, and the instant of its result.
    Its cores are ``busy_until`` an instant, and expected to be until ``expected_end``. ``known`` is
    what it knew of its arrivals when it was decided about last, at ``decided_at``."""

    plan: ReportPlan
    turnout: Turnout
    tries: list[Attempt] = field(default_factory=list)
    done: int = 0
    committed: int = 0
    last_commit: float = -math.inf
    busy_until: float = -math.inf
    expected_end: float = -math.inf
    finished: float = math.inf
    known: ArrivalCurve | None = None
    decided_at: float = -math.inf

    @property
    def name(self) -> str:
        return self.plan.report.name

    @property
    def missing(self) -> float:
        """Seconds by which the deadline was missed, 0 if it was met."""
        late = self.finished - self.plan.report.deadline
        return late if late > TICK else 0.0

    def cost(self, cluster: NightCluster) -> float:
        """Return the core seconds of all tries, times prices."""
        integral = cluster.prices.integral
        return self.plan.report.cores * sum(integral(one.start, one.end) for one in self.tries)


@dataclass(frozen=True, slots=True)
class NightCourse:
    """The course of a night, report by report."""

    reports: tuple[ReportCourse, ...]
    cluster: NightCluster

    @property
    def missed(self) -> tuple[ReportCourse, ...]:
        return tuple(one for one in self.reports if one.missing)

    @property
    def cost(self) -> float:
        """Return the core seconds of all tries of all reports, times prices."""
        return sum(one.cost(self.cluster) for one in self.reports)

    @property
    def peak(self) -> float:
        """The most cores that were taken at once."""
        return peak(
            (t.start, t.end, one.plan.report.cores) for one in self.reports for t in one.tries
        )


def run_night(
    plans: Sequence[ReportPlan],
    cluster: NightCluster,
    turnouts: Mapping[str, Turnout],
    *,
    again: bool = False,
) -> NightCourse:
    """Run a night to its end, with the times of its plans, or decided ``again`` as it goes on. A
    report without a turnout is as it was forecast."""
    courses = tuple(
        ReportCourse(plan, turnouts.get(plan.report.name, Turnout(arrivals=plan.report.arrivals)))
        for plan in plans
    )
    events = _first_events(courses, cluster)
    while events and any(course.finished == math.inf for course in courses):
        now = heapq.heappop(events)
        while events and events[0] <= now + TICK:
            heapq.heappop(events)
        for course in courses if again else ():
            if _has_to_decide(course, now):
                for at in _decide(courses, course, cluster, now):
                    heapq.heappush(events, at)
        for at in _dispatch(courses, cluster, now):
            heapq.heappush(events, at)
    return NightCourse(courses, cluster)


def _first_events(courses: Sequence[ReportCourse], cluster: NightCluster) -> list[float]:
    """Return the instants known beforehand: planned starts, complete sources, hours that open."""
    events = [*cluster.ceiling.starts, *(one.end for one in cluster.blackouts)]
    for course in courses:
        events += [max(run.start, cluster.start) for run in course.plan.runs]
        complete = course.turnout.arrivals.complete_at
        events += [max(complete, cluster.start), max(_final_from(course), complete)]
        events.append(max(_tight_from(course), cluster.start))
    heapq.heapify(events)
    return events


# -- deciding again ------------------------------------------------------------------------------


def _has_to_decide(course: ReportCourse, now: float) -> bool:
    """Return whether something has come up since a report was decided about: an early run is due,
    or its source is complete before the time of its final run."""
    if course.finished < math.inf or course.busy_until > now + TICK:
        return False
    due = [run.start for run in course.plan.runs[:-1] if run.start <= now + TICK]
    complete = course.turnout.arrivals.complete_at
    if complete <= now < course.plan.runs[-1].start - TICK:
        due.append(complete)
    return bool(due) and max(due) > max(course.decided_at, course.last_commit) + TICK


def _decide(
    courses: Sequence[ReportCourse], about: ReportCourse, cluster: NightCluster, now: float
) -> list[float]:
    """Decide the rest of a night for the sake of a report. Return the instants at which those whose
    runs that moves are to be looked at."""
    about.decided_at, about.known = now, _known(about, now)
    rest = _from(cluster, now)
    going = [
        one
        for one in courses
        if one.finished == math.inf and not (one.busy_until > now + TICK and one.tries[-1].final)
    ]
    taken = [
        TakenCores(
            start=now,
            seconds=max(one.expected_end - now, _OVERDUE_S),
            cores=one.plan.report.cores,
        )
        for one in courses
        if one.busy_until > now + TICK
    ]
    try:
        found = plan_night([_left(one, one is about, now) for one in going], rest, taken=taken)
    except ScheduleError:  # what held before holds, as where a task cannot decide
        return []
    events = []
    for one, plan in zip(going, found.plans, strict=True):
        if one is about or one.name in found.moved:
            one.plan = replace(one.plan, runs=plan.runs)
            events += [max(now, run.start) for run in plan.runs]
            events += [max(now, _final_from(one)), max(now, _tight_from(one))]
    return events


def _known(course: ReportCourse, now: float) -> ArrivalCurve:
    """The curve of a report's rows as its tasks would know it."""
    usual, really = course.plan.report.arrivals, course.turnout.arrivals
    rows = really.rows_at(now)
    if rows == really.total:
        return curve_complete(really.complete_at, rows)
    return put_right(usual, _SMALLEST * usual.total, now, rows)


def _left(course: ReportCourse, is_about: bool, now: float) -> NightReport:
    """The rest of a report. Runs that are due are as good as begun, so only what comes after them
    may move."""
    report = course.plan.report
    *early, final = course.plan.runs
    runs = [run for run in early if run.start > now + TICK]
    known = course.known or report.arrivals
    done = course.done + (course.tries[-1].rows if course.busy_until > now + TICK else 0)
    batches = course.committed + (course.busy_until > now + TICK)
    rest = replace(report, arrivals=known).rest(done, batches, [*runs, final])
    return replace(rest, decided=()) if is_about else rest


def _from(cluster: NightCluster, now: float) -> NightCluster:
    """The cluster from an instant on."""
    start = min(max(now, cluster.start), cluster.end - 1.0)
    spans = ((max(one.start, start), one.end) for one in cluster.blackouts if one.end > start)
    return NightCluster(
        ceiling=cluster.ceiling.between(start, cluster.end),
        prices=cluster.prices.between(start, cluster.end),
        blackouts=joined_blackouts(spans),
    )


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
    """The run that a report would start now, None if there is none."""
    if course.finished < math.inf or course.busy_until > now + TICK:
        return None
    report, arrivals = course.plan.report, course.turnout.arrivals
    there = arrivals.rows_at(now) - course.done
    complete = arrivals.rows_at(now) == arrivals.total
    left = arrivals.total if complete else max(report.arrivals.total, arrivals.rows_at(now))
    rest = report.cost.cost(max(left - course.done, 1))
    laxity = report.deadline - now - rest - report.cost.final_aggregation(course.committed + 1)
    if complete:
        if now < _final_from(course) - TICK:
            return None
        return _Next(course, there, _final_seconds(course), True, laxity)
    if there == 0 or not (_is_due(course, now) or _is_tight(course, now, laxity)):
        return None
    return _Next(course, there, report.cost.cost(there), False, laxity)


def _is_due(course: ReportCourse, now: float) -> bool:
    """Return whether the time of a planned early run has come, and nothing was done since."""
    begun = [run.start for run in course.plan.runs[:-1] if run.start <= now + TICK]
    return bool(begun) and course.last_commit < begun[-1] - TICK


def _is_tight(course: ReportCourse, now: float, laxity: float) -> bool:
    """Return whether the source is late, and a final run over all that is left would not leave the
    reserve even if it started now: then what is there is done first (section 4.4)."""
    report = course.plan.report
    is_late = now >= course.plan.runs[-1].start - TICK
    return is_late and laxity <= report.reserve + TICK and course.committed + 1 < report.at_most


def _tight_from(course: ReportCourse) -> float:
    """The instant from which on a source that is still not complete makes its report tight."""
    report = course.plan.report
    left = max(report.arrivals.total - course.done, 1)
    rest = report.cost.cost(left) + report.cost.final_aggregation(course.committed + 1)
    return max(course.plan.runs[-1].start, report.deadline - report.reserve - rest)


def _final_seconds(course: ReportCourse) -> float:
    cost = course.plan.report.cost
    rows = course.turnout.arrivals.total - course.done
    return cost.cost(rows) + cost.final_aggregation(course.committed + 1)


def _final_from(course: ReportCourse) -> float:
    """Return the instant from which the final run may start: as planned, or as early as its reserve
    asks for. A run that is planned to be late has given its place to others, and keeps to its
    time; unless that was decided by a forecast of late rows, which may come sooner."""
    report = course.plan.report
    if course.plan.missing and course.known is None:
        return course.plan.runs[-1].start
    reserved = report.deadline - report.reserve - _final_seconds(course)
    return min(course.plan.runs[-1].start, reserved)


def _dispatch(courses: Sequence[ReportCourse], cluster: NightCluster, now: float) -> list[float]:
    """Start every run that fits now. Return the extra instants at which to call this again; ends of
    runs and hour changes are events already."""
    ready = [one for course in courses if (one := _next(course, now)) is not None]
    if not ready:
        return []
    free = FreeCores(cluster)
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
            later = (_final_from(one.course), _tight_from(one.course))
            events += [one.course.busy_until, *(max(now, at) for at in later)]
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
        course.last_commit = now
        if one.final:
            course.finished = end
