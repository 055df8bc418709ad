"""Measures what a stage and a run took, for the records: from the event log where there is one,
else from the files that were bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forerun.include.machine.cpu_meter import Meter
from forerun.include.state.records import ArtifactPartition, RunMetrics, StageMetrics, StageRecord
from forerun.planner.contract import SourceInput, Stage
from forerun.spark_jobs.work import Work


def stage_metrics(
    work: Work,
    stage: Stage,
    output: ArtifactPartition,
    done: dict[str, ArtifactPartition],
    wall_s: float,
) -> StageMetrics:
    """The figures of a stage that has just ended. ``done`` is what the run wrote before it.

    Where the engine does not report its scans, the rows are those of the files that the stage's
    inputs were bound to.
    """
    use = work.engine.used().stage(work.label(stage.id))
    source_rows, state_rows, size = use.source_rows, use.state_rows, use.file_bytes
    if not work.engine.reports_scans:
        source_rows, state_rows, size = _bound(work, stage, done)
    return StageMetrics(
        stage=stage.id,
        rows=output.rows,
        bytes=output.bytes,
        executor_cpu_s=round(use.cpu_s, 6),
        wall_s=round(wall_s, 3),
        source_rows_read=source_rows,
        state_rows_read=state_rows,
        bytes_read=size,
    )


def run_metrics(work: Work, records: Sequence[StageRecord], meter: Meter) -> RunMetrics:
    """The figures of a run that is about to be committed.

    Stages that were taken over keep what their record says: the attempt that was killed did that
    work. ``process_cpu_s`` and ``wall_s`` are of this attempt, up to now; the CPU is 0 where the
    engine does not know all of it.
    """
    stages = tuple(record.metrics for record in records)
    own, counted = work.label(""), {work.label(record.stage) for record in records}
    other = sum(
        used.cpu_s
        for used in work.engine.used().stages
        if used.stage.startswith(own) and used.stage not in counted
    )
    return RunMetrics(
        stages=stages,
        executor_cpu_s=round(sum(s.executor_cpu_s for s in stages) + other, 6),
        other_executor_cpu_s=round(other, 6),
        process_cpu_s=round(meter.cpu_s, 3) if work.engine.reports_cpu else 0.0,
        runs_in_application=meter.shared_by,
        engine=work.engine.name,
        wall_s=round(meter.wall_s, 3),
        source_rows_read=sum(s.source_rows_read for s in stages),
        state_rows_read=sum(s.state_rows_read for s in stages),
        bytes_read=sum(s.bytes_read for s in stages),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryShare:
    """An equal part, for each of ``days``, of what one query for all of them took in seconds, with
    a part of the start of an application that ``runs_in_application`` share."""

    days: int
    runs_in_application: int
    process_cpu_s: float
    executor_cpu_s: float
    wall_s: float


def lifted_metrics(work: Work, result: ArtifactPartition, share: QueryShare) -> RunMetrics:
    """The figures of a run that one query has done with those of other days: its part of what the
    query took, and the rows of its own files."""
    (stage,) = work.inputs.plan.run.stages
    rows, _, size = _bound(work, stage, {})
    own = StageMetrics(
        stage=stage.id,
        rows=result.rows,
        bytes=result.bytes,
        executor_cpu_s=round(share.executor_cpu_s, 6),
        wall_s=round(share.wall_s, 3),
        source_rows_read=rows,
        bytes_read=size,
    )
    return RunMetrics(
        stages=(own,),
        executor_cpu_s=own.executor_cpu_s,
        process_cpu_s=round(share.process_cpu_s, 3) if work.engine.reports_cpu else 0.0,
        runs_in_application=share.runs_in_application,
        days_in_query=share.days,
        engine=work.engine.name,
        wall_s=own.wall_s,
        source_rows_read=rows,
        bytes_read=size,
    )


def _bound(work: Work, stage: Stage, done: dict[str, ArtifactPartition]) -> tuple[int, int, int]:
    """Rows of sources, rows of artifacts and bytes behind the names that a stage reads."""
    source_rows = state_rows = size = 0
    for item in stage.inputs:
        if isinstance(item, SourceInput):
            files = work.inputs.files(item)
            source_rows += sum(file.rows for file in files)
            size += sum(file.size for file in files)
        else:
            own = (done[item.family],) if item.family in done else ()
            partitions = (*work.inputs.partitions(item.family), *own)
            state_rows += sum(partition.rows for partition in partitions)
            size += sum(partition.bytes for partition in partitions)
    return source_rows, state_rows, size
