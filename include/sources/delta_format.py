"""Delta tables: the log says which files are there, and the files are Parquet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import unquote

from forerun.include.sources.constants import Constants
from forerun.include.sources.delta_log import Change, Snapshot, changes_since, read_snapshot
from forerun.include.sources.files import Listing, Location, SourcePathError, locate_file
from forerun.include.sources.parquet_format import ParquetFormat
from forerun.include.state.records import Pin
from forerun.include.state.store import Store, StoredFile

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class DeltaFormat(ParquetFormat):
    """Implements :class:`forerun.include.sources.formats.SourceFormat` by the table's log."""

    name = "delta"
    has_log = True

    def listed(
        self,
        locations: Sequence[Location],
        is_marker: Callable[[str], bool] | None,  # noqa: ARG002 - the log has data files alone
        last: Pin | None,
    ) -> Listing:
        """List the files of the newest version, of the partitions that the folders name."""
        store, (root, _) = locations[-1].store, _parted(locations[-1].key)
        snapshot = read_snapshot(store, root)
        wanted = [_partition(location, snapshot) for location in locations]

        def is_read(values: Constants) -> bool:
            lowered = {name.lower(): value for name, value in values}.items()
            return any(names.items() <= lowered for names in wanted)

        there = {file.key: file for file in self.stored(locations)}
        now = {key: values for key, values in snapshot.files.items() if is_read(values)}
        done = _done_since(store, root, snapshot, last)
        changes = None if done is None else [change for change in done if is_read(change.partition)]
        before = _as_pinned(snapshot, now, last, changes)
        chosen = before if before is not None and before.keys() <= there.keys() else now
        if gone := sorted(key for key in chosen if key not in there):
            raise SourcePathError(
                f"{store.uri(gone[0])} is in the log of {store.uri(root)} and not in its folder",
                hint="The table was vacuumed while it was read, or is damaged: retry the task.",
            )
        found = tuple(there[key] for key in sorted(chosen))
        return Listing(locations[-1], found, chosen, snapshot.table)

    def stored(self, locations: Sequence[Location]) -> Sequence[StoredFile]:
        """List all below the table's folder: files that the log has dropped lie there on."""
        return locations[-1].store.list(_parted(locations[-1].key)[0])


def _done_since(
    store: Store, root: str, snapshot: Snapshot, last: Pin | None
) -> list[Change] | None:
    """What was done to the table since the last pin of it; None if that cannot be told."""
    if last is None or last.table != snapshot.table.table:
        return None
    return changes_since(store, root, last.version, snapshot.table.version)


def _as_pinned(
    snapshot: Snapshot,
    now: Mapping[str, Constants],
    last: Pin | None,
    changes: Sequence[Change] | None,
) -> Mapping[str, Constants] | None:
    """The files of the last pin and what has changed their rows since: a compaction writes the same
    rows into other files, and nothing has to be read again for it. None where that cannot be told,
    or where nothing was compacted."""
    if last is None or changes is None:
        return None
    files = {
        locate_file(file.uri).key: tuple(
            (name, value) for name, value in file.constants if name in snapshot.partitions
        )
        for file in last.files
    }
    if files.keys() <= now.keys() and all(change.moves_rows for change in changes):
        return None
    for change in changes:
        if change.moves_rows and change.adds:
            files[change.key] = change.partition
        elif change.moves_rows and files.pop(change.key, None) is None:
            return None  # a file that only a compaction has written
    return files


def _parted(key: str) -> tuple[str, dict[str, str]]:
    """Return the folder of the table that a path names, and the partitions that come after it."""
    folders = key.split("/")
    at = next((n for n, folder in enumerate(folders) if "=" in folder), len(folders))
    pairs = (folder.partition("=") for folder in folders[at:])
    return "/".join(folders[:at]), {unquote(name).lower(): unquote(v) for name, _, v in pairs}


def _partition(location: Location, snapshot: Snapshot) -> dict[str, str | None]:
    """The partition that a path names, by its columns."""
    root, named = _parted(location.key)
    known = {name.lower() for name in snapshot.partitions}
    if unknown := sorted(named.keys() - known):
        raise SourcePathError(
            f"{location.store.uri(root)} is not partitioned by {unknown[0]}",
            hint=f"Its partition columns are {', '.join(sorted(known)) or 'none'}.",
        )
    return {name: None if value == _NO_VALUE else value for name, value in named.items()}
