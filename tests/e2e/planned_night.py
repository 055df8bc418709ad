"""A night of twelve short reports, nine of them in three groups: as it is planned, and as the store
says that it went."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from forerun.include.days.handle import Day
from forerun.include.runs.prepare import latest_generation
from forerun.include.state.pointers import read_published
from forerun.include.stores.store import Store
from forerun.night.file import Night
from forerun.planner.schedule.arrivals import arrival_curve
from forerun.planner.schedule.batch_cost import linear_cost
from forerun.planner.schedule.cluster import NightCluster
from forerun.planner.schedule.many import NightPlan, plan_night
from forerun.planner.schedule.night import NightReport
from forerun.planner.schedule.night_course import Attempt, NightCourse, ReportCourse, Turnout
from forerun.planner.schedule.step_curve import Piece, StepCurve, constant

NAMES = (
    "orders", "stock", "returns", "killed", "visits", "carts",
    "late", "prices", "adverts", "mail", "shops", "staff",
)  # fmt: skip
GROUPS = {
    "goods": ("orders", "stock", "returns"),
    "web": ("visits", "carts", "prices"),
    "people": ("adverts", "mail", "shops"),
}
"""The reports of a group take one application for what several of them have to do."""
ALONE = tuple(name for name in NAMES if all(name not in some for some in GROUPS.values()))
CORES, CEILING = 2, 4
LEASE_S = 30.0
COMPLETE_S, LATE_S = 90.0, 90.0
"""After the beginning of the night: when sources are complete, and by how much one is late."""
_DUE_S, _APART_S = 420.0, 30.0
_RESERVE_S = 180.0
_CHEAP_S = 80.0


@dataclass(frozen=True, slots=True)
class PlannedNight:
    """The night that begins at ``begin``: its reports and its plan."""

    begin: datetime
    night: Night
    plan: NightPlan

    def write(self, path: Path) -> None:
        """Say to the DAG file when each report runs, and by when it is due."""
        reports = {
            one.report.name: {
                "runs": [self._clock(run.start) for run in one.runs],
                "due": self._clock(one.report.deadline),
            }
            for one in self.plan.plans
        }
        path.write_text(json.dumps({"groups": GROUPS, "reports": reports}))

    def _clock(self, instant: float) -> str:
        """An instant in elapsed hours of the day."""
        midnight = self.begin.replace(hour=0, minute=0, second=0)
        since = timedelta(seconds=round(instant - midnight.timestamp()))
        hours, rest = divmod(since.seconds, 3600)
        return f"+{hours + 24 * since.days:02}:{rest // 60:02}:{rest % 60:02}"

    def turnouts(self) -> dict[str, Turnout]:
        """The faults of the night, for who simulates it."""
        found = {one.report.name: one for one in self.plan.plans}
        tries = len(found["killed"].runs)  # the first try of the final run
        arrivals = found["late"].report.arrivals
        return {
            "killed": Turnout(
                arrivals=found["killed"].report.arrivals, lost=frozenset({tries}), lease=LEASE_S
            ),
            "late": Turnout(
                arrivals=arrivals.shifted(LATE_S, since=self.begin.timestamp() + COMPLETE_S - 2)
            ),
        }

    def course(
        self, store: Store, lost: Mapping[str, Sequence[tuple[float, float]]]
    ) -> NightCourse:
        """How it went: runs by their commits, results by their pointers. ``lost`` has the instants
        between which tries that have committed nothing were seen to hold cores."""
        courses, turnouts = [], self.turnouts()
        for one in self.plan.plans:
            name, day = one.report.name, self.night.day
            at = latest_generation(store, name, day)
            pointer = read_published(store, name, day.isoformat()).pointer
            assert at is not None
            assert pointer is not None, name
            tries = [
                Attempt(
                    start=(end := datetime.fromisoformat(commit.committed_at).timestamp())
                    - commit.metrics.wall_s,
                    end=end,
                    rows=commit.metrics.source_rows_read,
                    final=commit.run == len(one.runs),
                )
                for commit in Day(store, None, at).chain()
            ]
            tries += [
                Attempt(start=start, end=end, rows=0, final=True, outcome="lost")
                for start, end in lost.get(name, ())
            ]
            course = ReportCourse(one, turnouts.get(name, Turnout(arrivals=one.report.arrivals)))
            course.tries = sorted(tries, key=lambda each: each.start)
            course.finished = datetime.fromisoformat(pointer.published_at).timestamp()
            courses.append(course)
        return NightCourse(tuple(courses), self.night.cluster)


def planned_night(begin: datetime) -> PlannedNight:
    """Plan the night: half of the reports may make an early run, which is cheap at its beginning.
    Seconds are what such runs take on two busy cores, tasks before and after them included."""
    at = begin.timestamp()
    midnight = begin.replace(hour=0, minute=0, second=0).timestamp()
    end = midnight + 48 * 3600
    arrivals = arrival_curve(
        [(at - 60, 0.0), (at - 59, 60.0), (at + COMPLETE_S - 1, 60.0), (at + COMPLETE_S, 100.0)]
    )
    prices = [Piece(midnight, at + _CHEAP_S, 0.3), Piece(at + _CHEAP_S, end, 1.0)]
    night = Night(
        day=begin.date(),
        zone=ZoneInfo("UTC"),
        cluster=NightCluster(
            ceiling=constant(midnight, end, float(CEILING)), prices=StepCurve(prices, "the price")
        ),
        reports=tuple(
            NightReport(
                name=name,
                cost=linear_cost(12.0, 0.15),
                arrivals=arrivals,
                deadline=at + _DUE_S + _APART_S * place,
                cores=float(CORES),
                reserve=_RESERVE_S,
                at_most=2 - place % 2,
            )
            for place, name in enumerate(NAMES)
        ),
    )
    return PlannedNight(begin.astimezone(UTC), night, plan_night(night.reports, night.cluster))
