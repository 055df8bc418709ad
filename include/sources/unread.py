"""The errors of sources: files that are not as declared, and rows that have changed."""

from __future__ import annotations

from forerun.include.state.records import ColumnFooter
from forerun.planner.errors import ForerunError

UNREAD = "no type of Spark: "
"""Begins what stands for the type of such a column in a pin; its own type comes after it."""


class SourceFileError(ForerunError):
    """A file of a source cannot be read as what it is declared to be."""

    code = "source-file"


class SourceChangedError(ForerunError):
    """Rows that a run has read, or was to read, were changed or taken away, in a source that only
    grows."""

    code = "source-changed"


def refuse_unread(uri: str, column: ColumnFooter) -> None:
    """Raise :class:`SourceFileError` if Spark does not read the type of a file's column."""
    if column.type.startswith(UNREAD):
        raise SourceFileError(
            f"{uri}: column {column.name} has type {column.type.removeprefix(UNREAD)}, which "
            "Spark does not read",
            hint="Cast the column when the file is written; timestamps to microseconds.",
        )
