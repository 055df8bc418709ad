"""A report as a value: what its author says, checked when it is built.

Nothing here does I/O. A spec can be written as Python (in a DAG file) or kept as JSON; both give
the same frozen value, and :func:`encode_report` / :func:`decode_report` are strict inverses.
"""

from __future__ import annotations

import hashlib
import json
import typing
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from forerun.include.reports.asset_keys import report_key
from forerun.include.reports.calendar import DueOn, due_time
from forerun.include.reports.expectations import Expectation
from forerun.include.reports.parameters import Parameter, check_parameters, day_parameters, with_due
from forerun.include.reports.period import (
    Monthly,
    Period,
    PeriodsFrom,
    Trailing,
    Weekly,
    days_from,
    moved_share,
)
from forerun.include.reports.places import check_place
from forerun.include.reports.run_policy import RunPolicy, RunTime, check_in_period
from forerun.include.reports.shadow import Shadow
from forerun.include.reports.sinks import (
    DeltaTable,
    IcebergTable,
    PartitionFolder,
    PostgresqlTable,
    Sink,
    VersionedFolder,
    takes_early_results,
)
from forerun.include.reports.sources.complete_when import (
    AssetEvent,
    ClockTime,
    CompleteWhen,
    ExpectedCount,
    HourlyMarkers,
    MarkerFile,
    WhenPublished,
)
from forerun.include.reports.sources.source import MOST_SAMPLED, SourceSpec
from forerun.include.reports.sources.sources_together import (
    check_foreign_keys,
    check_not_itself,
    check_rolling,
)
from forerun.include.reports.sources.start_when import (
    AfterRows,
    Every,
    PriceAtMost,
    StartWhen,
    WhenComplete,
    check_start,
)
from forerun.include.reports.spark.session import Session
from forerun.include.reports.values.clock import DAY_S, parse_day, parse_time, parse_zone
from forerun.include.reports.values.fields import SpecError, label, take_fields
from forerun.include.reports.values.keywords import names_its_fields
from forerun.include.reports.values.names import check_name, check_unique
from forerun.include.reports.values.sizes import parse_bytes
from forerun.planner.contract.codec import from_json, to_json
from forerun.planner.contract.seal import unseal
from forerun.planner.errors import ContractError, SqlError

__all__ = [
    "MOST_SAMPLED",
    "AfterRows",
    "AssetEvent",
    "ClockTime",
    "CompleteWhen",
    "DeltaTable",
    "DueOn",
    "Every",
    "ExpectedCount",
    "HourlyMarkers",
    "IcebergTable",
    "MarkerFile",
    "Monthly",
    "Parameter",
    "PartitionFolder",
    "PeriodsFrom",
    "PostgresqlTable",
    "PriceAtMost",
    "ReportSpec",
    "RunPolicy",
    "RunTime",
    "Session",
    "Shadow",
    "SourceSpec",
    "SpecError",
    "StartWhen",
    "Trailing",
    "VersionedFolder",
    "Weekly",
    "WhenComplete",
    "WhenPublished",
    "decode_report",
    "encode_report",
]

SPEC_VERSION = 1
_ANY_DAY = date(2000, 1, 1)


@names_its_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSpec:
    """A report, as its author says it. Exactly one of ``sql`` and ``sql_file`` is given."""

    name: str
    """The name: of the DAG, of the asset, and of the report's folder in the store."""
    sources: tuple[SourceSpec, ...]
    """The tables of the query, one for each name in it."""
    policy: RunPolicy
    """The runs of a day: when they are, and what compute costs then."""
    sql: str = ""
    """The query, in Spark SQL: one SELECT."""
    sql_file: str = ""
    """The path of a file with the query, in place of ``sql``."""
    period: Period | None = None
    """What the report is about, if that is not a day: ``Weekly()``, ``Monthly()``, or the periods
    of any calendar (``PeriodsFrom``). Its report date is the last day of the period."""
    timezone: str = "UTC"
    """The time zone of the deadline, of the run times, and of the day itself."""
    deadline: str = "30:00"
    """The time by which the report must be published, after the start of its day, or of the last
    day of its period: ``26:00`` is two o'clock in the night after it."""
    calendar: tuple[DueOn, ...] = ()
    """Days whose deadline is another one; the first entry that has a day counts."""
    on_incomplete: Literal["wait", "publish_with_warning", "fail"] = "wait"
    """What the final run does at its latest safe start if a source is not complete: ``wait`` on,
    publish what is there (``publish_with_warning``), or ``fail``."""
    sink: Sink = VersionedFolder()  # noqa: RUF009 - a frozen value
    """Where results go: into the store's own results, into a folder of a partitioned table, or into
    a table of Delta, Iceberg or PostgreSQL."""
    expectations: tuple[Expectation, ...] = ()
    """What must hold of the result before it is published."""
    store: str = ""
    """The URI of the state store; empty for the one of ``FORERUN_STORE``."""
    state_budget: str = ""
    """The most bytes that a day may keep between its runs, such as ``500MB``; empty for any."""
    parameters: tuple[Parameter, ...] = ()
    """Named parameters of the SQL beside those of the day (``:report_date``, ``:report_start``,
    ``:report_end``, ``:period_start``, ``:period_end``)."""
    now: Literal["run", "deadline"] = "run"
    """What ``current_date()`` and ``now()`` are in the SQL: the time of the ``run``, for which all
    that is computed with them waits; or the ``deadline``, the same in each run."""
    shadow: Shadow | None = None
    """Publish only into the store, and compare each day with what another job writes; without it,
    readers get the report."""
    session: Session = field(default_factory=Session)
    """The time zone and the mode in which Spark computes the SQL."""
    owner: str = "forerun"
    """The owner that Airflow shows, and whose budget and priority hold in a cluster."""
    description: str = ""
    """A sentence for people, shown on the DAG's page."""

    def __post_init__(self) -> None:
        take_fields(self, label("report", self.name))
        period, zone = self.period, self.timezone
        sources = tuple(source.within(period, zone, self.store) for source in self.sources)
        object.__setattr__(self, "sources", sources)
        _check_report(self)
        names = (column.name for source in self.sources for column in source.columns)
        object.__setattr__(self, "sql", with_due(self.with_source_names(self.sql), self.now, names))
        check_parameters(self.parameters, f"report {self.name}")

    @property
    def zone(self) -> ZoneInfo:
        return parse_zone(self.timezone)

    @property
    def session_settings(self) -> tuple[tuple[str, str], ...]:
        """The settings of the session that every run of the report has."""
        return self.session.settings(self.timezone)

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

    def moves_by(self, source: SourceSpec) -> float:
        """Return which part of a growing source's rows the next report reads anew, where both read
        rows of days and mostly the same ones: a trailing range, or a period to date. 0 for other
        sources."""
        if source.over is None or source.arrival != "growing" or not source.tells_days:
            return 0.0
        return moved_share(source.over, self.period)

    def takes_back(self, source: SourceSpec) -> bool:
        """Return whether rows of a source that only grows are taken back on some days: of a report
        whose days inherit, those of the days that leave a trailing range."""
        trails = isinstance(source.over, Trailing)
        return trails and self.policy.inherit_days > 0 and self.moves_by(source) > 0

    def awaits(self, run: int) -> tuple[AssetEvent, ...]:
        """The assets whose events the wait before a run looks for: before the final run those of
        all sources, before an early one that of its trigger."""
        when = self.policy.runs[run - 1].when
        rules: list[CompleteWhen | StartWhen | None] = [when]
        if run == self.runs:
            rules = [source.complete_when for source in self.sources]
        elif isinstance(when, WhenComplete):
            rules = [self.source(when.source).complete_when]
        return tuple(rule for rule in rules if isinstance(rule, AssetEvent))

    @property
    def any_day(self) -> date:
        """Return a day that the report can be about, for what is checked of all of them at once."""
        return parse_day(self.period.dates[0]) if isinstance(self.period, PeriodsFrom) else _ANY_DAY

    def bounds(self, day: date) -> tuple[date, date]:
        """Return the first and the last day of the period that has ``day``; twice ``day`` of a
        report without a period. The last one is the report date."""
        return self.period.bounds(day) if self.period else (day, day)

    def begins(self, day: date) -> datetime:
        """Return when the day, or the period that ``day`` ends, begins, in UTC."""
        return parse_time("00:00", "the start of the day").on(self.bounds(day)[0], self.zone)

    def report_dates(self, first: date, last: date) -> tuple[date, ...]:
        """Return the report dates of the days from ``first`` to ``last``: of a report with a period
        the last day of each that has one of them."""
        return tuple(dict.fromkeys(self.bounds(each)[1] for each in days_from(first, last)))

    def date_text(self, day: date) -> str:
        """Return the report date in words for people: with the first day of its period, if any."""
        first, last = self.bounds(day)
        return f"{first} to {last}" if first != last else str(last)

    def points(self, day: date) -> tuple[datetime, ...]:
        """The instants of the runs of ``day``, in UTC."""
        return tuple(parse_time(r.at, "a run").on(day, self.zone) for r in self.policy.runs)

    def with_source_names(self, text: str) -> str:
        """Return a text with the names of sources where it has tables of other names
        (``SourceSpec.table``); as it is where it does not parse, which is said when it is read."""
        names = {source.table.lower(): source.name for source in self.sources if source.table}
        if not names or not text.strip():
            return text
        from forerun.planner.sql.syntax.views import with_plain_names

        try:
            return with_plain_names(text, names)
        except SqlError:
            return text

    def parameters_on(self, day: date) -> tuple[Parameter, ...]:
        """The named parameters of the SQL with their values on ``day``."""
        due = self.deadline_on(day) if self.now == "deadline" else None
        return (*day_parameters(day, self.zone, self.bounds(day)[0], due), *self.parameters)

    def deadline_on(self, day: date) -> datetime:
        """Return when the report of ``day`` is due, in UTC."""
        return due_time(self.deadline, self.calendar, day).on(day, self.zone)

    @property
    def due_after_s(self) -> tuple[int, int]:
        """Seconds from the start of a day, or of a period, in which clocks do not change to the
        deadline: the least and the most of any day of the calendar."""
        deadlines = (self.deadline, *(due.at for due in self.calendar))
        times = [parse_time(text, "the deadline").seconds for text in deadlines]
        shortest, longest = self.period.days if self.period else (1, 1)
        return min(times) + (shortest - 1) * DAY_S, max(times) + (longest - 1) * DAY_S

    @property
    def due_text(self) -> str:
        """Return when it is due, in words for people."""
        return "; ".join((self.deadline, *map(str, self.calendar)))

    @property
    def state_bytes(self) -> int | None:
        """The state budget in bytes, None for any. Raises
        :class:`forerun.include.reports.values.sizes.SizeError` for a text that is no size, which is
        why building a report asks for it."""
        if not self.state_budget:
            return None
        return parse_bytes(self.state_budget, f"report {self.name}: state_budget")

    def latest_safe_start(self, day: date, needed: timedelta = timedelta()) -> datetime:
        """The last instant at which the final run of ``day`` may start: the reserve, or what it is
        forecast to need, before the deadline; but never before its own time."""
        reserve = timedelta(seconds=parse_time(self.policy.reserve, "the reserve").seconds)
        return max(self.deadline_on(day) - max(reserve, needed), self.points(day)[-1])

    def with_sql(self, text: str) -> ReportSpec:
        """The same report with its SQL text in place of the file's path."""
        return replace(self, sql=text, sql_file="")

    @property
    def published_to(self) -> Sink:
        """Return where results go: into the sink, but those of a shadow only into the store."""
        return VersionedFolder() if self.shadow else self.sink

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
        raw, _ = unseal(_bytes(data), "the report")
    except ContractError as error:
        raise SpecError(error.message, hint="Correct the text.") from None
    version = raw.pop("version", None)
    if version != SPEC_VERSION:
        raise SpecError(
            f"the report has spec version {version!r}, this program reads {SPEC_VERSION}",
            hint=f'Give it "version": {SPEC_VERSION} and the fields that '
            "docs/guides/reports.md lists.",
        )
    raw.pop("share", None)  # the group of reports to borrow from, in specs of former versions
    try:
        return typing.cast(ReportSpec, from_json(ReportSpec, raw, "report", defaults=True))
    except ContractError as error:
        raise SpecError(error.message, hint="docs/guides/reports.md lists the fields.") from None


def _bytes(text: bytes | str) -> bytes:
    # What is no Unicode is refused with the bytes, not here.
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _check_report(spec: ReportSpec) -> None:
    check_name(spec.name, "the report")
    if bool(spec.sql.strip()) == bool(spec.sql_file):
        raise SpecError(
            f"report {spec.name} has {'both sql and sql_file' if spec.sql_file else 'no SQL'}",
            hint="Give exactly one: sql (the text) or sql_file (the path of a file with it).",
        )
    if not spec.sources:
        raise SpecError(f"report {spec.name} has no source", hint="List the tables it reads.")
    check_unique([source.name.lower() for source in spec.sources], f"report {spec.name}: source")
    check_foreign_keys(spec.sources)
    parse_zone(spec.timezone)
    check_in_period(spec.policy, spec.period, spec.name)
    if spec.policy.inherit_days:
        check_rolling({source: spec.moves_by(source) for source in spec.sources}, spec.name)
    last = spec.policy.runs[-1]
    start = parse_time(last.at, "the final run")
    for deadline in (spec.deadline, *(due.at for due in spec.calendar)):
        # On a day without a change of clocks.
        if start.seconds >= parse_time(deadline, "the deadline").seconds:
            raise SpecError(
                f"report {spec.name}: the deadline {deadline} is before the last run at {last.at}",
                hint="Move the deadline, or the final run; hours go on past 24:00.",
            )
    own = report_key(spec.name).uri
    for run in spec.policy.runs:
        check_start(run.when, spec.sources, spec.name)
        if isinstance(run.when, AssetEvent) and run.when.uri == own:
            raise SpecError(
                f"report {spec.name}: the run at {run.at} waits for the report itself",
                hint="Name the asset of another report.",
            )
    check_not_itself(spec.sources, spec.name, spec.store)
    if spec.store:
        check_place(spec.store, f"report {spec.name}: the store", root=True)
    _ = spec.state_bytes
    if not takes_early_results(spec.sink) and spec.policy.early_results:
        raise SpecError(
            f"report {spec.name} has early results, and the sink {type(spec.sink).__name__}",
            hint="Who reads a table cannot tell a part of a day from the whole. Use "
            "VersionedFolder: its pointer says which of the two a version is; or an IcebergTable "
            'with early_branch="early_{ds_nodash}".',
        )
