"""Commits: the chain of runs that count, and proof that folders hold exactly what they name.

A commit is one conditional put. The chain is the latest commit, its base, the base of that, and so
on: a commit of a run that finished after a later run had been planned without it is not in it.
Whatever no commit of the chain names is never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from forerun.include.state.fence import refuse_closed
from forerun.include.state.layout import Generation, numbers
from forerun.include.state.records import (
    ArtifactFile,
    ArtifactPartition,
    RunCommit,
    StageRecord,
    decode,
    encode,
)
from forerun.include.stores.backoff import Backoff
from forerun.include.stores.store import Store, StoreReader, is_hidden, put_or_get
from forerun.planner.contract import ColumnSpec
from forerun.planner.errors import ForerunError

_BUCKET = re.compile(r"_(\d{5,})(?:\.|\Z)", re.ASCII)


class ArtifactError(ForerunError):
    """An artifact is not what its commit says: a file changed, vanished, or does not belong."""

    code = "artifact"


class CommitError(ForerunError):
    """A run cannot be committed, or the chain of commits is broken."""

    code = "commit"


def read_commit(store: StoreReader, at: Generation, run: int) -> RunCommit | None:
    """The commit of a run, None if it has none."""
    found = store.find(at.commit(run))
    return decode(RunCommit, found.data, at.commit(run)) if found else None


def read_chain(store: StoreReader, at: Generation, *, tip: int | None = None) -> list[RunCommit]:
    """The committed chain, oldest first. ``tip`` reads the chain that ends in run ``tip``, as the
    run with that base must do whatever has been committed since; 0 is the empty chain."""
    if tip is None:
        # The listing only says where to look; a commit itself is always read.
        tip = max(numbers(tuple(file.key for file in store.list(at.commits))), default=0)
    chain: list[RunCommit] = []
    while tip > 0:
        commit = read_commit(store, at, tip)
        if commit is None or not commit.base < commit.run == tip:
            raise CommitError(
                f"{at.commit(tip)} is missing or names another run",
                hint="The store was edited from outside; clear the day: a new generation starts.",
            )
        chain.append(commit)
        tip = commit.base
    return chain[::-1]


def commit_run(store: Store, at: Generation, commit: RunCommit) -> RunCommit:
    """Commit a run, if no other attempt has; return the commit that counts.

    The caller compares ``attempt`` to know whether it won. A loser changes nothing, and its files
    are never read. Call it after the last byte that the run has read: the fence of the day, read
    before the put, then proves that clean-up had taken nothing away until then; read after the
    put, that the commit counts.

    Raises :class:`CommitError` if the base is not committed, and
    :class:`forerun.include.state.fence.GenerationClosedError` if clean-up has closed the
    generation.
    """
    refuse_closed(store, at)
    if commit.base and read_commit(store, at, commit.base) is None:
        raise CommitError(
            f"run {commit.run} has base {commit.base}, which is not committed",
            hint="Plan the run again.",
        )
    key = at.commit(commit.run)
    winner, _ = put_or_get(store, key, encode(commit))
    refuse_closed(store, at)
    return decode(RunCommit, winner, key)


def describe_partition(  # noqa: PLR0913 - the fields of the record, by name
    store: StoreReader,
    *,
    family: str,
    run: int,
    attempt: str,
    folder: str,
    rows: int,
    columns: Sequence[ColumnSpec],
    key: tuple[str, ...] = (),
    buckets: int = 0,
    signed: bool = False,
) -> ArtifactPartition:
    """Describe a folder that has just been written, with a checksum of every file.

    Raises :class:`ArtifactError` for a file whose name has no bucket, or one out of range.
    """
    files = tuple(
        ArtifactFile(
            name=file.key[len(folder) + 1 :],
            size=file.size,
            identity="" if (checksum := store.checksum(file.key)) else file.identity,
            checksum=checksum,
        )
        for file in store.list(folder)
        if not is_hidden(file.key[len(folder) + 1 :])
    )
    partition = ArtifactPartition(
        family=family, run=run, attempt=attempt, folder=folder, files=files, rows=rows,
        columns=tuple(columns), key=key, buckets=buckets, signed=signed,
    )  # fmt: skip
    check_buckets(partition)
    return partition


def check_buckets(partition: ArtifactPartition) -> None:
    """Every file's name carries a bucket below the count. Too small a count loses rows silently in
    Spark, a file without a bucket makes it fail half-way."""
    if not partition.buckets:
        return
    for file in partition.files:
        found = _BUCKET.search(file.name.split(".", 1)[0])
        if found is None or int(found[1]) >= partition.buckets:
            raise ArtifactError(
                f"{partition.folder}/{file.name} is not one of {partition.buckets} buckets",
                hint="It was not written by this run; clear the day: a new generation starts.",
            )


def verify_partition(store: StoreReader, partition: ArtifactPartition) -> None:
    """Prove that the folder holds exactly the files of the commit, unchanged.

    Done before Spark reads, and again before anything that was computed from it counts: a file of
    the same name and size may have been put there in between. Spark reads whatever lies in a
    folder, so a stray file is refused too. Content is compared by etag on S3; on a local disk every
    byte is read (CRC-32, 0.4 s of CPU per GB, from the page cache that Spark reads from).
    """
    check_buckets(partition)
    start = len(partition.folder) + 1
    found = {file.key[start:]: file for file in store.list(partition.folder)}
    named = {file.name: file for file in partition.files}
    if strays := sorted(n for n in found if n not in named and not is_hidden(n)):
        raise _broken(partition, strays[0], "is in the folder, but the commit does not name it")
    for name, file in sorted(named.items()):
        there = found.get(name)
        if there is None:
            raise _broken(partition, name, "is named by the commit, but is gone")
        if there.size != file.size:
            raise _broken(partition, name, f"has {there.size} bytes instead of {file.size}")
        if file.checksum:
            if store.checksum(there.key) != file.checksum:
                raise _broken(partition, name, "has other content than when it was committed")
        elif there.identity != file.identity:
            raise _broken(partition, name, "was written again after the commit")


def first_lost(store: StoreReader, partitions: Iterable[ArtifactPartition]) -> str:
    """Return the key of the first file of some partitions that is gone, or has another size; "" if
    all are there. What is in them is compared by the run that reads them."""
    for partition in partitions:
        start = len(partition.folder) + 1
        there = {file.key[start:]: file.size for file in store.list(partition.folder)}
        for file in partition.files:
            if there.get(file.name) != file.size:
                return f"{partition.folder}/{file.name}"
    return ""


def lost_families(store: StoreReader, partitions: Iterable[ArtifactPartition]) -> dict[str, str]:
    """Return the families of which a partition is not what its commit says, each with what is
    wrong. Whatever a run reads it verifies by itself; this is for who plans again after one has
    failed."""
    lost: dict[str, str] = {}
    for partition in partitions:
        try:
            verify_partition(store, partition)
        except ArtifactError as error:
            lost.setdefault(partition.family, error.message)
    return lost


def _broken(partition: ArtifactPartition, name: str, what: str) -> ArtifactError:
    return ArtifactError(
        f"{partition.folder}/{name} {what}",
        hint="Nothing that was read from it counts. Clear the day: a new generation computes it "
        "again.",
    )


def read_stage(store: StoreReader, at: Generation, run: int, stage: str) -> StageRecord | None:
    """The record of a finished stage, None if there is none. The caller compares its digest."""
    found = store.find(at.stage(run, stage))
    return decode(StageRecord, found.data, at.stage(run, stage)) if found else None


def record_stage(store: Store, at: Generation, record: StageRecord) -> StageRecord:
    """Record that a stage is done; return the record that counts.

    If another attempt recorded the same stage (same digest) first, its output is used. A record of
    a stage that was planned differently is replaced.
    """
    key = at.stage(record.run, record.stage)
    data = encode(record)
    backoff = Backoff(key)
    while not store.put_if_absent(key, data):
        found = store.find(key)
        if found is not None:
            there = decode(StageRecord, found.data, key)
            if there.digest == record.digest or store.put_if_match(key, data, found.tag):
                return there if there.digest == record.digest else record
        backoff.wait()
    return record
