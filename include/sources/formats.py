"""The formats that sources come in: one protocol, and one entry per format.

Everything that depends on how files are written is behind :class:`SourceFormat`. Whoever pins,
verifies, samples or reads a source asks :func:`format_of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO, Protocol

from forerun.include.sources.files import Asked, Listing, Location
from forerun.include.sources.parquet.format import ParquetFormat
from forerun.include.sources.services.kafka_format import KafkaFormat
from forerun.include.sources.services.postgresql_format import PostgresqlFormat
from forerun.include.sources.services.report_format import ReportFormat
from forerun.include.sources.tables.delta_format import DeltaFormat
from forerun.include.sources.tables.iceberg_format import IcebergFormat
from forerun.include.sources.texts.csv_format import CsvFormat
from forerun.include.sources.texts.json_format import JsonFormat
from forerun.include.state.records import PinnedFile
from forerun.include.stores.store import StoredFile
from forerun.planner.contract import ColumnSpec
from forerun.planner.errors import ForerunError

if TYPE_CHECKING:
    import pyarrow as pa


class SourceFormatError(ForerunError):
    """A source has a format that there is not."""

    code = "source-format"


class SourceFormat(Protocol):
    """A format of source files: it recognizes, describes and reads them."""

    @property
    def name(self) -> str:
        """The name that a report gives in ``SourceSpec(format=)``."""
        ...

    @property
    def suffix(self) -> str:
        """The end of the names of data files, with its dot."""
        ...

    @property
    def engine_format(self) -> str:
        """The name by which Spark's ``DataFrameReader.format`` knows it."""
        ...

    @property
    def engine_options(self) -> Mapping[str, str]:
        """Options of Spark's reader, beside the declared schema."""
        ...

    @property
    def has_files(self) -> bool:
        """True for a format of files. Others are asked for their rows, all of which are copied."""
        ...

    @property
    def has_log(self) -> bool:
        """Whether a log says which files are in a table; of others, all below a folder are."""
        ...

    def listed(self, asked: Asked) -> Listing:
        """The data files in folders of one store, without markers; of a format with a log, those of
        its newest version; of one without files, rows that are to be copied. A table that was only
        compacted since the last pin of it has the files of that pin.

        Raises :class:`forerun.include.sources.table_formats.TableFormatError` if a table of another
        format lies there.
        """
        ...

    def stored(self, locations: Sequence[Location]) -> Sequence[StoredFile]:
        """All files there, of older pins as well, in these folders of one store."""
        ...

    def describe(
        self, location: Location, files: Sequence[StoredFile], declared: Sequence[ColumnSpec]
    ) -> list[PinnedFile]:
        """Return the files as they are pinned, in order: rows, columns in Spark's types, and what
        is known of their values. ``declared`` are the columns that the report says the files have:
        a format whose files do not say their types takes them from there, and verifies every row.

        Raises :class:`forerun.include.sources.parquet.footers.SourceFileError` naming the file that
        is none of the format, or that Spark would not read; and the line of a row that is not as
        declared.
        """
        ...

    def digest(self, handle: BinaryIO, size: int) -> str:
        """A digest by which a file that was written again with its size and time is told. It reads
        little of a large file: what changes with the rows."""
        ...

    def blocks(
        self, file: PinnedFile, columns: Sequence[str], places: Sequence[int]
    ) -> Iterable[tuple[pa.Table, int]]:
        """The parts of the file in which the rows with these numbers are, and how many of them are
        in each: those of ``columns``, in any case, that the file has, under the names given.

        A format that cannot read a part of a file without the rest gives none: there is no sample.
        """
        ...


_EACH: tuple[SourceFormat, ...] = (
    ParquetFormat(),
    CsvFormat(),
    JsonFormat(),
    DeltaFormat(),
    IcebergFormat(),
    KafkaFormat(),
    PostgresqlFormat(),
    ReportFormat(),
)
FORMATS: dict[str, SourceFormat] = {each.name: each for each in _EACH}


def format_of(name: str) -> SourceFormat:
    """The format with this name. Raises :class:`SourceFormatError` if there is none."""
    if name not in FORMATS:
        raise SourceFormatError(
            f"there is no source format {name!r}", hint=f"Use one of {', '.join(sorted(FORMATS))}."
        )
    return FORMATS[name]
