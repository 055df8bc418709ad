"""The data files of a snapshot of an Iceberg table, each with the delete files that are about it.

pyiceberg's own scan refuses tables with equality deletes, which engines that upsert write (Flink).
Which delete files are about a data file is said in the specification, "Scan Planning".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from pyiceberg.manifest import DataFile, DataFileContent, ManifestEntry, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.delete_file_index import DeleteFileIndex
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.utils.concurrent import ExecutorFactory


@dataclass(frozen=True, slots=True)
class Marked:
    """A data file, and the delete files that may name rows of it."""

    file: DataFile
    delete_files: tuple[DataFile, ...]


def data_files(table: Table, snapshot: Snapshot) -> Iterator[Marked]:
    """Yield the data files of a snapshot."""

    def entries(manifest: ManifestFile) -> list[ManifestEntry]:
        return manifest.fetch_manifest_entry(table.io, discard_deleted=True)

    found, positions = list[ManifestEntry](), DeleteFileIndex()
    equalities = defaultdict[tuple[object, ...], list[ManifestEntry]](list)
    manifests = ExecutorFactory.get_or_create().map(entries, snapshot.manifests(table.io))
    for entry in chain.from_iterable(manifests):
        file = entry.data_file
        match file.content:
            case DataFileContent.DATA:
                found.append(entry)
            case DataFileContent.POSITION_DELETES:
                positions.add_delete_file(entry, partition_key=file.partition)
            case DataFileContent.EQUALITY_DELETES:
                partitioned = not table.specs()[file.spec_id].is_unpartitioned()
                equalities[(file.spec_id, file.partition) if partitioned else ()].append(entry)
    for entry in found:
        file, number = entry.data_file, entry.sequence_number or 0
        about = [*equalities[()], *equalities[file.spec_id, file.partition]] if equalities else []
        by_values = [one.data_file for one in about if (one.sequence_number or 0) > number]
        by_position = positions.for_data_file(number, file, partition_key=file.partition)
        yield Marked(file, (*sorted(by_position, key=lambda one: one.file_path), *by_values))
