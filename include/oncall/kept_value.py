"""A value that pages ask for all the time, read in the background and kept for a while.

A value that is a little old is handed out while the next one is read; a store that does not answer
in time is an error, and the reading that hangs holds up nobody else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from forerun.include.stores.store import StoreDownError
from forerun.planner.errors import ForerunError

_T = TypeVar("_T")

PATIENCE_S = 8.0
"""A page does not wait for the store any longer."""


class KeptValue(Generic[_T]):
    """The newest value that ``read`` gave. ``fresh_s``: its age, in seconds, from which it is read
    anew; ``stale_s``: the age from which it is no longer handed out. Safe for threads."""

    def __init__(
        self,
        read: Callable[[], _T],
        *,
        fresh_s: float,
        stale_s: float,
        clock: Callable[[], datetime],
    ) -> None:
        self._read = read
        self._fresh, self._stale = timedelta(seconds=fresh_s), timedelta(seconds=stale_s)
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[_T, datetime] | None = None
        self._reading: Future[_T] | None = None
        self._reader = ThreadPoolExecutor(1, "forerun-kept")

    def get(self) -> _T:
        """The value. Raises what reading raises, and :class:`StoreDownError` if there is none that
        is young enough and reading takes too long."""
        now = self._clock()
        with self._lock:
            known, reading = self._known, self._reading
            age = now - known[1] if known else None
            if reading is None or (reading.done() and (age is None or age >= self._fresh)):
                reading = self._reading = self._reader.submit(self._read_anew)
        if known is not None and age is not None and age < self._stale:
            return known[0]
        return in_time(reading)

    def forget(self) -> None:
        """Drop the value: the next one who asks waits for another."""
        with self._lock:
            self._known = self._reading = None

    def _read_anew(self) -> _T:
        now = self._clock()
        try:
            value = self._read()
        except ForerunError:
            with self._lock:
                self._known = None
            raise
        with self._lock:
            self._known = (value, now)
        return value


def in_time(reading: Future[_T], patience_s: float = PATIENCE_S) -> _T:
    """The result of a reading. Raises what it raises, and :class:`StoreDownError` if it takes too
    long."""
    try:
        return reading.result(patience_s)
    except TookTooLong:
        raise StoreDownError(
            f"the store has not answered within {patience_s:.0f} seconds",
            hint="Reading goes on, and the page asks again. If that does not help: is the store's "
            "server up, and can the API server reach it?",
        ) from None
