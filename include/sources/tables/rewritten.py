"""Rows that commits have changed in files of many rows, told apart from those that were only
written again.

Who updates a row of a table writes the file again that holds it (copy on write): by its files, all
of their rows go and come. Here the rows of the files before and after are compared, or read from
the table's change feed if it keeps one, and what differs is copied. Files that were pinned stay
pinned, beside these changes, also when the table has dropped them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from forerun.include.sources.constants import Constants
from forerun.include.sources.files import Asked, Listing, Location, locate_file
from forerun.include.sources.raw import Raw, refuse_changed
from forerun.include.sources.rows.table_difference import difference, only_come, weighted
from forerun.include.sources.tables.log import (
    Commit,
    Snapshot,
    TableLog,
    columns_read,
    of_columns,
)
from forerun.include.sources.unread import SourceFileError
from forerun.include.state.records import Pin
from forerun.include.stores.store import StoredFile
from forerun.planner.contract import ColumnSpec
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN

if TYPE_CHECKING:
    import pyarrow as pa

_Differing = Callable[[Sequence[str], Sequence[str]], "pa.Table"]
"""Gives how much oftener each row is in the second of some files than in the first."""
MOST_BYTES = 64 << 20
"""Files of more bytes together are not compared: their rows are held in memory."""
_MARK = "#changes"
"""Ends the origin of what was copied here."""
_CHANGE_TYPE = "_change_type"
_WEIGHTS = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}


@dataclass(frozen=True, slots=True)
class _Step:
    """What has changed since a pin: files that were ``added`` and are read as they are; and, by the
    values of partition columns, files that are ``gone``, those that ``came`` for them, and those of
    the change ``feed``."""

    added: Mapping[str, Constants]
    gone: Mapping[Constants, Sequence[str]]
    came: Mapping[Constants, Sequence[str]]
    feed: Sequence[tuple[str, Constants]]


def listed_by_rows(
    log: TableLog,
    asked: Asked,
    commits: Sequence[Commit] | None,
    there: Mapping[str, StoredFile],
    day_of: Callable[[Constants], str | None],
) -> Listing | None:
    """List the files of the last pin, those that were added since, and the rows that have changed
    otherwise; None where the last pin holds no file that was written again, or where that cannot be
    told by rows: then the files tell it.

    ``commits`` are those since that pin, ``there`` the files in the folder of the table. ``day_of``
    gives the day of rows with such values of partition columns, empty where these do not tell it;
    None for rows that are not read.
    """
    last, snapshot = asked.last, log.snapshot
    if last is None or commits is None or not _can_be_told(asked, last, snapshot):
        return None
    step = _step(commits, lambda values: day_of(values) is not None)
    copied = any(file.origin for file in last.files)
    if step is None or not (copied or step.gone or step.feed):
        return None
    used = {*step.added, *(key for key, _ in step.feed)}
    used |= {key for each in (step.gone, step.came) for keys in each.values() for key in keys}
    pinned = {locate_file(file.uri).key for file in last.files if not file.origin}
    if step.added.keys() & pinned or not (used | pinned) <= there.keys():
        return None  # restored, or cleaned up
    if sum(there[key].size for key in used - step.added.keys()) > MOST_BYTES:
        return None
    reader = _Reader(asked.locations[-1], there, columns_read(snapshot, asked), asked.signed)
    raw = list(reader.all(step))
    if any(one is None for one in raw):
        return None
    found = [one for one in raw if one is not None]
    partitions = _partitions(step, found)
    return Listing(
        reader.location,
        files=tuple(there[key] for key in sorted(step.added)),
        raw=tuple(found),
        constants=of_columns(partitions, snapshot),
        days={key: day_of(values) or "" for key, values in partitions.items()},
        table=snapshot.table,
        kept=last.files,
    )


def _can_be_told(asked: Asked, last: Pin, snapshot: Snapshot) -> bool:
    """Return whether rows of the table can be compared: none is deleted by its position, files have
    the table's own names, the last pin has the columns of today, and no list or struct has to be
    the same as another one."""
    declared = {column.name.lower() for column in asked.columns}
    return (
        not snapshot.deleted
        and snapshot.names is None
        and all(file.origin.endswith(_MARK) for file in last.files if file.origin)
        and all(declared <= {one.name.lower() for one in file.columns} for file in last.files)
        and (asked.signed or not any("<" in column.type for column in asked.columns))
    )


def _step(commits: Iterable[Commit], is_read: Callable[[Constants], bool]) -> _Step | None:
    """Return what commits have changed together; None if one says that rows of a file are deleted,
    or adds a file again that was removed."""
    added, feed = dict[str, Constants](), list[tuple[str, Constants]]()
    gone, came = dict[str, Constants](), dict[str, Constants]()
    moving = [
        (commit, [one for one in commit.changes if one.moves_rows and is_read(one.partition)])
        for commit in commits
    ]
    if any(one.deletes for _, all_of in moving for one in all_of):
        return None
    rewrites = [commit for commit, all_of in moving if any(not one.adds for one in all_of)]
    by_feed = all(commit.feed for commit in rewrites)
    for commit, all_of in moving:
        if by_feed and commit.feed:
            feed += [one for one in commit.feed if is_read(one[1])]
            continue
        for one in all_of:
            if not one.adds and came.pop(one.key, None) is None:
                gone[one.key] = one.partition
            elif one.adds and one.key in gone:
                return None
            elif one.adds:
                (added if by_feed or not rewrites else came)[one.key] = one.partition
    return _Step(added, _by_partition(gone), _by_partition(came), feed)


def _by_partition(files: Mapping[str, Constants]) -> Mapping[Constants, Sequence[str]]:
    found = defaultdict[Constants, list[str]](list)
    for key in sorted(files):
        found[files[key]].append(key)
    return found


def _partitions(step: _Step, raw: Iterable[Raw]) -> Mapping[str, Constants]:
    """Return the values of partition columns in what is read."""
    values = {f"{key}{_MARK}": partition for key, partition in step.feed}
    for each in (step.gone, step.came):
        values |= {f"{keys[0]}{_MARK}": partition for partition, keys in each.items()}
    return {one.key: values[one.key] for one in raw} | dict(step.added)


@dataclass(frozen=True, slots=True)
class _Reader:
    """The files of a table, of which these columns are read."""

    location: Location
    files: Mapping[str, StoredFile]
    columns: Sequence[str]
    signed: bool

    def all(self, step: _Step) -> Iterator[Raw | None]:
        """Yield the rows that have changed, by partition; None for those of which some have gone
        from a source that only grows."""
        for key, _ in step.feed:
            yield self._raw((), (key,), self._fed)
        for partition in dict.fromkeys((*step.came, *step.gone)):
            gone, came = step.gone.get(partition, ()), step.came.get(partition, ())
            yield self._raw(gone, came, self._differing)

    def _raw(self, gone: Sequence[str], came: Sequence[str], read: _Differing) -> Raw | None:
        """The rows by which some files differ from others. Of a source whose rows may go they are
        read when they are copied; of another one, of which none may, now."""
        known = None if self.signed else only_come(read(gone, came))
        if known is None and not self.signed:
            return None
        first = (came or gone)[0]
        files = [self.files[key] for key in (*gone, *came)]
        said = [f"{file.key} {file.size} {file.identity}" for file in files]
        return Raw(
            key=f"{first}{_MARK}",
            origin=f"{self.location.store.uri(first)}{_MARK}",
            identity=("changes", *said[: len(gone)], "to", *said[len(gone) :], *self.columns),
            read=partial(_rows, partial(read, gone, came) if known is None else lambda: known),
            verify=partial(self._refuse_changed, files),
            most=None if known is None else known.num_rows,
            rows=partial(self._count, came or gone),
        )

    def _refuse_changed(self, files: Iterable[StoredFile]) -> None:
        for file in files:
            refuse_changed(self.location, file)

    def _count(self, keys: Sequence[str]) -> int:
        """Return the rows of files, by their footers: as many as have changed, or more."""
        from forerun.include.sources.parquet.footers import read_footer

        return sum(read_footer(self.location, self.files[key]).rows for key in keys)

    def _differing(self, gone: Sequence[str], came: Sequence[str]) -> pa.Table:
        import pyarrow as pa

        tables = [self._rows(key) for key in (*gone, *came)]
        schema = pa.unify_schemas([one.schema for one in tables], promote_options="permissive")
        parts = [
            pa.concat_tables([schema.empty_table(), *each], promote_options="permissive")
            for each in (tables[: len(gone)], tables[len(gone) :])
        ]
        before, now = (weighted(each, 1) for each in parts)
        return difference(before, now)

    def _fed(self, gone: Sequence[str], came: Sequence[str]) -> pa.Table:  # noqa: ARG002
        import pyarrow as pa
        import pyarrow.compute as pc

        (key,) = came
        rows = self._rows(key, _CHANGE_TYPE)
        kinds = rows[_CHANGE_TYPE].cast(pa.string())
        if unknown := sorted(set(pc.unique(kinds).to_pylist()) - _WEIGHTS.keys()):
            raise SourceFileError(
                f"{self.location.store.uri(key)} has a change of the unknown kind {unknown[0]}",
                hint="Its change feed is of a newer kind than is known here: write the table "
                "without one (delta.enableChangeDataFeed=false).",
            )
        at = pc.index_in(kinds, value_set=pa.array(_WEIGHTS))
        weights = pa.array(_WEIGHTS.values(), pa.int64()).take(at.combine_chunks())
        now = rows.drop_columns(_CHANGE_TYPE)
        now = now.append_column(pa.field(WEIGHT_COLUMN, pa.int64()), weights)
        return difference(now.slice(0, 0), now)

    def _rows(self, key: str, *more: str) -> pa.Table:
        """The rows of a file, without what its schema says beside names and types."""
        import pyarrow as pa

        from forerun.include.sources.tables.copied_rows import rows_of

        rows = rows_of(self.location, self.files[key], (*self.columns, *more)).read_all()
        return rows.cast(pa.schema([pa.field(one.name, one.type) for one in rows.schema]))


def _rows(
    found: Callable[[], pa.Table],
    declared: Sequence[ColumnSpec],  # noqa: ARG001 - files say their columns themselves
) -> pa.RecordBatchReader:
    return found().to_reader()
