"""Clean-up by policy: deletes old generations, old results and files that no commit names.

Clean-up may run beside reports at any moment, and may be killed at any moment. Three rules make
that safe; ``docs/how/invariants.md`` has the argument for every interleaving.

* What is deleted whole is closed first, by a conditional put on the record that others need to make
  it count: the fence of the day for generations (:mod:`forerun.include.state.fence`), the pointer
  of the day for published versions.
* Single folders of a live generation are only deleted for a run that is committed, and only if no
  commit names them: whatever else writes there can never be committed.
* Nothing younger than :data:`FLOOR` is deleted, by the store's own clock, whatever the policy says;
  and a generation stays while anything of its day is younger than that. Nothing above rests on
  this rule: it keeps clean-up out of the way of days that are at work.

After the fence a generation loses its commits (newest first), then its files, and its record last.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from forerun.include.state.fence import close_through, closed_through
from forerun.include.state.inherited import read_inherited
from forerun.include.state.layout import (
    Generation,
    clock_key,
    day_folder,
    notes_folder,
    numbers,
    part,
    pointer_key,
    results_folder,
    source_of_pin,
)
from forerun.include.state.pointers import Pointer, StoredPointer, Unpublished, read_published
from forerun.include.state.records import Manifest, RunCommit, StageRecord, decode, encode
from forerun.include.stores.backoff import Backoff
from forerun.include.stores.file_store import FileStore
from forerun.include.stores.store import MissingKeyError, Store, StoredFile, StoreError

FLOOR = timedelta(hours=24)
"""Nothing younger than this is deleted, and no generation of a day of which anything is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The part of a report's files that clean-up keeps.

    ``days``: state of the newest days. ``generations``: the newest of each day, at least 1.
    ``versions``: published results of each day, the current one included. ``orphan_hours``: what
    attempts of a committed run have left, and no commit names, is kept that long.
    """

    days: int = 30
    generations: int = 2
    versions: int = 3
    orphan_hours: float = 48.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """The number of files that clean-up has deleted, and their bytes."""

    files: int
    bytes: int


def expire(store: Store, report: str, keep: Retention, *, dry_run: bool = False) -> Expired:
    """Delete what ``keep`` does not keep of a report's state and old results; return how much
    that is. ``dry_run`` deletes nothing and closes nothing."""
    now = store_clock(store)
    floor = now - FLOOR.total_seconds()
    before = min(floor, now - timedelta(hours=keep.orphan_hours).total_seconds())
    gone: list[StoredFile] = []
    days = sorted(store.folders(f"reports/{part(report, 'report')}"), reverse=True)
    used = _inherited(store, report, days[: keep.days], keep.generations)
    for position, day in enumerate(days):
        generations = keep.generations if position < keep.days else 0
        oldest = min((one for at, one in used if at == day), default=0)
        gone += _generations(store, report, day, generations, oldest, floor, dry_run=dry_run)
        gone += _attempts(store, report, day, before, dry_run=dry_run)
    for day in store.folders(f"results/{report}"):
        gone += _versions(store, report, day, keep.versions, floor, dry_run=dry_run)
    if not dry_run and isinstance(store, FileStore):
        store.sweep(before)
    return Expired(files=len(gone), bytes=sum(file.size for file in gone))


def store_clock(store: Store) -> float:
    """The time by the store's own clock, in seconds since the epoch: that of a file just put. All
    ages are differences to this, so it does not matter what the clock of this machine says."""
    key = clock_key(uuid.uuid4().hex)
    store.put(key, b"{}\n")
    try:
        put = store.stat(key)
    finally:
        store.delete(key)
    if put is None:
        raise StoreError(
            f"{key} is gone right after it was put", hint="Retry; run forerun doctor on the store."
        )
    return put.modified


def _inherited(
    store: Store, report: str, days: Sequence[str], generations: int
) -> set[tuple[str, int]]:
    """Return the day and number of each generation from which one that is kept has inherited."""
    kept = (
        Generation(report, day, str(number))
        for day in days
        for number in _numbered(store, report, day)[-generations:]
    )
    return {
        (earlier.day, earlier.number)
        for at in kept
        for earlier in read_inherited(store, at).of_days(report)
    }


def _numbered(store: Store, report: str, day: str) -> list[int]:
    names = store.folders(day_folder(report, day))
    return sorted(int(name) for name in names if name.isdigit())


def _generations(
    store: Store, report: str, day: str, kept: int, used: int, floor: float, *, dry_run: bool
) -> list[StoredFile]:
    """Close and delete the generations of a day but the newest ``kept``, and those from number
    ``used`` on (0 for none), unless the day is at work. What was closed before, and not deleted to
    the end, goes too."""
    known = [str(number) for number in _numbered(store, report, day)]
    closed = closed_through(store, report, day)
    spare = [n for n in known[: max(0, len(known) - kept)] if not used or int(n) < used]
    last = max([closed, *map(int, spare)])
    doomed = [name for name in known if int(name) <= last]
    if not doomed:
        return []
    listed = {name: store.list(Generation(report, day, name).folder) for name in known}
    if any(file.modified >= floor for files in listed.values() for file in files):
        return []
    if not dry_run:
        close_through(store, report, day, last)
    gone = []
    for name in doomed:
        # Listed again: until the fence was closed, files might still have come that count.
        files = _in_order(store, Generation(report, day, name))
        if not dry_run:
            _delete(store, files)
        gone += files
    return gone


def _in_order(store: Store, at: Generation) -> list[StoredFile]:
    """All that a generation has, in the order in which it is deleted."""
    files = {file.key: file for file in store.list(at.folder)}
    commits = [at.commit(run) for run in reversed(numbers(_below(files, at.commits)))]
    first = [files.pop(key) for key in commits if key in files]
    record = files.pop(at.record, None)
    notes = _notes(store, at, _below(files, f"{at.folder}/manifests"))
    return [*notes, *first, *files.values(), *([record] if record else [])]


def _notes(store: Store, at: Generation, manifests: Iterable[str]) -> list[StoredFile]:
    """List the notes of former versions about what the generation keeps, beside the pins of its
    sources."""
    sources = set()
    for key in manifests:
        found = store.find(key)
        if found is not None:
            named = decode(Manifest, found.data, key).sources
            sources |= {source_of_pin(source.pin) for source in named}
    mine = f"{at.report}-{at.generation}-run-"
    return [
        file
        for source in sorted(sources)
        for file in store.list(notes_folder(source, at.day))
        if file.key.rpartition("/")[2].startswith(mine)
    ]


def _below(keys: Iterable[str], folder: str) -> tuple[str, ...]:
    return tuple(key for key in keys if key.startswith(f"{folder}/"))


def _attempts(
    store: Store, report: str, day: str, before: float, *, dry_run: bool
) -> list[StoredFile]:
    """Delete what attempts at committed runs have left and no commit or stage record names.

    A run that is not committed keeps the folders of all its attempts: one of them may be about to
    commit, however old it is.
    """
    gone = []
    for name in store.folders(day_folder(report, day)):
        at = Generation(report, day, name)
        if not name.isdigit() or int(name) <= closed_through(store, report, day):
            continue
        gone += _orphans(store, at, before)
    if not dry_run:
        _delete(store, gone)
    return gone


def _orphans(store: Store, at: Generation, before: float) -> list[StoredFile]:
    attempts: dict[str, list[StoredFile]] = {}
    depth = len(at.artifacts.split("/")) + 2
    for file in store.list(at.artifacts):
        attempts.setdefault("/".join(file.key.split("/")[:depth]), []).append(file)
    old = {
        folder: files
        for folder, files in attempts.items()
        if max(file.modified for file in files) < before
    }
    if not old:
        return []
    try:
        committed, named = _named(store, at)
    except MissingKeyError:
        return []  # another clean-up takes the generation apart: what is left of it is its
    return [
        file
        for folder, files in sorted(old.items())
        if folder not in named and _run_of(folder) in committed
        for file in files
    ]


def _run_of(attempt_folder: str) -> int:
    """The run that a folder ``.../<family>/<run>-<attempt>`` is of; 0 if it is not so named."""
    run = attempt_folder.rpartition("/")[2].partition("-")[0]
    return int(run) if run.isdigit() else 0


def _named(store: Store, at: Generation) -> tuple[set[int], set[str]]:
    """The committed runs, and the folders that a commit or a stage record names. Every commit
    counts, also one outside the chain: its day may still be looked into."""
    committed: set[int] = set()
    named: set[str] = set()
    for file in store.list(at.commits):
        commit = decode(RunCommit, store.get(file.key), file.key)
        committed.add(commit.run)
        named |= {artifact.folder for artifact in commit.artifacts}
        named |= {commit.result.folder} if commit.result else set()
    for file in store.list(f"{at.folder}/stages"):
        named.add(decode(StageRecord, store.get(file.key), file.key).output.folder)
    return committed, named


def _versions(
    store: Store, report: str, day: str, versions: int, floor: float, *, dry_run: bool
) -> list[StoredFile]:
    """Delete published versions of a day but the newest ones, and what publications that were
    killed have left. First it changes what lies in the pointer's place, so that a publication
    which is under way has to look again."""
    key = pointer_key(report, day)
    backoff = Backoff(key)
    while True:
        found = read_published(store, report, day)
        put = store.stat(key)
        # Who has just followed the pointer reads what it named until it moved.
        if found.pointer is not None and (put is None or put.modified >= floor):
            return []
        spare = _spare(store, results_folder(report, day), found.pointer, versions, floor)
        if not spare or dry_run:
            return spare
        if _swept(store, key, found, Unpublished(report=report, day=day, swept=0)):
            _delete(store, spare)
            return spare
        backoff.wait()


def _swept(store: Store, key: str, found: StoredPointer, none: Unpublished) -> bool:
    """Count one more sweep in the pointer's place, if it still holds what was found."""
    data = encode(replace(found.record or none, swept=found.swept + 1))
    if found.tag is None:
        return store.put_if_absent(key, data)
    return store.put_if_match(key, data, found.tag)


def _spare(
    store: Store, folder: str, pointer: Pointer | None, versions: int, floor: float
) -> list[StoredFile]:
    others = []
    current = set()
    if pointer is not None:
        # By name, not by the whole URI: a store may have moved since the pointer was written.
        current = {pointer.version, pointer.folder.rpartition("/")[2]}
    for name in store.folders(folder):
        files = store.list(f"{folder}/{name}")
        if files and name not in current:
            others.append((max(file.modified for file in files), list(files)))
    others.sort(key=lambda item: item[0], reverse=True)
    spare = others[max(0, versions - 1) :] if pointer is not None else others
    return [file for newest, files in spare if newest < floor for file in files]


def _delete(store: Store, files: Sequence[StoredFile]) -> None:
    for file in files:
        store.delete(file.key)
