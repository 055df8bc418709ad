"""Tables with a log: it says which files a version has, and what was done between two versions.

What the log of each format says is read into the same words (:class:`Snapshot`, :class:`Change`),
and a listing is made of them in one way: a table that was only compacted has the files that were
pinned, and whatever moves rows is a change of files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote

from forerun.include.sources.constants import NO_VALUE, Constants
from forerun.include.sources.files import (
    Asked,
    Listing,
    Location,
    SourcePathError,
    TableVersion,
    locate_file,
)
from forerun.include.sources.raw import Raw
from forerun.include.state.records import Pin, PinnedFile
from forerun.include.stores.store import StoredFile
from forerun.planner.contract import ColumnSpec
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN

if TYPE_CHECKING:
    from forerun.include.sources.tables.copied_rows import Positions
    from forerun.include.sources.tables.other_names import OtherNames

_THREADS = 8
"""How many files are asked at once for the names of their columns."""


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
class Change:
    """A file that a commit added, or removed: its key, and the values of the partition columns.
    ``moves_rows``: the rows of the table are others after it. A compaction moves none.
    ``deletes``: it says which rows of the file are deleted."""

    key: str
    adds: bool
    moves_rows: bool
    partition: Constants
    deletes: bool = False


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

    def changes_since(self, version: int) -> list[Change] | None:
        """What the commits since a version did, in order. None if the log no longer has one of
        them, or if the version is none that this one has come from."""
        ...


def list_table(log: TableLog, asked: Asked, stored: Sequence[StoredFile]) -> Listing:
    """List the files of the newest version, of the partitions that the folders name. ``stored``
    are the files of the table's folder."""
    location, snapshot = asked.locations[-1], log.snapshot
    root, _ = split_path(location.key)
    wanted = [_partition(at, snapshot) for at in asked.locations]

    def is_read(values: Constants) -> bool:
        lowered = {name.lower(): value for name, value in values}.items()
        return any(names.items() <= lowered for names in wanted)

    there = {file.key: file for file in stored}
    now = {key: values for key, values in snapshot.files.items() if is_read(values)}
    before = _as_pinned(log, now, asked.last, is_read)
    chosen = before if before is not None and before.keys() <= there.keys() else now
    kept = _kept(asked.last, chosen.keys() - now.keys())
    if gone := sorted(key for key in chosen if key not in there):
        raise SourcePathError(
            f"{location.store.uri(gone[0])} is in the log of {location.store.uri(root)} and not in "
            "its folder",
            hint="The table was cleaned up while it was read, or is damaged: retry the task.",
        )
    left = not asked.signed
    replaced = {locate_file(file.origin).key for file in kept if left or _counts(file)}
    read = [there[key] for key in sorted(chosen.keys() - replaced)]
    columns = _read_columns(snapshot, asked)
    renamed = _renamed(location, read, columns, snapshot.names)
    apart = renamed | (snapshot.deleted.keys() if left else set())
    return Listing(
        location,
        files=tuple(file for file in read if file.key not in apart),
        raw=tuple(_raw(location, read, columns, snapshot, renamed, left=left)),
        constants=_of_columns(chosen, snapshot),
        table=snapshot.table,
        kept=kept,
    )


def _of_columns(files: Mapping[str, Constants], snapshot: Snapshot) -> Mapping[str, Constants]:
    """Return the values of files that columns of the table have there."""
    columns = {name.lower() for name in snapshot.table.columns or ()}
    return {
        key: tuple((name, value) for name, value in values if name.lower() in columns)
        for key, values in files.items()
    }


def _raw(
    location: Location,
    files: Sequence[StoredFile],
    columns: Sequence[str],
    snapshot: Snapshot,
    renamed: Set[str],
    *,
    left: bool,
) -> Iterator[Raw]:
    """Yield the rows that are deleted in files, or those that are left in files with deleted rows;
    and those of files that have other names for their columns."""
    if not (renamed or snapshot.deleted):
        return
    from forerun.include.sources.tables.copied_rows import NO_POSITIONS, rows_at

    for file in files:
        names = snapshot.names if file.key in renamed else None
        deleted = snapshot.deleted.get(file.key)
        if names is not None or (left and deleted is not None):
            of = deleted if left and deleted is not None else NO_POSITIONS
            yield rows_at(location, file, of, columns, left=True, names=names)
        if not left and deleted is not None:
            yield rows_at(location, file, deleted, columns, left=False, names=names)


def _read_columns(snapshot: Snapshot, asked: Asked) -> tuple[str, ...]:
    """The columns of a table that are read of its files."""
    declared = {column.name.lower() for column in asked.columns}
    return tuple(
        name
        for name in snapshot.table.columns or ()
        if name.lower() in declared or not asked.ignores
    )


def _renamed(
    location: Location,
    files: Sequence[StoredFile],
    columns: Sequence[str],
    names: OtherNames | None,
) -> Set[str]:
    """The keys of the files that have other names for these columns of their table."""
    if names is None:
        return frozenset()
    with ThreadPoolExecutor(_THREADS) as pool:
        are = pool.map(lambda file: names.are_of(location, file, columns), files)
        return {file.key for file, is_one in zip(files, are, strict=True) if is_one}


def _counts(file: PinnedFile) -> bool:
    """Return whether the rows of a copied file are read in place of those of another file, rather
    than taken back from it."""
    return (WEIGHT_COLUMN, "-1") not in file.constants


def _kept(last: Pin | None, compacted: Set[str]) -> tuple[PinnedFile, ...]:
    """What was spooled of files that the table has compacted since: of their deleted rows, its log
    says nothing any more."""
    return tuple(
        file
        for file in (last.files if last else ())
        if file.origin and locate_file(file.origin).key in compacted
    )


def split_path(key: str) -> tuple[str, dict[str, str]]:
    """Return the folder of the table that a path names, and the partitions that come after it."""
    folders = key.split("/")
    at = next((n for n, folder in enumerate(folders) if "=" in folder), len(folders))
    pairs = (folder.partition("=") for folder in folders[at:])
    return "/".join(folders[:at]), {unquote(name).lower(): unquote(v) for name, _, v in pairs}


def _as_pinned(
    log: TableLog, now: Mapping[str, Constants], last: Pin | None, is_read: Callable[..., bool]
) -> Mapping[str, Constants] | None:
    """The files of the last pin and what has changed their rows since: a compaction writes the same
    rows into other files, and nothing has to be read again for it. None where that cannot be told,
    or where nothing was compacted."""
    snapshot = log.snapshot
    if last is None or last.table != snapshot.table.table:
        return None
    done = log.changes_since(last.version)
    if done is None:
        return None
    changes = [change for change in done if is_read(change.partition)]
    pinned = {locate_file(file.name).key: file.constants for file in last.files}
    if pinned.keys() <= now.keys() and all(change.moves_rows for change in changes):
        return None
    files = {
        key: tuple((name, value) for name, value in values if name in snapshot.partitions)
        for key, values in pinned.items()
    }
    for change in changes:
        if change.moves_rows and change.adds:
            files[change.key] = change.partition
        elif change.moves_rows and files.pop(change.key, None) is None:
            return None  # a file that only a compaction has written
    if any(one.deletes and one.moves_rows and one.key not in now for one in changes):
        return None  # rows were deleted in a file that was compacted since
    return files


def _partition(location: Location, snapshot: Snapshot) -> dict[str, str | None]:
    """The partition that a path names, by its columns."""
    root, named = split_path(location.key)
    known = {name.lower() for name in snapshot.partitions}
    if unknown := sorted(named.keys() - known):
        raise SourcePathError(
            f"{location.store.uri(root)} is not partitioned by {unknown[0]}",
            hint=f"Its partition columns are {', '.join(sorted(known)) or 'none'}.",
        )
    return {name: None if value == NO_VALUE else value for name, value in named.items()}
