"""An Iceberg table as a sink: one commit of its catalog replaces the rows of a day.

Of which run they are says the summary of the snapshot, beside what is told of each version. Of two
that publish at once the catalog refuses the second one. Early results are on a branch of the day,
which begins with what the table has then, and ends with the commit of the whole day.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from forerun.include.days.sinks.day_rows import (
    DayRows,
    DayVersion,
    ReportDay,
    SinkError,
    refused,
)
from forerun.include.reports.sinks import IcebergTable
from forerun.include.sources.tables.iceberg_catalog import open_catalog

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table as LoadedTable
    from pyiceberg.table import Transaction

_IO = "forerun.include.sources.tables.iceberg_io.WritingStoreIO"


class IcebergSink:
    """Implements :class:`forerun.include.days.sinks.tables.SinkTable`."""

    def __init__(self, sink: IcebergTable) -> None:
        try:
            from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
        except ImportError:
            raise SinkError(
                f"{sink.name} is an Iceberg table, and pyiceberg is not installed",
                hint="pip install 'forerun[iceberg]'",
            ) from None
        self._sink = sink
        catalog, _, self._identifier = sink.name.partition(".")
        self._table: LoadedTable | None = None
        try:
            self._catalog: Catalog = open_catalog(catalog, _IO)
            self._table = self._catalog.load_table(self._identifier)
        except (NoSuchTableError, NoSuchNamespaceError):
            return
        except Exception as error:  # noqa: BLE001 - whatever the client of a catalog raises
            raise refused(sink, error) from None

    def published(self, of: ReportDay) -> DayVersion | None:
        """Return what the newest snapshot says that has published the day, of those that the table
        has come from, or the branch of early results: one that was rolled back is none of them."""
        from pyiceberg.table.snapshots import ancestors_of

        if self._table is None:
            return None
        newest = self._table.current_snapshot()
        if of.early:
            newest = self._table.snapshot_by_name(self._sink.branch_on(of.day)) or newest
        for snapshot in ancestors_of(newest, self._table.metadata):
            summary = snapshot.summary
            said: dict[str, Any] = summary.additional_properties if summary else {}
            if said.get("forerun.owner") == of.owner and said.get("forerun.day") == str(of.day):
                return DayVersion(
                    generation=int(said["forerun.generation"]), run=int(said["forerun.run"])
                )
        return None

    def replace(self, rows: DayRows, data: pa.Table) -> bool:
        """Replace the rows of the day, those that are early on their branch."""
        from pyiceberg.exceptions import CommitFailedException, ValidationException

        try:
            if self._table is None:
                self._make(data)
                return False  # whoever else has made it: what is there now is looked at
            # Here only, not in the catalog: what is tried once more is first looked at once more.
            self._table.metadata.properties["commit.retry.num-retries"] = "0"
            with warnings.catch_warnings(), self._table.transaction() as transaction:
                warnings.simplefilter("ignore")  # that there is nothing to delete of a new day
                self._write(transaction, rows, data)
        except (CommitFailedException, ValidationException):
            return False
        except Exception as error:  # noqa: BLE001 - whatever the client of a catalog raises
            if "older than last sequence number" in str(error):
                return False  # somebody has written meanwhile, be it to another branch
            raise refused(self._sink, error) from None
        return True

    def _write(self, transaction: Transaction, rows: DayRows, data: pa.Table) -> None:
        """Write the rows of the day: of early ones a branch, which is made of what the table has
        now; with those of the whole day the branch goes."""
        from pyiceberg.table.update.snapshot import ManageSnapshots

        of_day = f"{self._sink.column} = '{rows.of.day}'"
        branch = self._sink.branch_on(rows.of.day)
        is_there = branch in transaction.table_metadata.refs
        if rows.of.early and not is_there:
            if transaction.table_metadata.current_snapshot() is None:
                transaction.append(data.slice(0, 0))  # a branch begins with some snapshot
            now = transaction.table_metadata.current_snapshot()
            if now is not None:
                ManageSnapshots(transaction).create_branch(now.snapshot_id, branch).commit()
        at = branch if rows.of.early else "main"
        transaction.overwrite(data, of_day, snapshot_properties=rows.said, branch=at)
        if is_there and not rows.of.early:
            ManageSnapshots(transaction).remove_branch(branch).commit()

    def _make(self, data: pa.Table) -> None:
        namespace = self._identifier.rpartition(".")[0]
        self._catalog.create_namespace_if_not_exists(namespace)
        made = self._catalog.create_table_if_not_exists(self._identifier, schema=data.schema)
        if not made.spec().fields:
            with made.update_spec() as update:
                update.add_identity(self._sink.column)
