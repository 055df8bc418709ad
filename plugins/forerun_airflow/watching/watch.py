"""Watches a day until it is published, and says when it is going to miss its deadline.

The task waits in the triggerer beside the day's other tasks, for as long as the day lasts. It
succeeds when it has given a warning, which updates an asset; it is skipped when there was no
reason to. It is a teardown: nothing that happens to it decides about the DAG run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowSkipException
from airflow.triggers.base import BaseTrigger, TriggerEvent

from forerun.airflow.connections import in_thread
from forerun.airflow.day import OpenedDay, read_opened, store_uri, utc_now
from forerun.airflow.retries import RepeatableOperator
from forerun.airflow.watching.alerting import page_of, tell
from forerun.airflow.watching.notify import Notify
from forerun.include.reports.spec import ReportSpec
from forerun.planner.errors import ForerunError

if TYPE_CHECKING:
    from forerun.include.oncall.alerts import Alert, Watched
    from forerun.include.stores.store import StoreReader

POLL_S = 30.0


class WatchTrigger(BaseTrigger):
    """Fires when a day is published, has failed, is going to miss its deadline, or was opened
    anew."""

    def __init__(
        self, store: str, report: str, day: str, generation: str, poll: float = POLL_S
    ) -> None:
        super().__init__()
        self.store = store
        self.report = report
        self.day = day
        self.generation = generation
        self.poll = poll

    def serialize(self) -> tuple[str, dict[str, Any]]:
        known = {"store": self.store, "report": self.report, "day": self.day}
        known |= {"generation": self.generation}
        return "forerun.airflow.watching.watch.WatchTrigger", {**known, "poll": self.poll}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        while True:
            seen = await in_thread(self._seen)
            again = await in_thread(self._look)
            if again is None:
                yield TriggerEvent({})
                return
            while again > 0:
                await asyncio.sleep(min(again, self.poll))
                again -= self.poll
                if await in_thread(self._seen) != seen:
                    break

    def _seen(self) -> tuple[str, ...]:
        """A mark of what is published of the day and of what has failed: either ends the watch, so
        they are looked for at every poll, by two short looks."""
        from forerun.include.state.layout import Generation, pointer_key
        from forerun.include.stores.opening import open_store

        failures = Generation(self.report, self.day, self.generation).failures
        try:
            store = open_store(self.store)
            found = store.stat(pointer_key(self.report, self.day))
            failed = [file.identity for file in store.list(failures)]
        except ForerunError:
            return ()
        return (found.identity if found else "", *failed)

    def _look(self) -> float | None:
        """Seconds until the next look, None to wake the task."""
        from forerun.include.oncall.alerts import next_look, read_watched
        from forerun.include.stores.opening import open_store

        now = utc_now()
        try:
            watched = read_watched(open_store(self.store), self.report, self.day, now)
        except ForerunError as error:
            self.log.warning("the day cannot be looked at: %s", error)
            return self.poll
        if watched is None or ends(watched, self.generation):
            return None
        return next_look(watched, now, self.poll)


def ends(watched: Watched, generation: str) -> bool:
    """Return whether the watch over a generation is over: for better or worse."""
    opened_anew = watched.records.at.generation != generation
    return bool(watched.wrong) or watched.over or opened_anew


class WatchDay(RepeatableOperator):
    """Watches the day that ``day_task`` has opened. ``notify``: the dotted path of a function that
    is called with the warning. A day that was opened after its deadline is not watched."""

    ui_color = "#fdf1dc"

    def __init__(
        self,
        *,
        spec: ReportSpec,
        day_task: str,
        notify: Notify = "",
        poll: float = POLL_S,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.spec = spec
        self.day_task = day_task
        self.notify = notify
        self.poll = poll

    def execute(self, context: Any) -> dict[str, object]:
        return self._watch(context)

    def resume(self, context: Any, event: Any = None) -> dict[str, object]:  # noqa: ARG002
        """After a wake-up call: look again."""
        return self._watch(context)

    def _watch(self, context: Any) -> dict[str, object]:
        from forerun.include.stores.opening import open_store

        record = context["ti"].xcom_pull(task_ids=self.day_task)
        opened = read_opened(record)
        if opened is None or opened.dry_run or opened.duty.is_over:
            raise AirflowSkipException("no day was opened that has a deadline")
        store = open_store(store_uri(self.spec))
        try:
            if alert := self._alert(store, opened):
                return self._warn(context, alert)
        except ForerunError as error:
            self.log.warning("looking again in %.0f s: %s", self.poll, error)
        trigger = WatchTrigger(
            store=store.root,
            report=self.spec.name,
            day=opened.day,
            generation=opened.generation,
            poll=self.poll,
        )
        self.defer(trigger=trigger, method_name="resume")
        return {}

    def _alert(self, store: StoreReader, opened: OpenedDay) -> Alert | None:
        """The warning, None while there is no reason for one. Skips where the watch is over."""
        from forerun.include.oncall.alerts import alert_of, read_watched

        now = utc_now()
        watched = read_watched(store, self.spec.name, opened.day, now)
        if watched is None:
            return None
        if not watched.standing.deadline_counts:
            raise AirflowSkipException("the day was opened after its deadline")
        if watched.wrong:
            page = page_of(self.spec.name, opened.day)
            return alert_of(store, watched, now, kind="warning", page=page)
        if ends(watched, opened.generation):
            raise AirflowSkipException("published in time, or opened anew")
        return None

    def _warn(self, context: Any, alert: Alert) -> dict[str, object]:
        tell(self.notify, alert)
        said = asdict(alert)
        for asset in self.outlets:
            context["outlet_events"][asset].extra = said
        return said
