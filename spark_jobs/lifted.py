"""The runs of several days by one query: its rows are told apart by day, and each day is committed
by itself under its own plan.

An application is shared, a fate is not. Whatever keeps the query from being right for a day leaves
that day, or all of them, to its own plan in the same application: a file that came or changed, an
error in the rows of one day, a day without rows in the result (whose own run writes the file that
says what its columns are).
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from forerun.include.machine.cpu_meter import Meter
from forerun.include.machine.wall_clock import utc_now
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.sources.delivery import verify_pin
from forerun.include.sources.files import locate
from forerun.include.sources.row_counts import count_rows
from forerun.include.state.commits import (
    ArtifactError,
    commit_run,
    describe_partition,
    read_commit,
    verify_partition,
)
from forerun.include.state.layout import RESULT_FAMILY
from forerun.include.state.records import ArtifactPartition, Pin, RunCommit
from forerun.include.stores.store import is_hidden
from forerun.planner.contract import ColumnSpec, ResultOutput
from forerun.planner.contract.lifted_v1 import LiftedQuery
from forerun.planner.contract.plan_v1 import DAY_COLUMN
from forerun.planner.errors import ContractError, ForerunError
from forerun.spark_jobs.checks.run_checks import check_result, check_sources
from forerun.spark_jobs.engine import DayFiles, Engine, describe_schema
from forerun.spark_jobs.executor import Progress
from forerun.spark_jobs.failures import explained
from forerun.spark_jobs.inputs import Inputs, load_inputs, read_files, refuse_own_types
from forerun.spark_jobs.metrics import QueryShare, lifted_metrics
from forerun.spark_jobs.stages import described, publishable, small_sides
from forerun.spark_jobs.work import Work

_FAMILY = "lifted"
"""The folder that the rows of all days are written to, before each day gets its own."""


@dataclass(frozen=True, slots=True)
class OneDay:
    """A day of the query: its number in it, its stored plan, and what its run reads."""

    number: int
    stored: StoredPlan
    work: Work

    @property
    def inputs(self) -> Inputs:
        return self.work.inputs


@dataclass(frozen=True, slots=True)
class Written:
    """The output of the query, below ``folder`` by day, and what it took in seconds: of the clock,
    and of CPU of executors."""

    folder: str
    columns: tuple[ColumnSpec, ...]
    wall_s: float
    cpu_s: float


def run_lifted(
    engine: Engine,
    query: LiftedQuery,
    plans: Sequence[StoredPlan],
    attempt: str,
    progress: Progress,
    meter: Meter,
    clock: Callable[[], datetime] = utc_now,
) -> dict[str, RunCommit]:
    """Do the runs of these plans by one query, and return the commit of each that was done, by the
    key of its plan. Those that are missing are to be done by their own plans."""
    before_s = meter.cpu_s
    try:
        days = list(_readable(engine, query, plans, attempt, progress, clock))
        if len(days) < 2:
            return {}
        progress(f"{len(days)} days of {query.plan.report} by one query, {engine.name}")
        written = _write(engine, query, days)
    except Exception as error:  # noqa: BLE001 - whatever it is, the days have plans of their own
        why = error.message if isinstance(error, ForerunError) else traceback.format_exc()
        progress(f"each day is done by itself, since one query for all failed: {why}")
        return {}
    share = QueryShare(
        days=len(days),
        runs_in_application=len(plans),
        process_cpu_s=before_s / len(plans) + (meter.cpu_s - before_s) / len(days),
        executor_cpu_s=written.cpu_s / len(days),
        wall_s=written.wall_s / len(days),
    )
    done: dict[str, RunCommit] = {}
    for day in days:
        try:
            commit = _commit(day, written, share, progress)
        except ForerunError as error:
            progress(f"{day.inputs.at.day} is done by itself: {error.message}")
        else:
            done[day.stored.key] = commit
    _sweep(days[0], written)
    return done


def _readable(
    engine: Engine,
    query: LiftedQuery,
    plans: Sequence[StoredPlan],
    attempt: str,
    progress: Progress,
    clock: Callable[[], datetime],
) -> Iterator[OneDay]:
    """The days that are not committed, and whose sources are there as they were pinned."""
    numbers = {key: number for number, key in enumerate(query.days)}
    for stored in plans:
        number = numbers.get(stored.key)
        if number is None or read_commit(stored.store, stored.at, stored.plan.current):
            continue
        try:
            inputs = load_inputs(stored.store, stored.at, stored.plan)
            for name in query.daily:
                refuse_own_types(inputs.manifest.source(name), inputs.pins[name])
                verify_pin(inputs.pins[name])
        except ForerunError as error:
            progress(f"{stored.at.day} is done by itself: {error.message}")
            continue
        yield OneDay(number, stored, Work(engine, stored.store, inputs, attempt, clock=clock))


def _write(engine: Engine, query: LiftedQuery, days: Sequence[OneDay]) -> Written:
    """Execute the query and write its rows by day, with proof that the sources were the same all
    the time."""
    first, stage = days[0], query.stage
    output = stage.output
    if not isinstance(output, ResultOutput) or output.columns[-1:] != (DAY_COLUMN,):
        raise ContractError("the lifted query gives no days", hint="Plan the days again.")
    shared = _shared_pins(query, days)
    folder = first.inputs.at.artifact(_FAMILY, first.inputs.plan.run.index, first.work.attempt)
    label = first.work.label(_FAMILY)
    started = time.monotonic()
    for pin in shared.values():
        verify_pin(pin)
    folders = {name: [_exact_folder(day.inputs.pins[name]) for day in days] for name in query.daily}
    size = sum(pin.bytes for pin in shared.values())
    with engine.working_on(label), explained("the query for several days"):
        engine.configure(query.plan.session)
        for name in sorted({view.source for view in first.inputs.sources()} | set(query.daily)):
            source = first.inputs.manifest.source(name)
            if name in shared:
                engine.bind_view(name, read_files(engine, source, shared[name].files))
                continue
            files = [
                DayFiles(
                    number=day.number,
                    files=tuple(file.uri for file in day.inputs.pins[name].files),
                    folder=exact,
                )
                for day, exact in zip(days, folders[name], strict=True)
            ]
            size += sum(day.inputs.pins[name].bytes for day in days)
            engine.bind_days(name, files, source.columns, source.format)
        shuffling = engine.shuffling_into(engine.partitions_for(size))
        with engine.running(stage.sql), shuffling, small_sides(engine, stage):
            frame = publishable(engine, engine.session.sql(stage.sql), stage.id, output)
            columns = describe_schema(frame)[:-1]
            rows = engine.write_result(
                frame, first.work.store.uri(folder), ordered=output.ordered, by=DAY_COLUMN
            )
    for pin in shared.values():
        verify_pin(pin)
    for name in query.daily:
        for day, exact in zip(days, folders[name], strict=True):
            pin = day.inputs.pins[name]
            verify_pin(pin)
            if exact and not _exact_folder(pin):
                raise ArtifactError(
                    f"a file came into {pin.path} while it was read",
                    hint="Nothing that was read from it counts.",
                )
    _refuse_lost(first, folder, rows)
    wall_s = time.monotonic() - started
    return Written(folder, columns, wall_s, engine.used().stage(label).cpu_s)


def _shared_pins(query: LiftedQuery, days: Sequence[OneDay]) -> dict[str, Pin]:
    """The pins of the sources that are the same on every day, by name."""
    found: dict[str, Pin] = {}
    for day in days:
        for view in day.inputs.sources():
            if view.source in query.daily:
                continue
            pin = day.inputs.pins[view.source]
            if found.setdefault(view.source, pin).files != pin.files:
                raise ContractError(
                    f"source {view.source} has other files on {day.inputs.at.day} than on "
                    f"{days[0].inputs.at.day}",
                    hint="Each day is computed by itself.",
                )
    return found


def _exact_folder(pin: Pin) -> str:
    """The URI of the folder of a source, if an engine that reads the whole folder reads the pinned
    files and no other; else empty."""
    if not pin.files or pin.more_paths or any(file.origin for file in pin.files):
        return ""
    location = locate(pin.path)
    start = len(location.key) + 1
    names = [file.key[start:] for file in location.store.list(location.key)]
    there = [name for name in names if not is_hidden(name)]
    folder = location.store.uri(location.key)
    pinned = [file.uri.removeprefix(f"{folder}/") for file in pin.files]
    flat = not any("/" in name for name in there)
    return folder if flat and sorted(there) == sorted(pinned) else ""


def _refuse_lost(first: OneDay, folder: str, reported: int | None) -> None:
    """Raise if what is written has not as many rows as the writers say."""
    if reported is None:
        return
    store = first.work.store
    # The folders of days begin with an underscore, and are no hidden ones.
    keys = [file.key for file in store.list(folder) if not is_hidden(file.key.rpartition("/")[2])]
    rows = count_rows(store, keys)
    if rows != reported:
        raise ArtifactError(
            f"{folder} holds {rows} rows in {len(keys)} files; {reported} were written",
            hint="Something else deletes or writes there: see that nothing but Forerun does.",
        )


def _commit(day: OneDay, written: Written, share: QueryShare, progress: Progress) -> RunCommit:
    """Give the day the files with its rows, check them, and commit its run."""
    work, stored = day.work, day.stored
    result = _result(day, written)
    checks = check_sources(work, progress)
    if work.inputs.manifest.final:
        checks += check_result(work, result, progress)
        verify_partition(work.store, result)
    commit = RunCommit(
        run=stored.plan.current,
        base=work.inputs.manifest.own_base,
        attempt=work.attempt,
        plan=stored.key,
        committed_at=work.clock().isoformat(timespec="seconds"),
        result=result,
        checks=tuple(checks),
        metrics=lifted_metrics(work, result, share),
    )
    return commit_run(work.store, work.inputs.at, commit)


def _result(day: OneDay, written: Written) -> ArtifactPartition:
    """The rows of the day, copied to where its commit names them and compared with what the query
    has written."""
    work, store = day.work, day.work.store
    source = f"{written.folder}/{DAY_COLUMN}={day.number}"
    there = describe_partition(
        store,
        family=RESULT_FAMILY,
        run=day.inputs.plan.run.index,
        attempt=work.attempt,
        folder=source,
        rows=0,
        columns=written.columns,
    )
    if not there.files:
        raise ArtifactError("the query has no rows for it", hint="Its own run gives its columns.")
    target = day.inputs.at.artifact(RESULT_FAMILY, day.inputs.plan.run.index, work.attempt)
    for file in there.files:
        store.copy(f"{source}/{file.name}", f"{target}/{file.name}")
    result = described(work, RESULT_FAMILY, target, written.columns, None, None)
    copied = [(file.name, file.size, file.checksum) for file in result.files]
    if copied != [(file.name, file.size, file.checksum) for file in there.files]:
        raise ArtifactError(
            f"{target} is not what was copied there",
            hint="Something else writes there: see that nothing but Forerun does.",
        )
    return result


def _sweep(first: OneDay, written: Written) -> None:
    """Delete what each day has a copy of. A kill before it leaves it to clean-up."""
    store = first.work.store
    with suppress(ForerunError):
        for file in store.list(written.folder):
            store.delete(file.key)
