"""Publish a commit with a result, as a rule the final run's, to where readers look.

The result is copied to a folder of its own and compared, then one conditional put moves the
pointer: readers of the pointer see the old version or the new one, whole. An older generation never
replaces a newer one, an early result neither that of a later run nor that of a whole day. For a
partition folder of a table see :mod:`forerun.include.days.partition_sink`; there the file changes
first and the pointer follows, so that a retry after a kill finishes what is missing.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from forerun.include.days.handle import Day
from forerun.include.days.instructions import read_told
from forerun.include.days.ledger import record_history
from forerun.include.days.manifests import read_manifest
from forerun.include.days.not_published import (
    NotPublishedError as NotPublishedError,  # noqa: PLC0414 - this module offers it too
)
from forerun.include.days.partition_sink import Stamp, lost_partition, publish_partition
from forerun.include.days.results import read_pointer
from forerun.include.days.sinks.day_rows import DayRows, DayVersion, ReportDay, place_of_sink
from forerun.include.days.sinks.tables import open_sink, publish_rows, refuse_types
from forerun.include.reports.sinks import PartitionFolder, VersionedFolder
from forerun.include.sources.delivery import read_pin
from forerun.include.state.commits import verify_partition
from forerun.include.state.layout import Generation, pointer_key, version_folder
from forerun.include.state.pointers import Overruled, Pointer, read_published
from forerun.include.state.records import (
    ArtifactFile,
    ArtifactPartition,
    Manifest,
    RunCommit,
    encode,
)
from forerun.include.state.rows import result_rows
from forerun.include.stores.backoff import Backoff
from forerun.include.stores.store import Store, StoreDownError, StoreReader
from forerun.planner.contract import decode_plan
from forerun.planner.errors import ContractError, ForerunError

_SAMPLE = 3


class OvertakenError(NotPublishedError):
    """An early result comes after a later one; readers have something better already."""

    code = "overtaken"


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """An expectation that did not hold: its severity, or ``provisional`` for one that does not hold
    of what had come by then; and one line with a sample of the rows."""

    severity: str
    text: str


def read_findings(day: Day, run: int | None = None) -> tuple[FailedCheck, ...]:
    """Every expectation that did not hold in any committed run of the day up to ``run``, by default
    the final one; oldest run first.

    Raises :class:`NotPublishedError` if that run is not committed: then nothing is known.
    """
    chain, _ = _with_result(day, run or day.spec.runs)
    return tuple(
        finding
        for commit in chain
        for check in commit.checks
        if check.critical or check.warnings
        for finding in failed_checks(day.store, commit.run, check.target, check.key)
    )


def failed_checks(store: StoreReader, run: int, target: str, key: str) -> list[FailedCheck]:
    """The expectations on a target (a delivery or the result) that did not hold after a run; their
    outcome lies under ``key``."""
    try:
        checks = json.loads(store.get(key))
        so_far = "provisional" if checks.get("provisional") else ""
        return [
            FailedCheck(so_far or finding["severity"], _line(run, target, finding))
            for finding in checks["findings"]
            if finding["outcome"] != "passed"
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ContractError(
            f"{key} is not the outcome of checks: {type(error).__name__}",
            hint="It was changed or damaged from outside: restore it, or clear the day.",
        ) from None


def _line(run: int, target: str, finding: dict[str, Any]) -> str:
    """One expectation that did not hold, with a sample of the rows, for people."""
    text = f"run {run}, {target}: {finding['sentence']}"
    if rows := finding.get("rows"):
        sample = "; ".join(json.dumps(row, ensure_ascii=False) for row in rows[:_SAMPLE])
        text += f"; such as {sample}"
    return text


def publish_result(day: Day, *, now: datetime, run: int | None = None) -> Pointer:
    """Publish the result of ``run``, by default the final one; return the pointer.

    The pointer moves only to files that have been compared with the commit. Repeating it looks
    whether what is published is still all there, and if not copies it again.

    Raises :class:`NotPublishedError` if the run has committed no result, a critical expectation
    did not hold, a newer generation is published, or published files are gone together with the
    state that they came from; for an early run :class:`OvertakenError` if readers have the result
    of a later run, or of the whole day; and
    :class:`forerun.include.state.fence.GenerationClosedError` if clean-up has closed the
    generation.
    """
    at, run = day.at, run or day.spec.runs
    there = read_pointer(day.store, at.report, day.date)
    if there is not None and (there.generation, there.run) == (at.number, run):
        lost = _lost_files(day, there)
        if day.is_closed() or day.commit(run) is None:
            return _without_state(there, lost)
    day.refuse_closed()
    chain, result = _with_result(day, run)
    _refuse_part_of_day(day, run)
    overruled = _overruled(day, chain)
    backoff = Backoff(pointer_key(at.report, at.day))
    while (moved := _try_to_publish(day, chain, result, now, overruled)) is None:
        backoff.wait()
    record_history(day, chain)  # also if the pointer was there: a kill may have come between
    return moved


def _refuse_part_of_day(day: Day, run: int) -> None:
    """Raise if what is the final run now was an early one when it was made: it read what had come
    until then, and nobody may take that for the whole day."""
    if day.is_final(run) and not read_manifest(day.store, day.at, run).final:
        raise NotPublishedError(
            f"run {run} of {day.at.report}, {day.at.day}, is the final one now, and was an early "
            "one when it was made: the report had more runs then",
            hint="Its run times were edited during the day. Clear the day: a new generation "
            "starts.",
        )


def _try_to_publish(
    day: Day,
    chain: list[RunCommit],
    result: ArtifactPartition,
    now: datetime,
    overruled: Overruled | None,
) -> Pointer | None:
    """Bring the result to where readers find it and move the pointer; None if the pointer has
    changed since this began.

    The order is what makes it safe beside clean-up and other publishers: first the pointer is
    read, then files are copied to a folder that nobody else has ever used and compared, then the
    fence of the day is read, then the pointer is replaced if it is still the one that was read.
    Clean-up changes the pointer before it deletes a version.
    """
    store, at = day.store, day.at
    key, run = pointer_key(at.report, at.day), chain[-1].run
    version = f"{at.generation}-{run}-{chain[-1].attempt}"
    found = read_published(store, at.report, at.day)
    there = found.pointer
    if there is not None and there.version == version and not _lost_files(day, there):
        return there
    early = not day.is_final(run)
    _refuse_older(there, at.number, run, early=early)
    verify_partition(store, result)
    manifest = read_manifest(store, at, run)
    folder, files = _to_sink(day, chain[-1], manifest, result, version)
    pointer = Pointer(
        report=at.report,
        day=at.day,
        version=version,
        generation=at.number,
        run=run,
        folder=folder,
        files=files,
        rows=result.rows,
        published_at=now.astimezone(UTC).isoformat(),
        swept=found.swept,
        incomplete=manifest.incomplete,
        overruled=overruled,
    )
    if early:
        pointer = _as_early(store, manifest, chain[-1], pointer)
    day.refuse_closed()
    if found.tag is None:
        won = store.put_if_absent(key, encode(pointer))
    else:
        won = store.put_if_match(key, encode(pointer), found.tag)
    return pointer if won else None


def _to_sink(
    day: Day, commit: RunCommit, manifest: Manifest, result: ArtifactPartition, version: str
) -> tuple[str, tuple[ArtifactFile, ...]]:
    """Bring the result to where readers look; return the folder and the files that the pointer
    names."""
    store, at, sink = day.store, day.at, day.spec.published_to
    if isinstance(sink, PartitionFolder):
        stamp = Stamp(
            report=at.report,
            day=at.day,
            version=version,
            generation=at.number,
            incomplete=manifest.incomplete,
        )
        return publish_partition(store, result, sink, stamp)
    if isinstance(sink, VersionedFolder):
        return _to_version(store, result, at, version)
    refuse_types(result.columns)
    found = _to_version(store, result, at, version)
    publish_rows(sink, _day_rows(day, commit, manifest), result_rows(store, result))
    return found


def _day_rows(day: Day, commit: RunCommit, manifest: Manifest) -> DayRows:
    """Return what a table is told of the rows of a day."""
    return DayRows(
        of=_report_day(day, early=not day.is_final(commit.run)),
        version=DayVersion(generation=day.at.number, run=commit.run),
        attempt=commit.attempt,
        incomplete=manifest.incomplete,
        pins=tuple(source.pin for source in manifest.sources),
    )


def _report_day(day: Day, *, early: bool) -> ReportDay:
    return ReportDay(report=day.at.report, day=day.date, store=day.store.root, early=early)


def _lost_files(day: Day, pointer: Pointer) -> list[str]:
    """The names of published files, and the table, that are not there any more as the pointer
    says."""
    sink, store = day.spec.published_to, day.store
    if isinstance(sink, PartitionFolder):
        return lost_partition(pointer, sink)
    folder = published_folder(pointer)
    lost = [
        file.name
        for file in pointer.files
        if not _is_as_published(store, f"{folder}/{file.name}", file)
    ]
    if not lost and not isinstance(sink, VersionedFolder):
        version = DayVersion(generation=pointer.generation, run=pointer.run)
        there = open_sink(sink).published(_report_day(day, early=pointer.early))
        lost += [] if there == version else [place_of_sink(sink)]
    return lost


def _is_as_published(store: StoreReader, key: str, file: ArtifactFile) -> bool:
    stored = store.stat(key)
    if stored is None or stored.size != file.size:
        return False
    if file.checksum:
        return store.checksum(key) == file.checksum
    return not file.identity or stored.identity == file.identity


def published_folder(pointer: Pointer) -> str:
    """The key of the folder that a pointer names. (Its URI is of where the store lay then.)"""
    name = pointer.folder.rpartition("/")[2]
    return version_folder(pointer.report, pointer.day, name)


def _without_state(pointer: Pointer, lost: list[str]) -> Pointer:
    """Return the pointer of a generation whose state is gone; raise if published files are, too."""
    if lost:
        raise NotPublishedError(
            f"{pointer.folder}/{lost[0]} is published, but gone or changed; the state of "
            f"generation {pointer.generation} of {pointer.report}, {pointer.day}, that it was "
            "copied from was cleaned up",
            hint="Clear the day: a new generation computes and publishes it again.",
        )
    return pointer


def _with_result(day: Day, run: int) -> tuple[list[RunCommit], ArtifactPartition]:
    """The chain that ends in a run, and the result that the run has made."""
    at, final = day.at, day.is_final(run)
    if final or day.commit(run) is not None:
        chain = day.chain(tip=None if final else run)
        if chain and chain[-1].run == run and chain[-1].result is not None:
            return chain, chain[-1].result
    raise NotPublishedError(
        f"{'the final run' if final else f'run {run}'} of {at.report}, {at.day}, generation "
        f"{at.generation}, has not made a result",
        hint=f"Let run {run} finish first; a failed one can be retried.",
    )


def _as_early(
    store: StoreReader, manifest: Manifest, commit: RunCommit, pointer: Pointer
) -> Pointer:
    """The pointer with what a reader must know of a result over a part of the day."""
    return replace(
        pointer,
        early=True,
        as_of=manifest.created_at,
        fraction=decode_plan(store.get(commit.plan)).run.arrived,
        arrived=tuple((s.name, read_pin(store, s.pin).rows) for s in manifest.sources),
    )


def broken_promises(store: StoreReader, chain: Sequence[RunCommit]) -> tuple[str, ...]:
    """Return a line for each critical expectation that did not hold in the runs of a day, with
    sample rows; one line for those whose outcome is lost. Raises :class:`StoreDownError`."""
    lines: list[str] = []
    for run, check in ((one.run, check) for one in chain for check in one.checks if check.critical):
        try:
            found = failed_checks(store, run, check.target, check.key)
        except StoreDownError:
            raise
        except ForerunError:
            found = []
        critical = [one.text for one in found if one.severity == "critical"]
        lost = f"run {run}, {check.target}: {check.key} is lost, or cannot be read"
        lines += critical or [lost]
    return tuple(lines)


def _overruled(day: Day, chain: list[RunCommit]) -> Overruled | None:
    """Return what is published against the expectations, as somebody has said; None where all that
    are critical hold. Raises :class:`NotPublishedError` where nobody has."""
    failed = [c for commit in chain for c in commit.checks if c.critical]
    if not failed:
        return None
    told = read_told(day.store, day.at).publish_anyway
    if told is None:
        targets = ", ".join(dict.fromkeys(check.target for check in failed))
        raise NotPublishedError(
            f"{sum(c.critical for c in failed)} critical expectations of {day.spec.name} did not "
            f"hold ({targets}); nothing is published",
            hint=f"See {failed[0].key.removesuffix('.json')}.html in the store. Correct the data "
            "and clear the day, or publish it all the same, with a reason, from the day's page.",
        )
    lines = broken_promises(day.store, chain)
    return Overruled(by=told.by, at=told.at, reason=told.reason, failed=lines)


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


def _to_version(
    store: Store, result: ArtifactPartition, at: Generation, version: str
) -> tuple[str, tuple[ArtifactFile, ...]]:
    """Copy the result to a folder of this one try: who else deletes or writes, it is not there."""
    folder = version_folder(at.report, at.day, f"{version}-{uuid.uuid4().hex[:8]}")
    for file in result.files:
        store.copy(f"{result.folder}/{file.name}", f"{folder}/{file.name}")
    return store.uri(folder), _published(store, folder, result)


def _published(store: Store, folder: str, result: ArtifactPartition) -> tuple[ArtifactFile, ...]:
    """The copies, each compared with what the commit says of its original."""
    files = []
    for file in result.files:
        key = f"{folder}/{file.name}"
        stored = store.stat(key)
        # A copy may have an etag of its own on S3; on a local disk the checksum stays true.
        copied = replace(file, identity="")
        if stored is None or not _is_as_published(store, key, copied):
            raise NotPublishedError(
                f"{key} was changed while it was published",
                hint="Retry the task; let nothing else write to the results folder.",
            )
        files.append(replace(file, identity="" if file.checksum else stored.identity))
    return tuple(files)
