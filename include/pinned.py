"""What was pinned: reading pins back, what a delivery is, and proof that files are still the same.

A run reads exactly its pins. A file that was written again, cut short or removed since then would
silently change the result, so every file is looked at before Spark reads it, and once more before
the run commits.
"""

from __future__ import annotations

from include.source_files import locate, locate_file
from include.state.records import Pin, PinnedFile, decode
from include.state.store import StoreReader
from planner.errors import ForerunError


class SourceChangedError(ForerunError):
    """A pinned file was changed or taken away, in a source that only grows."""

    code = "source-changed"


def read_pin(store: StoreReader, key: str) -> Pin:
    """A pin, by the key that a manifest names."""
    return decode(Pin, store.get(key), key)


def delivery(pin: Pin, base: Pin | None, *, growing: bool = True) -> tuple[PinnedFile, ...]:
    """What a source gained since the base's pin: the files that are in ``pin`` only.

    Raises :class:`SourceChangedError` if the base's files are not all still there unchanged, or
    if a source that does not grow (``growing`` false) has gained a file.
    """
    if base is None:
        return pin.files
    now = {file.uri: file for file in pin.files}
    before = {file.uri for file in base.files}
    for file in base.files:
        there = now.get(file.uri)
        if there is None:
            raise _changed(pin.name, file.uri, "was there at the last committed run and is gone")
        if (there.size, there.identity) != (file.size, file.identity):
            raise _changed(pin.name, file.uri, "was written again since the last committed run")
    new = tuple(file for file in pin.files if file.uri not in before)
    if new and not growing:
        raise _changed(pin.name, new[0].uri, "is new, but the source is declared static")
    return new


def verify_pin(pin: Pin) -> None:
    """Prove that every pinned file is still there as it was pinned.

    Raises :class:`SourceChangedError` naming the first that is not.
    """
    if not pin.files:
        return
    location = locate(pin.path)
    listed = {location.store.uri(file.key): file for file in location.files()}
    for file in pin.files:
        there = listed.get(file.uri)
        if there is None:
            there = locate_file(file.uri).store.stat(locate_file(file.uri).key)
        if there is None:
            raise _changed(pin.name, file.uri, "vanished after it was pinned")
        if (there.size, there.identity) != (file.size, file.identity):
            raise _changed(pin.name, file.uri, "was changed after it was pinned")


def _changed(source: str, uri: str, what: str) -> SourceChangedError:
    return SourceChangedError(
        f"source {source}: {uri} {what}",
        hint="Files of a source are only ever added. If the change is right, clear the day: a new "
        "generation reads all of it again.",
    )
