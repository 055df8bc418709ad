"""Reads from an event log what a Spark application really read, wrote and used.

The log is JSON, a line an event. Tasks give CPU time and bytes; the SQL plans give which scan the
rows came from, so that rows of sources and rows of saved artifacts are told apart. Spark names a
scan of a catalog table ``Scan parquet spark_catalog.default.<table>`` and a scan of bare files
``Scan parquet``; artifact families are the only catalog tables of a run.

Work is put under the local property :data:`STAGE_PROPERTY` that the job sets for each stage, so a
figure belongs to the stage whose name it is; work outside of every stage is under ``""``. Of an
application that is not Forerun's, SQL executions take the place of stages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forerun.include.machine.event_files import EventLogError

STAGE_PROPERTY = "forerun.stage"
SQL_EVENT = "org.apache.spark.sql.execution.ui."
_TABLE = "spark_catalog.default."
_LOCATION = re.compile(r"\[([^,\]]+)")
_WANTED = (
    '{"Event":"SparkListenerJobStart"',
    '{"Event":"SparkListenerTaskEnd"',
    '{"Event":"SparkListenerStageCompleted"',
    '{"Event":"' + SQL_EVENT,
)


@dataclass(frozen=True, slots=True)
class ScanMetrics:
    """Rows that one scan gave on, and the size of the files it opened.

    Rows that Spark reads twice count twice: it does so to sample for an ORDER BY.
    ``source`` is the catalog table as Spark names it, else the place of the bare files.
    """

    source: str
    rows: int
    bytes: int

    @property
    def family(self) -> str:
        """The id of an artifact family, or empty for a source."""
        return self.source.removeprefix(_TABLE) if self.source.startswith(_TABLE) else ""


@dataclass(frozen=True, slots=True)
class StageUse:
    """The use of the tasks of one stage. Seconds are CPU seconds of executor threads; ``reading_s``
    are those of tasks that read tables or files, and whatever they did with the rows."""

    stage: str
    cpu_s: float
    bytes_read: int
    bytes_written: int
    rows_written: int
    bytes_shuffled: int
    scans: tuple[ScanMetrics, ...]
    reading_s: float = 0.0

    @property
    def source_rows(self) -> int:
        return sum(scan.rows for scan in self.scans if not scan.family)

    @property
    def file_bytes(self) -> int:
        """Size of the files that were opened. Tasks do not count what a reader fetches in threads
        of its own, as Parquet's vectored reads do, so ``bytes_read`` is far too low for them."""
        return sum(scan.bytes for scan in self.scans)

    @property
    def state_rows(self) -> int:
        return sum(scan.rows for scan in self.scans if scan.family)


@dataclass(frozen=True, slots=True)
class ApplicationUse:
    """An application, by stage in the order of their names. ``rows_by_write`` has, for each write
    of files in the order in which they began, the rows of the tasks whose output was committed."""

    stages: tuple[StageUse, ...]
    rows_by_write: tuple[int, ...] = ()

    @property
    def cpu_s(self) -> float:
        return sum(stage.cpu_s for stage in self.stages)

    def stage(self, name: str) -> StageUse:
        """The figures of a stage; zeros if it ran no task."""
        for stage in self.stages:
            if stage.stage == name:
                return stage
        return StageUse(name, 0.0, 0, 0, 0, 0, ())


@dataclass(slots=True)
class _Tasks:
    cpu_ns: int = 0
    reading_ns: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    rows_written: int = 0
    bytes_shuffled: int = 0


def _stage_of(properties: Mapping[str, Any]) -> str:
    return str(properties.get(STAGE_PROPERTY, ""))


@dataclass(slots=True)
class Gathered:
    """Everything gathered in one pass, by the stage that ``stage_of`` finds in the properties of a
    job. Scans are by (SQL execution, id of the row metric): adaptive execution shows the same scan
    in many versions of a plan. Writes are ids of row metrics, too; the driver sets those when the
    job is committed, so a task that failed or lost is not in them.
    """

    stage_of: Callable[[Mapping[str, Any]], str] = _stage_of
    stage_of_job_stage: dict[int, str] = field(default_factory=dict)
    stage_of_execution: dict[int, str] = field(default_factory=dict)
    tasks: dict[str, _Tasks] = field(default_factory=dict)
    metrics: dict[int, int] = field(default_factory=dict)
    scans: dict[tuple[int, int], tuple[str, int]] = field(default_factory=dict)
    writes: dict[int, None] = field(default_factory=dict)

    def take(self, event: Mapping[str, Any]) -> None:
        """Add what an event says."""
        kind = event["Event"]
        if kind == "SparkListenerJobStart":
            _job_start(self, event)
        elif kind == "SparkListenerTaskEnd":
            _task_end(self, event)
        elif kind == "SparkListenerStageCompleted":
            for value in event["Stage Info"].get("Accumulables", ()):
                if value.get("Metadata") == "sql":
                    self.metrics[value["ID"]] = int(value.get("Value") or 0)
        elif kind == SQL_EVENT + "SparkListenerDriverAccumUpdates":
            self.metrics.update({int(key): int(value) for key, value in event["accumUpdates"]})
        elif "sparkPlanInfo" in event:
            for source, rows, size in _scans(event["sparkPlanInfo"]):
                self.scans[event["executionId"], rows] = (source, size)
            self.writes.update(dict.fromkeys(_writes(event["sparkPlanInfo"])))

    def use(self) -> ApplicationUse:
        """Return the totals of all that was gathered."""
        return _totals(self)


class EventLogReader:
    """Follows the event log of an application that is still running, or reads one that ended.

    Every :meth:`read` goes on where the one before stopped, so it is cheap to ask after each stage.
    A last line that is not whole yet (or was cut short by a kill) is left for later.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._gathered = Gathered()

    def read(self) -> ApplicationUse:
        """Everything up to now. Raises :class:`EventLogError` if there is no plain log here."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError as error:
            raise EventLogError(
                f"the event log {self._path} cannot be read: {error.strerror}",
                hint="The driver writes it in its temporary folder: see that nothing empties that.",
            ) from None
        whole = data.rfind(b"\n") + 1
        self._offset += whole
        for event in _events(data[:whole].decode("utf-8", "replace").splitlines()):
            self._gathered.take(event)
        return self._gathered.use()


def _events(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        if line.startswith(_WANTED):
            yield json.loads(line)


def _job_start(log: Gathered, event: Mapping[str, Any]) -> None:
    properties = event.get("Properties") or {}
    stage = log.stage_of(properties)
    for number in event["Stage IDs"]:
        log.stage_of_job_stage[number] = stage
    if execution := properties.get("spark.sql.execution.id"):
        log.stage_of_execution[int(execution)] = stage


def _task_end(log: Gathered, event: Mapping[str, Any]) -> None:
    """Failed tasks count too: their CPU was spent."""
    used = event.get("Task Metrics")
    if not used:
        return
    stage = log.stage_of_job_stage.get(event["Stage ID"], "")
    tasks = log.tasks.setdefault(stage, _Tasks())
    tasks.cpu_ns += used.get("Executor CPU Time", 0)
    if used.get("Input Metrics", {}).get("Records Read", 0):
        tasks.reading_ns += used.get("Executor CPU Time", 0)
    tasks.bytes_read += used.get("Input Metrics", {}).get("Bytes Read", 0)
    tasks.bytes_written += used.get("Output Metrics", {}).get("Bytes Written", 0)
    tasks.rows_written += used.get("Output Metrics", {}).get("Records Written", 0)
    shuffle = used.get("Shuffle Write Metrics", {})
    tasks.bytes_shuffled += shuffle.get("Shuffle Bytes Written", 0)


def plan_nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every operator of a plan tree."""
    todo = [plan]
    while todo:
        node = todo.pop()
        todo.extend(node["children"])
        yield node


def _metrics(node: Mapping[str, Any]) -> dict[str, int]:
    """The ids of an operator's metrics by their names."""
    return {m["name"]: m["accumulatorId"] for m in node["metrics"]}


def _writes(plan: Mapping[str, Any]) -> Iterator[int]:
    """The metric of rows of each operator in a plan tree that writes files."""
    for metrics in map(_metrics, plan_nodes(plan)):
        if "number of written files" in metrics:
            yield metrics["number of output rows"]


def _scans(plan: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    """(table or place, metric of rows, metric of file bytes) of each scan in a plan tree."""
    for node in plan_nodes(plan):
        words, metrics = node["nodeName"].split(), _metrics(node)
        if words[:1] != ["Scan"] or "number of output rows" not in metrics:
            continue
        if "parquet" in words or "size of files read" in metrics:
            named = words[-1] if "." in words[-1] else _place(node)
            yield named, metrics["number of output rows"], metrics.get("size of files read", -1)


def _place(node: Mapping[str, Any]) -> str:
    """The first folder that a scan of bare files reads, such as ``s3://lake/orders``."""
    found = _LOCATION.search((node.get("metadata") or {}).get("Location", ""))
    return found[1].strip() if found else ""


def _totals(log: Gathered) -> ApplicationUse:
    scans: dict[str, list[ScanMetrics]] = {}
    counted: set[int] = set()
    for (execution, rows), (source, size) in sorted(log.scans.items()):
        if rows in log.metrics and rows not in counted:
            counted.add(rows)
            stage = log.stage_of_execution.get(execution, "")
            scan = ScanMetrics(source, log.metrics[rows], log.metrics.get(size, 0))
            scans.setdefault(stage, []).append(scan)
    nothing = _Tasks()
    return ApplicationUse(
        tuple(
            StageUse(
                stage,
                tasks.cpu_ns / 1e9,
                tasks.bytes_read,
                tasks.bytes_written,
                tasks.rows_written,
                tasks.bytes_shuffled,
                tuple(scans.get(stage, ())),
                tasks.reading_ns / 1e9,
            )
            for stage in sorted({*log.tasks, *scans})
            for tasks in (log.tasks.get(stage, nothing),)
        ),
        tuple(log.metrics[rows] for rows in log.writes if rows in log.metrics),
    )
