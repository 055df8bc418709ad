"""Which rows of Iceberg's data files are deleted: by position delete files, by deletion vectors, or
by the values that they have (equality deletes)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile

from forerun.include.sources.table_formats import TableFormatError
from forerun.include.sources.tables.copied_rows import Positions, positions_of
from forerun.include.sources.tables.iceberg_columns import FIELD_ID, value_before
from forerun.include.sources.tables.iceberg_files import Marked


@dataclass(frozen=True, slots=True)
class DeleteFiles:
    """The delete files of a table; each is read once, whatever data files it is about."""

    table: Table
    _read: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _values: dict[str, pa.Table] = field(default_factory=dict)

    def of(self, task: Marked) -> Positions | None:
        """Return the rows of a data file that are deleted; None for a file without any.

        A table may give a file more delete files than are about it: they say themselves which are.
        """
        path, parts, by_values = task.file.file_path, [], list[DataFile]()
        for file in sorted(task.delete_files, key=lambda one: one.file_path):
            if file.content == DataFileContent.EQUALITY_DELETES:
                by_values.append(file)
                continue
            if file.file_path not in self._read:
                self._read[file.file_path] = self._positions(file)
            if path in self._read[file.file_path]:
                parts += self._read[file.file_path][path].chunks
        parts += self._equal_rows(task.file, by_values)
        found = positions_of(pa.chunked_array(parts, pa.int64()))
        return found if len(found) else None

    def _equal_rows(self, of: DataFile, deletes: Sequence[DataFile]) -> Iterator[pa.Array]:
        """Yield the rows of a data file that have the values of a row of a delete file."""
        by_columns: dict[tuple[int, ...], list[DataFile]] = {}
        for file in deletes:
            by_columns.setdefault(tuple(sorted(file.equality_ids or ())), []).append(file)
        for numbers, files in by_columns.items():
            for file in files:
                if file.file_path not in self._values:
                    self._values[file.file_path] = self._columns(file, numbers)
            gone = pa.concat_tables([self._values[file.file_path] for file in files])
            yield pc.indices_nonzero(are_among(self._columns(of, numbers), gone)).cast(pa.int64())

    def _columns(self, file: DataFile, numbers: Sequence[int]) -> pa.Table:
        """Return the columns of a file that have these numbers in the table, called by them, in the
        types that the table has now; where the file is older than the column, its value there."""
        if file.file_format != FileFormat.PARQUET:
            raise _no_parquet(file)
        schema = self._schema_with(numbers)
        with self.table.io.new_input(file.file_path).open() as handle:
            parquet = pq.ParquetFile(handle)
            there = {int((f.metadata or {}).get(FIELD_ID, -1)): f for f in parquet.schema_arrow}
            if set(there) == {-1}:  # a file from elsewhere, of which columns go by their names
                ids = {field.name: field.field_id for field in schema.fields}
                there = {ids.get(f.name, -1): f for f in parquet.schema_arrow}
            held = [number for number in numbers if number in there]
            rows = parquet.read(columns=[there[number].name for number in held])
        columns = {}
        for number in numbers:
            kind = schema_to_pyarrow(schema.find_type(number))
            if number in there:
                columns[str(number)] = rows[there[number].name].cast(kind)
            else:
                value = value_before(schema.find_field(number)).cast(kind)
                columns[str(number)] = pa.repeat(value, file.record_count)
        return pa.table(columns)

    def _schema_with(self, numbers: Sequence[int]) -> Schema:
        """Return the newest schema that has all columns of these numbers, at its top level."""
        for schema in sorted(self.table.schemas().values(), key=lambda one: -one.schema_id):
            if set(numbers) <= {field.field_id for field in schema.fields}:
                return schema
        raise TableFormatError(
            f"{'.'.join(self.table.name())} has rows that are deleted by values inside of a column",
            hint="Rewrite the data files of the table (rewrite_data_files); then retry the task.",
        )

    def _positions(self, file: DataFile) -> dict[str, pa.ChunkedArray]:
        """Return the deleted rows that one delete file names, by data file."""
        with self.table.io.new_input(file.file_path).open() as handle:
            if file.file_format == FileFormat.PUFFIN:
                vectors = deletion_vectors_from_puffin_file(PuffinFile(handle.read()))
                return {one.referenced_data_file: one.to_vector() for one in vectors}
            if file.file_format == FileFormat.PARQUET:
                rows = pq.ParquetFile(handle).read(columns=["file_path", "pos"])
                return {
                    path: rows.filter(pc.equal(rows["file_path"], path))["pos"]
                    for path in pc.unique(rows["file_path"]).to_pylist()
                }
        raise _no_parquet(file)


def _no_parquet(file: DataFile) -> TableFormatError:
    return TableFormatError(
        f"{file.file_path} says in {file.file_format} which rows are deleted, or has such rows",
        hint="Rewrite the data files of the table (rewrite_data_files); then retry the task.",
    )


def are_among(rows: pa.Table, others: pa.Table) -> pa.BooleanArray:
    """Return of each row whether one of the others has the same values, NULL being one. Both have
    the same columns, of the same types."""
    mine = theirs = None
    for name in others.column_names:
        values = pc.unique(others[name])
        here, there = (_numbered(one[name], values) for one in (rows, others))
        if mine is not None:
            here = pc.add(pc.multiply(mine, len(values)), here)
            there = pc.add(pc.multiply(theirs, len(values)), there)
        # Pairs of numbers are numbered again, so that they stay small however many columns come.
        pairs = pc.unique(there)
        mine, theirs = _numbered(here, pairs), _numbered(there, pairs)
    return pc.is_valid(mine)


def _numbered(values: Any, of: pa.Array) -> Any:
    """The place of each value among others; NULL where it is not among them."""
    return pc.index_in(values, value_set=of).cast(pa.int64())
