"""Says what a run keeps, for other reports, and reads what others keep.

After its commit a run says, beside the pins of a source, what it has kept of it. Such a note is a
hint for who plans (:mod:`forerun.include.runs.borrowed_views`) and no more: what is read is what
the other report's commits name, verified like the report's own. If that is gone or broken by then,
the run says so, and can be planned without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from forerun.include.state.commits import CommitError, read_chain
from forerun.include.state.fence import GenerationClosedError, refuse_closed
from forerun.include.state.layout import Generation, source_of_pin
from forerun.include.state.records import (
    ArtifactPartition,
    BorrowableSource,
    BorrowableView,
    BorrowableViews,
    Manifest,
    ManifestSource,
    RunCommit,
    encode,
)
from forerun.include.state.store import Store, StoreReader
from forerun.planner.contract import Plan
from forerun.planner.contract.digest import digest_of
from forerun.planner.contract.plan_v1 import BorrowedFrom
from forerun.planner.errors import ForerunError


class BorrowedLostError(ForerunError):
    """A table that another report keeps, and the plan reads, is no longer there as it was."""

    code = "borrowed-lost"


def write_borrowable(
    store: Store, at: Generation, plan: Plan, manifest: Manifest, commit: RunCommit
) -> None:
    """Say what a committed run has kept. Repeating it changes nothing."""
    if not isinstance(manifest.share, str) or not manifest.share:
        return
    chain = read_chain(store, at, tip=commit.run)
    sources = {source.name: source for source in manifest.sources}
    by_folder: dict[str, list[BorrowableView]] = {}
    for artifact in commit.artifacts:
        family = plan.family(artifact.family)
        named = [sources[name] for name in family.sources if name in sources]
        if not named or len(named) < len(family.sources) or not _is_whole(chain, family.id):
            continue
        parts = [a for one in chain for a in one.artifacts if a.family == family.id]
        borrowable = BorrowableView(
            family=family,
            sources=tuple(_borrowable_source(source) for source in named),
            bytes=sum(partition.bytes for partition in parts),
        )
        by_folder.setdefault(_folder_of(borrowable), []).append(borrowable)
    for folder, families in sorted(by_folder.items()):
        note = BorrowableViews(
            report=at.report,
            day=at.day,
            generation=at.generation,
            run=commit.run,
            families=tuple(families),
            group=manifest.share,
        )
        store.put_if_absent(at.borrowable(folder, commit.run), encode(note))


def _is_whole(chain: list[RunCommit], family: str) -> bool:
    """Return whether every run has a partition since the first one that has."""
    held = [any(a.family == family for a in commit.artifacts) for commit in chain]
    return all(held[held.index(True) :])


def _folder_of(family: BorrowableView) -> str:
    """Return the folder of one of the view's sources: the same one for all that look."""
    return min(source_of_pin(source.pin) for source in family.sources)


def _borrowable_source(source: ManifestSource) -> BorrowableSource:
    return BorrowableSource(name=source.name, pin=source.pin, declared=declared_digest(source))


def declared_digest(source: ManifestSource) -> str:
    """A digest of what rewrites of a query may rest on."""
    return digest_of(source.columns, source.change, source.key, source.format)[:16]


def borrowed_partitions(
    store: StoreReader, at: Generation, plan: Plan
) -> Mapping[str, tuple[ArtifactPartition, ...]]:
    """The partitions of each family of the plan that another report keeps, oldest first. They count
    as written by runs 0 and below: before the first run of this day.

    Raises :class:`BorrowedLostError` where the other report's commits do not have them any more.
    """
    return {origin.family: borrowed_partitions_of(store, at, origin) for origin in plan.shared}


def borrowed_partitions_of(
    store: StoreReader, at: Generation, origin: BorrowedFrom
) -> tuple[ArtifactPartition, ...]:
    """Return the partitions of one borrowed family, oldest first."""
    there = Generation(origin.report, at.day, origin.generation)
    try:
        chain = read_chain(store, there, tip=origin.run)
        refuse_closed(store, there)
    except (CommitError, GenerationClosedError) as error:
        raise lost(origin, error) from None
    parts = [a for commit in chain for a in commit.artifacts if a.family == origin.stored_as]
    if not parts:
        raise lost(origin, CommitError(f"{there.commit(origin.run)} does not name it"))
    return tuple(replace(a, family=origin.family, run=a.run - origin.run) for a in parts)


def refuse_closed_origins(store: StoreReader, at: Generation, plan: Plan) -> None:
    """Raise :class:`BorrowedLostError` if clean-up has closed a generation of another report that
    the plan reads. To be called after the last byte of it was read."""
    for origin in plan.shared:
        try:
            refuse_closed(store, Generation(origin.report, at.day, origin.generation))
        except GenerationClosedError as error:
            raise lost(origin, error) from None


def lost(origin: BorrowedFrom, why: ForerunError) -> BorrowedLostError:
    """The error that names what a plan cannot read of another report."""
    return BorrowedLostError(
        f"what report {origin.report} keeps as {origin.stored_as} and the plan reads cannot be "
        f"read: {why.message}",
        hint="Plan the run again without it (in Airflow this happens by itself): what it would "
        "have spared is computed. Nothing of this report is lost.",
    )
