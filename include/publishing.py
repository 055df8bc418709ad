"""From a commit with a result, as a rule the final run's, to what readers see.

The result is copied to a folder of its own, then one conditional put moves the pointer: readers of
the pointer see the old version or the new one, whole. An older generation never replaces a newer
one, an early result neither that of a later run nor that of a whole day. For a partition folder of
a table see :mod:`include.partition_sink`; there the file changes first and the pointer follows, so
that a retry after a kill finishes what is missing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from include.history import record_history
from include.partition_sink import (
    NotPublishedError as NotPublishedError,  # noqa: PLC0414 - this module offers it too
)
from include.partition_sink import Stamp, publish_partition
from include.pinned import read_pin
from include.report import PartitionFolder, ReportSpec
from include.state.commits import read_chain, read_commit, verify_partition
from include.state.layout import Generation, pointer_key, version_folder
from include.state.opening import open_store
from include.state.records import (
    ArtifactFile,
    ArtifactPartition,
    Manifest,
    Pointer,
    RunCommit,
    decode,
    encode,
)
from include.state.store import Store, StoreReader
from planner.contract import decode_plan

_SAMPLE = 3


class OvertakenError(NotPublishedError):
    """An early result comes after a later one; readers have something better already."""

    code = "overtaken"


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """An expectation that did not hold: its severity, and one line with a sample of the rows."""

    severity: str
    text: str


def read_pointer(store: StoreReader, report: str, day: date) -> Pointer | None:
    """What is published for a day, None for nothing."""
    key = pointer_key(report, day.isoformat())
    found = store.find(key)
    return decode(Pointer, found.data, key) if found else None


def read_findings(
    store_uri: str, spec: ReportSpec, day: date, generation: str, run: int | None = None
) -> tuple[FailedCheck, ...]:
    """Every expectation that did not hold in any committed run of the day up to ``run``, by default
    the final one; oldest run first.

    Raises :class:`NotPublishedError` if that run is not committed: then nothing is known.
    """
    store = open_store(store_uri)
    at = Generation(spec.name, day.isoformat(), generation)
    chain, _ = _with_result(store, spec, at, run or spec.runs)
    return tuple(
        finding
        for commit in chain
        for check in commit.checks
        if check.critical or check.warnings
        for finding in _failed(store, commit.run, check.target, check.key)
    )


def _failed(store: StoreReader, run: int, target: str, key: str) -> list[FailedCheck]:
    failed = []
    for finding in json.loads(store.get(key))["findings"]:
        if finding["outcome"] == "passed":
            continue
        text = f"run {run}, {target}: {finding['sentence']}"
        if rows := finding.get("rows"):
            sample = "; ".join(json.dumps(row, ensure_ascii=False) for row in rows[:_SAMPLE])
            text += f"; such as {sample}"
        failed.append(FailedCheck(finding["severity"], text))
    return failed


def publish_result(
    store_uri: str,
    spec: ReportSpec,
    day: date,
    generation: str,
    *,
    now: datetime,
    run: int | None = None,
) -> Pointer:
    """Publish the result of ``run``, by default the final one; return the pointer. Repeating it
    changes nothing.

    Raises :class:`NotPublishedError` if the run has committed no result, a critical expectation
    did not hold, or a newer generation is published; and for an early run :class:`OvertakenError`
    if readers have the result of a later run, or of the whole day.
    """
    store = open_store(store_uri)
    at = Generation(spec.name, day.isoformat(), generation)
    run = run or spec.runs
    chain, result = _with_result(store, spec, at, run)
    _refuse_critical(spec, chain)
    version = f"{at.generation}-{run}-{chain[-1].attempt}"
    there = read_pointer(store, spec.name, day)
    if there is not None and there.version == version:
        record_history(store, at, chain)  # a kill may have come in between
        return there
    _refuse_older(there, int(at.generation), run, early=run < spec.runs)
    verify_partition(store, result)
    if isinstance(spec.sink, PartitionFolder):
        stamp = Stamp(
            report=spec.name, day=day.isoformat(), version=version, generation=int(at.generation)
        )
        folder, files = publish_partition(store, result, spec.sink, stamp)
    else:
        folder, files = _to_version(store, result, spec.name, day, version)
    pointer = Pointer(
        report=spec.name,
        day=day.isoformat(),
        version=version,
        generation=int(at.generation),
        run=run,
        folder=folder,
        files=files,
        rows=result.rows,
        published_at=now.astimezone(UTC).isoformat(),
    )
    if run < spec.runs:
        pointer = _as_early(store, at, chain[-1], pointer)
    moved = _move(store, pointer)
    record_history(store, at, chain)
    return moved


def _with_result(
    store: StoreReader, spec: ReportSpec, at: Generation, run: int
) -> tuple[list[RunCommit], ArtifactPartition]:
    """The chain that ends in a run, and the result that the run has made."""
    final = run == spec.runs
    if final or read_commit(store, at, run) is not None:
        chain = read_chain(store, at, tip=None if final else run)
        if chain and chain[-1].run == run and chain[-1].result is not None:
            return chain, chain[-1].result
    raise NotPublishedError(
        f"{'the final run' if final else f'run {run}'} of {at.report}, {at.day}, generation "
        f"{at.generation}, has not made a result",
        hint=f"Let run {run} finish first; a failed one can be retried.",
    )


def _as_early(store: StoreReader, at: Generation, commit: RunCommit, pointer: Pointer) -> Pointer:
    """The pointer with what a reader must know of a result over a part of the day."""
    manifest = decode(Manifest, store.get(at.manifest(commit.run)), at.manifest(commit.run))
    return replace(
        pointer,
        early=True,
        as_of=manifest.created_at,
        fraction=decode_plan(store.get(commit.plan)).run.arrived,
        arrived=tuple((s.name, read_pin(store, s.pin).rows) for s in manifest.sources),
    )


def _refuse_critical(spec: ReportSpec, chain: list[RunCommit]) -> None:
    failed = [c for commit in chain for c in commit.checks if c.critical]
    if failed:
        targets = ", ".join(dict.fromkeys(check.target for check in failed))
        raise NotPublishedError(
            f"{sum(c.critical for c in failed)} critical expectations of {spec.name} did not hold "
            f"({targets}); nothing is published",
            hint=f"See {failed[0].key.removesuffix('.json')}.html in the store. Correct the data "
            "and clear the day.",
        )


def _refuse_older(there: Pointer | None, number: int, run: int, *, early: bool) -> None:
    if there is None:
        return
    if there.generation > number:
        raise NotPublishedError(
            f"generation {there.generation} of {there.report}, {there.day}, is published; "
            f"generation {number} is older",
            hint="Nothing to do. To publish again, clear the day: a new generation starts.",
        )
    if early and (not there.early or (there.generation == number and there.run > run)):
        what = f"of run {there.run}" if there.early else "of the whole day"
        raise OvertakenError(
            f"the result {what} of {there.report}, {there.day}, generation {there.generation}, is "
            f"published; that of run {run} of generation {number} would tell less",
            hint="Nothing to do: the final run publishes the whole day again.",
        )


def _move(store: Store, pointer: Pointer) -> Pointer:
    """Move the pointer, unless somebody has moved it to what it must not replace, or to this
    version."""
    key = pointer_key(pointer.report, pointer.day)
    data = encode(pointer)
    while not store.put_if_absent(key, data):
        found = store.find(key)
        if found is None:
            continue
        there = decode(Pointer, found.data, key)
        if there.version == pointer.version:
            return there
        _refuse_older(there, pointer.generation, pointer.run, early=pointer.early)
        if store.put_if_match(key, data, found.tag):
            break
    return pointer


def _to_version(
    store: Store, result: ArtifactPartition, report: str, day: date, version: str
) -> tuple[str, tuple[ArtifactFile, ...]]:
    folder = version_folder(report, day.isoformat(), version)
    for file in result.files:
        store.copy(f"{result.folder}/{file.name}", f"{folder}/{file.name}")
    return store.uri(folder), _published(store, folder, result)


def _published(store: Store, folder: str, result: ArtifactPartition) -> tuple[ArtifactFile, ...]:
    """The copies, which must be as large as what they were copied from."""
    files = []
    for file in result.files:
        stored = store.stat(f"{folder}/{file.name}")
        if stored is None or stored.size != file.size:
            raise NotPublishedError(
                f"{folder}/{file.name} was changed while it was published",
                hint="Retry the task; let nothing else write to the results folder.",
            )
        # A copy has an etag of its own on S3; on a local disk the checksum stays true.
        identity = "" if file.checksum else stored.identity
        files.append(
            ArtifactFile(name=file.name, size=file.size, identity=identity, checksum=file.checksum)
        )
    return tuple(files)
