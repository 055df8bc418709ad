"""The snapshots of an Iceberg table, from its catalog, its metadata and its manifests.

They are read by pyiceberg through the stores that all other files are read by, so that a table is
reached with the same connections. Data files are not looked at here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from forerun.include.sources.constants import Constants
from forerun.include.sources.files import (
    Location,
    SourcePathError,
    TableVersion,
    locate,
)
from forerun.include.sources.table_formats import TableFormatError
from forerun.include.sources.tables.iceberg_catalog import open_catalog
from forerun.include.sources.tables.log import Change, Commit, FileBounds, Snapshot
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot as IcebergSnapshot
    from pyiceberg.types import PrimitiveType

    from forerun.include.sources.tables.copied_rows import Positions
    from forerun.include.sources.tables.iceberg_files import Marked

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Text = Callable[[Any], str | None]
_IO = "forerun.include.sources.tables.iceberg_io.StoreIO"


@dataclass(frozen=True, slots=True)
class IcebergLog:
    """Implements :class:`forerun.include.sources.tables.log.TableLog`."""

    table: Table
    snapshot: Snapshot
    partitions: Mapping[int, Mapping[str, tuple[int, _Text]]]
    files: Sequence[DataFile]
    """What the manifests say of each data file of the newest snapshot."""

    def bounds(self, column: str) -> Mapping[str, FileBounds]:
        """Return the bounds of a column in the files that have statistics of it."""
        from pyiceberg.conversions import from_bytes
        from pyiceberg.types import PrimitiveType

        there = (f for f in self.table.schema().fields if f.name.lower() == column.lower())
        field, found = next(there, None), dict[str, FileBounds]()
        if field is None or not isinstance(field.field_type, PrimitiveType):
            return found
        for file in self.files:
            ends = [
                _in_time(from_bytes(field.field_type, known[field.field_id]), field.field_type)
                for known in (file.lower_bounds or {}, file.upper_bounds or {})
                if field.field_id in known
            ]
            if len(ends) == 2:
                nulls = (file.null_value_counts or {}).get(field.field_id) != 0
                found[_key(self.table, file.file_path)] = FileBounds(ends[0], ends[1], nulls)
        return found

    @property
    def columns(self) -> tuple[ColumnSpec, ...]:
        """The columns as Spark would declare them."""
        from forerun.include.sources.tables.iceberg_columns import columns_of

        return columns_of(self.table)

    def commits_since(self, version: int) -> list[Commit] | None:
        """Return the snapshots between, the oldest first."""
        newest, between = self.table.current_snapshot(), list["IcebergSnapshot"]()
        while newest is not None and newest.snapshot_id != version:
            between.append(newest)
            parent = newest.parent_snapshot_id
            newest = None if parent is None else self.table.snapshot_by_id(parent)
        if newest is None and version:
            return None
        return [Commit(tuple(self._changes(each))) for each in reversed(between)]

    def _changes(self, snapshot: IcebergSnapshot) -> Iterator[Change]:
        """Yield what one snapshot did. (Only manifests that it has written say that.)"""
        from pyiceberg.manifest import DataFileContent
        from pyiceberg.manifest import ManifestEntryStatus as Status
        from pyiceberg.table.snapshots import Operation

        io, summary = self.table.io, snapshot.summary
        moves = summary is None or summary.operation != Operation.REPLACE
        for manifest in snapshot.manifests(io):
            if manifest.added_snapshot_id != snapshot.snapshot_id:
                continue
            for entry in manifest.fetch_manifest_entry(io, discard_deleted=False):
                if entry.snapshot_id != snapshot.snapshot_id or entry.status == Status.EXISTING:
                    continue
                file, adds = entry.data_file, entry.status == Status.ADDED
                deletes = file.content != DataFileContent.DATA
                values = _values(self.partitions[file.spec_id], file.partition)
                key = "" if deletes else _key(self.table, file.file_path)  # of many files, or one
                if adds or not deletes:
                    yield Change(key, adds, moves, values, deletes)


def read_log(location: Location, root: str, name: str) -> IcebergLog:
    """Read the newest snapshot of the table that a catalog knows as ``name``, whose folder is
    ``root``.

    Raises :class:`SourcePathError` if it lies elsewhere or is not in the catalog, and
    :class:`TableFormatError` for one that needs more of its reader than its data files as they are.
    """
    table = load_table(name)
    there = locate(table.location())
    if (there.store.root, there.key) != (location.store.root, root):
        raise SourcePathError(
            f"{name} lies in {table.location()}, and its path is {location.store.uri(root)}",
            hint="Write the path that the catalog says, and after it partitions at most.",
        )
    _refuse_defaults(table, name)
    from forerun.include.sources.tables.iceberg_columns import other_names
    from forerun.include.sources.tables.iceberg_files import data_files

    specs = {number: _partitions(table, number) for number in table.specs()}
    current = table.current_snapshot()
    tasks = list(data_files(table, current)) if current is not None else []
    files = {
        _key(table, task.file.file_path): _values(specs[task.file.spec_id], task.file.partition)
        for task in tasks
    }
    version = TableVersion(
        str(table.metadata.table_uuid),
        current.snapshot_id if current is not None else 0,
        tuple(field.name for field in table.schema().fields),
    )
    deleted = _deleted(table, [task for task in tasks if task.delete_files])
    used = {task.file.spec_id for task in tasks} or {table.spec().spec_id}
    common = set.intersection(*(set(specs[number]) for number in used))
    names = other_names(table)
    snapshot = Snapshot(version, tuple(sorted(common)), files, deleted, names)
    return IcebergLog(table, snapshot, specs, [task.file for task in tasks])


def _deleted(table: Table, tasks: Sequence[Marked]) -> dict[str, Positions]:
    """The rows that are deleted in the data files of these tasks, by the keys of the files."""
    if not tasks:
        return {}
    from forerun.include.sources.tables.iceberg_deletes import DeleteFiles

    deletes = DeleteFiles(table)
    found = ((_key(table, task.file.file_path), deletes.of(task)) for task in tasks)
    return {key: positions for key, positions in found if positions is not None}


def _key(table: Table, path: str) -> str:
    """The key of a data file in the store of its table."""
    from forerun.include.sources.tables.iceberg_io import locate_path

    at = locate_path(path)
    home = locate(table.location())
    if at.store.root != home.store.root or not at.key.startswith(f"{home.key}/"):
        raise TableFormatError(
            f"{'.'.join(table.name())} has a file outside of its folder: {path}",
            hint="Its files are looked for in the folder of the table: write them there "
            "(write.data.path), and those that were added from elsewhere anew.",
        )
    return at.key


def load_table(name: str) -> Table:
    """Return the table that a catalog knows. Raises :class:`SourcePathError` if it does not, or
    does not answer, and :class:`TableFormatError` without pyiceberg."""
    try:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
    except ImportError:
        raise TableFormatError(
            f"{name} is an Iceberg table, and pyiceberg is not installed",
            hint="Install it: pip install 'forerun[iceberg]'.",
        ) from None
    catalog, _, identifier = name.partition(".")
    try:
        return open_catalog(catalog, _IO).load_table(identifier)
    except (NoSuchTableError, NoSuchNamespaceError):
        raise SourcePathError(
            f"the catalog {catalog} has no table {identifier}",
            hint="Correct the catalog= of the source: the catalog's name, and the table's in it.",
        ) from None
    except Exception as error:  # noqa: BLE001 - whatever the client of a catalog raises
        raise SourcePathError(
            f"the catalog {catalog} did not answer for {identifier}: {_said(error)}",
            hint=f"Look at PYICEBERG_CATALOG__{catalog.upper()}__URI and the like, at "
            f"~/.pyiceberg.yaml, or at the Airflow connection {catalog} of type iceberg, and "
            "whether the catalog is up; then retry the task.",
        ) from None


def _said(error: Exception) -> str:
    """The first line of an error, without what may be a password in an address."""
    first = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {re.sub('//[^/@ ]*@', '//', first)}"


def _refuse_defaults(table: Table, name: str) -> None:
    """Refuse a table in which a field inside of a column has a value where a file lacks it."""
    from pyiceberg.schema import index_by_id, index_by_name

    columns = {field.field_id for field in table.schema().fields}
    names = {number: path for path, number in index_by_name(table.schema()).items()}
    for number, field in index_by_id(table.schema()).items():
        if field.initial_default is not None and number not in columns:
            raise TableFormatError(
                f"{name}: the field {names[number]} has a default for rows that are older than it",
                hint="Rewrite the data files of the table, and add the field without a default.",
            )


def _partitions(table: Table, spec: int) -> dict[str, tuple[int, _Text]]:
    """Return what a path may name of a partition spec: the columns that it has as they are, and the
    days, months and years of others by the names that the spec gives them (``ts_day``). With each
    its place in a partition, and what makes the text of a value."""
    from pyiceberg.transforms import DayTransform, IdentityTransform, MonthTransform, YearTransform
    from pyiceberg.types import DateType

    schema = table.schema()
    found: dict[str, tuple[int, _Text]] = {}
    for at, field in enumerate(table.specs()[spec].fields):
        column = schema.find_field(field.source_id)
        if isinstance(field.transform, IdentityTransform):
            is_date = isinstance(column.field_type, DateType)
            found[column.name] = (at, _date_text if is_date else _text)
        elif isinstance(field.transform, DayTransform):
            found[field.name] = (at, _date_text)
        elif isinstance(field.transform, MonthTransform | YearTransform):
            found[field.name] = (at, partial(_time_text, field.transform, column.field_type))
    return found


def _in_time(value: Any, kind: PrimitiveType) -> object:
    """The date or the time that a bound is, which is counted from 1970 on; None for another value,
    and one that Python does not have."""
    from pyiceberg.types import DateType, TimestampType, TimestamptzType

    with suppress(OverflowError):
        if isinstance(kind, DateType):
            return _EPOCH.date() + timedelta(days=value)
        if isinstance(kind, TimestampType | TimestamptzType):
            begin = _EPOCH if isinstance(kind, TimestamptzType) else _EPOCH.replace(tzinfo=None)
            return begin + timedelta(microseconds=value)
    return None


def _values(columns: Mapping[str, tuple[int, _Text]], partition: Any) -> Constants:
    return tuple((name, text(partition[at])) for name, (at, text) in sorted(columns.items()))


def _date_text(value: Any) -> str | None:
    if isinstance(value, int):
        return str(_EPOCH.date() + timedelta(days=value))
    return _text(value)


def _time_text(transform: Any, kind: Any, value: Any) -> str | None:
    return None if value is None else str(transform.to_human_string(kind, value))


def _text(value: Any) -> str | None:
    """The text of a value of a partition, as it stands in the name of a folder."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
