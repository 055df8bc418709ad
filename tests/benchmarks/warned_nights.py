"""How long before a missed deadline the first warning comes, in generated nights full of faults.

    python -m tests.benchmarks warned_nights NIGHTS

Each night is planned as ``forerun schedule`` does and turns out otherwise: sources are late, days
are bigger, runs are slow, fail or lose their machine, and one final run in twenty is never planned.
Half of the reports keep no reserve. The watch looks at each day as it looks at a real one, by the
same code and as often.

A miss could be **foreseen** if at the last instant at which batch could be begun and be in time
the day was not as planned: its final run was due for five minutes and had not begun, or was at
work for longer than forecast, or was forecast to end after the deadline. What goes as planned
until then, and is slow or fails later, nobody can know: such a miss is counted apart.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from forerun.airflow.watching.watch import POLL_S
from forerun.include.oncall.alerts import Watched, next_look, watch
from forerun.include.oncall.day.records import DayRecords, PlanFile
from forerun.include.reports.run_policy import Retries
from forerun.include.times.safe_start import AROUND_S, SafeStart, needed_for
from forerun.planner.schedule.arrivals import ArrivalCurve
from forerun.planner.schedule.many import plan_night
from forerun.planner.schedule.night_course import ReportCourse, Turnout, run_night
from tests.benchmarks.driver import Benchmark, Cell, Figures, Found, table
from tests.benchmarks.nights import HOUR, generate_night
from tests.include.oncall.dag_days import at, dag_day

REPORTS = 12
_RETRIES = Retries(count=2, pauses_s=60.0)
_DUE_S = 300.0
_LATE = ("orders: no _SUCCESS",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a report's night went. ``lead_s``: seconds from its first warning to its deadline, None
    without one; ``batch_s``: what batch was forecast to take then."""

    report: str
    missed: bool
    foreseeable: bool
    lead_s: float | None
    batch_s: float
    what: str

    @property
    def in_time(self) -> bool:
        """Whether who was warned had at least the time that batch takes."""
        return self.lead_s is not None and self.lead_s >= self.batch_s


def outcomes(seed: int, template: DayRecords) -> Iterator[Outcome]:
    """The reports of a night; ``template``: a day as the store has it, whose final run is planned
    and committed."""
    draw, night = random.Random(seed), generate_night(seed, REPORTS)
    turnouts = {one.name: _turnout(draw, one.arrivals) for one in night.reports}
    reports = [one if draw.random() < 0.5 else replace(one, reserve=0.0) for one in night.reports]
    plans = plan_night(reports, night.cluster).plans
    for course in run_night(plans, night.cluster, turnouts).reports:
        if draw.random() < 0.05:
            _stall(course)
        yield _WatchedReport(course, template).outcome(draw.uniform(0, POLL_S))


def _turnout(draw: random.Random, arrivals: ArrivalCurve) -> Turnout:
    """How a day turns out; most go wrong somehow, some in several ways."""
    if draw.random() < 0.25:
        arrivals = arrivals.shifted(draw.uniform(600, 8 * HOUR), since=draw.uniform(10, 21) * HOUR)
    if draw.random() < 0.1:
        arrivals = arrivals.scaled(draw.uniform(1.3, 3.0))
    return Turnout(
        arrivals=arrivals,
        slower=draw.uniform(1.3, 8.0) if draw.random() < 0.3 else draw.uniform(0.9, 1.1),
        failed=frozenset(number for number in range(1, 6) if draw.random() < 0.25),
        lost=frozenset(number for number in range(1, 6) if draw.random() < 0.05),
    )


def _stall(course: ReportCourse) -> None:
    """Let nothing plan the final run, as where the scheduler hangs: it is never begun."""
    course.tries = [one for one in course.tries if not one.final]
    course.finished = math.inf


class _WatchedReport:
    """A report of a night as the records of its day say it, whenever the watch looks. What a run
    needs beside its own time, the schedule does not know: here the deadline is so much later."""

    def __init__(self, course: ReportCourse, template: DayRecords) -> None:
        self.course = course
        self.template = template
        self.deadline = course.plan.report.deadline + AROUND_S
        self.due = course.plan.runs[-1].start

    def outcome(self, phase: float) -> Outcome:
        """Look until the result is there or the deadline has passed, or there is a warning."""
        now, over = self.due - HOUR + phase, min(self.course.finished + AROUND_S, self.deadline)
        found: Watched | None = None
        while now < over:
            found = self.look(now)
            if found.wrong:
                break
            now += next_look(found, at(0) + timedelta(seconds=now), POLL_S)
        warned = found is not None and bool(found.wrong)
        return Outcome(
            report=self.course.name,
            missed=bool(self.course.missing),
            foreseeable=self._foreseeable(),
            lead_s=self.deadline - now if warned else None,
            batch_s=self._batch_s(now),
            what=found.wrong if found and warned else "",
        )

    def look(self, now: float) -> Watched:
        """The day as its watch sees it at an instant."""
        wall = self._wall_s(now)
        needed = needed_for(wall, _RETRIES)
        reserve = self.course.plan.report.reserve
        latest = max(self.deadline - max(reserve, needed), self.due)
        begun, template = self._begun(now), self.template
        final = template.plans[-1]
        records = replace(
            template,
            chain=template.chain if now >= self.course.finished else template.chain[:-1],
            plans=() if begun is None else (_stored(final, begun),),
            published=None,
            points=(*template.points[:-1], at(0) + timedelta(seconds=self.due)),
            deadline=at(0) + timedelta(seconds=self.deadline),
            safe=SafeStart(
                at=at(0) + timedelta(seconds=latest),
                wall_s=wall,
                needed_s=needed,
                late_s=max(0.0, latest + needed - self.deadline),
                why="the night's own model",
            ),
            batch_wall_s=self._batch_s(now),
        )
        arrivals = self.course.turnout.arrivals
        missing = () if arrivals.rows_at(now) == arrivals.total else _LATE
        return watch(records, at(0) + timedelta(seconds=now), missing)

    def _foreseeable(self) -> bool:
        last = self.deadline - AROUND_S - self._batch_s(self.due)
        last = min(last, self.deadline - AROUND_S - self._batch_s(last))
        begun, wall = self._begun(last), self._wall_s(last)
        if begun is None:
            return self.due + _DUE_S <= last or last + wall + AROUND_S > self.deadline
        return begun + wall <= last or begun + wall + AROUND_S > self.deadline

    def _begun(self, now: float) -> float | None:
        """When the final run was begun for the first time, None before it was."""
        begun = [one.start for one in self.course.tries if one.final and one.start <= now]
        return begun[0] if begun else None

    def _rows(self, now: float) -> int:
        """The rows of the day, as they are forecast until the final run is planned."""
        known = self._begun(now) is not None
        return (self.course.turnout if known else self.course.plan.report).arrivals.total

    def _batch_s(self, now: float) -> float:
        return self.course.plan.report.cost.cost(self._rows(now))

    def _wall_s(self, now: float) -> float:
        """What is left for the final run, by what was committed."""
        done = [
            t for t in self.course.tries if not t.final and t.end <= now and t.outcome == "done"
        ]
        left = max(self._rows(now) - sum(one.rows for one in done), 1)
        cost = self.course.plan.report.cost
        return cost.cost(left) + cost.final_aggregation(len(done) + 1)


def _stored(plan: PlanFile, begun: float) -> PlanFile:
    return replace(plan, stored_at=at(0) + timedelta(seconds=begun))


def a_day(folder: Path) -> DayRecords:
    """A day whose runs are all committed, made of nothing but the store's real records."""
    case = dag_day(folder)
    case.begin()
    case.make(1, at(12))
    case.make(2, at(16))
    return case.read()


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("nights", type=int)


def cells(given: argparse.Namespace) -> Iterator[Cell]:
    """Yield the nights, a hundred to a cell."""

    def measure(first: int, last: int, _found: Found) -> Figures:
        with tempfile.TemporaryDirectory() as folder:
            template = a_day(Path(folder))
        found = (one for seed in range(first, last) for one in outcomes(seed, template))
        return {"days": [{**asdict(one), "in_time": one.in_time} for one in found]}

    for first in range(0, given.nights, 100):
        last = min(first + 100, given.nights)
        yield Cell(name=(f"{first}-{last}",), measure=partial(measure, first, last))


def lines(given: argparse.Namespace, found: Found) -> Iterator[str]:
    """Yield what came of the nights."""
    days = [one for figures in found.values() for one in figures["days"]]
    missed = [one for one in days if one["missed"]]
    foreseen = [one for one in missed if one["foreseeable"]]
    others = [one for one in missed if not one["foreseeable"]]
    warned = [one for one in days if one["lead_s"] is not None]
    late = sum(one["lead_s"] is not None and not one["in_time"] for one in others)
    rows = (
        ("nights", given.nights),
        ("days", len(days)),
        ("deadlines missed", len(missed)),
        ("could be foreseen", len(foreseen)),
        ("of these, warned with the time of batch", sum(one["in_time"] for one in foreseen)),
        ("could not", len(others)),
        ("of these, warned with the time of batch", sum(one["in_time"] for one in others)),
        ("of these, warned later", late),
        ("warned, and in time after all", sum(not one["missed"] for one in warned)),
    )
    yield from table(("", "number"), rows)
    yield ""
    first_words = Counter(one["what"].split(" for ")[0] for one in foreseen)
    yield from table(("foreseen by", "number"), first_words.most_common())


BENCHMARK = Benchmark(cells=cells, lines=lines)
