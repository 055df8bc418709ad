"""Data files that have other names for the columns of their table than the table has.

A table of Delta with column mapping calls the columns of its files otherwise from the start; one of
Iceberg tells columns by number, so that files that are older than the renaming of a column have its
older name. Engines that are given the files as plain Parquet read columns by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from forerun.include.sources.files import Location
from forerun.include.sources.parquet.footers import opened
from forerun.include.sources.unread import SourceFileError
from forerun.include.stores.store import StoredFile

Path = tuple[str, ...]
"""The names in a file from a column to one of its fields; ``element``, ``key`` and ``value`` stand
for what is in a list or a map."""


@dataclass(frozen=True, slots=True)
class OtherNames:
    """The names that a table has for the columns of its data files.

    ``by_column`` tells by each column what its names, and those of its fields, are from what they
    may have been; ``name`` gives the one of a field of a file, None for a field that is in no
    column of the table; ``everywhere`` says that all files have other names, so that none has to be
    asked. ``defaults``: the values of columns, by their names, in files that are older than these.
    """

    by_column: Mapping[str, str]
    name: Callable[[Path, pa.Field], str | None]
    everywhere: bool
    defaults: Mapping[str, pa.Scalar] = field(default_factory=dict)

    def are_of(self, location: Location, file: StoredFile, columns: Sequence[str]) -> bool:
        """Return whether a data file has to be read by these names: whether the columns of its
        table are not there the same under their own names."""
        if self.everywhere:
            return True
        uri = location.store.uri(file.key)
        with opened(location, file) as (_, parquet):
            there = parquet.schema_arrow
        wanted = {name.lower() for name in columns}
        plain = {f.name: (f.name, f.type) for f in there if f.name.lower() in wanted}
        fields = self.fields(uri, there, columns)
        named = {f.name: (to.name, to.type) for f, to in fields.items()}
        return plain != named or bool(self.missing(fields.values(), columns))

    def missing(self, fields: Iterable[pa.Field], columns: Sequence[str]) -> dict[str, pa.Scalar]:
        """Return the columns that a file is older than, of those that are read, with the value that
        they have there; ``fields`` are what it has of its table."""
        there, wanted = {one.name for one in fields}, set(columns)
        return {
            name: value
            for name, value in self.defaults.items()
            if name in wanted and name not in there
        }

    def fields(
        self, uri: str, schema: pa.Schema, columns: Sequence[str]
    ) -> dict[pa.Field, pa.Field]:
        """Return the fields of a file that are columns of its table, and as what it has them.

        Raises :class:`SourceFileError` for a file of which no field is any.
        """
        wanted = {name.lower() for name in columns}
        named = {field: self._named(field, ()) for field in schema}
        found = {field: one for field, one in named.items() if one and one.name.lower() in wanted}
        if not found and columns:
            raise SourceFileError(
                f"{uri} has none of the columns of its table, which tells them by other names",
                hint="A file that was added to the table from elsewhere does not say which columns "
                "it has: rewrite the data files of the table (rewrite_data_files).",
            )
        return found

    def _named(self, field: pa.Field, above: Path) -> pa.Field | None:
        path = (*above, field.name)
        name = self.name(path, field)
        if name is None and not above:
            return None
        return pa.field(name or field.name, self._inside(field.type, path), field.nullable)

    def _inside(self, kind: pa.DataType, path: Path) -> pa.DataType:
        def part(field: pa.Field, name: str) -> pa.Field:
            return field.with_type(self._inside(field.type, (*path, name))).remove_metadata()

        if pa.types.is_struct(kind):
            return pa.struct([self._named(field, path) for field in kind])
        if pa.types.is_map(kind):
            return pa.map_(part(kind.key_field, "key"), part(kind.item_field, "value"))
        if pa.types.is_large_list(kind):
            return pa.large_list(part(kind.value_field, "element"))
        if pa.types.is_list(kind):
            return pa.list_(part(kind.value_field, "element"))
        return kind


def relabelled(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the same values under a schema that differs in names alone, nested ones too."""
    return pa.record_batch(_Relabelled(batch, schema))


@dataclass(frozen=True, slots=True)
class _Relabelled:
    """Exports a batch by Arrow's C interface, where its schema is apart from its values."""

    batch: pa.RecordBatch
    schema: pa.Schema

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        _, values = self.batch.__arrow_c_array__(requested_schema)
        return self.schema.__arrow_c_schema__(), values
