"""One stage: run its SELECT, write what comes out, record that it is done.

The record is what a retry goes on from. Its digest is of all that the output depends on, so a
stage that was planned differently, or over other files, is done again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from forerun.include.sources.row_counts import count_rows
from forerun.include.state.commits import (
    ArtifactError,
    describe_partition,
    read_stage,
    record_stage,
    verify_partition,
)
from forerun.include.state.layout import RESULT_FAMILY
from forerun.include.state.records import ArtifactPartition, StageRecord, decode, encode
from forerun.planner.contract import (
    ArtifactOutput,
    ColumnSpec,
    Family,
    ResultOutput,
    SourceInput,
    Stage,
)
from forerun.planner.contract.digest import digest_of
from forerun.planner.contract.parameters import value_of
from forerun.planner.errors import ContractError
from forerun.spark_jobs.engine import Engine, Frame, describe_schema, quoted, schema_of
from forerun.spark_jobs.failures import explained
from forerun.spark_jobs.inputs import Inputs, check_family, verify_stage_read
from forerun.spark_jobs.metrics import stage_metrics
from forerun.spark_jobs.work import Work

_PARTITION_BYTES = 256 * 2**20
"""How much of a stage's source files may come to one of its partitions."""


def run_stage(work: Work, stage: Stage, done: dict[str, ArtifactPartition]) -> StageRecord:
    """Do a stage, or take over what an earlier attempt has done, verified.

    ``done`` holds this run's partitions so far, by family. Raises ``StageError`` with
    Spark's message if the SELECT fails, :class:`ContractError` if its schema is not the plan's, and
    :class:`forerun.include.sources.delivery.SourceChangedError` for a file that changed while it
    was read.
    """
    digest = stage_digest(work, stage, done)
    key = (work.inputs.at, work.inputs.plan.run.index, stage.id)
    found = read_stage(work.store, *key)
    broken = False
    if found is not None and found.digest == digest:
        try:
            verify_partition(work.store, found.output)
        except ArtifactError:
            broken = True  # its files are lost: do it again, and say so in place of the record
        else:
            return replace(found, metrics=replace(found.metrics, reused=True))
    record = _do(work, stage, digest, done)
    # Before it is recorded: a retry takes it over, when a changed file may be back as it was.
    verify_stage_read(work.store, work.inputs, stage, done)
    if broken and _replaced(work, record):
        return record
    there = record_stage(work.store, work.inputs.at, record)
    if there.attempt != work.attempt:
        verify_partition(work.store, there.output)
    return there


def stage_digest(work: Work, stage: Stage, done: dict[str, ArtifactPartition]) -> str:
    """A hash of the SQL, the output's definition, the session and every input file."""
    inputs = work.inputs
    parts: list[object] = [work.engine.name, stage.sql, stage.output, inputs.plan.session]
    if stage.small_sides:
        parts.append(stage.small_sides)
    if stage.parameters:
        parts.append(stage.parameters)
    if isinstance(stage.output, ArtifactOutput):
        parts.append(inputs.plan.family(stage.output.family))
    for item in stage.inputs:
        if isinstance(item, SourceInput):
            parts += _read_of(inputs, item)
        else:
            own = (done[item.family],) if item.family in done else ()
            kept = (*inputs.partitions(item.family), *own)
            parts.append(tuple((p.folder, p.files) for p in kept))
    return digest_of(*parts)


def _read_of(inputs: Inputs, item: SourceInput) -> Iterator[object]:
    """Yield all that the rows of a source's view depend on."""
    files = tuple((f.uri, f.size, f.identity) for f in inputs.files(item))
    source = inputs.manifest.source(item.source)
    yield item.view, source.columns, source.change, files
    if item.by_pane:
        yield tuple(f.day for f in (*inputs.files(item), *inputs.withdrawn(item)))
    if gone := tuple((f.uri, f.size, f.identity) for f in inputs.withdrawn(item)):
        yield gone


def _do(work: Work, stage: Stage, digest: str, done: dict[str, ArtifactPartition]) -> StageRecord:
    started = time.monotonic()
    what = f"stage {stage.id} ({stage.title})"
    with work.engine.working_on(work.label(stage.id)), explained(what):
        output = stage.output
        # Small sides, too: what is held in 200 parts is 200 tasks for whoever reads it.
        shuffling = work.engine.shuffling_into(_partitions(work, stage))
        with (
            work.engine.running(stage.sql),
            shuffling,
            small_sides(work.engine, stage),
        ):
            if isinstance(output, ArtifactOutput):
                partition = _save(work, stage, work.inputs.plan.family(output.family))
            else:
                partition = _publishable(work, stage, output)
    return StageRecord(
        run=work.inputs.plan.run.index,
        stage=stage.id,
        attempt=work.attempt,
        digest=digest,
        output=partition,
        metrics=stage_metrics(work, stage, partition, done, time.monotonic() - started),
    )


@contextmanager
def small_sides(engine: Engine, stage: Stage) -> Iterator[None]:
    """While in it, the views of a stage's small sides can be read."""
    with ExitStack() as held:
        for side in stage.small_sides:
            rows = engine.session.sql(side.sql)
            held.enter_context(engine.computed_first(side.view, rows, side.rows))
        yield


def _frame(work: Work, stage: Stage) -> Frame:
    """The rows of a stage. The engine binds the parameters, so that no value becomes SQL text."""
    if not stage.parameters:
        return work.engine.session.sql(stage.sql)
    return work.engine.session.sql(stage.sql, args={p.name: value_of(p) for p in stage.parameters})


def _save(work: Work, stage: Stage, family: Family) -> ArtifactPartition:
    frame = work.engine.conform(_frame(work, stage), family.columns)
    _check_schema(work, stage, frame, family)
    folder = _folder(work, family.id)
    rows = work.engine.write_artifact(frame, family, work.store.uri(folder))
    partition = described(work, family.id, folder, family.columns, family, rows)
    check_family(partition, family, buckets=work.engine.has_buckets)
    return partition


def _publishable(work: Work, stage: Stage, output: ResultOutput) -> ArtifactPartition:
    frame = publishable(work.engine, _frame(work, stage), stage.id, output)
    folder = _folder(work, RESULT_FAMILY)
    rows = work.engine.write_result(frame, work.store.uri(folder), ordered=output.ordered)
    return described(work, RESULT_FAMILY, folder, describe_schema(frame), None, rows)


def publishable(engine: Engine, frame: Frame, stage: str, output: ResultOutput) -> Frame:
    """The rows of a result as they are written: under its names, in types that Parquet has, and
    Spark's where the engine gives others."""
    from pyspark.sql.types import NullType

    if len(frame.columns) != len(output.columns):
        raise ContractError(
            f"stage {stage} gives {len(frame.columns)} columns, the report has "
            f"{len(output.columns)}",
            hint="Plan the run again.",
        )
    if tuple(frame.columns) != output.columns:
        frame = frame.toDF(*output.columns)
    if output.types:
        frame = engine.in_types(frame, output.types)
    # Parquet has no column without a type; NULLs of an unknown type are published as text.
    casts = {
        field.name: frame[quoted(field.name)].cast("string")
        for field in frame.schema.fields
        if isinstance(field.dataType, NullType)
    }
    return frame.withColumns(casts) if casts else frame


def _partitions(work: Work, stage: Stage) -> int:
    """Return how many partitions a stage shuffles into: the buckets of the families that it reads
    and writes, the most if they differ; where it has none, what the engine takes for as many bytes
    as it reads; 0, as the session has it, for the user's own text.

    Spark shuffles a bucketed table once more if the other side of a join has more partitions, and
    drops the shuffle in front of a bucketed write if an aggregate has as many. Where a stage reads
    much more than the buckets are made for, memory is dearer than a shuffle of what is kept: then
    only what is written counts.
    """
    inputs = work.inputs
    read, size = [], 0
    for item in stage.inputs:
        if isinstance(item, SourceInput):
            size += sum(file.size for file in inputs.files(item))
        else:
            read.append(inputs.plan.family(item.family).buckets)
    written = 0
    if isinstance(stage.output, ArtifactOutput):
        written = inputs.plan.family(stage.output.family).buckets
    most = max((written, *read))
    count = most if size <= most * _PARTITION_BYTES else written
    if count or inputs.plan.method == "batch":
        return count
    return work.engine.partitions_for(size)


def _folder(work: Work, family: str) -> str:
    return work.inputs.at.artifact(family, work.inputs.plan.run.index, work.attempt)


def described(
    work: Work,
    name: str,
    folder: str,
    columns: tuple[ColumnSpec, ...],
    family: Family | None,
    reported: int | None,
) -> ArtifactPartition:
    """The partition that was just written. ``reported`` is how many rows the writers say it has.

    Raises :class:`ArtifactError` if the files that are listed have not as many: then one of them
    was lost or added since, and a commit would be of something that no stage has computed.
    """
    written = describe_partition(
        work.store,
        family=name,
        run=work.inputs.plan.run.index,
        attempt=work.attempt,
        folder=folder,
        rows=0,
        columns=columns,
        key=family.key if family else (),
        buckets=family.buckets if family and work.engine.has_buckets else 0,
        signed=family.signed if family else False,
    )
    # Not by a query: its scan would be counted among what the stage has read.
    files = [f"{folder}/{file.name}" for file in written.files]
    rows = count_rows(work.store, files)
    if reported is not None and rows != reported:
        raise ArtifactError(
            f"{folder} holds {rows} rows in {len(files)} files; {reported} were written",
            hint="Something else deletes or writes there: see that nothing but Forerun does (a "
            "lifecycle rule, another job). Then retry the run.",
        )
    return replace(written, rows=rows)


def _check_schema(work: Work, stage: Stage, frame: Frame, family: Family) -> None:
    """The engine's types must be the declared ones: all partitions of a family share a schema,
    and rows hash to buckets by the type of the key."""
    declared = schema_of(work.engine.session, family.columns)
    wanted = [(field.name, field.dataType.simpleString()) for field in declared.fields]
    got = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
    if got != wanted:
        raise ContractError(
            f"stage {stage.id} gives {_differing(got, wanted)}; family {family.id} declares "
            f"{_differing(wanted, got)}",
            hint="The plan and the engine disagree about a type; please report the query.",
        )


def _differing(columns: list[tuple[str, str]], others: list[tuple[str, str]]) -> str:
    """The columns that the other list does not have at the same place."""
    there = dict(enumerate(others))
    return ", ".join(f"{c[0]} {c[1]}" for i, c in enumerate(columns) if there.get(i) != c) or "none"


def _replaced(work: Work, record: StageRecord) -> bool:
    key = work.inputs.at.stage(record.run, record.stage)
    found = work.store.find(key)
    if found is None or decode(StageRecord, found.data, key).digest != record.digest:
        return False
    return work.store.put_if_match(key, encode(record), found.tag)
