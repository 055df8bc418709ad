"""Delta tables: the log says which files are there, and the files are Parquet."""

from __future__ import annotations

from collections.abc import Sequence

from forerun.include.sources.files import Asked, Listing, Location
from forerun.include.sources.parquet.format import ParquetFormat
from forerun.include.sources.tables.delta_log import read_log
from forerun.include.sources.tables.log import split_path
from forerun.include.sources.tables.table_listing import list_table
from forerun.include.stores.store import StoredFile


class DeltaFormat(ParquetFormat):
    """Implements :class:`forerun.include.sources.formats.SourceFormat` by the table's log."""

    name = "delta"
    has_log = True

    def listed(self, asked: Asked) -> Listing:
        """List the files of the newest version, of the partitions that the folders name."""
        location = asked.locations[-1]
        log = read_log(location.store, split_path(location.key)[0])
        return list_table(log, asked, self.stored(asked.locations))

    def stored(self, locations: Sequence[Location]) -> Sequence[StoredFile]:
        """List all below the table's folder: files that the log has dropped lie there on."""
        return locations[-1].store.list(split_path(locations[-1].key)[0])
