"""The units of work that the tasks of a step are about.

A unit is a run of a day of a report, in one generation of that day. An application does as many as
a step has: that of a report's DAG one, that of a group one for each report that has a run at the
time point, that of days that are over one for each day. No task decides for a report what another
one needs: a unit that fails, is late or is told something is done alone, and the others go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from forerun.airflow.day import LEFT_OUT, Duty, OpenedDay, final_task_of, read_opened
from forerun.include.reports.spec import ReportSpec
from forerun.include.telemetry.events import Part

if TYPE_CHECKING:
    from forerun.include.days.handle import Day


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A report at a step: the ``run`` of it that is done there, and the task that opens its day.
    ``points``: of a report of a group, the group's time points of its runs, numbered from 1."""

    spec: ReportSpec
    run: int
    day_task: str
    points: tuple[int, ...] = ()

    @property
    def final_task(self) -> str:
        """The task that submits the report's final run, as its DAG has it: the day may have been
        opened by a report with other runs."""
        return final_task_of(self.day_task, self.spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A time at which a DAG does work: who has a seat at it, and who has one later.

    ``name`` is that of the report or the group, by which cores are asked for; ``label`` is what the
    application is named by. ``patience_s``: so many seconds reports of a group that are due wait
    for each other's sources; None for a report by itself, which waits as long as it says.
    ``after``: the next seat of each report of the group, which no early run here holds up.
    """

    name: str
    label: str
    seats: tuple[Seat, ...]
    patience_s: float | None = None
    after: tuple[Seat, ...] = ()

    @property
    def is_shared(self) -> bool:
        """True if the reports of a group meet here: who is late is then left to its own tasks."""
        return self.patience_s is not None


def alone(spec: ReportSpec, run: int, day_task: str, points: tuple[int, ...] = ()) -> Step:
    """Return the step of one run of one report."""
    seat = Seat(spec=spec, run=run, day_task=day_task, points=points)
    return Step(name=spec.name, label=f"run-{run}", seats=(seat,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A run of a day: its report as the day was opened, and the number that the run has in it."""

    seat: Seat
    opened: OpenedDay
    day: Day
    run: int

    @property
    def spec(self) -> ReportSpec:
        """The report with the runs that its day was opened with."""
        return self.day.spec

    @property
    def duty(self) -> Duty:
        """The duty of its DAG run."""
        return self.opened.duty

    @property
    def report(self) -> str:
        """The report's name."""
        return self.day.at.report

    @property
    def key(self) -> str:
        """The name of the unit among those of its step."""
        return f"{self.report} {self.day.at.day}"

    @property
    def is_final(self) -> bool:
        """True if it ends its day, as a repair does, too."""
        return self.run >= self.spec.runs

    @property
    def part(self) -> Part:
        """The part of its day that it is."""
        return "final" if self.is_final else "early"

    @property
    def points(self) -> tuple[int, ...]:
        """The group's time point of each of the day's runs; of those at times that the group no
        longer has, numbers below 1."""
        seat, runs = self.seat, self.spec.runs
        now = {self.opened.run_of(seat.spec, k): point for k, point in enumerate(seat.points, 1)}
        return tuple(now.get(run, run - runs) for run in range(1, runs + 1))


def units_of(step: Step, context: Any) -> list[Unit]:
    """Return the units of a step whose days are open. Skips where the days that are open have no
    run here, and fails where the one report of the step has not opened its day."""
    found: list[Unit] = []
    why = ""
    for seat in step.seats:
        record = context["ti"].xcom_pull(task_ids=seat.day_task)
        opened = read_opened(record)
        if opened is None:
            why = why or (record or {}).get(LEFT_OUT, "")
            if not why and not step.is_shared:
                raise AirflowFailException(f"the day was not opened: see the task {seat.day_task}")
            continue
        units = list(_units(seat, opened))
        found += units
        if not units:
            why = (
                f"a {opened.mode} is done by the tasks of the final run"
                if opened.duty.is_over
                else "this run is newer than the day: the next day has it"
            )
    if not found:
        raise AirflowSkipException(why or "the day of no report with work here is open")
    return found


def _units(seat: Seat, opened: OpenedDay) -> Iterator[Unit]:
    run = opened.run_of(seat.spec, seat.run)
    if run is not None:
        for one in opened.each():
            yield Unit(seat=seat, opened=one, day=one.of(seat.spec), run=run)


def next_due(step: Step, context: Any, units: list[Unit]) -> datetime | None:
    """Return when the next run of the reports of a step starts: from then on early runs here are
    left out, as that one reads the same data. None where no unit keeps to its time."""
    from forerun.airflow.tasks.choosing import times_of

    keeping = [one for one in units if one.duty.moves and not one.is_final]
    due = [times_of(one.day, one.opened).after(one.run) for one in keeping]
    known = {one.seat.day_task: one.opened for one in units}
    for seat in step.after if due else ():
        opened = known.get(seat.day_task)
        if opened is None:
            opened = read_opened(context["ti"].xcom_pull(task_ids=seat.day_task))
        run = opened.run_of(seat.spec, seat.run) if opened else None
        if opened is not None and run is not None:
            due.append(times_of(opened.of(seat.spec), opened).instants[run - 1])
    return min(due, default=None)
