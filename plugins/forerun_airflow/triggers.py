"""Waits for sources in the triggerer: no worker slot is held while data arrives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from forerun_airflow.day import utc_now
from planner.errors import ForerunError


class SourcesTrigger(BaseTrigger):
    """Fires when the sources of a report are complete, or at ``until``, whichever comes first.

    The event is only a wake-up call: the task looks again itself. A check that fails (a store that
    is away for a while) is tried again at the next poll.
    """

    def __init__(self, report: str, day: str, until: str, poll: float = 30.0) -> None:
        super().__init__()
        self.report = report
        self.day = day
        self.until = until
        self.poll = poll

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            "forerun_airflow.triggers.SourcesTrigger",
            {"report": self.report, "day": self.day, "until": self.until, "poll": self.poll},
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        until = datetime.fromisoformat(self.until)
        while True:
            missing = await asyncio.to_thread(self._missing)
            left = (until - utc_now()).total_seconds()
            if not missing or left <= 0:
                yield TriggerEvent({"missing": missing})
                return
            self.log.info("not complete: %s", "; ".join(missing))
            await asyncio.sleep(min(self.poll, left))

    def _missing(self) -> list[str]:
        from include.reports.clock import parse_day
        from include.reports.spec import decode_report
        from include.sources.completeness import find_missing

        try:
            spec, day = decode_report(self.report), parse_day(self.day)
            return [each.text for each in find_missing(spec, day, utc_now())]
        except ForerunError as error:
            return [str(error)]
