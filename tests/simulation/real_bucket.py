"""The bucket of a schedule, kept in a real store: a folder, or a bucket of a real S3 server."""

from __future__ import annotations

from dataclasses import dataclass, field

from forerun.include.stores.file_store import FileStore
from forerun.include.stores.store import Store, StoredFile, Tagged
from tests.simulation.store import Bucket, Stored


@dataclass
class RealBucket(Bucket):
    """Does every call on ``real``. What was written is read back, for the invariants to look at."""

    real: Store = field(kw_only=True)

    def __post_init__(self) -> None:
        self.kind = "disk" if isinstance(self.real, FileStore) else "s3"

    def _look(self, key: str) -> None:
        file = self.real.stat(key)
        if file is None:
            super().delete(key)
        else:
            self.keep(key, Stored(self.real.get(key), file.identity, file.modified))

    def find(self, key: str) -> Tagged | None:
        return self.real.find(key)

    def get(self, key: str) -> bytes:
        return self.real.get(key)

    def stat(self, key: str) -> StoredFile | None:
        return self.real.stat(key)

    def list(self, folder: str) -> tuple[StoredFile, ...]:
        return self.real.list(folder)

    def folders(self, folder: str) -> tuple[str, ...]:
        return self.real.folders(folder)

    def checksum(self, key: str) -> str:
        return self.real.checksum(key)

    def put(self, key: str, data: bytes) -> None:
        self.real.put(key, data)
        self._look(key)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        done = self.real.put_if_absent(key, data)
        if done:
            self._look(key)
        return done

    def put_if_match(self, key: str, data: bytes, tag: str) -> bool:
        done = self.real.put_if_match(key, data, tag)
        if done:
            self._look(key)
        return done

    def copy(self, source: str, target: str) -> None:
        self.real.copy(source, target)
        self._look(target)

    def delete(self, key: str) -> None:
        self.real.delete(key)
        super().delete(key)
