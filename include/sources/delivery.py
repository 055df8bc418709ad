"""Reads pins back, tells what a delivery is, and proves that files are still the same.

A run reads exactly its pins. A file that was written again, cut short or removed since then would
silently change the result, so every file is looked at before Spark reads it, and once more before
the run commits: its size, its etag or time, and, where that is a time, a digest of its footer and
of blocks spread over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forerun.include.reports.sources.source_formats import STREAMS
from forerun.include.sources.contents import changed_contents
from forerun.include.sources.files import locate, locate_file
from forerun.include.sources.formats import format_of
from forerun.include.sources.tables.compactions import unchanged_files
from forerun.include.sources.unread import SourceChangedError
from forerun.include.state.layout import pin_key
from forerun.include.state.records import Pin, PinnedFile, decode
from forerun.include.stores.store import StoredFile, StoreReader
from forerun.planner.errors import ContractError
from forerun.planner.gc_pause import without_collecting


def read_pin(store: StoreReader, key: str) -> Pin:
    """A pin, by the key that a manifest names, with all its files; ``base`` stays what it is in
    the store."""
    return read_with_base(store, key)[0]


def read_with_base(store: StoreReader, key: str) -> tuple[Pin, Pin]:
    """A pin as :func:`read_pin` gives it, and the whole one that it goes on from, or is itself."""
    pin = _stored(store, key)
    if not pin.base:
        return pin, pin
    below = pin_key(pin.source, pin.day, pin.base)
    base = _stored(store, below)
    if base.base or base.number != pin.base or pin.base >= pin.number:
        raise ContractError(
            f"{key} goes on from {below}, which is not an earlier pin that is whole",
            hint="It was changed or damaged from outside: restore it, or clear the day.",
        )
    whole = put_together(base.files, pin.files, pin.dropped)
    return replace(pin, files=whole, dropped=()), base


def _stored(store: StoreReader, key: str) -> Pin:
    with without_collecting():  # tens of thousands of files are as many values
        return decode(Pin, store.get(key), key)


def put_together(
    base: Sequence[PinnedFile], new: Sequence[PinnedFile], dropped: Sequence[str]
) -> tuple[PinnedFile, ...]:
    """The files of a pin, by URI, from those of its base and what has changed since."""
    gone = {*dropped, *(file.uri for file in new)}
    kept = (file for file in base if file.uri not in gone)
    return tuple(sorted((*kept, *new), key=lambda file: file.uri))


def delivery(pin: Pin, base: Pin | None, *, growing: bool = True) -> tuple[PinnedFile, ...]:
    """Return the files that a source gained since the base's pin: those that only ``pin`` has.

    Raises :class:`SourceChangedError` if the base's files are not all still there unchanged, or
    if a source that does not grow (``growing`` false) has gained a file.
    """
    if base is None:
        return pin.files
    now = {file.uri: file for file in pin.files}
    before = {file.uri for file in base.files}
    origins = {file.origin for file in pin.files if file.origin}
    compacted = unchanged_files(base, pin)
    for file in base.files:
        if file.uri in compacted:
            continue
        there = now.get(file.uri)
        if there is None and not format_of(pin.format).has_files:
            raise _changed(
                pin,
                f"rows of {pin.path} that the last committed run has read",
                "are no longer there, or have other values by now",
                takes_back=pin.format not in STREAMS,
            )
        if there is None and file.origin in origins:
            raise _changed(pin, file.name, "was written again since the last committed run")
        if there is None:
            raise _changed(pin, file.name, "was there at the last committed run and is gone")
        same = (there.size, there.identity) == (file.size, file.identity)
        if not same or (there.digest and file.digest and there.digest != file.digest):
            raise _changed(pin, file.name, "was written again since the last committed run")
    new = tuple(file for file in pin.files if file.uri not in before | compacted)
    if new and not growing:
        raise _changed(pin, new[0].name, "is new, but the source is declared static")
    return new


def same_table(pin: Pin, base: Pin) -> None:
    """Raise :class:`SourceChangedError` unless both pins are of one table, as its log says."""
    if pin.table != base.table:
        raise SourceChangedError(
            f"source {pin.name}: the table in {pin.path} is another one than that which the last "
            "committed run has read",
            hint="It was dropped and created again. If that is right, clear the day: a new "
            "generation reads all of it again.",
        )


def verify_pin(pin: Pin) -> None:
    """Prove that every pinned file is still there as it was pinned.

    Raises :class:`SourceChangedError` naming the first that is not.
    """
    if not pin.files:
        return
    form = format_of(pin.format)
    listed, location = _spooled(pin.files), None
    if form.has_files:
        locations = [locate(path) for path in (*pin.more_paths, pin.path)]
        location = locations[-1]
        listed |= {location.store.uri(file.key): file for file in form.stored(locations)}
    there: list[tuple[PinnedFile, str]] = []
    for file in pin.files:
        found = listed.get(file.uri)
        if found is None:
            found = locate_file(file.uri).store.stat(locate_file(file.uri).key)
        if found is None:
            raise _changed(pin, file.uri, "vanished after it was pinned")
        if (found.size, found.identity) != (file.size, file.identity):
            raise _changed(pin, file.uri, "was changed after it was pinned")
        there.append((file, found.key))
    if location and (changed := sorted(changed_contents(form, location, there))):
        raise _changed(pin, changed[0], "was changed after it was pinned")


def _spooled(files: Sequence[PinnedFile]) -> dict[str, StoredFile]:
    """What lies in the spools that these files are in, by URI."""
    at = {location.key.rsplit("/", 2)[0]: location for location in
          (locate_file(file.uri) for file in files if file.origin)}  # fmt: skip
    return {
        location.store.uri(file.key): file
        for folder, location in at.items()
        for file in location.store.list(folder)
    }


def _changed(pin: Pin, uri: str, what: str, *, takes_back: bool = False) -> SourceChangedError:
    """The error for a file, or for rows, that were pinned. ``takes_back``: the format can, though
    its pins are of no table."""
    taking_back = ' With change="changelog", rows that go are taken back.'
    return SourceChangedError(
        f"source {pin.name}: {uri} {what}",
        hint="Files of a source are only ever added. If the change is right, clear the day: a new "
        f"generation reads all of it again.{taking_back if pin.table or takes_back else ''}",
    )
