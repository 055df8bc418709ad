"""The data of the pages over all reports, read in the background: it takes seconds to read."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from forerun.include.oncall.all_savings import AllSavings, read_all_savings
from forerun.include.oncall.catalogue import known_reports
from forerun.include.oncall.kept_state import KeptState, read_kept_states
from forerun.include.oncall.kept_value import KeptValue
from forerun.include.oncall.night.reader import NightReader
from forerun.include.stores.opening import open_store

_FRESH_S, _STALE_S = 120.0, 24 * 3600.0
"""Figures of whole days change seldom; those of yesterday are better than none."""
_AT_ONCE = 8


class Overviews:
    """The overviews of the store that a reader of nights reads. Safe for threads."""

    def __init__(self, reader: NightReader, clock: Callable[[], datetime]) -> None:
        self._reader = reader
        self._store = open_store(reader.store.root)
        self._pool = ThreadPoolExecutor(_AT_ONCE, "forerun-overviews")
        kept = {"fresh_s": _FRESH_S, "stale_s": _STALE_S}
        self._savings = KeptValue(self._read_savings, clock=clock, **kept)
        self._states = KeptValue(self._read_states, clock=clock, **kept)

    def savings(self) -> AllSavings:
        """Return the savings of all reports. Raises what reading the store raises."""
        return self._savings.get()

    def states(self) -> tuple[KeptState, ...]:
        """Return what all reports keep in the store. Raises what reading the store raises."""
        return self._states.get()

    def _read_savings(self) -> AllSavings:
        return read_all_savings(self._store, known_reports(self._store), self._pool.map)

    def _read_states(self) -> tuple[KeptState, ...]:
        return read_kept_states(self._store, known_reports(self._store), self._pool.map)
