"""The simulated store: one bucket in memory, in the manner of S3 or of a folder on a disk.

Every method of :class:`SimStore` is one call to the scheduler, which decides when it takes effect
and whether. The effect itself is atomic, as the protocol :mod:`forerun.include.stores.store`
promises; a listing is not, where the scheduler says so: other calls may come between its halves.
"""

from __future__ import annotations

import bisect
import hashlib
import io
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, BinaryIO, Literal
from urllib.parse import urlsplit

from forerun.include.stores.store import MissingKeyError, StoredFile, Tagged, check_key
from tests.simulation.scheduler import Torn, World

BUCKET = "sim"


@dataclass(frozen=True, slots=True)
class Stored:
    """What lies under a key. ``modified`` is by the store's clock."""

    data: bytes
    identity: str
    modified: float


Changed = Callable[[str, "Stored | None", "Stored | None"], None]


@dataclass
class Bucket:
    """All that is stored, and what each call does to it. ``kind`` says what proves that a file is
    the same: its etag (``s3``), or its time and, on request, a checksum (``disk``). ``changed`` is
    told key, before and after."""

    world: World
    kind: Literal["disk", "s3"] = "s3"
    objects: dict[str, Stored] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    changed: Changed = lambda key, old, new: None
    writes: int = 0

    @property
    def look(self) -> str:
        """The call by which a process finds out that a file is the same."""
        return "list" if self.kind == "s3" else "checksum"

    def below(self, folder: str) -> list[str]:
        """The keys in a folder, sorted."""
        keys = self.keys
        return keys[bisect.bisect_left(keys, f"{folder}/") : bisect.bisect_left(keys, f"{folder}0")]

    def keep(self, key: str, new: Stored) -> None:
        """Note what lies under a key now."""
        old = self.objects.get(key)
        self.objects[key] = new
        if old is None:
            bisect.insort(self.keys, key)
        self.changed(key, old, new)

    def there(self, key: str) -> Stored:
        found = self.objects.get(key)
        if found is None:
            raise MissingKeyError(f"{key} is not there", hint="It was deleted.")
        return found

    def find(self, key: str) -> Tagged | None:
        found = self.objects.get(key)
        return Tagged(found.data, etag(found.data)) if found else None

    def get(self, key: str) -> bytes:
        return self.there(key).data

    def stat(self, key: str) -> StoredFile | None:
        found = self.objects.get(key)
        return None if found is None else _shown(key, found)

    def list(self, folder: str) -> tuple[StoredFile, ...]:
        return tuple(_shown(key, self.objects[key]) for key in self.below(folder))

    def folders(self, folder: str) -> tuple[str, ...]:
        rests = (key[len(folder) + 1 :] for key in self.below(folder))
        return tuple(sorted({rest.split("/")[0] for rest in rests if "/" in rest}))

    def checksum(self, key: str) -> str:
        data = self.there(key).data
        return "" if self.kind == "s3" else f"crc32:{zlib.crc32(data):08x}"

    def put(self, key: str, data: bytes) -> None:
        modified = self.world.clock.store_time()
        self.writes += 1
        # Nanoseconds: two writes never fall on the same one.
        mtime = str(int(modified * 1e9) + self.writes)
        self.keep(key, Stored(data, etag(data) if self.kind == "s3" else mtime, modified))

    def put_if_absent(self, key: str, data: bytes) -> bool:
        if key in self.objects:
            return False
        self.put(key, data)
        return True

    def put_if_match(self, key: str, data: bytes, tag: str) -> bool:
        found = self.objects.get(key)
        if found is None or etag(found.data) != tag:
            return False
        self.put(key, data)
        return True

    def copy(self, source: str, target: str) -> None:
        self.put(target, self.there(source).data)

    def delete(self, key: str) -> None:
        if (old := self.objects.pop(key, None)) is not None:
            del self.keys[bisect.bisect_left(self.keys, key)]
            self.changed(key, old, None)


def _shown(key: str, found: Stored) -> StoredFile:
    return StoredFile(
        key=key, size=len(found.data), identity=found.identity, modified=found.modified
    )


class SimStore:
    """Implements :class:`forerun.include.stores.store.Store` on a prefix of the bucket."""

    def __init__(self, bucket: Bucket, prefix: str) -> None:
        self._bucket, self._world = bucket, bucket.world
        self._prefix = f"{prefix}/" if prefix else ""

    @property
    def root(self) -> str:
        return f"s3://{BUCKET}/{self._prefix}".rstrip("/")

    def uri(self, key: str) -> str:
        return f"s3a://{BUCKET}/{self._key(key)}"

    def _key(self, key: str) -> str:
        return self._prefix + _checked(key)

    def _call(self, op: str, key: str, *more: Any) -> Any:
        name = self._key(key)
        does = getattr(self._bucket, op)
        return self._world.call(op, name, lambda: does(name, *more))

    def find(self, key: str) -> Tagged | None:
        return self._call("find", key)

    def get(self, key: str) -> bytes:
        return self._call("get", key)

    def stat(self, key: str) -> StoredFile | None:
        found = self._call("stat", key)
        return None if found is None else self._own(found)

    def _own(self, file: StoredFile) -> StoredFile:
        return replace(file, key=file.key[len(self._prefix) :]) if self._prefix else file

    def open(self, key: str) -> BinaryIO:
        name = self._key(key)
        data: bytes = self._world.call("open", name, lambda: self._bucket.get(name))
        return io.BytesIO(data)

    def list(self, prefix: str) -> tuple[StoredFile, ...]:
        return tuple(map(self._own, self._listed("list", prefix.rstrip("/"))))

    def folders(self, prefix: str) -> tuple[str, ...]:
        return self._listed("folders", prefix.rstrip("/"))

    def _listed(self, op: str, folder: str) -> tuple[Any, ...]:
        """A listing; if it is torn, the first half as it was then and the second as it is now."""
        found = self._call(op, folder)
        if not isinstance(found, Torn):
            return found
        half = found.whole[: (len(found.whole) + 1) // 2]
        now = self._call(op, folder)
        now = now.whole if isinstance(now, Torn) else now
        names = [one if isinstance(one, str) else one.key for one in now]
        last = half[-1] if half else ""
        after = last if isinstance(last, str) else last.key
        return (*half, *now[bisect.bisect_right(names, after) :])

    def checksum(self, key: str) -> str:
        return "" if self._bucket.kind == "s3" else self._call("checksum", key)

    def put(self, key: str, data: bytes) -> None:
        self._call("put", key, data)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        return self._call("put_if_absent", key, data)

    def put_if_match(self, key: str, data: bytes, tag: str) -> bool:
        return self._call("put_if_match", key, data, tag)

    def copy(self, source: str, target: str) -> None:
        there, name = self._key(source), self._key(target)
        self._world.call("copy", f"{there} to {name}", lambda: self._bucket.copy(there, name))

    def delete(self, key: str) -> None:
        self._call("delete", key)


_checked = lru_cache(maxsize=1 << 14)(check_key)


@lru_cache(maxsize=1 << 14)
def etag(data: bytes) -> str:
    """The etag of an object, which is also the tag of a conditional put."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def is_data(key: str) -> bool:
    """Whether Spark takes a file for data."""
    return key.endswith(".parquet") and not key.rpartition("/")[2].startswith(("_", "."))


def key_of(uri: str) -> str:
    """The bucket's key of a URI ``s3://sim/...`` or ``s3a://sim/...``."""
    parts = urlsplit(uri)
    if parts.netloc != BUCKET or parts.scheme not in ("s3", "s3a"):
        raise ValueError(f"{uri} does not lie in the simulated bucket")
    return parts.path.strip("/")
