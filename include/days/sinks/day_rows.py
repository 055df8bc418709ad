"""The rows of a day, as a table is told of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import date

from forerun.include.days.not_published import NotPublishedError
from forerun.include.reports.sinks import IcebergTable, TableSink
from forerun.planner.errors import ForerunError


class SinkError(ForerunError):
    """The table that a report publishes into cannot be reached, or does not take the rows."""

    code = "sink"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class DayVersion:
    """The run that the rows of a day are of: generations count from 1 in a store, runs in a day."""

    generation: int
    run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDay:
    """A day of a report, or with ``early`` what of it has come so far. ``store``: the URI of the
    state store, which counts generations."""

    report: str
    day: date
    store: str
    early: bool = False

    @property
    def owner(self) -> str:
        """Return what tells the days of this report, in this store, from all others."""
        return f"forerun/{self.report}/{hashlib.sha256(self.store.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRows:
    """The rows of a day are of this run. ``incomplete``: the sources that were not complete, each
    with what was missing; ``pins``: the keys of what the rows were computed from."""

    of: ReportDay
    version: DayVersion
    attempt: str
    incomplete: tuple[tuple[str, str], ...]
    pins: tuple[str, ...]

    @property
    def said(self) -> dict[str, str]:
        """Return what a table keeps of the rows, for people and other programs."""
        return {
            "forerun.owner": self.of.owner,
            "forerun.report": self.of.report,
            "forerun.day": self.of.day.isoformat(),
            "forerun.generation": str(self.version.generation),
            "forerun.run": str(self.version.run),
            "forerun.attempt": self.attempt,
            "forerun.early": "true" if self.of.early else "false",
            "forerun.complete": "false" if self.incomplete or self.of.early else "true",
            "forerun.incomplete": json.dumps(self.incomplete),
            "forerun.pins": json.dumps(self.pins),
        }


def place_of_sink(sink: TableSink) -> str:
    """Return where the table is, as its author says it."""
    return sink.name if isinstance(sink, IcebergTable) else sink.path


def refused(sink: TableSink, error: Exception) -> SinkError:
    """Return what the client of a table has raised, as an error that says what to do."""
    text = str(error).strip().splitlines() or [type(error).__name__]
    return SinkError(
        f"{place_of_sink(sink)}: {text[0]}",
        hint="Look at the table, at its catalog or bucket, and at what may be written there; then "
        "retry the task. Columns that the table has not, or in other types: alter it, or give the "
        "report another one.",
    )


def refuse_older(sink: TableSink, rows: DayRows, there: DayVersion | None) -> None:
    """Raise :class:`forerun.include.days.not_published.NotPublishedError` if the rows of a later
    run are there."""
    if there is not None and there > rows.version:
        raise NotPublishedError(
            f"{place_of_sink(sink)} has generation {there.generation} of {rows.of.report}, "
            f"{rows.of.day}; generation {rows.version.generation} is older",
            hint="Nothing to do. To publish again, clear the day: a new generation starts.",
        )
