"""The signs that the day of a source is complete: one record per kind.

The records only say what to look for; :mod:`forerun.include.sources.completeness` looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from forerun.include.reports.asset_keys import key_of
from forerun.include.reports.values.clock import parse_time
from forerun.include.reports.values.fields import SpecError, take_fields
from forerun.include.reports.values.keywords import names_its_fields

_HOUR = "{hh}"
_STEP = timedelta(minutes=15)
"""Clocks have never changed by, nor stood apart by, less than a quarter of an hour."""


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerFile:
    """The day is complete when an object of this name lies in the source's folder of the day
    itself. One in a folder below it, such as that of an hour, says nothing about the day."""

    name: str = "_SUCCESS"
    """The name of the marker, a file in the folder of the day."""

    def __post_init__(self) -> None:
        take_fields(self, "MarkerFile")
        _check_marker(self.name, "MarkerFile")


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class HourlyMarkers:
    """The day is complete when every hour's folder below the folder of the day has its marker.

    ``folder`` is the path of an hour below the folder of the day, in which ``{hh}`` is the hour in
    two digits; ``name`` is that of the marker in it. ``hours`` says how hours are numbered in the
    report's time zone: ``clock`` by what the clock shows when they begin, so that a day on which
    clocks go forward has one folder less, and an hour that comes twice has one folder, whose marker
    must be written after the second; ``elapsed`` by how many have passed since the day began, so
    that such days have 23 and 25 folders (00 to 22, and 00 to 24).
    """

    folder: str = "hour={hh}"
    """The path of an hour below the folder of the day, in which ``{hh}`` is the hour in two
    digits."""
    name: str = "_SUCCESS"
    """The name of the marker in it."""
    hours: Literal["clock", "elapsed"] = "clock"
    """How hours are numbered in the report's time zone: ``clock``, by what the clock shows when
    they begin, or ``elapsed``, by how many have passed since the day began."""

    def __post_init__(self) -> None:
        take_fields(self, "HourlyMarkers")
        _check_marker(self.name, "HourlyMarkers")
        rest = self.folder.replace(_HOUR, "", 1)
        parts = self.folder.split("/")
        if rest == self.folder or set("{}") & set(rest) or not {"", ".", ".."}.isdisjoint(parts):
            raise SpecError(
                f"HourlyMarkers: the folder {self.folder!r} is not that of an hour below the day",
                hint=f"It has {_HOUR} once and no other placeholder, such as hour={_HOUR}.",
            )

    def expected(self, day: date, zone: ZoneInfo) -> tuple[str, ...]:
        """The paths of the markers of ``day`` below its folder, in the order of the hours."""
        numbers = _clock_hours(day, zone) if self.hours == "clock" else _elapsed_hours(day, zone)
        return tuple(
            f"{self.folder.replace(_HOUR, f'{number:02d}')}/{self.name}" for number in numbers
        )

    def is_marker(self, path: str) -> bool:
        """Return whether ``path`` below the folder of the day is that of an hour's marker."""
        before, _, after = f"{self.folder}/{self.name}".partition(_HOUR)
        hour = path.removeprefix(before).removesuffix(after)
        return path == f"{before}{hour}{after}" and len(hour) == 2 and hour.isdigit()


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class AssetEvent:
    """The day is complete when the Airflow asset got an event whose extra has ``{"day": "<report
    date>"}``.

    The asset is named as its producer names it: by ``uri``, by ``name``, or by both. That of a
    report is ``forerun://report/<report>``, and that of its early results has ``/early`` after it.
    ``incomplete`` is what to do with a day that its producer published although something was
    missing (the extra's ``incomplete`` is not empty) or that is an early result: ``refuse`` it and
    wait for a complete one, or ``accept`` it; what is published here then says so as well.
    """

    uri: str = ""
    """The asset's URI, as its producer names it; a report's is ``forerun://report/<report>``."""
    name: str = ""
    """The asset's name, where it has no URI."""
    incomplete: Literal["refuse", "accept"] = "refuse"
    """What to do with a day that its producer published although something was missing: ``refuse``
    it and wait for a whole one, or ``accept`` it and say so in what is published here."""

    def __post_init__(self) -> None:
        take_fields(self, "AssetEvent")
        if not self.uri and not self.name:
            raise SpecError(
                "AssetEvent: the asset has neither URI nor name",
                hint='Name it as its producer does, such as AssetEvent(uri="forerun://report/a").',
            )
        key = key_of(self.uri, self.name)
        if (self.uri or key.uri, self.name or key.name) != (key.uri, key.name):
            raise SpecError(
                f"AssetEvent: an asset of a report has the URI {key.uri} and the name {key.name}, "
                f"not {self.uri or key.uri} and {self.name or key.name}",
                hint=f"Write AssetEvent(uri={key.uri!r}).",
            )
        if key.early and self.incomplete == "refuse":
            raise SpecError(
                f"AssetEvent: {key.uri} is that of early results, which are never complete",
                hint=f'Write incomplete="accept", or wait for {key.uri.removesuffix("/early")}.',
            )
        object.__setattr__(self, "uri", key.uri)
        object.__setattr__(self, "name", key.name)


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCount:
    """The day is complete when at least so many data files, or rows (of the files' footers), have
    arrived."""

    files: int = 0
    """So many data files, or more, are the whole day."""
    rows: int = 0
    """So many rows, or more, by the footers of the files, are the whole day."""

    def __post_init__(self) -> None:
        take_fields(self, "ExpectedCount")
        if (self.files > 0) == (self.rows > 0):
            raise SpecError(
                "ExpectedCount: give files or rows above 0, one of the two",
                hint="Such as ExpectedCount(files=24).",
            )


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class ClockTime:
    """The day is complete at a time (see :mod:`forerun.include.reports.values.clock`), whatever has
    arrived."""

    at: str = "24:00"
    """The time after the start of the day at which the day counts as complete."""

    def __post_init__(self) -> None:
        take_fields(self, "ClockTime")
        parse_time(self.at, "ClockTime: at")


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class WhenPublished:
    """The day is complete when the report that the source reads has published the whole of it: so
    it is of a source with ``format="report"``, which has it by default."""

    incomplete: Literal["refuse", "accept"] = "refuse"
    """What to do with a day that the report published although something was missing: ``refuse``
    it and wait for a whole one, or ``accept`` it and say so in what is published here. An early
    result is never the day."""

    def __post_init__(self) -> None:
        take_fields(self, "WhenPublished")


CompleteWhen = MarkerFile | HourlyMarkers | AssetEvent | ExpectedCount | ClockTime | WhenPublished


def _check_marker(name: str, what: str) -> None:
    if not name or "/" in name:
        raise SpecError(f"{what}: the marker {name!r} is not a file name", hint="Such as _SUCCESS.")


def _bounds(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The instants at which a local day begins and ends, in UTC."""
    begin = datetime.combine(day, time(), tzinfo=zone)
    end = datetime.combine(day + timedelta(days=1), time(), tzinfo=zone)
    return begin.astimezone(UTC), end.astimezone(UTC)


def _clock_hours(day: date, zone: ZoneInfo) -> tuple[int, ...]:
    """The hours that a clock shows during the day; one that it skips is not among them."""
    begin, end = _bounds(day, zone)
    count = -(-(end - begin) // _STEP)
    shown = {(begin + step * _STEP).astimezone(zone).hour for step in range(count)}
    return tuple(sorted(shown))


def _elapsed_hours(day: date, zone: ZoneInfo) -> tuple[int, ...]:
    begin, end = _bounds(day, zone)
    return tuple(range(-(-(end - begin) // timedelta(hours=1))))
