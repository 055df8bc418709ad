"""Finding borrowed views for a run that is planned: what other reports keep over the same files.

A look takes what is over its own pins (the same pin, by its key, and the same declarations), of the
newest generation of the other report. It lists a folder per source
(:mod:`forerun.include.state.borrowed` puts notes there), and reads a bounded number of notes, never
the store.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import date

from forerun.include.days.generations import latest_generation
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.borrowed import (
    BorrowedLostError,
    borrowed_partitions,
    borrowed_partitions_of,
    declared_digest,
    lost,
)
from forerun.include.state.commits import ArtifactError, read_commit, verify_partition
from forerun.include.state.layout import Generation, borrowable_folder, source_of_pin
from forerun.include.state.records import BorrowableView, BorrowableViews, Manifest, decode
from forerun.include.state.store import MissingKeyError, StoreReader
from forerun.planner.contract.plan_v1 import BorrowedFrom
from forerun.planner.errors import ContractError
from forerun.planner.request import BorrowedView

_LOG = logging.getLogger(__name__)

MOST_NOTES = 32
"""How many notes of a source are read, the newest ones: a look costs as many requests. What a day
has too many of is found by no one, and computed."""


def find_borrowed_views(store: StoreReader, manifest: Manifest) -> tuple[BorrowedView, ...]:
    """Return what other reports of the same group keep over the pins of this run, or of its base:
    one view of a kind, of this run rather than of the base, and of those the smallest."""
    best: dict[str, BorrowedView] = {}
    checked: dict[tuple[str, str, int], bool] = {}
    for note in _notes(store, manifest) if manifest.share else ():
        if note.group != manifest.share:
            continue
        for borrowable in note.families:
            run = _same_pins(borrowable, manifest)
            if not run:
                continue
            if (key := (note.report, note.generation, note.run)) not in checked:
                checked[key] = _counts(store, note)
            if not checked[key]:
                continue
            found = _as_borrowed_view(borrowable, note, run)
            known = best.get(found.family.fingerprint)
            better = known is None or _order(found) < _order(known)
            if better and _is_there(store, manifest, found):
                best[found.family.fingerprint] = found
    return tuple(best[digest] for digest in sorted(best))


def _notes(store: StoreReader, manifest: Manifest) -> Iterator[BorrowableViews]:
    """Yield the notes that other reports have left beside the sources, the newest first."""
    for source in sorted({source_of_pin(source.pin) for source in manifest.sources}):
        listed = [
            file
            for file in store.list(borrowable_folder(source, manifest.day))
            if not file.key.rpartition("/")[2].startswith(f"{manifest.report}-")
        ]
        listed.sort(key=lambda file: (-file.modified, file.key))
        for file in listed[:MOST_NOTES]:
            try:
                yield decode(BorrowableViews, store.get(file.key), file.key)
            except (ContractError, MissingKeyError) as error:  # a hint that is not to be had
                _LOG.warning("passed over: %s", error.message)


def _same_pins(borrowable: BorrowableView, manifest: Manifest) -> int:
    """The run of this day that has exactly the pins of a view: this one, or its base; 0: none."""
    own = {source.name: source for source in manifest.sources}
    pairs = [(own.get(source.name), source) for source in borrowable.sources]
    if any(mine is None or declared_digest(mine) != theirs.declared for mine, theirs in pairs):
        return 0
    if all(mine is not None and mine.pin == theirs.pin for mine, theirs in pairs):
        return manifest.run
    if all(mine is not None and mine.base_pin == theirs.pin for mine, theirs in pairs):
        return manifest.base
    return 0


def _counts(store: StoreReader, note: BorrowableViews) -> bool:
    """Return whether it is of the newest generation of its report, and committed."""
    newest = latest_generation(store, note.report, date.fromisoformat(note.day))
    at = Generation(note.report, note.day, note.generation)
    return newest == at and read_commit(store, at, note.run) is not None


def _is_there(store: StoreReader, manifest: Manifest, found: BorrowedView) -> bool:
    """Return whether its files are, by name and size: what is in them is compared by the run."""
    at = Generation(manifest.report, manifest.day, manifest.generation)
    try:
        parts = borrowed_partitions_of(store, at, found.origin)
    except BorrowedLostError as error:
        _LOG.warning("passed over: %s", error.message)
        return False
    for part in parts:
        start = len(part.folder) + 1
        there = {file.key[start:]: file.size for file in store.list(part.folder)}
        if any(there.get(file.name) != file.size for file in part.files):
            _LOG.warning("passed over: files of %s are gone", part.folder)
            return False
    return True


def _as_borrowed_view(borrowable: BorrowableView, note: BorrowableViews, run: int) -> BorrowedView:
    origin = BorrowedFrom(
        family="",
        report=note.report,
        generation=note.generation,
        run=note.run,
        stored_as=borrowable.family.id,
    )
    return BorrowedView(family=borrowable.family, origin=origin, run=run, bytes=borrowable.bytes)


def _order(found: BorrowedView) -> tuple[int, int, str, int]:
    return (-found.run, found.bytes, found.origin.report, found.origin.run)


def find_lost(plan_uri: str) -> BorrowedLostError | None:
    """Return an error that names what a stored plan reads of another report and that is gone; None
    if all of it is there."""
    stored = StoredPlan.read(plan_uri)
    store, plan = stored.store, stored.plan
    origins = {origin.family: origin for origin in plan.shared}
    try:
        for family, parts in borrowed_partitions(store, stored.at, plan).items():
            for partition in parts:
                try:
                    verify_partition(store, partition)
                except ArtifactError as error:
                    return lost(origins[family], error)
    except BorrowedLostError as error:
        return error
    return None
