"""One look at whether a unit of work may start: by its time, as it is written or chosen, and of a
final run also by its sources. What people have told the day to do
(:mod:`forerun.include.days.instructions`) comes first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException

from forerun.airflow.assets import ASSET_POLL, awaited_assets, days_published
from forerun.airflow.retries import retries_of
from forerun.airflow.tasks.choosing import (
    SOON,
    choose_again,
    is_choosing,
    is_complete,
    times_of,
    until,
)
from forerun.airflow.tasks.starting import has_trigger, start_now, starts_early, until_start
from forerun.airflow.tasks.triggers import SourcesTrigger, TimeTrigger, Waiting
from forerun.airflow.tasks.units import Unit
from forerun.include.days.instructions import Instruction, Told, next_instruction, read_told
from forerun.include.reports.spec import encode_report

if TYPE_CHECKING:
    from forerun.airflow.tasks.wait import WaitForUnits
    from forerun.include.days.run_times import RunTimes
    from forerun.include.sources.completeness import Missing

Incomplete = list[tuple[str, str]]
"""Sources that are not complete, each with what is missing."""


@dataclass(frozen=True, slots=True)
class Start:
    """The unit may start; ``missing`` is what its final run goes on without."""

    missing: Incomplete


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """The unit is not wanted, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class NotYet:
    """The unit waits for what ``trigger`` waits for."""

    trigger: Waiting


Answer = Start | LeaveOut | NotYet


class UnitLook:
    """A look at a unit ``now``, for the task that waits. ``due``: when the next run starts, from
    which on an early one is left out; None for never. ``together``: whether other reports start
    with it, so that a final run which is told not to wait leaves the others alone."""

    def __init__(
        self,
        task: WaitForUnits,
        unit: Unit,
        context: Any,
        *,
        now: datetime,
        due: datetime | None,
        together: bool,
    ) -> None:
        self._task, self._log = task, task.log
        self.unit, self._day, self._spec = unit, unit.day, unit.spec
        self._context, self._now, self._due = context, now, due
        self._together = together
        self._unless = ""

    def answer(self) -> Answer:
        """Say whether the unit may start. Fails for good for a report that would rather not come
        than come incomplete."""
        unit, opened = self.unit, self.unit.opened
        if unit.duty.is_over:
            return Start([])  # what opens them has looked
        if opened.dry_run:
            only = "a dry run plans the first run only"
            return Start([]) if unit.run == 1 else LeaveOut(only)
        told = read_told(self._day.store, self._day.at)
        times = times_of(self._day, opened)
        self._unless = next_instruction(self._day.store, self._day.at, told)
        if not unit.is_final:
            if not told.skips_early and is_choosing(self._day, opened):
                decided = self._decided_at_own_time(times)
                if isinstance(decided, NotYet):
                    return decided
                times = decided
            if left := self._left_out(told, times):
                return left
        elif told.batch:
            return self._as_told(told.batch)
        waits = self._wait_for_time(told, times)
        if waits is not None:
            return waits
        return self._sources() if unit.is_final else Start([])

    def join(self, others: str) -> Start | None:
        """Start with others whose time has come, if the unit may: an early run before its time, a
        final run of which only a chosen time is left to wait for. The plan decides whether there is
        anything to do by then."""
        unit = self.unit
        if not unit.is_final:
            if unit.duty.moves and not unit.opened.dry_run:
                start_now(unit.day, unit.run, f"its group starts: {others}", self._log)
            return Start([])
        if not is_choosing(self._day, unit.opened) or self._now < self._day.points[-1]:
            return None
        found = self._sources()
        return found if isinstance(found, Start) else None

    # -- its time --------------------------------------------------------------------------------

    def _wait_for_time(self, told: Told, times: RunTimes) -> NotYet | LeaveOut | None:
        if is_choosing(self._day, self.unit.opened):
            return self._wait_for_chosen(told, times)
        at = times.instants[self.unit.run - 1]
        return self._wait_for_own(at) if self._now < at else None

    def _wait_for_own(self, at: datetime) -> NotYet | None:
        """Wait for the run's own time, which is the latest one of a run that has a trigger."""
        run, opened = self.unit.run, self.unit.opened
        if not has_trigger(self._day, opened, run):
            self._log.info("%s: run %d starts at %s", self.unit.key, run, at)
            return NotYet(self._until(at))
        events = days_published(self._spec, run, self._context["inlet_events"])
        if starts_early(self._day, run, events, self._log):
            return None
        self._log.info("%s: run %d starts at %s at the latest", self.unit.key, run, at)
        return NotYet(until_start(self._day, run, at, self._unless, self._task.poll))

    def _wait_for_chosen(self, told: Told, times: RunTimes) -> NotYet | LeaveOut | None:
        """Wait for a time that is chosen. When an early run is due, or all sources are complete,
        the rest of the day is decided again, and the run moves, starts, or is skipped."""
        final = self.unit.is_final
        at = self._chosen_start(times)
        if isinstance(at, LeaveOut):
            return at
        watches = not final and not (times.schedule and times.schedule.complete)
        complete = watches and is_complete(self._day)
        if not final and (self._now >= at or complete):
            times = self._choose_again(complete=complete)
            again = self._left_out(told, times) or self._chosen_start(times)
            if isinstance(again, LeaveOut):
                return again
            at, watches = again, watches and not complete
            if at - self._now < SOON:
                return None
        if self._now >= at:
            return None
        run = self.unit.run
        self._log.info("%s: run %d starts at %s, by schedule %d",
                       self.unit.key, run, at, times.number)  # fmt: skip
        return NotYet(until(self._day, at, self._unless, self._task.poll, watches=watches))

    def _decided_at_own_time(self, times: RunTimes) -> RunTimes | NotYet:
        """Decide a day once more whose schedule has no run in this slot, at the slot's own time: it
        may have become late or large since."""
        run = self.unit.run
        schedule, own = times.schedule, self._day.points[run - 1]
        if schedule is None or times.starts[run - 1] is not None:
            return times
        if datetime.fromisoformat(schedule.decided_at) >= own or times.instants[-1] <= own:
            return times
        if self._now < own:
            self._log.info("%s: schedule %d has no run here, looking again at %s",
                           self.unit.key, times.number, own)  # fmt: skip
            return NotYet(until(self._day, own, self._unless, self._task.poll))
        return self._choose_again()

    def _choose_again(self, *, complete: bool = False) -> RunTimes:
        retries, step = retries_of(self._task, self.unit.seat.final_task), self._task.step
        return choose_again(
            self._day,
            self.unit.run,
            retries,
            self._log,
            complete=complete,
            cluster=self._task.cluster,
            group=step.name if step.is_shared else "",
        )

    def _chosen_start(self, times: RunTimes) -> datetime | LeaveOut:
        """Return when the run starts. Whatever the schedule says, the final run is no later than is
        safe, and an early run that would not be before it is left out."""
        start, final = times.instants[self.unit.run - 1], times.instants[-1]
        if times.schedule is not None:
            own = self._spec.points(self._day.date)[-1]
            final = max(own, min(final, self.safe_start()))
        if self.unit.is_final:
            return final
        if max(start, self._now) >= final:
            return LeaveOut("the final run is due before this one")
        return start

    def _left_out(self, told: Told, times: RunTimes) -> LeaveOut | None:
        """Leave out an early run that is not wanted."""
        duty, why = self.unit.duty, ""
        if told.skips_early:
            why = f"early runs are skipped: {told.skips_early.text}"
        elif duty.early == "none":
            why = f"the day goes straight to the final run ({self.unit.opened.mode})"
        elif times.starts[self.unit.run - 1] is None:
            why = f"schedule {times.number} has no run in this slot"
        elif duty.moves and self._now >= min(times.after(self.unit.run), self._due or self._never):
            why = "the time of the next run has come already"
        return LeaveOut(why) if why else None

    @property
    def _never(self) -> datetime:
        return datetime.max.replace(tzinfo=self._now.tzinfo)

    def _until(self, at: datetime) -> TimeTrigger:
        return TimeTrigger(until=at.isoformat(), poll=self._task.poll, unless=self._unless)

    # -- its sources -----------------------------------------------------------------------------

    def _as_told(self, told: Instruction) -> Start | LeaveOut:
        """Start with what is missing, where somebody wants the final run now, whatever that is."""
        if self._together:
            return LeaveOut(f"it is done by its own tasks: {told.text}")
        missing = self._missing()
        said = "; ".join(each.text for each in missing) or "nothing"
        self._log.warning("the final run starts at once: %s; missing: %s", told.text, said)
        return Start([(each.source, each.what) for each in missing])

    def _missing(self) -> tuple[Missing, ...]:
        from forerun.include.sources.completeness import find_missing

        unit = self.unit
        events = days_published(self._spec, unit.run, self._context["inlet_events"])
        return tuple(find_missing(self._spec, self._day.date, self._now, events=events))

    def _sources(self) -> Start | NotYet:
        missing = self._missing()
        pairs = [(each.source, each.what) for each in missing]
        said = "; ".join(each.text for each in missing)
        if all(each.accepted for each in missing):
            if missing:
                self._log.warning("accepted although not complete: %s", said)
            return Start(pairs)
        safe = self.safe_start()
        if self._now >= safe and self._spec.on_incomplete == "fail":
            raise AirflowFailException(
                f"not complete at the latest safe start {safe}: {said}\n  hint: Deliver what is "
                'missing. (The report says on_incomplete="fail"; batch would leave it out.)'
            )
        if self._now >= safe and self._spec.on_incomplete == "publish_with_warning":
            self._log.warning("going on although not complete: %s", said)
            return Start(pairs)
        self._log.info("%s is not complete: %s", self.unit.key, said)
        again = safe if self._now < safe else self._now + timedelta(days=1)
        if awaited_assets(self._spec, self.unit.run):
            again = min(again, self._now + ASSET_POLL)
        trigger = SourcesTrigger(
            report=encode_report(self._spec).decode(),
            day=self.unit.opened.day,
            until=again.isoformat(),
            poll=self._task.poll,
            unless=self._unless,
        )
        return NotYet(trigger)

    def safe_start(self) -> datetime:
        """The latest safe start of the final run. It is asked for at every look: it moves with what
        early runs have taken and left to do."""
        from forerun.include.times.safe_start import read_safe_start

        safe = read_safe_start(self._day, retries_of(self._task, self.unit.seat.final_task))
        self._log.info("%s: latest safe start: %s (%s)", self.unit.key, safe.at, safe.why)
        if safe.late_s:
            self._log.warning(
                "%s: even if it starts in time, the final run may miss the deadline by %.0f s",
                self.unit.key,
                safe.late_s,
            )
        return safe.at
