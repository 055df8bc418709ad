"""The use of the SQL of past Spark applications, read from their event logs.

An application that is not ours says of each statement what it read, what its tasks took, and when;
its text only where somebody gave that as the description of the job, as the shell ``spark-sql`` and
the Thrift server do. The same statement on another day is found by its *shape*: the text, or else
the physical plan, without the values and dates that are other ones each day.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from forerun.include.machine.event_files import EventFiles, EventLogError
from forerun.include.machine.eventlog import SQL_EVENT, Gathered, plan_nodes
from forerun.planner.sql.syntax.statement import query_in, shape_of

_NUMBERS = re.compile(r"#\d+L?|\d+")
_EVENT = '{"Event":"'
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What a line does that is not what Spark writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastQuery:
    """One statement of an application, with all that it executed. ``sql`` is the query that it
    computes, empty where the log does not say; ``called`` what the log calls it. ``cpu_s`` are CPU
    seconds of executors, ``reading_s`` those of them that tasks took which read tables. ``ended``
    is None where the log does not say. ``tables`` has (table or place, bytes of the files)."""

    application: str
    called: str
    sql: str
    shape: str
    started: datetime
    ended: datetime | None
    cpu_s: float
    reading_s: float
    tables: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastApplication:
    """An application and its statements that read tables. ``name`` is that of its log where the log
    does not say another. ``events``: how many lines were understood, ``damaged``: how many were
    not. ``cut_off``: why its log could not be read to its end, empty if it could. ``ended`` is
    false of one that was killed or still runs."""

    name: str
    queries: tuple[PastQuery, ...]
    events: int
    damaged: int
    cut_off: str
    ended: bool


@dataclass(slots=True)
class _Application:
    """The facts gathered of an application; statements by the id of their outermost execution."""

    name: str = ""
    ended: bool = False
    events: int = 0
    damaged: int = 0
    starts: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    plans: dict[int, list[Mapping[str, Any]]] = field(default_factory=dict)
    gathered: Gathered = field(default_factory=lambda: Gathered(_execution_of))

    def take(self, event: Mapping[str, Any]) -> None:
        kind = event["Event"].removeprefix(SQL_EVENT)
        if kind == "SparkListenerApplicationStart":
            self.name = str(event["App Name"])
        elif kind == "SparkListenerApplicationEnd":
            self.ended = True
        elif kind == "SparkListenerSQLExecutionStart":
            execution = int(event["executionId"])
            outermost = int(event.get("rootExecutionId") or execution)
            self.starts.setdefault(outermost, event)
            self.plans.setdefault(outermost, []).append(event["sparkPlanInfo"])
        elif kind == "SparkListenerSQLExecutionEnd":
            self.ends[int(event["executionId"])] = int(event["time"])
        self.gathered.take(event)


def read_past(log: EventFiles) -> PastApplication:
    """Everything that a log says; what is damaged is left out and counted."""
    found, cut_off = _Application(), ""
    try:
        for line in log.lines():
            understood = _is_understood(found, line)
            found.events += understood
            found.damaged += not understood
    except EventLogError as error:
        cut_off = error.message
    return PastApplication(
        name=found.name or log.name,
        queries=tuple(_queries(found, found.name or log.name)),
        events=found.events,
        damaged=found.damaged,
        cut_off=cut_off,
        ended=found.ended,
    )


def _is_understood(found: _Application, line: str) -> bool:
    if not line.strip():
        return True
    if not line.startswith(_EVENT):
        return False
    try:
        found.take(json.loads(line))
    except _DAMAGE:
        return False
    return True


def _execution_of(properties: Mapping[str, Any]) -> str:
    """The outermost SQL execution that a job belongs to; Spark before 3.4 names only the inner."""
    inner = properties.get("spark.sql.execution.id", "")
    return str(properties.get("spark.sql.execution.root.id") or inner)


def _queries(found: _Application, application: str) -> Iterator[PastQuery]:
    used = found.gathered.use()
    for execution, start in found.starts.items():
        took = used.stage(str(execution))
        tables: dict[str, int] = {}
        for scan in took.scans:
            tables[scan.source] = tables.get(scan.source, 0) + scan.bytes
        if not tables:
            continue
        called = str(start.get("description") or "")
        sql = query_in(called) or ""
        yield PastQuery(
            application=application,
            called=called,
            sql=sql,
            shape=_digest([shape_of(sql)] if sql else _plan_shape(found.plans[execution])),
            started=_instant(start["time"]),
            ended=_instant(found.ends[execution]) if execution in found.ends else None,
            cpu_s=took.cpu_s,
            reading_s=took.reading_s,
            tables=tuple(sorted(tables.items())),
        )


def _plan_shape(plans: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what each operator of a plan does, without numbers: ids, values, dates in paths."""
    for plan in plans:
        for node in plan_nodes(plan):
            yield _NUMBERS.sub("?", f"{node['nodeName']} {node.get('simpleString', '')}")


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def _instant(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(int(milliseconds) / 1000, UTC)
