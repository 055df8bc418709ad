"""The files of a table with a log, listed in one way whatever the format.

A table that was only compacted has the files that were pinned; rows that commits have changed in
files of many are told apart from the others (:mod:`forerun.include.sources.tables.rewritten`);
whatever else moves rows is a change of files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from forerun.include.sources.constants import NO_VALUE, Constants
from forerun.include.sources.files import (
    Asked,
    Listing,
    Location,
    SameRows,
    SourcePathError,
    locate_file,
)
from forerun.include.sources.raw import Raw
from forerun.include.sources.tables.compactions import compactions
from forerun.include.sources.tables.log import (
    Commit,
    Snapshot,
    TableLog,
    columns_read,
    of_columns,
    split_path,
)
from forerun.include.sources.tables.rewritten import listed_by_rows
from forerun.include.sources.tables.rows_by_day import told_by_day
from forerun.include.state.records import Pin, PinnedFile
from forerun.include.stores.store import StoredFile
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN

if TYPE_CHECKING:
    from forerun.include.sources.tables.other_names import OtherNames

_THREADS = 8
"""How many files are asked at once for the names of their columns."""


def list_table(log: TableLog, asked: Asked, stored: Sequence[StoredFile]) -> Listing:
    """List the files of the newest version, of the partitions that the folders name. ``stored``
    are the files of the table's folder."""
    location, snapshot = asked.locations[-1], log.snapshot
    root, _ = split_path(location.key)
    wanted = [
        (_partition(at, snapshot).items(), asked.day_of.get(path, ""))
        for at, path in zip(asked.locations, asked.paths, strict=True)
    ]

    def day_of(values: Constants) -> str | None:
        lowered = {name.lower(): value for name, value in values}.items()
        return next((day for names, day in wanted if names <= lowered), None)

    def is_read(values: Constants) -> bool:
        return day_of(values) is not None

    there = {file.key: file for file in stored}
    commits = _commits(log, asked.last)
    if (found := listed_by_rows(log, asked, commits, there, day_of)) is not None:
        return told_by_day(found, log, asked)
    now = {key: values for key, values in snapshot.files.items() if is_read(values)}
    before = _as_pinned(log.snapshot, commits, now, asked.last, is_read)
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
    columns = columns_read(snapshot, asked)
    renamed = _renamed(location, read, columns, snapshot.names)
    apart = renamed | (snapshot.deleted.keys() if left else set())
    whole = Listing(
        location,
        files=tuple(file for file in read if file.key not in apart),
        raw=tuple(_raw(location, read, columns, snapshot, renamed, left=left)),
        constants=of_columns(chosen, snapshot),
        days={key: day_of(values) or "" for key, values in chosen.items()},
        table=snapshot.table,
        kept=kept,
        compacted=_compacted(log, asked),
    )
    return told_by_day(whole, log, asked)


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


def _commits(log: TableLog, last: Pin | None) -> Sequence[Commit] | None:
    """The commits since a pin of the same table; None where they are not known."""
    if last is None or last.table != log.snapshot.table.table:
        return None
    return log.commits_since(last.version)


def _compacted(log: TableLog, asked: Asked) -> tuple[SameRows, ...]:
    """Return the files that were compacted since the last pin, or since that of the day before."""
    newest = asked.last or asked.before
    of_day, later = _commits(log, asked.first), _commits(log, newest)
    if newest is None or of_day is None or later is None:
        return ()
    return compactions(of_day[: len(of_day) - len(later)], later, newest)


def _as_pinned(
    snapshot: Snapshot,
    commits: Sequence[Commit] | None,
    now: Mapping[str, Constants],
    last: Pin | None,
    is_read: Callable[..., bool],
) -> Mapping[str, Constants] | None:
    """The files of the last pin and what has changed their rows since: a compaction writes the same
    rows into other files, and nothing has to be read again for it. None where that cannot be told,
    or where nothing was compacted."""
    if last is None or commits is None:
        return None
    changes = [one for commit in commits for one in commit.changes if is_read(one.partition)]
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
