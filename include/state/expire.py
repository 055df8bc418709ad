"""Clean-up by policy. What a live commit names, and what the pointer points to, is never deleted.

Deleting is safe to repeat after a kill: a generation loses what it has told other reports, then its
commits (newest first, so that a shorter chain stays whole), then its files, and the record that
makes it visible last. A plan of another report that reads such files notices, and is made again
(:mod:`include.state.shared`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from include.state.file_store import FileStore
from include.state.layout import (
    Generation,
    numbers,
    offers_folder,
    part,
    pointer_key,
    source_of_pin,
    version_folder,
)
from include.state.records import Manifest, Pointer, RunCommit, StageRecord, decode
from include.state.store import Store, StoredFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What is kept of a report.

    ``days``: state of the newest days. ``generations``: the newest of each day, at least 1.
    ``versions``: published results of each day, the current one included. ``orphan_hours``: what
    no commit names is kept that long, for the attempt may still be running.
    """

    days: int = 30
    generations: int = 2
    versions: int = 3
    orphan_hours: float = 48.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """What was deleted."""

    files: int
    bytes: int


def expire(
    store: Store, report: str, keep: Retention, now: datetime, *, dry_run: bool = False
) -> Expired:
    """Delete what ``keep`` does not keep of a report's state and old results; return how much
    that is. ``dry_run`` deletes nothing."""
    before = (now - timedelta(hours=keep.orphan_hours)).timestamp()
    doomed: list[StoredFile] = []
    root = f"reports/{part(report, 'report')}"
    days = sorted(store.folders(root), reverse=True)
    for position, day in enumerate(days):
        known = sorted((n for n in store.folders(f"{root}/{day}") if n.isdigit()), key=int)
        kept = known[-max(1, keep.generations) :] if position < keep.days else []
        for name in known:
            at = Generation(report, day, name)
            doomed += _orphans(store, at, before) if name in kept else _whole(store, at)
    for day in store.folders(f"results/{report}"):
        doomed += _versions(store, report, day, keep.versions, before)
    if not dry_run:
        for file in doomed:
            store.delete(file.key)
        if isinstance(store, FileStore):
            store.sweep(before)
    return Expired(files=len(doomed), bytes=sum(file.size for file in doomed))


def _whole(store: Store, at: Generation) -> list[StoredFile]:
    files = {file.key: file for file in store.list(at.folder)}
    commits = [at.commit(run) for run in reversed(numbers(_below(files, at.commits)))]
    first = [files.pop(key) for key in commits if key in files]
    record = files.pop(at.record, None)
    notes = _notes(store, at, _below(files, f"{at.folder}/manifests"))
    return [*notes, *first, *files.values(), *([record] if record else [])]


def _notes(store: Store, at: Generation, manifests: Iterable[str]) -> list[StoredFile]:
    """What the generation has told other reports, beside the pins of its sources."""
    sources = set()
    for key in manifests:
        named = decode(Manifest, store.get(key), key).sources
        sources |= {source_of_pin(source.pin) for source in named}
    mine = f"{at.report}-{at.generation}-run-"
    return [
        file
        for source in sorted(sources)
        for file in store.list(offers_folder(source, at.day))
        if file.key.rpartition("/")[2].startswith(mine)
    ]


def _below(keys: Iterable[str], folder: str) -> tuple[str, ...]:
    return tuple(key for key in keys if key.startswith(f"{folder}/"))


def _orphans(store: Store, at: Generation, before: float) -> list[StoredFile]:
    """Attempt folders that neither a commit nor a stage record names, all of it old enough."""
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
    named = _named(store, at)  # read after the listing: what is committed meanwhile is in it
    return [file for folder, files in sorted(old.items()) if folder not in named for file in files]


def _named(store: Store, at: Generation) -> set[str]:
    """Every commit counts, also one outside the chain: its day may still be looked into."""
    named: set[str] = set()
    for file in store.list(at.commits):
        commit = decode(RunCommit, store.get(file.key), file.key)
        named |= {artifact.folder for artifact in commit.artifacts}
        named |= {commit.result.folder} if commit.result else set()
    for file in store.list(f"{at.folder}/stages"):
        named.add(decode(StageRecord, store.get(file.key), file.key).output.folder)
    return named


def _versions(
    store: Store, report: str, day: str, versions: int, before: float
) -> list[StoredFile]:
    key = pointer_key(report, day)
    found = store.find(key)
    current = decode(Pointer, found.data, key).version if found else ""
    others = []
    for name in store.folders(key.rpartition("/")[0]):
        files = store.list(version_folder(report, day, name))
        if name != current and files:
            others.append((max(file.modified for file in files), list(files)))
    others.sort(key=lambda item: item[0], reverse=True)
    spare = others[max(0, versions - 1) :]
    return [file for newest, files in spare if newest < before for file in files]
