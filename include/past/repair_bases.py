"""Find what is left of a day that a repair can go on from: committed runs whose state is still
there.

The run of a repair has what changed since a committed run as its delivery. Rows of files that are
gone are taken back, for which they have to be read once more: from a copy, or from nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forerun.include.days.generations import generations
from forerun.include.days.handle import Day
from forerun.include.days.manifests import read_manifest
from forerun.include.sources.corrections import Correction, find_copies, find_corrections, went
from forerun.include.sources.delivery import read_pin
from forerun.include.state.commits import first_lost, read_chain
from forerun.include.state.inherited import read_inherited
from forerun.include.state.layout import Generation
from forerun.include.state.records import Manifest, Pin, PinnedFile, RunCommit
from forerun.include.stores.store import StoreReader
from forerun.planner.errors import ForerunError

Pins = Mapping[str, tuple[str, Pin]]
"""The key of the pin of each source, and the pin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A committed run to go on from: the chain that ends in it, what it has read, and for each
    source what has changed since. ``copies``: files that are gone as they can still be read, by
    the URI that they had."""

    at: Generation
    chain: tuple[RunCommit, ...]
    manifest: Manifest
    before: Mapping[str, Pin]
    changes: Mapping[str, tuple[Correction, ...]]
    copies: Mapping[str, PinnedFile]

    @property
    def run(self) -> int:
        return self.chain[-1].run

    @property
    def name(self) -> str:
        return f"run {self.run} of generation {self.at.generation}"

    def withdrawn(self, source: str) -> tuple[PinnedFile, ...]:
        """Return the files whose rows have to be taken back of a source, as they can be read
        now."""
        return tuple(self.copies[file.uri] for file in went(self.changes[source]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """State that a repair cannot go on from, and why, in words for people."""

    what: str
    why: str


def find_bases(
    store: StoreReader, day: Day, pins: Pins, copies: Sequence[str]
) -> tuple[list[Base], list[Unusable]]:
    """Look for the runs of the day's generations that have kept something, newest first, and say of
    what cannot be used why. ``copies`` are folders in which files that are gone may lie."""
    bases: list[Base] = []
    unusable: list[Unusable] = []
    seen = False
    for at, record in generations(store, day.spec.name, day.date):
        if record.repairs or record.spec != day.spec.digest:
            continue
        seen = True
        inherited = read_inherited(store, at).day if day.spec.policy.inherit_days else ""
        if inherited:
            what, why = f"generation {at.generation}", f"it goes on from the state of {inherited}"
            unusable.append(Unusable(what=what, why=why))
            continue
        chain = read_chain(store, at)
        for tip in range(len(chain), 0, -1):
            if not chain[tip - 1].artifacts:
                continue  # nothing is whole as of this run
            name = f"run {chain[tip - 1].run} of generation {at.generation}"
            try:
                bases.append(_base(store, day, at, chain[:tip], pins, copies))
            except _NotReadableError as error:
                unusable.append(Unusable(what=name, why=error.message))
    if not seen:
        why = "clean-up has deleted it, or the report was changed since"
        unusable.append(Unusable(what="the state of the day", why=why))
    elif not bases and not unusable:
        unusable.append(Unusable(what="the state of the day", why="its runs have kept nothing"))
    return bases, unusable


class _NotReadableError(ForerunError):
    """A committed run cannot be gone on from."""

    code = "base-not-readable"


def _base(
    store: StoreReader,
    day: Day,
    at: Generation,
    chain: list[RunCommit],
    pins: Pins,
    copies: Sequence[str],
) -> Base:
    manifest = read_manifest(store, at, chain[-1].run)
    missing = first_lost(store, (one for commit in chain for one in commit.artifacts))
    if missing:
        raise _NotReadableError(f"{missing} is gone", hint="")
    before = {source.name: read_pin(store, source.pin) for source in manifest.sources}
    changes = {name: find_corrections(before[name], pin) for name, (_, pin) in pins.items()}
    found: dict[str, PinnedFile] = {}
    for source in day.spec.sources:
        gone = went(changes[source.name])
        found |= find_copies(gone, copies, source)
        if lost := [file.uri for file in gone if file.uri not in found]:
            raise _NotReadableError(
                f"it has read {lost[0]}{_and_more(lost)}, whose rows cannot be read any more to "
                "take them back, unless --copies says where the file lies now",
                hint="",
            )
    return Base(
        at=at,
        chain=tuple(chain),
        manifest=manifest,
        before=before,
        changes=changes,
        copies=found,
    )


def _and_more(uris: Sequence[str]) -> str:
    return f" and {len(uris) - 1} more" if len(uris) > 1 else ""
