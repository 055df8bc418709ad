"""The pointer: the one record by which readers find what is published of a report for a day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from forerun.include.state.layout import pointer_key
from forerun.include.state.records import ArtifactFile, decode_one_of
from forerun.include.stores.store import StoreReader
from forerun.planner.contract.plan_v1 import later


@dataclass(frozen=True, slots=True, kw_only=True)
class Overruled:
    """Critical expectations that did not hold of a result that somebody has published all the same:
    ``failed`` has a line for each, ``by`` is who has, at ``at``, and ``reason`` what readers are to
    know of it."""

    by: str
    at: str
    reason: str
    failed: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return all of it in a line."""
        failed = "; ".join(self.failed)
        return f"published all the same by {self.by}: {self.reason} (did not hold: {failed})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """The published version of a report's day, and exactly its files.

    ``folder`` is the URI that readers read. A day's generations are ordered by number: an older
    one never replaces a newer one. ``early``: the result of an early run, over what had arrived
    when its sources were pinned (``as_of``, empty if not early): by forecast the fraction
    ``fraction`` of the day, and exactly ``arrived`` rows by source. ``incomplete``: a result of the
    whole day that was published although these sources were not complete, each with what was
    missing. ``overruled``: critical expectations that did not hold, None if all did. ``swept``
    counts how often clean-up has deleted other versions of the day: it changes the pointer first,
    so that whoever was about to move it to one of them has to look again.
    """

    report: str
    day: str
    version: str
    generation: int
    run: int
    folder: str
    files: tuple[ArtifactFile, ...]
    rows: int
    published_at: str
    early: bool = False
    as_of: str = ""
    fraction: float = 1.0
    arrived: tuple[tuple[str, int], ...] = ()
    swept: int = later(0)
    incomplete: tuple[tuple[str, str], ...] = later(())
    overruled: Overruled | None = later(None)  # noqa: RUF009 - a marked default

    @property
    def complete(self) -> bool:
        """Return whether the result is over the whole day of every source."""
        return not self.early and not self.incomplete


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpublished:
    """The record in the pointer's place when nothing is published: clean-up has deleted, for the
    ``swept``-th time, copies that a killed publication had left. Readers find nothing."""

    report: str
    day: str
    swept: int


@dataclass(frozen=True, slots=True)
class StoredPointer:
    """The content of the pointer's place. ``tag`` is for the conditional put that replaces it, None
    if nothing lies there."""

    tag: str | None = None
    record: Pointer | Unpublished | None = None

    @property
    def pointer(self) -> Pointer | None:
        """The pointer, None if nothing is published."""
        return self.record if isinstance(self.record, Pointer) else None

    @property
    def swept(self) -> int:
        """Return how often clean-up has deleted versions of the day."""
        return self.record.swept if self.record is not None else 0


def decode_pointer(data: bytes, key: str) -> Pointer | Unpublished:
    """Read what lies in the pointer's place; ``key`` says in errors where that is."""
    return cast(Pointer | Unpublished, decode_one_of((Pointer, Unpublished), data, key))


def read_published(store: StoreReader, report: str, day: str) -> StoredPointer:
    """Look what is published of a report for a day, written as in keys."""
    key = pointer_key(report, day)
    found = store.find(key)
    if found is None:
        return StoredPointer()
    return StoredPointer(found.tag, decode_pointer(found.data, key))


def what_lacks(pointer: Pointer) -> tuple[str, ...]:
    """Return sentences that say which part of the day a published result leaves out; none if it is
    over the whole day."""
    if pointer.early:
        what = f"it is the early result of run {pointer.run}, over what had come by {pointer.as_of}"
        return (f"{what} (about {pointer.fraction:.0%} of the day)",)
    return tuple(f"{source}: {what}" for source, what in pointer.incomplete)
