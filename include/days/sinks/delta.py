"""A Delta table as a sink: one commit replaces the partition of a day, and says of which run.

What it says is an application transaction of the log, which stays as long as the table does. The
commit names the version that it goes on from: of two that publish at once, one finds that out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forerun.include.days.sinks.day_rows import (
    DayRows,
    DayVersion,
    ReportDay,
    SinkError,
    refused,
)
from forerun.include.machine.aws_connection import aws_connection
from forerun.include.machine.settings import s3_settings
from forerun.include.reports.sinks import DeltaTable
from forerun.include.sources.files import locate

if TYPE_CHECKING:
    import deltalake
    import pyarrow as pa

_RUNS = 1000
"""Versions of an application transaction are one number: so many runs has no day."""


class DeltaSink:
    """Implements :class:`forerun.include.days.sinks.tables.SinkTable`."""

    def __init__(self, sink: DeltaTable) -> None:
        try:
            import deltalake
        except ImportError:
            raise SinkError(
                f"{sink.path} is a Delta table, and delta-rs is not installed",
                hint="pip install 'forerun[delta]'",
            ) from None
        from deltalake.exceptions import DeltaError, TableNotFoundError

        at = locate(sink.path)
        self._sink, self._uri = sink, at.store.uri(at.key)
        self._options = _options(self._uri)
        self._table: deltalake.DeltaTable | None = None
        try:
            self._table = deltalake.DeltaTable(self._uri, storage_options=self._options)
        except TableNotFoundError:
            return
        except (DeltaError, OSError) as error:
            raise refused(sink, error) from None

    def published(self, of: ReportDay) -> DayVersion | None:
        """Return what the application transaction of the day says."""
        number = self._table.transaction_version(_transaction(of)) if self._table else None
        if number is None:
            return None
        return DayVersion(generation=number // _RUNS, run=number % _RUNS)

    def replace(self, rows: DayRows, data: pa.Table) -> bool:
        """Replace the partition."""
        from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
        from deltalake.exceptions import CommitFailedError, DeltaError

        number = rows.version.generation * _RUNS + rows.version.run
        said = CommitProperties(
            custom_metadata=rows.said,
            max_commit_retries=0,
            app_transactions=[Transaction(_transaction(rows.of), number)],
        )
        column = self._sink.column
        try:
            if self._table is None:
                DeltaTable.create(
                    self._uri, data.schema, partition_by=[column], storage_options=self._options
                )
                return False  # whoever else has made it: what is there now is looked at
            write_deltalake(
                self._table,
                data,
                mode="overwrite",
                predicate=f"`{column}` = '{rows.of.day}'",
                commit_properties=said,
            )
        except CommitFailedError:
            return False
        except (DeltaError, OSError, ValueError) as error:
            raise refused(self._sink, error) from None
        return True


def _options(uri: str) -> dict[str, str] | None:
    """Return how delta-rs reaches a bucket: as everything else here does."""
    if not uri.startswith("s3"):
        return None
    settings, by_connection = s3_settings(), aws_connection()
    options = {"AWS_REGION": settings.region, "aws_conditional_put": "etag"}
    options |= by_connection.variables if by_connection else {}
    if settings.endpoint:
        options["AWS_ENDPOINT_URL"] = settings.endpoint
        options["AWS_ALLOW_HTTP"] = str(settings.endpoint.startswith("http:")).lower()
        options["AWS_VIRTUAL_HOSTED_STYLE_REQUEST"] = str(not settings.path_style).lower()
    return options


def _transaction(of: ReportDay) -> str:
    return f"{of.owner}/{of.day}"
