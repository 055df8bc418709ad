"""Parquet: described by footers, sampled by row groups."""

from __future__ import annotations

import hashlib
import itertools
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO

from forerun.include.sources.files import Asked, Listing, Location, listed_below, locate_file
from forerun.include.state.records import PinnedFile
from forerun.include.stores.store import StoredFile
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

_WHOLE = 32 << 10
"""Files up to this size are read whole to see whether they are the same; of others, the end."""
_BLOCKS, _BLOCK = 8, 4 << 10


class ParquetFormat:
    """Implements :class:`forerun.include.sources.formats.SourceFormat`. Arrow is imported only
    where a file is read: whoever builds a report needs it not."""

    name = "parquet"
    suffix = ".parquet"
    has_files = True
    has_log = False
    engine_format = "parquet"
    engine_options: Mapping[str, str] = MappingProxyType({})

    def listed(self, asked: Asked) -> Listing:
        """List what lies below the folders."""
        return listed_below(asked.locations, self.suffix, asked.is_marker)

    def stored(self, locations: Sequence[Location]) -> Sequence[StoredFile]:
        """List what lies below the folders, markers and all."""
        return listed_below(locations, self.suffix).files

    def describe(
        self,
        location: Location,
        files: Sequence[StoredFile],
        declared: Sequence[ColumnSpec],  # noqa: ARG002 - the files say their columns themselves
    ) -> list[PinnedFile]:
        """Read the footers of the files."""
        from forerun.include.sources.parquet.footers import read_footers

        return read_footers(location, files)

    def digest(self, handle: BinaryIO, size: int) -> str:
        """Return a digest of all of a small file. Of a larger one it covers the footer, whose
        length stands before the four letters that the file ends in, and some blocks: a few reads,
        however large the file is."""
        tail = end_of(handle, size)
        if len(tail) < size:
            length = int.from_bytes(tail[-8:-4], "little") + 8
            if len(tail) < length <= size:
                tail = _read(handle, size - length, size)
        return spread_digest(handle, size, tail)

    def blocks(
        self, file: PinnedFile, columns: Sequence[str], places: Sequence[int]
    ) -> Iterator[tuple[pa.Table, int]]:
        """Row groups: 64 to 128 MB of all columns by default. Texts that come often stay numbers of
        a dictionary, which are read ten times as fast."""
        import pyarrow.parquet as pq

        location = locate_file(file.uri)
        often = {column.name.lower() for column in file.columns if column.distinct}
        with location.store.open(location.key) as handle:
            footer = pq.read_metadata(handle)
            leaves = [footer.schema.column(leaf).path for leaf in range(footer.num_columns)]
            coded = [leaf for leaf in leaves if leaf.lower() in often]
            parquet = pq.ParquetFile(handle, metadata=footer, read_dictionary=coded)
            sizes = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
            ends = list(itertools.accumulate(sizes))
            names = {name.lower(): name for name in parquet.schema_arrow.names}
            wanted = {names[c.lower()]: c for c in columns if c.lower() in names}
            # What is pinned may count fewer rows than the file has, as where some were deleted.
            there = (at * ends[-1] // file.rows for at in places)
            drawn = Counter(bisect_right(ends, at) for at in there)
            for group, times in sorted(drawn.items()):
                table = parquet.read_row_group(group, columns=list(wanted))
                yield table.rename_columns([wanted[name] for name in table.column_names]), times


def end_of(handle: BinaryIO, size: int) -> bytes:
    """Return a small file, or the end of a larger one."""
    return _read(handle, max(0, size - _WHOLE), size)


def spread_digest(handle: BinaryIO, size: int, tail: bytes) -> str:
    """Return a digest of ``tail``, the end of a file, and of some blocks spread over the rest."""
    if len(tail) < size:
        step = (size - len(tail)) // _BLOCKS
        starts = (number * step for number in range(_BLOCKS))
        tail += b"".join(_read(handle, start, start + min(step, _BLOCK)) for start in starts)
    return hashlib.blake2b(tail, digest_size=16).hexdigest()


def _read(handle: BinaryIO, start: int, end: int) -> bytes:
    handle.seek(start)
    return handle.read(end - start)
