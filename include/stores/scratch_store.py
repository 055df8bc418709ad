"""A store to try things in: it reads another one, and what is written to it stays in memory."""

from __future__ import annotations

import hashlib
import io
import zlib
from typing import BinaryIO

from forerun.include.stores.store import (
    MissingKeyError,
    StoredFile,
    StoreReader,
    Tagged,
    check_key,
    checksum_text,
)


class ScratchStore:
    """Shows what ``base`` holds with our own changes over it; ``base`` is never written to.

    It is a whole :class:`forerun.include.stores.store.Store`, so that a dry run is the same code as
    a run. It belongs to one thread, and is forgotten with the object.
    """

    def __init__(self, base: StoreReader) -> None:
        self._base = base
        self._own: dict[str, bytes | None] = {}
        """What was written by key; None where something was deleted."""

    @property
    def root(self) -> str:
        return self._base.root

    def find(self, key: str) -> Tagged | None:
        if check_key(key) not in self._own:
            return self._base.find(key)
        data = self._own[key]
        return None if data is None else Tagged(data, hashlib.sha256(data).hexdigest())

    def get(self, key: str) -> bytes:
        found = self.find(key)
        if found is None:
            raise MissingKeyError(
                f"{key} is not in the store {self.root}", hint="Nobody has written it."
            )
        return found.data

    def stat(self, key: str) -> StoredFile | None:
        if check_key(key) not in self._own:
            return self._base.stat(key)
        data = self._own[key]
        return None if data is None else _listed(key, data)

    def open(self, key: str) -> BinaryIO:
        return io.BytesIO(self.get(key)) if key in self._own else self._base.open(key)

    def list(self, prefix: str) -> tuple[StoredFile, ...]:
        start = check_key(prefix.rstrip("/")) + "/"
        found = {file.key: file for file in self._base.list(prefix) if file.key not in self._own}
        own = {k: data for k, data in self._own.items() if data is not None and k.startswith(start)}
        found |= {key: _listed(key, data) for key, data in own.items()}
        return tuple(found[key] for key in sorted(found))

    def folders(self, prefix: str) -> tuple[str, ...]:
        start = check_key(prefix.rstrip("/")) + "/"
        below = (file.key[len(start) :] for file in self.list(prefix))
        return tuple(sorted({key.split("/")[0] for key in below if "/" in key}))

    def checksum(self, key: str) -> str:
        if key not in self._own:
            return self._base.checksum(key)
        return checksum_text(zlib.crc32(self.get(key)))

    def uri(self, key: str) -> str:
        return self._base.uri(key)

    def put(self, key: str, data: bytes) -> None:
        self._own[check_key(key)] = data

    def put_if_absent(self, key: str, data: bytes) -> bool:
        if self.find(key) is not None:
            return False
        self.put(key, data)
        return True

    def put_if_match(self, key: str, data: bytes, tag: str) -> bool:
        found = self.find(key)
        if found is None or found.tag != tag:
            return False
        self.put(key, data)
        return True

    def copy(self, source: str, target: str) -> None:
        self.put(target, self.get(source))

    def delete(self, key: str) -> None:
        self._own[check_key(key)] = None


def _listed(key: str, data: bytes) -> StoredFile:
    identity = hashlib.sha256(data).hexdigest()
    return StoredFile(key=key, size=len(data), identity=identity, modified=0.0)
