"""The pages over all reports: what they have saved, what they keep, how their sources arrive."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Protocol

from fastapi import Depends, Request

from forerun.airflow.pages.access import UnknownError, readable_dags
from forerun.airflow.pages.render import render, where_of
from forerun.include.oncall.night.arrivals import read_source_arrivals, sources_of
from forerun.include.oncall.night.lanes import lanes
from forerun.include.oncall.night.reader import NightReader
from forerun.include.oncall.night.rows import NightRow
from forerun.include.oncall.overviews import Overviews

_DAGS = Depends(readable_dags)


class FindsSources(Protocol):
    """Finds the row of a day and a source of it, and reads the store."""

    @property
    def reader(self) -> NightReader: ...

    def row(self, report: str, day: str, dags: frozenset[str]) -> NightRow: ...


class OverviewPages:
    """The answers; each waits for the store in a thread of its own."""

    def __init__(self, pages: FindsSources, clock: Callable[[], datetime]) -> None:
        self._pages = pages
        self._clock = clock

    def savings(self, request: Request, dags: frozenset[str] = _DAGS) -> str:
        """Return the page of what all reports have saved, together and each."""
        found = _overviews(self._pages.reader, self._clock).savings().of(dags)
        return render("savings.html", where_of(request), savings=found)

    def state(self, request: Request, dags: frozenset[str] = _DAGS) -> str:
        """Return the page of what all reports keep in the store."""
        states = _overviews(self._pages.reader, self._clock).states()
        shown = [one for one in states if one.report.dag_id in dags]
        return render("state.html", where_of(request), states=shown, now=self._clock())

    def arrivals(self, request: Request, dags: frozenset[str] = _DAGS) -> str:
        """The sources of the night."""
        night = self._pages.reader.night()
        found = sources_of(night.of(dags))
        return render("arrivals.html", where_of(request), sources=found, now=self._clock())

    def schedule(self, request: Request, dags: frozenset[str] = _DAGS) -> str:
        """The night on one clock."""
        now = self._clock()
        found = lanes(self._pages.reader.night().of(dags), now)
        return render("schedule.html", where_of(request), lanes=found, now=now)

    def source(
        self, request: Request, report: str, day: str, name: str, dags: frozenset[str] = _DAGS
    ) -> str:
        """Return how a source arrived on a day of a report."""
        row, reader = self._pages.row(report, day, dags), self._pages.reader
        if row.records is None:
            return render("broken.html", where_of(request), row=row)
        records = row.records
        source = next((one for one in records.spec.sources if one.name == name), None)
        if source is None:
            raise UnknownError
        found = reader.ask(lambda: read_source_arrivals(reader.store, records, source))
        known = {"row": row, "source": source, "found": found, "now": self._clock()}
        return render("source.html", where_of(request), **known)


@cache
def _overviews(reader: NightReader, clock: Callable[[], datetime]) -> Overviews:
    return Overviews(reader, clock)
