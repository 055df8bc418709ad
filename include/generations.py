"""The generations of a day, by their records."""

from __future__ import annotations

from datetime import date

from include.state.layout import Generation, day_folder
from include.state.records import GenerationRecord, decode
from include.state.store import StoreReader


def latest_generation(store: StoreReader, report: str, day: date) -> Generation | None:
    """The newest generation of a day, None if it was never started."""
    known = generations(store, report, day)
    return known[0][0] if known else None


def generations(
    store: StoreReader, report: str, day: date
) -> list[tuple[Generation, GenerationRecord]]:
    """The generations of a day that have a record, newest first. A folder without one is what a
    kill left, before or while it was opened or deleted."""
    found = []
    for name in store.folders(day_folder(report, day.isoformat())):
        at = Generation(report, day.isoformat(), name)
        stored = store.find(at.record) if name.isdigit() else None
        if stored is not None:
            found.append((at, decode(GenerationRecord, stored.data, at.record)))
    return sorted(found, key=lambda item: item[1].number, reverse=True)
