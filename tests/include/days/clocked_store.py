"""A store in memory with a clock of its own, and a door in the middle of a conditional put."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from forerun.include.stores.store import StoredFile, Tagged


class ClockedStore:
    """``now`` is the store's clock. ``between`` is called before a conditional put compares: what
    others do then comes between a reader's look and its put."""

    root = "file:///memory"

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.files: dict[str, tuple[bytes, float]] = {}
        self.between: Callable[[], None] = lambda: None

    def find(self, key: str) -> Tagged | None:
        found = self.files.get(key)
        return Tagged(found[0], _tag(found[0])) if found else None

    def list(self, prefix: str) -> tuple[StoredFile, ...]:
        return tuple(file for file in self._stored() if file.key.startswith(f"{prefix}/"))

    def _stored(self) -> Iterator[StoredFile]:
        for key, (data, at) in sorted(self.files.items()):
            yield StoredFile(key=key, size=len(data), identity=_tag(data), modified=at)

    def stat(self, key: str) -> StoredFile | None:
        return next((file for file in self._stored() if file.key == key), None)

    def put(self, key: str, data: bytes) -> None:
        self.files[key] = data, self.now

    def put_if_absent(self, key: str, data: bytes) -> bool:
        self._others()
        if key in self.files:
            return False
        self.put(key, data)
        return True

    def put_if_match(self, key: str, data: bytes, tag: str) -> bool:
        self._others()
        found = self.find(key)
        if found is None or found.tag != tag:
            return False
        self.put(key, data)
        return True

    def delete(self, key: str) -> None:
        self.files.pop(key, None)

    def _others(self) -> None:
        others, self.between = self.between, lambda: None
        others()


def _tag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
