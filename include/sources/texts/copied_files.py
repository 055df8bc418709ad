"""Files of text that no engine reads itself: each is copied into Parquet when it is pinned."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, cast

from forerun.include.sources.files import Asked, Listing, Location, listed_below
from forerun.include.sources.parquet.format import end_of, spread_digest
from forerun.include.sources.raw import rows_of_file
from forerun.include.sources.unread import SourceFileError
from forerun.include.stores.store import MissingKeyError, StoredFile
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    import pyarrow as pa

_THREADS = 8
ReadText = Callable[[Location, StoredFile, Sequence[ColumnSpec], bool], "pa.RecordBatchReader"]
"""Gives the rows of a file in the declared columns; the last argument says whether what is not
declared is left out."""


def texts_below(asked: Asked, suffix: str, read: ReadText) -> Listing:
    """List what lies below the folders; all of it has to be copied."""
    location = asked.locations[-1]
    files = listed_below(asked.locations, suffix, asked.is_marker).files
    with ThreadPoolExecutor(_THREADS) as pool:
        digests = list(pool.map(partial(_digest, location), files))
    raw = tuple(
        rows_of_file(
            location,
            file,
            (digest, str(asked.ignores)),
            lambda declared, file=file: read(location, file, declared, asked.ignores),  # type: ignore[misc]
        )
        for file, digest in zip(files, digests, strict=True)
    )
    return Listing(location, raw=raw)


@contextmanager
def open_text(location: Location, file: StoredFile) -> Iterator[BinaryIO]:
    """Open a file for the duration of the block, unpacked if its name ends in ``.gz``.

    Raises :class:`SourceFileError` for one that has vanished, or cannot be unpacked.
    """
    uri = location.store.uri(file.key)
    try:
        handle = location.store.open(file.key)
    except MissingKeyError:
        raise _vanished(location, file) from None
    with handle:
        try:
            packed = file.key.endswith(".gz")
            yield cast("BinaryIO", gzip.GzipFile(fileobj=handle)) if packed else handle
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise SourceFileError(
                f"{uri} is no readable gzip: {error}",
                hint="It is truncated or still being written: deliver it again.",
            ) from None


def _digest(location: Location, file: StoredFile) -> str:
    """Return a digest of the content where a file's identity is none."""
    if location.has_etags:
        return ""
    try:
        with location.store.open(file.key) as handle:
            return spread_digest(handle, file.size, end_of(handle, file.size))
    except MissingKeyError:
        raise _vanished(location, file) from None


def _vanished(location: Location, file: StoredFile) -> SourceFileError:
    return SourceFileError(
        f"{location.store.uri(file.key)} vanished while it was being pinned",
        hint="Deliver new files; leave those that are there. Then retry the task.",
    )
