"""The wait before a step: until its units may start, or nobody wants them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from forerun.airflow.day import explained, utc_now
from forerun.airflow.retries import RepeatableOperator
from forerun.airflow.tasks.looking import Answer, Incomplete, LeaveOut, NotYet, Start, UnitLook
from forerun.airflow.tasks.triggers import FirstOf, Waiting
from forerun.airflow.tasks.units import Step, Unit, next_due, units_of
from forerun.airflow.watching.telling import tell_skipped
from forerun.include.reports.cluster import Cluster
from forerun.include.stores.store import StoreDownError

Starting = dict[str, Incomplete]
"""The units that start by report, each with what its final run goes on without."""
_Answers = list[tuple[UnitLook, Answer]]


class WaitForUnits(RepeatableOperator):
    """Ends when the units of a step may start; skips a step of which nobody wants one.

    Returns which start, each with what is still missing (pairs of a source and a sentence): nothing
    but for a final run that the report lets go on incomplete. Where the reports of a group meet,
    the step starts when the first of its early runs does, and the others start with it;
    final runs that are due wait for each other's sources for as long as the group has patience, but
    not beyond the latest safe start of one that is complete; who is late then is left to its own
    tasks. ``cluster`` is what runs share where their times are chosen. Every resume looks at the
    clock and the sources again and defers again if it was woken too early (apache/airflow#65248).
    """

    ui_color = "#e8eef7"

    def __init__(
        self, *, step: Step, poll: float = 30.0, cluster: Cluster | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.cluster = cluster
        self.poll = poll

    def execute(self, context: Any) -> Starting:
        return self._wait(context)

    def resume(self, context: Any, event: Any = None) -> Starting:  # noqa: ARG002
        """After a wake-up call: whatever the event says, look again."""
        return self._wait(context)

    def _wait(self, context: Any) -> Starting:
        with explained():
            units = units_of(self.step, context)
            try:
                return self._look(context, units)
            except StoreDownError as error:
                # A wait that fails would hold up the day for an outage that may end in a minute.
                self.log.warning("looking again in %.0f s: %s", self.poll, error)
        again = utc_now() + timedelta(seconds=self.poll)
        self.defer(trigger=DateTimeTrigger(moment=again), method_name="resume")
        return {}

    def _look(self, context: Any, units: list[Unit]) -> Starting:
        now, shared = utc_now(), self.step.is_shared
        finals = any(unit.is_final for unit in units)
        # Beside final runs early ones hold up nobody, and their application is there anyway.
        due = None if finals else next_due(self.step, context, units)
        looks = [UnitLook(self, unit, context, now=now, due=due, together=shared) for unit in units]
        answers = [(look, self._answer(look)) for look in looks]
        starting = [(look, said) for look, said in answers if isinstance(said, Start)]
        waiting = [(look, said.trigger) for look, said in answers if isinstance(said, NotYet)]
        if waiting and (until := self._until(now, starting, waiting, due)) > now:
            self._defer([trigger for _, trigger in waiting], until)
        others = ", ".join(look.unit.key for look, _ in starting)
        for look, _ in waiting:
            if others and (joined := look.join(others)):
                starting.append((look, joined))
            else:
                self.log.warning("%s is left to itself, because it is late", look.unit.key)
        self._say_left_out(answers)
        if not starting and not waiting:
            raise AirflowSkipException(_why(answers))
        return {look.unit.report: said.missing for look, said in starting}

    def _answer(self, look: UnitLook) -> Answer:
        try:
            return look.answer()
        except AirflowFailException as error:
            if not self.step.is_shared:
                raise
            return LeaveOut(str(error))  # its own tasks fail

    def _until(
        self,
        now: datetime,
        starting: Sequence[tuple[UnitLook, Start]],
        waiting: Sequence[tuple[UnitLook, Waiting]],
        due: datetime | None,
    ) -> datetime:
        """Return until when the units that may start wait for the others; ``now`` for no longer."""
        never = datetime.max.replace(tzinfo=now.tzinfo)
        if self.step.patience_s is None:
            return never
        finals = [look for look, _ in (*starting, *waiting) if look.unit.is_final]
        if not finals:
            return now if starting else due or never
        if not any(look.unit.is_final for look, _ in waiting):
            return now
        patience = timedelta(seconds=self.step.patience_s)
        own = max(look.unit.day.points[look.unit.run - 1] for look in finals)
        ready = [look.safe_start() for look, _ in starting if look.unit.is_final]
        return min([own + patience, *ready])

    def _defer(self, triggers: Sequence[Waiting], until: datetime) -> None:
        first = triggers[0]
        if len(triggers) > 1 or datetime.fromisoformat(first.until) > until:
            first = FirstOf.among(triggers, until, self.poll)
        self.defer(trigger=first, method_name="resume")

    def _say_left_out(self, answers: _Answers) -> None:
        for look, said in answers:
            if isinstance(said, LeaveOut):
                self.log.info("%s: %s", look.unit.key, said.why)
                if not look.unit.is_final and not look.unit.opened.dry_run:
                    tell_skipped(look.unit.day, look.unit.run, said.why)


def _why(answers: _Answers) -> str:
    """Return why nobody wants the step."""
    said = {look.unit.key: why.why for look, why in answers if isinstance(why, LeaveOut)}
    if len(set(said.values())) == 1:
        return next(iter(said.values()))
    return "; ".join(f"{key}: {why}" for key, why in said.items())
