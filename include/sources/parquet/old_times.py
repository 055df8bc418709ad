"""Dates and times that are written by an old calendar, or in an old format, as footers say it.

Spark reads such columns with corrections of its own: before version 3.0 it wrote dates by the
Julian calendar where that was in use, and before 3.1 timestamps of type INT96, too. What else reads
the numbers of the file as they are gives other days.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from forerun.include.sources.parquet.schema import SchemaField
from forerun.include.state.records import PinnedFile

_VERSION = b"org.apache.spark.version"
_MARKS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_PROLEPTIC = (3, 0)
_TIMES = ("DATE", "TIMESTAMP")


def columns_of_old_times(
    metadata: Mapping[bytes, bytes] | None, schema: Sequence[SchemaField]
) -> tuple[str, ...]:
    """Return the names of the columns that hold timestamps of type INT96, or, in a file by the old
    calendar, dates or timestamps of any type."""
    old = is_by_the_old_calendar(metadata or {})
    return tuple(
        field.name
        for field in schema
        if any(
            leaf.physical == "INT96" or (old and leaf.logical in _TIMES) for leaf in field.leaves()
        )
    )


def why_not_by_files(source: str, files: Sequence[PinnedFile]) -> str:
    """Say why an engine that does not know of old calendars may read other values in these files of
    a source than Spark does; "" if there is no reason."""
    for file in files:
        times = [c.name for c in file.columns if _holds_times(c.type)]
        if file.old_times is None and times:
            return f"{file.uri} of source {source} was pinned before calendars were looked at"
        if file.old_times:
            name = file.old_times[0]
            return f"column {name} of {file.uri} has dates or times by an old calendar or format"
    return ""


def _holds_times(kind: str) -> bool:
    return any(name in kind for name in _TIMES)


def is_by_the_old_calendar(metadata: Mapping[bytes, bytes]) -> bool:
    """Return whether the dates of a file may be of the Julian calendar, by its footer."""
    if any(mark in metadata for mark in _MARKS):
        return True
    version = metadata.get(_VERSION)
    if version is None:
        return False
    numbers = version.decode(errors="replace").split(".")[:2]
    with suppress(ValueError):
        return tuple(int(number) for number in numbers) < _PROLEPTIC
    return True  # a version that cannot be read may be any
