"""What would take milliseconds each time, remembered by the bytes that it is made of.

The product's own functions do the work; the calls of the store are made each time.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import astuple, replace
from functools import lru_cache
from typing import Any, BinaryIO

import pyarrow.parquet as pq

from forerun.include.days.partition_sink import Stamp
from forerun.include.sources.files import Location
from forerun.include.state.records import ArtifactPartition, PinnedFile
from forerun.include.stores.store import StoredFile, StoreError, StoreReader

_MOST = 1 << 12


class _Held:
    """A store of a few files, in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def open(self, key: str) -> BinaryIO:
        return io.BytesIO(self._files[key])

    def uri(self, key: str) -> str:
        return key


def footer(read_footer: Callable[..., PinnedFile]) -> Callable[..., PinnedFile]:
    """:func:`forerun.include.sources.parquet.footers.read_footer`, which reads bytes once."""

    @lru_cache(maxsize=_MOST)
    def of_bytes(data: bytes) -> PinnedFile:
        alone = Location(_Held({"f": data}), "")  # type: ignore[arg-type]
        file = StoredFile(key="f", size=len(data), identity="", modified=0.0)
        return read_footer(alone, file)

    def read(location: Location, file: StoredFile) -> PinnedFile:
        try:
            with location.store.open(file.key) as handle:
                data = handle.read()
        except StoreError:
            return read_footer(location, file)
        uri = location.store.uri(file.key)
        return replace(of_bytes(data), uri=uri, size=file.size, identity=file.identity)

    return read


def one_file(make: Callable[..., bytes]) -> Callable[..., bytes]:
    """``_one_file`` of :mod:`forerun.include.days.partition_sink`, which makes the same file
    once."""
    made: dict[tuple[Any, ...], bytes] = {}

    def again(store: StoreReader, result: ArtifactPartition, stamp: Stamp, column: str) -> bytes:
        held = {}
        for file in sorted(result.files, key=lambda file: file.name):
            key = f"{result.folder}/{file.name}"
            with store.open(key) as handle:
                held[key] = handle.read()
        known = (tuple(held.values()), astuple(stamp), column)
        if known not in made:
            if len(made) > _MOST:
                made.clear()
            made[known] = make(_Held(held), result, stamp, column)
        return made[known]

    return again


class Metadata:
    """``pyarrow.parquet`` for who wants the number of rows."""

    @staticmethod
    def read_metadata(handle: BinaryIO) -> pq.FileMetaData:
        return _metadata(handle.read())


@lru_cache(maxsize=_MOST)
def _metadata(data: bytes) -> pq.FileMetaData:
    return pq.read_metadata(io.BytesIO(data))
