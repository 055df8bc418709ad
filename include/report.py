"""A report as a value: what its author says, checked when it is built.

Nothing here does I/O. A spec can be written as Python (in a DAG file) or kept as JSON; both give
the same frozen value, and :func:`encode_report` / :func:`decode_report` are strict inverses.
"""

from __future__ import annotations

import hashlib
import json
import re
import typing
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from include.changelog import Change, in_files
from include.clock import parse_time, parse_zone
from include.expectations import Expectation
from include.run_policy import RunPolicy as RunPolicy  # noqa: PLC0414 - a report is made of it
from include.run_policy import RunTime as RunTime  # noqa: PLC0414 - the same
from include.run_policy import SpecError as SpecError  # noqa: PLC0414 - the same
from include.sizes import parse_bytes
from planner.algebra.types import parse_type
from planner.contract.codec import from_json, to_json
from planner.contract.plan_v1 import ColumnSpec
from planner.errors import ContractError

SPEC_VERSION = 1
MOST_SAMPLED = 100_000
"""Rows of a sample: they are held in memory, and predicates are evaluated over them in Python."""

_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_ON_INCOMPLETE = ("wait", "publish_with_warning", "fail")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerFile:
    """Complete when an object of this name lies in the source's folder of the day."""

    name: str = "_SUCCESS"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetEvent:
    """Complete when the Airflow asset got an event whose extra has ``{"day": "<report date>"}``."""

    uri: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCount:
    """Complete when at least so many data files, or rows (of the files' footers), have arrived."""

    files: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockTime:
    """Complete at a time of the day, whatever has arrived (see :mod:`include.clock`)."""

    at: str = "24:00"


CompleteWhen = MarkerFile | AssetEvent | ExpectedCount | ClockTime


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """One table of the query.

    ``path``: the folder of a day's files, a path or URI (``file://``, ``s3://``) in which ``{ds}``
    is the report date, ``{ds_nodash}``, ``{yyyy}``, ``{mm}`` and ``{dd}`` its parts. All files
    below it that have the format's suffix, and whose name does not start with ``_`` or ``.``, are
    data. ``columns`` is the declared schema in Spark's types; ``key`` columns that are together
    unique, if any. ``change``: a ``changelog``'s files have one column more, ``__w BIGINT``: how
    often the row comes (positive) or is taken back (negative). A ``growing`` source must say when
    its day is complete; a ``static`` one is there before the first run. ``allow_empty``: no file at
    all is a day without rows. ``sample``: so many rows are read at random before a run is planned,
    to count what the query's filters let through (docs/statistics.md); 0 for none.
    """

    name: str
    path: str
    columns: tuple[ColumnSpec, ...]
    format: str = "parquet"
    key: tuple[str, ...] = ()
    change: Change = "append_only"
    arrival: Literal["growing", "static"] = "growing"
    complete_when: MarkerFile | AssetEvent | ExpectedCount | ClockTime | None = None
    allow_empty: bool = False
    expectations: tuple[Expectation, ...] = ()
    sample: int = 0

    def __post_init__(self) -> None:
        _check_source(self)

    @property
    def file_columns(self) -> tuple[ColumnSpec, ...]:
        """The columns of the source's files."""
        return in_files(self.columns, self.change)

    def path_on(self, day: date) -> str:
        """The folder of ``day``."""
        values = {
            "ds": day.isoformat(),
            "ds_nodash": day.strftime("%Y%m%d"),
            "yyyy": f"{day.year:04d}",
            "mm": f"{day.month:02d}",
            "dd": f"{day.day:02d}",
        }
        return _PLACEHOLDER.sub(lambda match: values[match[1]], self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionedFolder:
    """Publish into the store's own results: a folder per version and a pointer to the current."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFolder:
    """Publish as the folder ``<path>/<column>=<date>`` of a partitioned table."""

    path: str
    column: str = "ds"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSpec:
    """A report. Exactly one of ``sql`` (the text) and ``sql_file`` (a path) is given.

    ``deadline``: when it must be published (see :mod:`include.clock`), in ``timezone``, which is
    also that of the run times. ``on_incomplete``: what the final run does at its latest safe start
    if a source is not complete: ``wait`` on, publish what is there ``publish_with_warning``, or
    ``fail``. ``store``: the URI of the state store; empty for the environment's default.
    ``state_budget``: the most that may be kept between runs, such as ``500MB``; empty for any.
    ``share``: what this report keeps is offered to other reports of the store, and what they keep
    over the very same files is read where that is cheaper than computing it again.
    """

    name: str
    sources: tuple[SourceSpec, ...]
    policy: RunPolicy
    sql: str = ""
    sql_file: str = ""
    timezone: str = "UTC"
    deadline: str = "30:00"
    on_incomplete: Literal["wait", "publish_with_warning", "fail"] = "wait"
    sink: VersionedFolder | PartitionFolder = VersionedFolder()
    expectations: tuple[Expectation, ...] = ()
    store: str = ""
    state_budget: str = ""
    share: bool = True
    owner: str = "forerun"
    description: str = ""

    def __post_init__(self) -> None:
        _check_report(self)

    @property
    def zone(self) -> ZoneInfo:
        return parse_zone(self.timezone)

    @property
    def runs(self) -> int:
        """The number of runs of a day, the final one included; also the final run's index."""
        return len(self.policy.runs)

    @property
    def weights(self) -> tuple[float, ...]:
        return tuple(run.weight for run in self.policy.runs)

    def source(self, name: str) -> SourceSpec:
        """The source of that name. Raises :class:`SpecError` when there is none."""
        for source in self.sources:
            if source.name == name:
                return source
        raise SpecError(
            f"report {self.name} has no source {name}",
            hint=f"Its sources are {', '.join(s.name for s in self.sources)}.",
        )

    def points(self, day: date) -> tuple[datetime, ...]:
        """The instants of the runs of ``day``, in UTC."""
        return tuple(parse_time(r.at, "a run").on(day, self.zone) for r in self.policy.runs)

    def deadline_on(self, day: date) -> datetime:
        """When the report of ``day`` is due, in UTC."""
        return parse_time(self.deadline, "the deadline").on(day, self.zone)

    def latest_safe_start(self, day: date, needed: timedelta = timedelta()) -> datetime:
        """The last instant at which the final run of ``day`` may start: the reserve, or what it is
        forecast to need, before the deadline; but never before its own time."""
        reserve = timedelta(seconds=parse_time(self.policy.reserve, "the reserve").seconds)
        return max(self.deadline_on(day) - max(reserve, needed), self.points(day)[-1])

    def with_sql(self, text: str) -> ReportSpec:
        """The same report with its SQL text in place of the file's path."""
        return replace(self, sql=text, sql_file="")

    @property
    def digest(self) -> str:
        """A hash that changes with anything in the spec, its SQL text included."""
        return hashlib.sha256(encode_report(self)).hexdigest()[:16]


def encode_report(spec: ReportSpec) -> bytes:
    """Canonical JSON: the same spec gives the same bytes."""
    record = {"version": SPEC_VERSION, **to_json(spec)}
    return (json.dumps(record, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()


def decode_report(data: bytes | str) -> ReportSpec:
    """Read a spec. Raises :class:`SpecError` for anything unknown, missing or of another type."""
    try:
        raw = json.loads(data)
    except ValueError as error:
        raise SpecError(f"the report is not JSON: {error}", hint="Correct the text.") from None
    version = raw.pop("version", None) if isinstance(raw, dict) else None
    if version != SPEC_VERSION:
        raise SpecError(
            f"the report has spec version {version!r}, this program reads {SPEC_VERSION}",
            hint=f'Give it "version": {SPEC_VERSION} and the fields that docs/reports.md lists.',
        )
    try:
        return typing.cast(ReportSpec, from_json(ReportSpec, raw, "report"))
    except ContractError as error:
        raise SpecError(error.message, hint="docs/reports.md lists the fields.") from None


def _check_report(spec: ReportSpec) -> None:
    _check_name(spec.name, "the report")
    if bool(spec.sql.strip()) == bool(spec.sql_file):
        raise SpecError(
            f"report {spec.name} has {'both sql and sql_file' if spec.sql_file else 'no SQL'}",
            hint="Give exactly one: sql (the text) or sql_file (the path of a file with it).",
        )
    if not spec.sources:
        raise SpecError(f"report {spec.name} has no source", hint="List the tables it reads.")
    _check_unique([source.name.lower() for source in spec.sources], f"report {spec.name}: source")
    if spec.on_incomplete not in _ON_INCOMPLETE:
        raise SpecError(
            f"report {spec.name}: on_incomplete {spec.on_incomplete!r} is unknown",
            hint=f"Use one of {', '.join(_ON_INCOMPLETE)}.",
        )
    parse_zone(spec.timezone)
    last = spec.policy.runs[-1]
    start, due = parse_time(last.at, "the final run"), parse_time(spec.deadline, "the deadline")
    if start.seconds >= due.seconds:  # on a day without a change of clocks
        raise SpecError(
            f"report {spec.name}: the deadline {spec.deadline} is before the last run at {last.at}",
            hint="Move the deadline, or the final run; hours go on past 24:00.",
        )
    if spec.state_budget:
        parse_bytes(spec.state_budget, f"report {spec.name}: state_budget")
    if isinstance(spec.sink, PartitionFolder):
        _check_name(spec.sink.column, f"report {spec.name}: the sink's partition column")
        if not spec.sink.path:
            raise SpecError(f"report {spec.name}: the sink has no path", hint="Name the folder.")
        if spec.policy.early_results:
            raise SpecError(
                f"report {spec.name} has early results, and a partition folder for its sink",
                hint="Who reads a table cannot tell a part of a day from the whole. Use "
                "VersionedFolder: its pointer says which of the two a version is.",
            )


def _check_source(source: SourceSpec) -> None:
    _check_name(source.name, "a source")
    label = f"source {source.name}"
    if source.format != "parquet":
        raise SpecError(
            f"{label}: format {source.format!r} is not supported yet",
            hint="Deliver Parquet files.",
        )
    if source.change not in ("append_only", "changelog"):
        raise SpecError(
            f"{label}: change {source.change!r} is unknown", hint="Use append_only or changelog."
        )
    unknown = [p for p in _PLACEHOLDER.findall(source.path) if p not in _PLACEHOLDERS]
    if unknown or not source.path:
        raise SpecError(
            f"{label}: the path {source.path!r} "
            + (f"has the unknown placeholder {{{unknown[0]}}}" if unknown else "is empty"),
            hint=f"Known are {', '.join('{' + name + '}' for name in _PLACEHOLDERS)}.",
        )
    if not 0 <= source.sample <= MOST_SAMPLED:
        raise SpecError(
            f"{label}: a sample of {source.sample} rows",
            hint=f"Give 0 to {MOST_SAMPLED:,} rows; some thousand tell most of what more would.",
        )
    _check_columns(source, label)
    _check_arrival(source, label)


_PLACEHOLDERS = ("ds", "ds_nodash", "yyyy", "mm", "dd")


def _check_columns(source: SourceSpec, label: str) -> None:
    if not source.columns:
        raise SpecError(f"{label} declares no columns", hint="List them with Spark's types.")
    _check_unique([column.name.lower() for column in source.file_columns], f"{label}: column")
    for column in source.columns:
        try:
            known = parse_type(column.type).name in _SPARK_TYPES or "<" in column.type
        except ValueError as error:
            raise SpecError(f"{label}: column {column.name}: {error}", hint="") from None
        if not known:
            raise SpecError(
                f"{label}: column {column.name} has the unknown type {column.type!r}",
                hint="Use a Spark SQL type such as BIGINT, DECIMAL(12,2), STRING or DATE.",
            )
    if source.change == "changelog":
        for column in source.columns:
            if "map<" in column.type.lower():
                raise SpecError(
                    f"{label}: column {column.name} is a map, by which rows cannot be compared",
                    hint="Leave the column out of the changelog, or make it an array of structs.",
                )
    names = {column.name for column in source.columns}
    if missing := [column for column in source.key if column not in names]:
        raise SpecError(
            f"{label}: the key column {missing[0]} is not among its columns",
            hint=f"Its columns are {', '.join(column.name for column in source.columns)}.",
        )


_SPARK_TYPES = {
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING",
    "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ",
}  # fmt: skip


def _check_arrival(source: SourceSpec, label: str) -> None:
    rule = source.complete_when
    if source.arrival not in ("growing", "static"):
        raise SpecError(
            f"{label}: arrival {source.arrival!r} is unknown", hint="Use growing or static."
        )
    if source.arrival == "growing" and rule is None:
        raise SpecError(
            f"{label} grows, but nothing says when its day is complete",
            hint="Give complete_when: MarkerFile, AssetEvent, ExpectedCount or ClockTime.",
        )
    if isinstance(rule, ClockTime):
        parse_time(rule.at, f"{label}: complete_when")
    if isinstance(rule, MarkerFile) and (not rule.name or "/" in rule.name):
        raise SpecError(
            f"{label}: the marker {rule.name!r} is not a file name", hint="Such as _SUCCESS."
        )
    if isinstance(rule, AssetEvent) and not rule.uri:
        raise SpecError(f"{label}: the asset has no URI", hint="Name the asset.")
    if isinstance(rule, ExpectedCount) and ((rule.files > 0) == (rule.rows > 0)):
        raise SpecError(
            f"{label}: the expected count needs files or rows above 0, one of the two",
            hint="Such as ExpectedCount(files=24).",
        )


def _check_name(name: str, what: str) -> None:
    if not _NAME.match(name):
        raise SpecError(
            f"{what} is named {name!r}",
            hint="A name has letters, digits and _, starts with no digit, and has up to 100 signs.",
        )


def _check_unique(names: list[str], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f"{what} {name} is given twice", hint="Names differ, whatever case.")
