"""Which rows of Iceberg's data files are deleted: by position delete files, or deletion vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.table import FileScanTask
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile

from forerun.include.sources.table_formats import TableFormatError
from forerun.include.sources.tables.deleted_rows import Positions, positions_of


@dataclass(frozen=True, slots=True)
class DeleteFiles:
    """The delete files of a table; each is read once, whatever data files it is about."""

    io: FileIO
    _read: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, task: FileScanTask) -> Positions | None:
        """Return the rows of a data file that are deleted; None for a file without any.

        A table may give a file more delete files than are about it: they say themselves which are.
        """
        path, parts = task.file.file_path, []
        for file in sorted(task.delete_files, key=lambda one: one.file_path):
            if file.file_path not in self._read:
                self._read[file.file_path] = self._positions(file)
            if path in self._read[file.file_path]:
                parts += self._read[file.file_path][path].chunks
        found = positions_of(pa.chunked_array(parts, pa.int64()))
        return found if len(found) else None

    def _positions(self, file: DataFile) -> dict[str, pa.ChunkedArray]:
        """Return the deleted rows that one delete file names, by data file."""
        with self.io.new_input(file.file_path).open() as handle:
            if file.file_format == FileFormat.PUFFIN:
                vectors = deletion_vectors_from_puffin_file(PuffinFile(handle.read()))
                return {one.referenced_data_file: one.to_vector() for one in vectors}
            if file.file_format == FileFormat.PARQUET:
                rows = pq.ParquetFile(handle).read(columns=["file_path", "pos"])
                return {
                    path: rows.filter(pc.equal(rows["file_path"], path))["pos"]
                    for path in pc.unique(rows["file_path"]).to_pylist()
                }
        raise TableFormatError(
            f"{file.file_path} says in {file.file_format} which rows are deleted",
            hint="Rewrite the data files of the table (rewrite_data_files); then retry the task.",
        )
