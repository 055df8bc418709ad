"""The log of a Delta table: which files a version has, and what was done between two versions.

A snapshot is read by delta-rs from a copy of the log, so that tables are reached as all other files
are, with the same connections and errors. Data files are not looked at here.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from forerun.include.sources.constants import Constants
from forerun.include.sources.files import SourcePathError, TableVersion
from forerun.include.sources.table_formats import TableFormatError
from forerun.include.sources.tables.delta_columns import (
    Schema,
    columns_of,
    names_in_log,
    other_names,
)
from forerun.include.sources.tables.log import Change, Commit, FileBounds, Snapshot
from forerun.include.stores.store import MissingKeyError, Store, StoredFile
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    from forerun.include.sources.tables.copied_rows import Positions

_LOG = "_delta_log"
_COMMIT = re.compile(r"([0-9]{20})\.json\Z")
_CHECKPOINT = re.compile(r"([0-9]{20})\.checkpoint\..*(parquet|json)\Z")
_VECTOR = re.compile(r"(^|/)deletion_vector_[^/]*\.bin\Z")
_ATTEMPTS = 5
"""How often a log is listed anew of which a file was cleaned up while it was copied."""


@dataclass(frozen=True, slots=True)
class DeltaLog:
    """Implements :class:`forerun.include.sources.tables.log.TableLog` for the table in the folder
    ``root``."""

    store: Store
    root: str
    snapshot: Snapshot
    schema: Schema
    files: Sequence[Mapping[str, Any]]
    """What the log says of each file of the newest version, as delta-rs has it."""

    def bounds(self, column: str) -> Mapping[str, FileBounds]:
        """Return the bounds of a column in the files that have statistics of it."""
        uri, found = self.store.uri(self.root), {}
        for row in self.files:
            said = {name.lower(): value for name, value in row.items()}
            name = column.lower()
            least, greatest = said.get(f"min.{name}"), said.get(f"max.{name}")
            if least is not None and greatest is not None:
                nulls = said.get(f"null_count.{name}") != 0
                found[_key(uri, self.root, unquote(row["path"]))] = FileBounds(
                    least, greatest, nulls
                )
        return found

    @property
    def columns(self) -> tuple[ColumnSpec, ...]:
        """The columns as Spark would declare them."""
        return columns_of(self.schema)

    def commits_since(self, version: int) -> list[Commit] | None:
        """Return the commits since a version; None, too, if one changed what the table is."""
        found, names = list[Commit](), names_in_log(self.schema)
        for number in range(version + 1, self.snapshot.table.version + 1):
            try:
                text = self.store.get(f"{self.root}/{_LOG}/{number:020d}.json").decode()
            except MissingKeyError:
                return None
            actions = [json.loads(line) for line in text.splitlines() if line.strip()]
            if any("metaData" in action or "protocol" in action for action in actions):
                return None
            found.append(_commit(self.root, actions, names))
        return found


def read_log(store: Store, root: str) -> DeltaLog:
    """Read the newest version of the table whose folder is ``root``.

    Raises :class:`SourcePathError` if there is none, and :class:`TableFormatError` for one that
    needs more of its reader than its data files as they are.
    """
    for _ in range(_ATTEMPTS):
        listed = store.list(f"{root}/{_LOG}")
        if not any(_COMMIT.search(file.key) for file in listed):
            raise SourcePathError(
                f"{store.uri(root)} is no Delta table: it has no log in {_LOG}",
                hint="Correct the path: the folder of the table, and after it partitions at most, "
                "such as /lake/sales/dt={ds}.",
            )
        with tempfile.TemporaryDirectory(prefix="forerun-delta-") as scratch:
            try:
                _copy_log(store, root, listed, Path(scratch))
            except MissingKeyError:
                continue
            return DeltaLog(store, root, *_snapshot(store, root, scratch))
    raise SourcePathError(
        f"the log of {store.uri(root)} was cleaned up each time that it was read",
        hint="Retry the task; let the table keep its log for longer than some minutes.",
    )


def _commit(root: str, actions: Sequence[dict[str, Any]], names: Mapping[str, str]) -> Commit:
    """Return what one commit did; what it removes first, for a file may be removed and added."""

    def files(kind: str) -> Iterator[tuple[str, Constants, dict[str, Any]]]:
        for file in (action[kind] for action in actions if action.get(kind)):
            values = sorted(
                (names.get(name, name), value or None)
                for name, value in (file.get("partitionValues") or {}).items()
            )
            yield f"{root}/{unquote(file['path'])}", tuple(values), file

    changes = tuple(
        Change(
            key,
            kind == "add",
            file.get("dataChange", True),
            values,
            kind == "add" and "deletionVector" in file,
        )
        for kind in ("remove", "add")
        for key, values, file in files(kind)
    )
    return Commit(changes, tuple((key, values) for key, values, _ in files("cdc")))


def _copy_log(store: Store, root: str, listed: Sequence[StoredFile], to: Path) -> None:
    """Copy the newest checkpoint and the commits since it."""
    start = len(root) + 1 + len(_LOG) + 1
    names = {file.key[start:]: file.key for file in listed}
    checkpoints = [int(found[1]) for name in names if (found := _CHECKPOINT.match(name))]
    first = max(checkpoints, default=0)
    for name, key in names.items():
        commit, checkpoint = _COMMIT.match(name), _CHECKPOINT.match(name)
        is_later = commit is not None and int(commit[1]) >= first
        is_newest = checkpoint is not None and int(checkpoint[1]) == first
        if is_later or is_newest or name == "_last_checkpoint" or name.startswith("_sidecars/"):
            place = to / _LOG / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(store.get(key))


def _snapshot(
    store: Store, root: str, copy: str
) -> tuple[Snapshot, Schema, Sequence[Mapping[str, Any]]]:
    """Return the newest version, and the schema and the files that the log has of it."""
    import pyarrow as pa

    uri = store.uri(root)
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError:
        raise TableFormatError(
            f"{uri} is a Delta table, and delta-rs is not installed",
            hint="Install it: pip install 'forerun[delta]'.",
        ) from None
    try:
        table = DeltaTable(copy)
        said, version = table.metadata(), table.version()
        schema = json.loads(table.schema().to_json())
        rows = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        vectored = "deletionVectors" in (table.protocol().reader_features or ())
        deleted = _deleted(store, root, table, copy) if vectored else {}
    except DeltaError as error:
        raise TableFormatError(
            f"{uri} cannot be read as a Delta table: {error}",
            hint="Look at the table with the tool that wrote it: its log is damaged, or of a newer "
            "kind than the installed deltalake reads.",
        ) from None
    mapped = (said.configuration.get("delta.columnMapping.mode") or "none") != "none"
    names = other_names(schema) if mapped else None
    partitions = tuple(sorted(said.partition_columns))
    files = {
        _key(uri, root, unquote(row["path"])): tuple(
            (c, _text(row[f"partition.{c}"])) for c in partitions
        )
        for row in rows
    }
    this = TableVersion(str(said.id), version, tuple(column.name for column in columns_of(schema)))
    return Snapshot(this, partitions, files, deleted, names), schema, rows


def _deleted(store: Store, root: str, table: Any, copy: str) -> dict[str, Positions]:
    """Return the rows that deletion vectors name, by the keys of their files. Vectors lie beside
    the log: they are copied, too, of all versions that have one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from forerun.include.sources.tables.copied_rows import positions_of

    for file in store.list(root):
        if _VECTOR.search(file.key):
            place = Path(copy) / file.key[len(root) + 1 :]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(store.get(file.key))
    vectors, found = pa.table(table.deletion_vectors()), {}
    for uri, kept in zip(vectors["filepath"], vectors["selection_vector"], strict=True):
        path = unquote(uri.as_py()).removeprefix(f"file://{copy}/")
        found[f"{root}/{path}"] = positions_of(pc.indices_nonzero(pc.invert(kept.values)))
    return found


def _text(value: object) -> str | None:
    """The text of a value as the log itself has it."""
    if value is None or isinstance(value, bool):
        return None if value is None else str(value).lower()
    return str(value)


def _key(uri: str, root: str, path: str) -> str:
    if "://" in path or path.startswith("/"):
        raise TableFormatError(
            f"{uri} has a file outside of its folder: {path}",
            hint="A shallow clone reads files of another table: name that one, or a deep clone.",
        )
    return f"{root}/{path}"
