"""Tables with a log: it says which files a version has, and what was done between two versions.

What the log of each format says is read into the same words (:class:`Snapshot`, :class:`Commit`),
and a listing is made of them in one way (:mod:`forerun.include.sources.tables.table_listing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote

from forerun.include.sources.constants import Constants
from forerun.include.sources.files import (
    Asked,
    TableVersion,
)
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    from forerun.include.sources.tables.copied_rows import Positions
    from forerun.include.sources.tables.other_names import OtherNames


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of a table. ``partitions``: what paths may name of its partitions, columns or what
    is made of some; ``files``: the keys of its data files, and these values there; ``deleted``: the
    rows of them that are deleted, of the files that have any; ``names``: those that it has for
    their columns, where files may have other ones."""

    table: TableVersion
    partitions: tuple[str, ...]
    files: Mapping[str, Constants]
    deleted: Mapping[str, Positions] = field(default_factory=dict)
    names: OtherNames | None = None


@dataclass(frozen=True, slots=True)
class FileBounds:
    """The values of a column in a file, as a log has them: none is less than the least, or greater
    than the greatest one. ``has_nulls``: some may be NULL."""

    least: object
    greatest: object
    has_nulls: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A file that a commit added, or removed: its key, and the values of the partition columns.
    ``moves_rows``: the rows of the table are others after it. A compaction moves none.
    ``deletes``: it says which rows of the file are deleted."""

    key: str
    adds: bool
    moves_rows: bool
    partition: Constants
    deletes: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of a table. ``feed``: the keys of the files, and the values of the partition columns
    there, in which it says which rows it has changed, of a table that keeps a change feed."""

    changes: tuple[Change, ...]
    feed: tuple[tuple[str, Constants], ...] = ()


class TableLog(Protocol):
    """The log of one table, as it is when it is read."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest version."""
        ...

    @property
    def columns(self) -> tuple[ColumnSpec, ...]:
        """The columns of the newest version, as Spark would declare them."""
        ...

    def bounds(self, column: str) -> Mapping[str, FileBounds]:
        """The bounds of a column of dates or times in the files of the newest version, by their
        keys; of those for which the log says them."""
        ...

    def commits_since(self, version: int) -> list[Commit] | None:
        """The commits since a version, in order. None if the log no longer has one of them, or if
        the version is none that this one has come from."""
        ...


def columns_read(snapshot: Snapshot, asked: Asked) -> tuple[str, ...]:
    """The columns of a table that are read of its files."""
    declared = {column.name.lower() for column in asked.columns}
    return tuple(
        name
        for name in snapshot.table.columns or ()
        if name.lower() in declared or not asked.ignores
    )


def of_columns(files: Mapping[str, Constants], snapshot: Snapshot) -> Mapping[str, Constants]:
    """Return the values of partitions, by file, that columns of the table have there."""
    columns = {name.lower() for name in snapshot.table.columns or ()}
    return {
        key: tuple((name, value) for name, value in values if name.lower() in columns)
        for key, values in files.items()
    }


def split_path(key: str) -> tuple[str, dict[str, str]]:
    """Return the folder of the table that a path names, and the partitions that come after it."""
    folders = key.split("/")
    at = next((n for n, folder in enumerate(folders) if "=" in folder), len(folders))
    pairs = (folder.partition("=") for folder in folders[at:])
    return "/".join(folders[:at]), {unquote(name).lower(): unquote(v) for name, _, v in pairs}
