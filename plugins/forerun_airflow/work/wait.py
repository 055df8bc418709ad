"""The wait before a run: for its time, as it is written or chosen, and before the final run also
for the sources. What people have told the day to do (:mod:`forerun.include.days.instructions`) ends
it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from forerun.airflow.assets import ASSET_POLL, awaited_assets, days_published
from forerun.airflow.day import OpenedDay, explained, opened_for, utc_now
from forerun.airflow.retries import RepeatableOperator, retries_of
from forerun.airflow.watching.telling import skipping
from forerun.airflow.work.choosing import (
    SOON,
    choose_again,
    is_choosing,
    is_complete,
    times_of,
    until,
)
from forerun.airflow.work.starting import has_trigger, starts_early, until_start
from forerun.airflow.work.triggers import SourcesTrigger, TimeTrigger
from forerun.include.days.instructions import Instruction, Told, next_instruction, read_told
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.spec import ReportSpec, encode_report
from forerun.include.state.store import StoreDownError

if TYPE_CHECKING:
    from forerun.include.days.handle import Day
    from forerun.include.days.run_times import RunTimes
    from forerun.include.sources.completeness import Missing

Incomplete = list[tuple[str, str]]
"""Sources that are not complete, each with what is missing."""


class WaitForRun(RepeatableOperator):
    """Ends when run ``run`` may start; skips a run that is not wanted.

    Returns what is still missing (pairs of a source and a sentence): empty but for a final run that
    the report lets go on incomplete. ``final_task`` is the one that submits the final run, and
    ``cluster`` what its runs share where their times are chosen. Every resume looks at the clock
    and the sources again and defers again if it was woken too early (apache/airflow#65248).
    """

    ui_color = "#e8eef7"

    def __init__(
        self,
        *,
        spec: ReportSpec,
        run: int,
        day_task: str,
        final_task: str,
        poll: float = 30.0,
        cluster: Cluster | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.final_task = final_task
        self.cluster = cluster
        self.spec = spec
        self.run = run
        self.day_task = day_task
        self.poll = poll

    def execute(self, context: Any) -> Incomplete:
        return self._wait(context)

    def resume(self, context: Any, event: Any = None) -> Incomplete:  # noqa: ARG002
        """After a wake-up call: whatever the event says, look again."""
        return self._wait(context)

    def _wait(self, context: Any) -> Incomplete:
        opened = opened_for(self, context)
        with explained():
            try:
                return self._look(context, opened)
            except StoreDownError as error:
                # A wait that fails would hold up the day for an outage that may end in a minute.
                self.log.warning("looking again in %.0f s: %s", self.poll, error)
        again = utc_now() + timedelta(seconds=self.poll)
        self.defer(trigger=DateTimeTrigger(moment=again), method_name="resume")
        return []

    def _look(self, context: Any, opened: OpenedDay) -> Incomplete:
        if opened.repair or opened.days:
            return []  # what opens them has looked
        now = utc_now()
        final = self.run == self.spec.runs
        if opened.dry_run:
            if self.run != 1:
                raise AirflowSkipException("a dry run plans the first run only")
            return []
        day = opened.of(self.spec)
        told = read_told(day.store, day.at)
        times = times_of(day, opened)
        unless = next_instruction(day.store, day.at, told)
        if not final:
            if not told.skips_early and is_choosing(day, opened):
                times = self._decided_at_own_time(day, times, unless)
            self._skip_early(opened, told, now, times)
        if final and told.batch:
            return self._as_told(context, opened, told.batch, now)
        if is_choosing(day, opened):
            self._wait_for_chosen(day, opened, told, times, unless)
        elif now < (at := times.instants[self.run - 1]):
            self._wait_for_own(context, opened, at, unless)
        return self._wait_for_sources(context, opened, unless, now) if final else []

    def _wait_for_own(self, context: Any, opened: OpenedDay, at: datetime, unless: str) -> None:
        """Wait for the run's own time, which is the latest one of a run that has a trigger."""
        day = opened.of(self.spec)
        if not has_trigger(day, opened, self.run):
            self.log.info("run %d starts at %s", self.run, at)
            trigger = TimeTrigger(until=at.isoformat(), poll=self.poll, unless=unless)
            self.defer(trigger=trigger, method_name="resume")
        events = days_published(self.spec, self.run, context["inlet_events"], opened.day)
        if not starts_early(day, self.run, events, self.log):
            self.log.info("run %d starts at %s at the latest", self.run, at)
            waits = until_start(day, self.run, at, unless, self.poll)
            self.defer(trigger=waits, method_name="resume")

    def _wait_for_chosen(
        self, day: Day, opened: OpenedDay, told: Told, times: RunTimes, unless: str
    ) -> None:
        """Wait for a time that is chosen. When an early run is due, or all sources are complete,
        the rest of the day is decided again, and the run moves, starts, or is skipped."""
        now, final = utc_now(), self.run == self.spec.runs
        at = self._chosen_start(opened, times)
        watches = not final and not (times.schedule and times.schedule.complete)
        complete = watches and is_complete(day)
        if not final and (now >= at or complete):
            retries = retries_of(self, self.final_task)
            times = choose_again(
                day, self.run, retries, self.log, complete=complete, cluster=self.cluster
            )
            self._skip_early(opened, told, now, times)
            at, watches = self._chosen_start(opened, times), watches and not complete
            if at - now < SOON:
                return
        if now < at:
            self.log.info("run %d starts at %s, by schedule %d", self.run, at, times.number)
            trigger = until(day, at, unless, self.poll, watches=watches)
            self.defer(trigger=trigger, method_name="resume")

    def _decided_at_own_time(self, day: Day, times: RunTimes, unless: str) -> RunTimes:
        """The times of a day whose schedule has no run in this slot, decided once more at the
        slot's own time: the day may have become late or large since."""
        schedule, own = times.schedule, day.points[self.run - 1]
        if schedule is None or times.starts[self.run - 1] is not None:
            return times
        if datetime.fromisoformat(schedule.decided_at) >= own or times.instants[-1] <= own:
            return times
        if utc_now() < own:
            self.log.info("schedule %d has no run here, looking again at %s", times.number, own)
            self.defer(trigger=until(day, own, unless, self.poll), method_name="resume")
        retries = retries_of(self, self.final_task)
        return choose_again(day, self.run, retries, self.log, cluster=self.cluster)

    def _chosen_start(self, opened: OpenedDay, times: RunTimes) -> datetime:
        """When the run starts. Whatever the schedule says, the final run is no later than is safe,
        and an early run that would not be before it is skipped."""
        start, final = times.instants[self.run - 1], times.instants[-1]
        if times.schedule is not None:
            own = self.spec.points(opened.date)[-1]
            final = max(own, min(final, self._safe_start(opened)))
        if self.run == self.spec.runs:
            return final
        if max(start, utc_now()) >= final:
            raise self._skipped(opened, "the final run is due before this one")
        return start

    def _skip_early(self, opened: OpenedDay, told: Told, now: datetime, times: RunTimes) -> None:
        if told.skips_early:
            raise self._skipped(opened, f"early runs are skipped: {told.skips_early.text}")
        if opened.mode in ("single", "batch"):
            raise self._skipped(opened, f"the day goes straight to the final run ({opened.mode})")
        if times.starts[self.run - 1] is None:
            raise self._skipped(opened, f"schedule {times.number} has no run in this slot")
        if opened.mode == "auto" and now >= times.after(self.run):
            raise self._skipped(opened, "the time of the next run has come already")

    def _skipped(self, opened: OpenedDay, why: str) -> AirflowSkipException:
        """What skips this early run, which is told."""
        return skipping([(opened.of(self.spec), self.run)], why)

    def _as_told(
        self, context: Any, opened: OpenedDay, told: Instruction, now: datetime
    ) -> Incomplete:
        """What is missing where somebody wants the final run now, whatever that is."""
        missing = self._missing(context, opened, now)
        said = "; ".join(each.text for each in missing) or "nothing"
        self.log.warning("the final run starts at once: %s; missing: %s", told.text, said)
        return [(each.source, each.what) for each in missing]

    def _missing(self, context: Any, opened: OpenedDay, now: datetime) -> tuple[Missing, ...]:
        from forerun.include.sources.completeness import find_missing

        events = days_published(self.spec, self.run, context["inlet_events"], opened.day)
        return tuple(find_missing(self.spec, opened.date, now, events=events))

    def _wait_for_sources(
        self, context: Any, opened: OpenedDay, unless: str, now: datetime
    ) -> Incomplete:
        missing = self._missing(context, opened, now)
        pairs = [(each.source, each.what) for each in missing]
        said = "; ".join(each.text for each in missing)
        if all(each.accepted for each in missing):
            if missing:
                self.log.warning("accepted although not complete: %s", said)
            return pairs
        safe = self._safe_start(opened)
        if now >= safe and self.spec.on_incomplete == "fail":
            raise AirflowFailException(f"not complete at the latest safe start {safe}: {said}")
        if now >= safe and self.spec.on_incomplete == "publish_with_warning":
            self.log.warning("going on although not complete: %s", said)
            return pairs
        self.log.info("not complete: %s", said)
        again = safe if now < safe else now + timedelta(days=1)
        if awaited_assets(self.spec, self.run):
            again = min(again, now + ASSET_POLL)
        self.defer(
            trigger=SourcesTrigger(
                report=encode_report(self.spec).decode(),
                day=opened.day,
                until=again.isoformat(),
                poll=self.poll,
                unless=unless,
            ),
            method_name="resume",
        )
        return []

    def _safe_start(self, opened: OpenedDay) -> datetime:
        """Asked for at every look: it moves with what early runs have taken and left to do."""
        from forerun.include.times.safe_start import read_safe_start

        safe = read_safe_start(opened.of(self.spec), retries_of(self, self.final_task))
        self.log.info("latest safe start: %s (%s)", safe.at, safe.why)
        if safe.late_s:
            self.log.warning(
                "even if it starts in time, the final run may miss the deadline by %.0f s",
                safe.late_s,
            )
        return safe.at
