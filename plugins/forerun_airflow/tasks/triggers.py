"""Waits in the triggerer: no worker slot is held while data arrives, or a time does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from forerun.airflow.connections import in_thread
from forerun.airflow.day import store_uri, utc_now
from forerun.planner.errors import ForerunError

if TYPE_CHECKING:
    from forerun.include.stores.store import StoreReader
    from forerun.include.times.early_start import EarlyStart


class Waiting(BaseTrigger):
    """Fires at ``until``, or before when there is a reason to. The event is only a wake-up call:
    the task looks again itself.

    A reason for every wait is a file in the store, whose URI is ``unless``: the next thing that
    people tell the day to do appears there. A look that fails (a store that is away for a while)
    is tried again at the next poll.
    """

    def __init__(self, *, until: str, poll: float, unless: str) -> None:
        super().__init__()
        self.until = until
        self.poll = poll
        self.unless = unless

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"forerun.airflow.tasks.triggers.{type(self).__name__}",
            {"until": self.until, "poll": self.poll, "unless": self.unless},
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        until = datetime.fromisoformat(self.until)
        while True:
            left = (until - utc_now()).total_seconds()
            wakes, said = await in_thread(self._look)
            if wakes or left <= 0:
                yield TriggerEvent(said)
                return
            await asyncio.sleep(min(self.poll, left))

    def _look(self) -> tuple[bool, dict[str, Any]]:
        """Return whether there is a reason to wake the task, and what to say to it."""
        told = self._is_told()
        return told, {"told": told}

    def _is_told(self) -> bool:
        return self._is_there(self.unless)

    def _is_there(self, uri: str) -> bool:
        from forerun.include.stores.opening import split_uri

        if not uri:
            return False
        try:
            root, key = split_uri(uri)
            return _store_of(root).stat(key) is not None
        except ForerunError as error:
            self.log.warning("the store cannot be looked at: %s", error)
            return False


class TimeTrigger(Waiting):
    """Fires at a time."""

    def __init__(self, until: str, poll: float = 30.0, unless: str = "") -> None:
        super().__init__(until=until, poll=poll, unless=unless)


class SourcesTrigger(Waiting):
    """Fires when the sources of a report are complete, or at ``until``, whichever comes first."""

    def __init__(
        self, report: str, day: str, until: str, poll: float = 30.0, unless: str = ""
    ) -> None:
        super().__init__(until=until, poll=poll, unless=unless)
        self.report = report
        self.day = day

    def serialize(self) -> tuple[str, dict[str, Any]]:
        path, known = super().serialize()
        return path, {"report": self.report, "day": self.day, **known}

    def _look(self) -> tuple[bool, dict[str, Any]]:
        missing = self._missing()
        if missing:
            self.log.info("not complete: %s", "; ".join(missing))
        return not missing or self._is_told(), {"missing": missing}

    def _missing(self) -> list[str]:
        from forerun.include.reports.spec import decode_report
        from forerun.include.reports.values.clock import parse_day
        from forerun.include.sources.completeness import find_missing

        try:
            spec, day = decode_report(self.report), parse_day(self.day)
            return [each.text for each in find_missing(spec, day, utc_now())]
        except ForerunError as error:
            return [str(error)]


class SlotTrigger(SourcesTrigger):
    """Fires when a run whose time is chosen is due, when ``schedule``, the next schedule of its
    day, lies in the store, and, if it ``watches``, when the sources are complete: then the rest of
    the day is decided again."""

    def __init__(
        self,
        report: str,
        day: str,
        until: str,
        poll: float = 30.0,
        unless: str = "",
        schedule: str = "",
        watches: bool = False,
    ) -> None:
        super().__init__(report, day, until, poll, unless)
        self.schedule = schedule
        self.watches = watches

    def serialize(self) -> tuple[str, dict[str, Any]]:
        path, known = super().serialize()
        return path, {**known, "schedule": self.schedule, "watches": self.watches}

    def _look(self) -> tuple[bool, dict[str, Any]]:
        decided = self._is_there(self.schedule)
        complete = self.watches and not self._missing()
        wakes = decided or complete or self._is_told()
        return wakes, {"decided": decided, "complete": complete}


class EarlyStartTrigger(Waiting):
    """Fires when the trigger of a report's run does, or at the run's latest time. A source that
    cannot be looked at is a warning: the latest time holds."""

    def __init__(
        self,
        report: str,
        day: str,
        generation: str,
        run: int,
        until: str,
        poll: float = 30.0,
        unless: str = "",
    ) -> None:
        super().__init__(until=until, poll=poll, unless=unless)
        self.report = report
        self.day = day
        self.generation = generation
        self.run_number = run
        self._start: EarlyStart | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        path, known = super().serialize()
        own = {"report": self.report, "day": self.day, "generation": self.generation}
        return path, {**known, **own, "run": self.run_number}

    def _look(self) -> tuple[bool, dict[str, Any]]:
        why = self._why()
        return bool(why) or self._is_told(), {"why": why}

    def _why(self) -> str:
        try:
            self._start = self._start or self._early_start()
            return self._start.why(utc_now())
        except ForerunError as error:
            self.log.warning("not looked at, so the latest time holds for now: %s", error)
            return ""

    def _early_start(self) -> EarlyStart:
        from forerun.include.days.handle import Day
        from forerun.include.reports.spec import decode_report
        from forerun.include.reports.values.clock import parse_day
        from forerun.include.times.early_start import EarlyStart

        spec = decode_report(self.report)
        day = Day.of(store_uri(spec), spec, parse_day(self.day), self.generation)
        return EarlyStart(day, self.run_number)


class CoresTrigger(Waiting):
    """Fires when a run's turn for cores of a cluster has come, or at ``until``. Each look shows
    that the run still waits. ``wanted`` is its request and ``cluster`` the cluster as its author
    has written it, as the store holds them; ``store`` is the URI of the store."""

    def __init__(
        self,
        store: str,
        cluster: str,
        wanted: str,
        until: str,
        poll: float = 30.0,
        unless: str = "",
    ) -> None:
        super().__init__(until=until, poll=poll, unless=unless)
        self.store = store
        self.cluster = cluster
        self.wanted = wanted
        self._said: str | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        path, known = super().serialize()
        own = {"store": self.store, "cluster": self.cluster, "wanted": self.wanted}
        return path, {**known, **own}

    def _look(self) -> tuple[bool, dict[str, Any]]:
        why = self._why_not()
        if why != self._said:
            self.log.info("waiting for cores: %s", why or "its turn has come")
            self._said = why
        return not why or self._is_told(), {"why": why}

    def _why_not(self) -> str:
        from forerun.include.reports.cluster import Cluster
        from forerun.include.state.records import decode
        from forerun.include.state.slots import SlotRequest
        from forerun.include.stores.opening import open_store
        from forerun.include.times.leases import BudgetSpentError, Leases

        try:
            cluster = decode(Cluster, self.cluster.encode(), "the cluster")
            wanted = decode(SlotRequest, self.wanted.encode(), "the request")
            _, why = Leases(open_store(self.store), cluster).look(wanted)
        except BudgetSpentError:
            return ""  # it need not wait: its task skips it
        except ForerunError as error:
            return error.message
        return why


class FirstOf(Waiting):
    """Fires when one of several waits does, or at ``until``: ``waits`` are these as Airflow keeps
    them, a path and arguments each."""

    def __init__(self, waits: list[list[Any]], until: str, poll: float = 30.0) -> None:
        super().__init__(until=until, poll=poll, unless="")
        self.waits = waits
        self._each: list[Waiting] = []

    @classmethod
    def among(cls, waits: Sequence[Waiting], until: datetime, poll: float) -> FirstOf:
        """Return what fires when one of these does, and at ``until`` at the latest."""
        first = min([until, *(datetime.fromisoformat(one.until) for one in waits)])
        return cls([list(one.serialize()) for one in waits], first.isoformat(), poll)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        path, _ = super().serialize()
        return path, {"waits": self.waits, "until": self.until, "poll": self.poll}

    def _look(self) -> tuple[bool, dict[str, Any]]:
        kinds = globals()
        if not self._each:
            self._each = [kinds[path.rpartition(".")[2]](**given) for path, given in self.waits]
        wakes: list[bool] = []
        said: list[dict[str, Any]] = []
        for one in self._each:
            woken, what = one._look()  # noqa: SLF001 - of the same kind
            wakes.append(woken)
            said.append(what)
        return any(wakes), {"each": said}


@cache
def _store_of(root: str) -> StoreReader:
    from forerun.include.stores.opening import open_store

    return open_store(root)
