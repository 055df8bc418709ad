"""Publishing into a partition folder of a table: one Parquet file, replaced at once.

A reader of ``<path>/<column>=<date>/`` lists the folder, so a version that is several files could
be seen half there, on S3 and on a disk alike. The folder therefore has one data file with a fixed
name, and publishing is one conditional put of it: before it a reader finds the old version, after
it the new one, never both and never a part. A process that is killed on the way has changed
nothing, and a retry puts again.

The file says in its own metadata which version of the report it is. So the put compares and
replaces the very thing that readers read: of two generations the newer one stays, whoever is late.
"""

from __future__ import annotations

import io
import json
import zlib
from dataclasses import asdict, dataclass
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.include.days.not_published import NotPublishedError
from forerun.include.days.sink_folder import partition_of, refuse_table_folder
from forerun.include.reports.sinks import PartitionFolder
from forerun.include.sources.files import Location
from forerun.include.sources.table_formats import refuse_tables_below
from forerun.include.state.commits import verify_partition
from forerun.include.state.pointers import Pointer
from forerun.include.state.records import ArtifactFile, ArtifactPartition
from forerun.include.stores.backoff import Backoff
from forerun.include.stores.store import Store, StoreReader, checksum_text, is_hidden
from forerun.planner.contract.codec import from_json
from forerun.planner.contract.plan_v1 import later
from forerun.planner.errors import ContractError

_STAMP = b"forerun"
_ARROW_SCHEMA = b"ARROW:schema"
_BATCH_ROWS = 1 << 16
_MOST_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The metadata in a published file. ``incomplete``: it was published although these sources
    were not complete, each with what was missing."""

    report: str
    day: str
    version: str
    generation: int
    incomplete: tuple[tuple[str, str], ...] = later(())


def publish_partition(
    store: StoreReader, result: ArtifactPartition, sink: PartitionFolder, stamp: Stamp
) -> tuple[str, tuple[ArtifactFile, ...]]:
    """Make the folder of ``stamp.day`` hold this result; return its URI and its data file.

    Repeating it changes nothing. Raises :class:`NotPublishedError` if the folder holds a newer
    generation or files of others, or the result is too large for one file;
    :class:`forerun.include.sources.table_formats.TableFormatError` if it belongs to a table; and
    :class:`forerun.include.state.commits.ArtifactError` if its files are not as they were
    committed.
    """
    day = date.fromisoformat(stamp.day)
    refuse_table_folder(sink, day)
    target = partition_of(sink, day)
    name = f"{stamp.report}.parquet"
    _refuse_strangers(target, name)
    data = _one_file(store, result, stamp, sink.column)
    verify_partition(store, result)  # what was read is what was committed
    _replace(target.store, f"{target.key}/{name}", data, stamp)
    return target.store.uri(target.key), (
        ArtifactFile(name=name, size=len(data), checksum=_checksum(data)),
    )


def lost_partition(pointer: Pointer, sink: PartitionFolder) -> list[str]:
    """The name of the data file in a list, if it is not the version that the pointer names."""
    target = partition_of(sink, date.fromisoformat(pointer.day))
    name = f"{pointer.report}.parquet"
    found = target.store.find(f"{target.key}/{name}")
    stamp = read_stamp(found.data) if found else None
    whole = found is not None and all(_is_whole(found.data, file) for file in pointer.files)
    return [] if stamp and stamp.version == pointer.version and whole else [name]


def _is_whole(data: bytes, file: ArtifactFile) -> bool:
    return len(data) == file.size and file.checksum in ("", _checksum(data))


def _checksum(data: bytes) -> str:
    return checksum_text(zlib.crc32(data))


def read_stamp(data: bytes) -> Stamp | None:
    """Return the version of a published file, or None for a file that Forerun did not publish."""
    try:
        said = (pq.read_metadata(io.BytesIO(data)).metadata or {})[_STAMP]
        stamp: Stamp = from_json(Stamp, json.loads(said), "stamp")
    except (pa.ArrowException, OSError, KeyError, ValueError, RecursionError, ContractError):
        return None
    return stamp


def _refuse_strangers(target: Location, name: str) -> None:
    """Readers take every file of the folder for data of the table, and so would count it twice."""
    start = len(target.key) + 1
    keys = [file.key for file in target.store.list(target.key)]
    refuse_tables_below(target.store, target.key, keys)
    others = [key[start:] for key in keys]
    strange = [other for other in others if other != name and not is_hidden(other)]
    if strange:
        raise NotPublishedError(
            f"{target.store.uri(target.key)} holds {strange[0]}, which this report did not publish",
            hint="Move the files of others out of the folder, then clear the task publish.",
        )


def _one_file(store: StoreReader, result: ArtifactPartition, stamp: Stamp, column: str) -> bytes:
    """The files of a result as one, in the order of their names, with the stamp.

    Row by row the same, in the same types; compression and row groups are chosen anew.
    """
    size = sum(file.size for file in result.files)
    if size > _MOST_BYTES:
        raise NotPublishedError(
            f"the result has {size:,} bytes; a partition folder takes {_MOST_BYTES:,} at most",
            hint="Publish it with VersionedFolder(), and let readers follow the pointer.",
        )
    if not result.files:
        raise NotPublishedError(
            "the result has no file, so nothing says what its columns are",
            hint="Publish it with VersionedFolder(), which takes an empty result.",
        )
    sink = io.BytesIO()
    writer: pq.ParquetWriter | None = None
    for file in sorted(result.files, key=lambda file: file.name):
        with (
            store.open(f"{result.folder}/{file.name}") as handle,
            pq.ParquetFile(handle) as parquet,
        ):
            writer = writer or _writer(sink, parquet, stamp, column)
            for batch in parquet.iter_batches(batch_size=_BATCH_ROWS):
                writer.write_batch(batch.cast(writer.schema))
    if writer is not None:
        writer.close()
    return sink.getvalue()


def _writer(sink: io.BytesIO, first: pq.ParquetFile, stamp: Stamp, column: str) -> pq.ParquetWriter:
    if column.lower() in (name.lower() for name in first.schema_arrow.names):
        raise NotPublishedError(
            f"the result has the column {column}, and so has the partition folder: readers would "
            "see the partition's value in every row",
            hint="Name one of them otherwise: PartitionFolder(column=...), or AS in the SQL.",
        )
    leaves = (first.schema.column(i) for i in range(first.metadata.num_columns))
    if any(leaf.physical_type == "INT96" for leaf in leaves):
        raise NotPublishedError(
            "the result has timestamps of the old type INT96, whose time zone is not known",
            hint="Do not set spark.sql.parquet.outputTimestampType; clear the final run.",
        )
    schema = first.schema_arrow
    # Arrow's own copy of the schema is left out: the columns are as Spark declared them.
    writer = pq.ParquetWriter(sink, schema, compression="snappy", store_schema=False)
    said = {key: text for key, text in (schema.metadata or {}).items() if key != _ARROW_SCHEMA}
    writer.add_key_value_metadata({**said, _STAMP: json.dumps(asdict(stamp)).encode()})
    return writer


def _replace(store: Store, key: str, data: bytes, stamp: Stamp) -> None:
    """Put the file unless the same bytes, or a newer version, are there."""
    backoff = Backoff(key)
    while not store.put_if_absent(key, data):
        found = store.find(key)
        if found is not None:
            if found.data == data:
                return
            _refuse_to_replace(read_stamp(found.data), key, stamp)
            if store.put_if_match(key, data, found.tag):
                return
        backoff.wait()


def _refuse_to_replace(there: Stamp | None, key: str, stamp: Stamp) -> None:
    if there is None or (there.report, there.day) != (stamp.report, stamp.day):
        raise NotPublishedError(
            f"{key} is there, and is not {stamp.report} of {stamp.day}",
            hint="Give every report a table of its own, or move the file away.",
        )
    if there.generation > stamp.generation:
        raise NotPublishedError(
            f"{key} is generation {there.generation}; generation {stamp.generation} is older",
            hint="Nothing to do. To publish again, clear the day: a new generation starts. After a "
            "change of the state store, where generations count from 1, move the file away.",
        )
