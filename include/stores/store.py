"""The store as two protocols, reader and writer: bytes in, bytes out, keys relative to the root.

A key is ``/``-separated, without a leading slash. What lies under a key is never changed, with
these exceptions: records that :meth:`StoreWriter.put_if_match` moves on, what clean-up deletes, and
requests for slots, which are put again to show that somebody still waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO, Protocol

from forerun.planner.errors import ForerunError


class StoreError(ForerunError):
    """The store cannot be used as it is; the message names the key, the hint says what to do."""

    code = "store"


class MissingKeyError(StoreError):
    """Nothing lies under a key that should be there."""

    code = "store-missing"


class StoreDeniedError(StoreError):
    """No permission to read or write."""

    code = "store-denied"


class StoreFullError(StoreError):
    """No space left, or a quota is used up. Nothing half-written is ever seen by a reader."""

    code = "store-full"


class StoreDownError(StoreError):
    """The store did not answer within the time allowed."""

    code = "store-down"


class UnsafeStoreError(StoreError):
    """The store takes a conditional put without checking its condition: commits would be lost."""

    code = "store-unsafe"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file as a listing shows it.

    ``identity`` changes when the file is written again: the etag on S3, the modification time in
    nanoseconds on a local disk (where it proves nothing about equal content). ``modified`` is in
    seconds since the epoch, by the store's clock; only clean-up goes by it.
    """

    key: str
    size: int
    identity: str
    modified: float


@dataclass(frozen=True, slots=True)
class Tagged:
    """The bytes under a key and the tag that :meth:`StoreWriter.put_if_match` compares."""

    data: bytes
    tag: str


class StoreReader(Protocol):
    """Reads a store. Every method raises a :class:`StoreError` that names the key."""

    @property
    def root(self) -> str:
        """The canonical URI, ``file:///...`` or ``s3://...``, without a final slash."""
        ...

    def find(self, key: str) -> Tagged | None:
        """The bytes under ``key`` with their tag, None if there is nothing."""
        ...

    def get(self, key: str) -> bytes:
        """The bytes under ``key``. Raises :class:`MissingKeyError` if there is nothing."""
        ...

    def stat(self, key: str) -> StoredFile | None:
        """Return what a listing would show of one file; None if it is not there."""
        ...

    def open(self, key: str) -> BinaryIO:
        """Random access to a large file, for Parquet footers. The caller closes it."""
        ...

    def list(self, prefix: str) -> tuple[StoredFile, ...]:
        """Every file below the folder ``prefix``, by key. A folder that is not there is empty.

        Never a source of truth: only to compare a folder with a commit, to find the end of a
        numbered series, and to clean up.
        """
        ...

    def folders(self, prefix: str) -> tuple[str, ...]:
        """The names directly below the folder ``prefix`` that hold further files, sorted."""
        ...

    def checksum(self, key: str) -> str:
        """A checksum of the content, or "" where the listing's identity already is one (S3)."""
        ...

    def uri(self, key: str) -> str:
        """Return the URI by which Spark reads a key: ``file://`` or ``s3a://``."""
        ...


class StoreWriter(Protocol):
    """Writes a store. A put is atomic: readers see all of it or nothing, also after a kill."""

    def put(self, key: str, data: bytes) -> None:
        """Write under a key that nobody else writes (an attempt's own)."""
        ...

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Write if nothing is there; false if something is, which is then left as it is."""
        ...

    def put_if_match(self, key: str, data: bytes, tag: str) -> bool:
        """Replace what has ``tag``; false if it is gone or has changed meanwhile."""
        ...

    def copy(self, source: str, target: str) -> None:
        """Copy a file within the store; ``target`` is durable when this returns."""
        ...

    def delete(self, key: str) -> None:
        """Delete a file; one that is not there is fine."""
        ...


class Store(StoreReader, StoreWriter, Protocol):
    """Both sides, for the code that plans, commits and publishes."""


def is_hidden(key: str) -> bool:
    """Return whether Spark ignores the file: a part of its path starts with a dot, or with ``_`` if
    it has no ``=`` (``_shop=7`` is the folder of a partition), or ends in ``._COPYING_``."""
    return any(
        part.startswith(".")
        or (part.startswith("_") and "=" not in part)
        or part.endswith("._COPYING_")
        for part in key.split("/")
    )


def checksum_text(crc: int) -> str:
    """A CRC-32 as it is written down as the checksum of a file."""
    return f"crc32:{crc:08x}"


def check_key(key: str) -> str:
    """The key, if it stays below the root. Raises :class:`StoreError` for ``..`` and the like."""
    parts = key.split("/")
    if not key or any(part in ("", ".", "..") for part in parts) or "\0" in key:
        raise StoreError(f"{key!r} is not a key of the store", hint="Check names of reports, days.")
    return key


def put_or_get(store: Store, key: str, data: bytes) -> tuple[bytes, bool]:
    """Put ``data`` if nothing is there; return what is there now and whether it is ours.

    Ours also when the first answer of the store got lost and our own repeated put then found the
    key taken: equal bytes count as won, so the bytes of two writers must differ (by attempt).
    """
    if store.put_if_absent(key, data):
        return data, True
    winner = store.get(key)
    return winner, winner == data
