"""Rows of a source that no engine reads where they lie."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from forerun.include.sources.unread import SourceFileError
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

    from forerun.include.sources.days import DayColumn
    from forerun.include.sources.files import Location
    from forerun.include.stores.store import StoredFile

Read = Callable[[Sequence[ColumnSpec]], "pa.RecordBatchReader"]


@dataclass(frozen=True, slots=True)
class Raw:
    """Rows of a source that no engine reads where they lie: they are spooled first
    (:mod:`forerun.include.sources.spool`).

    ``key`` and ``origin``: the key and the URI of what holds them. ``identity``: what tells them
    from all other rows of the source. ``read`` gives the rows, with the declared columns where
    their place says no types; it raises :class:`forerun.include.sources.unread.SourceFileError` for
    rows that are not as declared. ``verify`` raises it, too, if other rows than these may have been
    read meanwhile. ``weight``: how often each row counts, -1 for rows that are deleted in a file.
    ``most``: as many rows as there can be, where that is known before they are read; ``rows`` finds
    it out without reading them, where what holds them says so. ``by_day``: the column by which they
    are of different days; a file then has those of one day.
    """

    key: str
    origin: str
    identity: tuple[str, ...]
    read: Read
    verify: Callable[[], object]
    weight: int = 1
    most: int | None = None
    rows: Callable[[], int] | None = None
    by_day: DayColumn | None = None

    def digest(self, declared: Sequence[ColumnSpec]) -> str:
        """Return what tells these rows from all others, in the columns as declared."""
        columns = tuple(f"{column.name} {column.type}" for column in declared)
        by = ("by day", str(self.by_day)) if self.by_day else ()
        text = "\0".join((*self.identity, *by, "", *columns))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def count(self, declared: Sequence[ColumnSpec]) -> int:
        """Return how many rows these are, or can be, without a copy; deleted ones are rows of a
        delivery, too."""
        if self.most is not None:
            return self.most
        if self.rows is not None:
            return self.rows()
        return sum(batch.num_rows for batch in self.read(declared))


def rows_of_file(
    location: Location,
    file: StoredFile,
    identity: Sequence[str],
    read: Read,
    weight: int = 1,
    rows: Callable[[], int] | None = None,
) -> Raw:
    """Return rows of a file. ``identity``: what tells them from its other rows, if there are."""
    return Raw(
        key=file.key,
        origin=location.store.uri(file.key),
        identity=(file.key, str(file.size), file.identity, *identity),
        read=read,
        verify=partial(refuse_changed, location, file),
        weight=weight,
        rows=rows,
    )


def refuse_changed(location: Location, file: StoredFile) -> None:
    """Raise SourceFileError if a file was written again while it was copied: its copy is named by
    what the file was."""
    now = location.store.stat(file.key)
    if now is None or (now.size, now.identity) != (file.size, file.identity):
        raise SourceFileError(
            f"{location.store.uri(file.key)} was written again while it was being pinned",
            hint="Deliver new files; leave those that are there. Then retry the task.",
        )
