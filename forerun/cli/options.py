"""Options of the command line that several commands take, each written down once.

``forerun plan`` and ``forerun simulate`` both take a day: a query, tables, and how the day goes.
:class:`DayOptions` is that day as it was typed, :func:`takes_day` gives its options to a command.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from forerun.include.machine.settings import allowed_functions, interruptions_an_hour
from forerun.include.reports.parameters import Parameter, day_parameters, parse_parameters
from forerun.include.reports.spec import MOST_SAMPLED
from forerun.include.reports.values.clock import parse_day
from forerun.include.reports.values.sizes import parse_bytes
from forerun.include.runs.interruptions import interruptions
from forerun.planner.errors import RequestError
from forerun.planner.request import Method, PlanRequest, Problem, Settings, TimePoint
from forerun.planner.sql.syntax.table_names import tables_read
from forerun.simulation.declared import NOTHING_DECLARED, Declared, parse_declared
from forerun.simulation.planning import (
    ProblemName,
    Report,
    build_request,
    parse_points,
    parse_problem,
    parse_rules,
    read_day_tables,
    read_report,
    report_files,
    report_name,
)


def parse_budget(text: str) -> int:
    """The bytes of ``--state-budget``."""
    return parse_bytes(text, "--state-budget")


def _different(reports: tuple[Report, ...]) -> tuple[Report, ...]:
    """The reports. Raises :class:`RequestError` if two of a group would get one name."""
    names = [report_name(report.name) for report in reports]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RequestError(
            f"two reports of the group are called {twice[0]}",
            hint="A report is named after its file: rename one of them.",
        )
    return reports


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedDay:
    """A day to plan or to simulate, checked: the query, its runs, and how they are planned.
    Several ``reports`` are a group."""

    reports: tuple[Report, ...]
    tables: Path
    changing: str | None
    points: tuple[TimePoint, ...]
    problem: Problem
    settings: Settings
    sample: int | None
    report_date: date | None
    own_parameters: tuple[Parameter, ...]
    declared: Declared = NOTHING_DECLARED
    choose: int | None = None

    @property
    def report(self) -> Report:
        """The only report."""
        return self.reports[0]

    @property
    def is_group(self) -> bool:
        return len(self.reports) > 1

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The named parameters of the query: those of the report date, if there is one, which
        begins and ends in UTC, and its own."""
        of_day = day_parameters(self.report_date, ZoneInfo("UTC")) if self.report_date else ()
        return (*of_day, *self.own_parameters)

    def requests(self, method: Method) -> tuple[PlanRequest, ...]:
        """The planning request of every report, before the first run of the day."""
        texts = [report.sql for report in self.reports]
        tables, changing = read_day_tables(self.tables, texts, self.changing)
        found = []
        for report, sql in zip(self.reports, texts, strict=True):
            read = tables_read(sql, tables)
            request = build_request(
                report,
                {name: tables[name] for name in sorted(read)},
                changing & read,
                self.points,
                method,
                problem=self.problem,
                settings=self.settings,
                sample=self.sample,
                parameters=self.parameters,
                declared=self.declared,
            )
            found.append(request)
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOptions:
    """The options of a day, as they were typed."""

    reports: Annotated[
        list[Path],
        typer.Argument(
            metavar="REPORT.sql",
            help="The query, a text file, or a folder of such. Several are a group, planned and "
            "run as one.",
        ),
    ]
    tables: Annotated[
        Path, typer.Option("--tables", metavar="DIR", help="A Parquet file or folder per table.")
    ]
    changing: Annotated[
        str | None,
        typer.Option(
            "--changing",
            metavar="T1,T2",
            help="Tables that grow during the day. Default: all of more than 10,000 rows.",
        ),
    ] = None
    arrived: Annotated[
        str,
        typer.Option(
            "--arrived", metavar="F1,..,1", help="Part of the data that is there at a run."
        ),
    ] = "0.58,0.79,1"
    weights: Annotated[
        str, typer.Option("--weights", metavar="W1,..,WK", help="Price of compute at each run.")
    ] = "0.25,0.3,1"
    problem: Annotated[
        ProblemName,
        typer.Option(
            "--problem",
            help="pdw: the result at the end, at the least weighted cost. "
            "ivm: the result at every run, the last run as cheap as can be.",
        ),
    ] = ProblemName.pdw
    results_at: Annotated[
        str | None,
        typer.Option(
            "--results-at",
            metavar="R1,R2",
            help="Early runs that give the result too, over what has arrived by then.",
        ),
    ] = None
    rules_off: Annotated[
        str | None,
        typer.Option(
            "--rules-off",
            metavar="R1,R2",
            help="Rules of the planner not to use. A name that there is not: the error lists all.",
        ),
    ] = None
    state_budget: Annotated[
        int | None,
        typer.Option(
            "--state-budget",
            metavar="SIZE",
            parser=parse_budget,
            help="The most that may be kept between runs, such as 500MB; 0 is batch.",
        ),
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            metavar="ROWS",
            min=0,
            max=MOST_SAMPLED,
            show_default=False,
            help="Read so many rows of each table at random, to count what the query's filters "
            "pass; 0 for none. Default: 2,000 of tables with a filter that would be guessed.",
        ),
    ] = None
    date: Annotated[
        str | None,
        typer.Option(
            "--date",
            metavar="DAY",
            help="The report date, such as 2026-01-31, for :report_date, :report_start and "
            ":report_end.",
        ),
    ] = None
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            metavar="NAME[:TYPE]=VALUE",
            help="A named parameter of the query, a STRING by default. May be given several times.",
        ),
    ] = None

    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="TABLE.COLUMN",
            help="No two rows of TABLE have the same COLUMN. Runs that rely on it verify it. Of "
            "several columns: TABLE.A,B. May be given several times.",
        ),
    ] = None
    foreign_key: Annotated[
        list[str] | None,
        typer.Option(
            "--foreign-key",
            metavar="CHILD.COLUMN=PARENT.COLUMN",
            help="Rows of CHILD name rows of PARENT, which come with them or before. Runs that "
            "rely on it verify it. Of several columns: CHILD.A,B=PARENT.C,D. May be given several "
            "times.",
        ),
    ] = None
    ordered_by: Annotated[
        list[str] | None,
        typer.Option(
            "--ordered-by",
            metavar="TABLE.COLUMN",
            help="Rows of TABLE come in the order of COLUMN, so that windows in this order go on "
            "from the last rows. A simulated day has them come so. May be given several times.",
        ),
    ] = None
    choose: Annotated[
        int | None,
        typer.Option(
            "--choose",
            metavar="N",
            min=2,
            show_default=False,
            help="Take those N time points at most, the final one included, with which the day "
            "costs least. --arrived and --weights then are the candidates, up to a dozen.",
        ),
    ] = None

    def parse(self) -> CheckedDay:
        """The day that they describe. Raises a ``ForerunError`` for what does not fit."""
        points = parse_points(self.arrived, self.weights)
        return CheckedDay(
            reports=_different(tuple(map(read_report, report_files(self.reports or ())))),
            tables=self.tables,
            changing=self.changing,
            points=points,
            problem=parse_problem(self.problem, self.results_at, len(points)),
            settings=Settings(
                rules_off=parse_rules(self.rules_off),
                state_budget=self.state_budget,
                allowed_functions=allowed_functions(),
                interruptions=interruptions((), interruptions_an_hour()),
            ),
            sample=self.sample,
            report_date=parse_day(self.date) if self.date else None,
            own_parameters=parse_parameters(self.param or ()),
            choose=self.choose,
            declared=parse_declared(
                self.tables,
                keys=self.key or (),
                foreign_keys=self.foreign_key or (),
                orders=self.ordered_by or (),
            ),
        )


def takes_day(**defaults: object) -> Callable[[Callable[..., int | None]], Callable[..., Any]]:
    """Give a command the options of a day before its own; it gets them parsed, as ``day``.
    ``defaults`` are of options that a day needs and this command does not."""

    def decorated(command: Callable[..., int | None]) -> Callable[..., int | None]:
        return _with_day(command, defaults)

    return decorated


def _with_day(
    command: Callable[..., int | None], defaults: Mapping[str, object]
) -> Callable[..., int | None]:
    hints = typing.get_type_hints(DayOptions, include_extras=True)
    day = {
        field.name: inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(field.name, _default(field)),
            annotation=hints[field.name],
        )
        for field in fields(DayOptions)
    }
    signature = inspect.signature(command, eval_str=True)
    own = {name: p for name, p in signature.parameters.items() if name != "day"}

    @functools.wraps(command)
    def run(**given: Any) -> int | None:
        typed = DayOptions(**{name: given.pop(name) for name in day})
        return command(day=typed.parse(), **given)

    parameters = [*day.values(), *(p.replace(kind=p.KEYWORD_ONLY) for p in own.values())]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _default(field: Field[Any]) -> object:
    return inspect.Parameter.empty if field.default is MISSING else field.default
