"""The folder of a day in a partitioned table, and that no table of another format is there."""

from __future__ import annotations

from datetime import date

from forerun.include.reports.sinks import PartitionFolder
from forerun.include.sources.files import Location, locate
from forerun.include.sources.table_formats import refuse_tables_above


def partition_of(sink: PartitionFolder, day: date) -> Location:
    """Return the folder of ``day``."""
    return locate(f"{sink.path.rstrip('/')}/{sink.column}={day.isoformat()}")


def refuse_table_folder(sink: PartitionFolder, day: date) -> None:
    """Raise :class:`forerun.include.sources.table_formats.TableFormatError` if the folder of a day
    is in a table of another format: its readers would never see the file, and its own clean-up
    would delete it."""
    refuse_tables_above(partition_of(sink, day))
