"""Whether the day of a source is complete, as its report says how to tell.

The clock is an argument. Asset events live in Airflow: the caller names those that have come.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime
from typing import assert_never

from include.clock import parse_time
from include.report import (
    AssetEvent,
    ClockTime,
    ExpectedCount,
    MarkerFile,
    ReportSpec,
    SourceSpec,
)
from include.state.opening import open_store
from include.state.store import StoredFile, is_hidden


def missing_sources(
    spec: ReportSpec, day: date, now: datetime, *, events: Collection[str] | None = None
) -> tuple[str, ...]:
    """One sentence for each source of which the day is not complete at ``now``.

    ``events`` are the URIs of the assets that had their event for this day; None leaves sources
    that wait for an asset aside. Raises :class:`include.state.store.StoreError` when a source's
    folder cannot be listed.
    """
    reasons = (_missing(source, spec, day, now, events) for source in spec.sources)
    return tuple(reason for reason in reasons if reason)


def _missing(
    source: SourceSpec, spec: ReportSpec, day: date, now: datetime, events: Collection[str] | None
) -> str:
    rule = source.complete_when
    match rule:
        case None:
            if source.allow_empty or _data(_files(source, day)):
                return ""
            return f"{source.name}: no files in {source.path_on(day)}"
        case ClockTime():
            at = parse_time(rule.at, "complete_when").on(day, spec.zone)
            return "" if now >= at else f"{source.name}: complete at {at:%Y-%m-%d %H:%M}Z"
        case AssetEvent():
            if events is None or rule.uri in events:
                return ""
            return f"{source.name}: no event of asset {rule.uri} for {day}"
        case MarkerFile():
            if any(file.key.rpartition("/")[2] == rule.name for file in _files(source, day)):
                return ""
            return f"{source.name}: no {rule.name} in {source.path_on(day)}"
        case ExpectedCount():
            return _uncounted(source, rule, day)
        case _:
            assert_never(rule)


def _uncounted(source: SourceSpec, rule: ExpectedCount, day: date) -> str:
    files = _data(_files(source, day))
    if rule.files:
        found, wanted, unit = len(files), rule.files, "files"
    else:
        from include.footers import SourceFileError
        from include.pins import arrived_rows

        try:
            found, wanted, unit = arrived_rows(source, day), rule.rows, "rows"
        except SourceFileError as error:
            return f"{source.name}: {error.message}"  # still being written, or to be put right
    return "" if found >= wanted else f"{source.name}: {found:,} of {wanted:,} {unit}"


def _files(source: SourceSpec, day: date) -> tuple[StoredFile, ...]:
    """All that lies in the folder of the day, marker files too. A missing folder is empty."""
    root, _, folder = source.path_on(day).rstrip("/").rpartition("/")
    return open_store(root or "/").list(folder)


def _data(files: tuple[StoredFile, ...]) -> tuple[StoredFile, ...]:
    return tuple(f for f in files if f.key.endswith(".parquet") and not is_hidden(f.key))
