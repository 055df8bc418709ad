"""The triggers that let an early run start before its latest time: one record per kind.

The records only say what to look for; :mod:`forerun.include.times.early_start` looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from forerun.include.reports.sources.complete_when import AssetEvent
from forerun.include.reports.sources.source import SourceSpec
from forerun.include.reports.values.clock import parse_time
from forerun.include.reports.values.fields import SpecError, take_fields
from forerun.include.reports.values.keywords import names_its_fields
from forerun.include.reports.values.lengths import Length


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class AfterRows:
    """The run starts when so many ``rows`` of a growing source have come, by its files' footers,
    since the last run of the day was planned; before the first one, of the whole day."""

    source: str
    """The name of a growing source of the report."""
    rows: int
    """How many rows have to come, since the last run of the day was planned."""

    def __post_init__(self) -> None:
        take_fields(self, "AfterRows")
        if self.rows < 1:
            raise SpecError(
                f"AfterRows: {self.rows} rows are there at once",
                hint="Give how many rows have to come: 1 or more.",
            )


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """The run starts so long after the last run of the day was planned, or, before the first one,
    after the start of the day. ``interval`` is elapsed time, such as ``+02:00``."""

    interval: Length
    """Elapsed time since the last run of the day was planned, such as ``+02:00``."""

    def __post_init__(self) -> None:
        take_fields(self, "Every")
        length = parse_time(self.interval, "Every: the interval")
        if not length.elapsed or not length.seconds:
            raise SpecError(
                f"Every: the interval {self.interval!r} is no length of time",
                hint="Write +02:00 for every two hours.",
            )


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class PriceAtMost:
    """The run starts when compute costs no more than ``price``, by the prices of the report, or of
    its cluster if it has none."""

    price: float
    """The price at which the run starts, or any lower one."""

    def __post_init__(self) -> None:
        take_fields(self, "PriceAtMost")


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class WhenComplete:
    """The run starts when the day of a source is complete, by what the source itself says."""

    source: str
    """The name of the source whose day has to be complete."""

    def __post_init__(self) -> None:
        take_fields(self, "WhenComplete")


@dataclass(frozen=True, slots=True, kw_only=True)
class WithGroup:
    """The run starts as soon as another one does at the same time point of its report group. A
    group gives it to runs that have no trigger of their own; alone it never fires."""


StartWhen = AfterRows | Every | PriceAtMost | WhenComplete | AssetEvent | WithGroup
"""An asset's event starts a run as it completes a source: by the day that it names."""


def start_text(when: StartWhen) -> str:
    """Return what a trigger waits for, as a phrase for people."""
    match when:
        case AfterRows():
            return f"{when.rows:,} new rows of {when.source}"
        case Every():
            return f"{when.interval.removeprefix('+')} h after the last run"
        case PriceAtMost():
            return f"a price of at most {when.price:g}"
        case WhenComplete():
            return f"a complete {when.source}"
        case AssetEvent():
            return f"an event of asset {when.uri}"
        case WithGroup():
            return "another report of its group"
        case _:
            assert_never(when)


def check_start(when: StartWhen | None, sources: Sequence[SourceSpec], report: str) -> None:
    """Refuse a trigger that can never be looked at: of a source that there is not, or whose day
    does not come bit by bit."""
    if not isinstance(when, AfterRows | WhenComplete):
        return
    kind = type(when).__name__
    found = next((one for one in sources if one.name == when.source), None)
    if found is None:
        raise SpecError(
            f"report {report}: {kind} names the source {when.source}, which it has not",
            hint=f"Its sources are {', '.join(one.name for one in sources)}.",
        )
    if found.arrival == "static":
        raise SpecError(
            f"report {report}: {kind} names the source {when.source}, which is static",
            hint="It is there before the first run: name a source that grows.",
        )
