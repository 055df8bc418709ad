"""Clean-up of pins, and of what was spooled for them: they belong to sources, not to a report.

The pins of a source's day go as a whole, when no report of the store has a generation of that day
any more: then nothing is planned, repaired or compared by them. Who opens a day puts its generation
first and looks for pins after that. So days are looked at again once pins are deleted: where a
generation has come meanwhile, it may have seen them, and they are put back.

What was spooled goes when no pin that is left names it, and it is older than 24 hours. Its record
goes first: a pin that is being made then copies the rows again.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from forerun.include.state.expire import FLOOR, Expired, store_clock
from forerun.include.state.layout import (
    SPOOLS_FOLDER,
    digest_of_spooled,
    numbers,
    pins_folder,
    spool_folder,
)
from forerun.include.state.records import Pin, decode
from forerun.include.stores.store import MissingKeyError, Store, StoredFile

DAYS = 100
"""The pins of so many newest days of a source stay. Forecasts read those of 28 published days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredPins:
    """The pins of one source that were deleted: of how many days, how many files and bytes."""

    source: str
    days: int
    gone: Expired


def expire_pins(store: Store, days: int = DAYS, *, dry_run: bool = False) -> list[ExpiredPins]:
    """Delete the pins of all sources but those of the newest ``days``, of days that a report has a
    generation of, and of days with a pin of the last 24 hours; return what went, by source."""
    floor = store_clock(store) - FLOOR.total_seconds()
    used = _days_of_reports(store)
    found = []
    for source in store.folders("sources"):
        old = sorted(store.folders(f"sources/{source}"), reverse=True)[days:]
        spared = [day for day in old if day not in used]
        gone = [one for day in spared if (one := _of_day(store, source, day, floor, dry_run))]
        if gone:
            files, size = sum(one.files for one in gone), sum(one.bytes for one in gone)
            total = Expired(files=files, bytes=size)
            found.append(ExpiredPins(source=source, days=len(gone), gone=total))
    return found


def expire_spools(store: Store, *, dry_run: bool = False) -> dict[str, Expired]:
    """Delete what was spooled of sources and is named by no pin any more; return what went, by
    source."""
    floor, found = store_clock(store) - FLOOR.total_seconds(), {}
    for source in store.folders(SPOOLS_FOLDER):
        # Listed before the pins are read: what a later pin copies is too young to be in the list.
        files = [file for file in store.list(spool_folder(source)) if file.modified < floor]
        named = _named(store, source) if files else frozenset()
        gone = [file for file in files if digest_of_spooled(file.key) not in named]
        for file in sorted(gone, key=lambda file: not file.key.endswith(".json")):
            if not dry_run:
                store.delete(file.key)
        if gone:
            found[source] = Expired(files=len(gone), bytes=sum(file.size for file in gone))
    return found


def _named(store: Store, source: str) -> frozenset[str]:
    """The digests of what the pins of a source name, of all days."""
    digests = set()
    for day in store.folders(f"sources/{source}"):
        for file in store.list(pins_folder(source, day)):
            with suppress(MissingKeyError):
                pin = decode(Pin, store.get(file.key), file.key)
                digests |= {digest_of_spooled(one.uri) for one in pin.files if one.origin}
    return frozenset(digests)


def _days_of_reports(store: Store) -> set[str]:
    return {
        day for report in store.folders("reports") for day in store.folders(f"reports/{report}")
    }


def _of_day(store: Store, source: str, day: str, floor: float, dry_run: bool) -> Expired | None:
    """Delete the pins of a day, newest first; None where they stay."""
    files = sorted(store.list(pins_folder(source, day)), key=_number, reverse=True)
    if not files or any(file.modified >= floor for file in files):
        return None
    if not dry_run:
        kept = {}
        for file in files:
            try:
                kept[file.key] = store.get(file.key)
                store.delete(file.key)
            except MissingKeyError:
                continue  # another clean-up was here first
        if day in _days_of_reports(store):
            for key, data in reversed(kept.items()):
                store.put_if_absent(key, data)
            return None
    return Expired(files=len(files), bytes=sum(file.size for file in files))


def _number(file: StoredFile) -> int:
    return numbers((file.key,))[0] if numbers((file.key,)) else 0
