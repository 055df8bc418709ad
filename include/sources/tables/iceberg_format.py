"""Iceberg tables: a catalog says which version is the newest, and the files are Parquet."""

from __future__ import annotations

from collections.abc import Sequence

from forerun.include.sources.files import Asked, Listing, Location
from forerun.include.sources.parquet.format import ParquetFormat
from forerun.include.sources.tables.iceberg_log import read_log
from forerun.include.sources.tables.log import split_path
from forerun.include.sources.tables.table_listing import list_table
from forerun.include.stores.store import StoredFile


class IcebergFormat(ParquetFormat):
    """Implements :class:`forerun.include.sources.formats.SourceFormat` by the table's snapshots."""

    name = "iceberg"
    has_log = True

    def listed(self, asked: Asked) -> Listing:
        """List the files of the newest snapshot, of the partitions that the folders name."""
        location = asked.locations[-1]
        log = read_log(location, split_path(location.key)[0], asked.catalog)
        return list_table(log, asked, self.stored(asked.locations))

    def stored(self, locations: Sequence[Location]) -> Sequence[StoredFile]:
        """List all below the table's folder: files of older snapshots lie there, too."""
        return locations[-1].store.list(split_path(locations[-1].key)[0])
