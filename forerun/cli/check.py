"""``forerun check``: does Spark read the text of reports as the planner does, and what would they
do?"""

from __future__ import annotations

import importlib.util
import runpy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from forerun import console
from forerun.cli.report_on_day import ReportOnDay, report_on_day
from forerun.include.engines import ENGINES
from forerun.include.machine.jvm import java_executable
from forerun.include.machine.settings import allowed_functions
from forerun.include.machine.wall_clock import utc_now
from forerun.include.reports.declared import declared_sources
from forerun.include.reports.front_matter import has_front_matter, read_report_file
from forerun.include.reports.parameters import Parameter, day_parameters, parse_parameters
from forerun.include.reports.reports_of_reports import refuse_late
from forerun.include.reports.spec import ReportSpec, decode_report
from forerun.include.reports.values.clock import parse_day
from forerun.include.runs.day_request import sql_of
from forerun.planner.errors import ForerunError
from forerun.planner.request import PlanRequest, Settings, Source, TimePoint
from forerun.planner.sql.question import question_of
from forerun.planner.sql.syntax.table_names import tables_read
from forerun.simulation.planning import ReportFileError, read_report, report_files, sources
from forerun.simulation.tables import list_tables

if TYPE_CHECKING:
    from forerun.spark_jobs.engine import Engine

WRONG = 1
_TABLES = Path()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedText:
    """A report's text and what was found out about it. ``outcome`` is that of a verdict, or
    ``unread`` where the planner cannot read the text; ``error`` is then why. ``about`` is there of
    a report with its fields, which says what it would do."""

    report: str
    outcome: str
    says: str
    error: ForerunError | None = None
    about: ReportOnDay | None = None

    @property
    def is_wrong(self) -> bool:
        return self.outcome not in ("same", "not-asked")


def check_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="A report's SQL, a folder of such files, a report as JSON, or a DAG file.",
        ),
    ],
    tables: Annotated[
        Path,
        typer.Option("--tables", help="The folder with the tables that SQL files read."),
    ] = _TABLES,
    day: Annotated[
        str, typer.Option("--date", metavar="YYYY-MM-DD", help="Binds the named parameters.")
    ] = "",
    param: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="A parameter of a SQL file."),
    ] = None,
    ask_spark: Annotated[
        bool, typer.Option("--spark/--no-spark", help="Whether to start Spark, if it is there.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="All findings as JSON.")] = False,
) -> int:
    """Check that Spark reads the text of reports as it would be planned; run nothing.

    Of a report with its fields (a SQL file that begins with them, JSON, a DAG file) it also shows
    the columns of the result, the times of a day, what its sources lack, and the plan with what is
    there. Where there is no Spark, what the planner knows is checked, and that Spark was not asked
    is said. Ends with 1 if something is wrong.
    """
    at = parse_day(day) if day else utc_now().date()
    own = parse_parameters(param or ())
    reports = [one for file in files for one in _requests(file, tables, at, own)]
    asked = (one.spec for one in reports if isinstance(one, _Wanted))
    specs = {spec.name: spec for spec in asked if spec is not None}
    with _spark(ask_spark) as engine:
        found = [_checked(asked, engine, at, specs) for asked in reports]
    wrong = [one for one in found if one.is_wrong]
    if as_json:
        console.say_json({"checked": [_record(one) for one in found], "wrong": len(wrong)})
    else:
        for one in found:
            console.say(f"{'wrong' if one.is_wrong else 'right'}: {one.report}: {one.says}")
            for line in one.about.lines() if one.about else ():
                console.say(line)
    return WRONG if wrong else 0


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A report to check, with its fields where it has them."""

    request: PlanRequest
    spec: ReportSpec | None = None


def _checked(
    wanted: _Wanted | CheckedText,
    engine: Engine | None,
    at: date,
    others: Mapping[str, ReportSpec],
) -> CheckedText:
    if isinstance(wanted, CheckedText):
        return wanted
    from forerun.spark_jobs.judged import asked

    request = wanted.request
    try:
        question = question_of(request)
        if wanted.spec is not None:
            refuse_late(wanted.spec, others)
        about = report_on_day(wanted.spec, at, utc_now()) if wanted.spec else None
        if engine is None:
            says = "the planner reads it; Spark was not asked (--no-spark, or there is none here)"
            return CheckedText(report=request.report, outcome="not-asked", says=says, about=about)
        verdict = asked(engine, question, request.sql, utc_now)
    except ForerunError as error:
        return _unread(request.report, error)
    return CheckedText(
        report=request.report, outcome=verdict.outcome, says=verdict.sentence, about=about
    )


def _unread(report: str, error: ForerunError) -> CheckedText:
    return CheckedText(
        report=report, outcome="unread", says=f"{error.message}\n  hint: {error.hint}", error=error
    )


def _record(one: CheckedText) -> dict[str, object]:
    record: dict[str, object] = {"report": one.report, "outcome": one.outcome, "says": one.says}
    record |= {"code": one.error.code} if one.error else {}
    return record | (one.about.record() if one.about else {})


@contextmanager
def _spark(wanted: bool) -> Iterator[Engine | None]:
    """A local Spark, None where there is none or none is wanted."""
    if not wanted or not java_executable() or importlib.util.find_spec("pyspark") is None:
        yield None
        return
    from forerun.spark_jobs.engine import start_engine

    with console.children_apart():
        engine = start_engine(ENGINES["spark"], master="local[1]", name="forerun check")
    try:
        engine.configure(Settings().session)
        yield engine
    finally:
        engine.stop()


def _requests(
    file: Path, tables: Path, at: date, own: Sequence[Parameter]
) -> Iterator[_Wanted | CheckedText]:
    """Yield what is to be checked of a file: each report in it, or why there is none."""
    try:
        if file.suffix == ".json":
            yield _of_spec(decode_report(_text_of(file)), at)
        elif file.suffix == ".py":
            for spec in _specs_of(file):
                yield _of_spec(spec, at)
        else:
            for path in report_files([file]):
                if has_front_matter(path):
                    yield _of_spec(read_report_file(path).spec, at)
                else:
                    yield _of_sql(path, tables, at, own)
    except ForerunError as error:
        yield _unread(str(file), error)


def _of_sql(path: Path, tables: Path, at: date, own: Sequence[Parameter]) -> _Wanted | CheckedText:
    report = read_report(path)
    places = list_tables(tables)
    try:
        read = [places[name].read() for name in sorted(tables_read(report.sql, places))]
    except ForerunError as error:
        return _unread(report.name, error)
    parameters = (*day_parameters(at, ZoneInfo("UTC")), *own)
    return _Wanted(_request(report.name, report.sql, sources(read, frozenset()), parameters))


def _of_spec(spec: ReportSpec, at: date) -> _Wanted:
    at = spec.bounds(at)[1]
    return _Wanted(
        _request(spec.name, sql_of(spec), declared_sources(spec), spec.parameters_on(at)), spec
    )


def _request(
    name: str, sql: str, found: tuple[Source, ...], parameters: Sequence[Parameter]
) -> PlanRequest:
    return PlanRequest(
        report=name,
        sql=sql,
        sources=found,
        points=(TimePoint(weight=1.0),),
        parameters=tuple(parameters),
        settings=Settings(allowed_functions=allowed_functions()),
    )


def _specs_of(file: Path) -> list[ReportSpec]:
    """The reports that a DAG file makes: those that its variables hold, and those of the tasks of
    its DAGs. Raises :class:`ReportFileError` for a file that fails or makes none."""
    try:
        made = runpy.run_path(str(file)).values()
    except Exception as error:
        if isinstance(error, ForerunError):
            raise
        raise ReportFileError(
            f"{file} cannot be run: {type(error).__name__}: {error}",
            hint="Run it with the Python that has Airflow and what the file imports.",
        ) from None
    held = [one for value in made for one in (value, *getattr(value, "reports", ()))]
    tasks = [task for value in made for task in getattr(value, "tasks", ())]
    specs = [*held, *(getattr(task, "spec", None) for task in tasks)]
    found = {spec.name: spec for spec in specs if isinstance(spec, ReportSpec)}
    if not found:
        raise ReportFileError(
            f"{file} makes no report", hint="Give a DAG file whose DAG is held by a variable."
        )
    return list(found.values())


def _text_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ReportFileError(f"{file} cannot be read: {error}", hint="Give its path.") from None
