"""Turn a SQL file and a folder of tables into a planning request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from forerun.include.machine.settings import allowed_functions
from forerun.include.sources.samples import Drawable, with_samples
from forerun.include.sources.statistics import column_stats, with_overlaps
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract.plan_v1 import Parameter
from forerun.planner.errors import ForerunError, RequestError
from forerun.planner.request import (
    PDW,
    Method,
    PlanRequest,
    Problem,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
    ivm,
)
from forerun.planner.sql.syntax.table_names import tables_read
from forerun.simulation.declared import NOTHING_DECLARED, Declared
from forerun.simulation.tables import CHANGING_ROWS, Table, list_tables


class ReportFileError(ForerunError):
    """The file with the report's SQL cannot be read."""

    code = "report-file"


class Report(NamedTuple):
    """A report to plan: its name and its SQL text."""

    name: str
    sql: str


def report_name(text: str) -> str:
    """A name that a report may have."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", text)[:80]
    return plain if re.match(r"[A-Za-z_]", plain) else f"r_{plain}"


def report_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files of reports; a folder stands for all files in it that end in ``.sql``, by
    name. Raises :class:`ReportFileError` for a folder without any."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = sorted(path.glob("*.sql"))
        if not found:
            raise ReportFileError(
                f"{path} holds no .sql file", hint="Give a report's file, or the folder of some."
            )
        yield from found


def read_report(path: Path) -> Report:
    """The report that a file holds, named after it. Raises :class:`ReportFileError` if it cannot
    be read, or is empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ReportFileError(
            f"there is no file {path}", hint="Give the path of a file with the report's SQL."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ReportFileError(
            f"{path} cannot be read: {error}", hint="It must be a text file in UTF-8."
        ) from None
    if not text.strip():
        raise ReportFileError(f"{path} is empty", hint="Write the report's SQL into it.")
    if path.suffix == ".json":
        raise ReportFileError(
            f"{path} is JSON, and a file with the SQL of a report is wanted",
            hint="Put the report's SQL (its field sql) into a file of its own; what it says of its "
            "sources is given by --tables, --changing and --arrived here.",
        )
    return Report(path.stem, text)


def parse_numbers(text: str, option: str) -> tuple[float, ...]:
    """A comma-separated list of numbers."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise RequestError(
            f"{option} {text!r} is not a list of numbers",
            hint=f"Separate them by commas: {option} 0.25,0.3,1.",
        ) from None


def parse_points(arrived: str, weights: str) -> tuple[TimePoint, ...]:
    """The runs of a day from two lists of equal length."""
    fractions = parse_numbers(arrived, "--arrived")
    prices = parse_numbers(weights, "--weights")
    if len(fractions) != len(prices):
        raise RequestError(
            f"--arrived has {len(fractions)} numbers, --weights has {len(prices)}",
            hint="Give one of each per run; the last run is the final one.",
        )
    if fractions[-1] != 1:
        raise RequestError(
            f"only {fractions[-1]:g} of the data has arrived at the final run",
            hint="The last number of --arrived must be 1: the final run sees the complete day.",
        )
    return tuple(TimePoint(weight=w, arrived=f) for f, w in zip(fractions, prices, strict=True))


class ProblemName(StrEnum):
    """The problems of Tempura 2.1: a progressive data warehouse, incremental view maintenance."""

    pdw = "pdw"
    ivm = "ivm"


def parse_problem(name: ProblemName, results_at: str | None, runs: int) -> Problem:
    """Return where the result is wanted and what plans are compared by, from the command line."""
    if results_at is None:
        return ivm(runs) if name is ProblemName.ivm else PDW
    if name is ProblemName.ivm:
        raise RequestError(
            "--problem ivm has the result at every run",
            hint="Leave out --results-at, or --problem ivm.",
        )
    wanted = parse_numbers(results_at, "--results-at")
    for run in wanted:
        if run not in range(1, runs + 1):
            raise RequestError(
                f"--results-at names run {run:g} of a day of {runs} runs",
                hint="Name runs by their numbers from 1, such as --results-at 1,2.",
            )
    return Problem(results_at=tuple(sorted({int(run) for run in wanted})))


def parse_rules(text: str | None) -> tuple[str, ...]:
    """Names of rules to switch off, each once. Raises :class:`RequestError` for one that there is
    not, with all that there are."""
    from forerun.planner.rules.methods.catalog import check_rules

    names = tuple(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip()))
    check_rules(names)
    return names


def read_day_tables(
    folder: Path, queries: Iterable[str], named: str | None
) -> tuple[dict[str, Table], frozenset[str]]:
    """The tables of a folder that queries read, and which of them change during the day: those
    ``named``, by default those of more than CHANGING_ROWS rows. What else lies in the folder is
    not looked at."""
    places = list_tables(folder)
    read = {name for sql in queries for name in tables_read(sql, places)}
    tables = {name: places[name].read() for name in sorted(read)}
    if named is None:
        changing = {name for name, table in tables.items() if table.rows > CHANGING_ROWS}
        return tables, frozenset(changing)
    names = frozenset(part.strip() for part in named.split(",") if part.strip())
    if unknown := sorted(names - set(places)):
        raise RequestError(
            f"--changing names the table {unknown[0]}, which is not there",
            hint=f"The tables are {', '.join(sorted(places))}.",
        )
    return tables, names & set(tables)


def sources(tables: Iterable[Table], changing: frozenset[str]) -> tuple[Source, ...]:
    """Tables as the planner sees them."""
    return tuple(
        Source(
            name=table.name,
            columns=tuple(
                SourceColumn(name=c.name, type=parse_type(c.type), nullable=c.nullable)
                for c in table.columns
            ),
            changing=table.name in changing,
            rows=table.rows,
            bytes=table.bytes,
        )
        for table in tables
    )


def with_statistics(tables: Mapping[str, Table], changing: frozenset[str]) -> tuple[Source, ...]:
    """Tables with what the footers say of their columns, as a run's own planning has it."""
    return tuple(
        _with_statistics(source, tables[source.name])
        for source in sources(tables.values(), changing)
    )


def _with_statistics(source: Source, table: Table) -> Source:
    """The source with what the footers say of its columns, as a run's own planning has it."""
    stats = tuple((c.name, column_stats(table.footers, c.name, c.type)) for c in source.columns)
    return replace(source, stats=stats)


def _with_samples(
    found: tuple[Source, ...],
    tables: Mapping[str, Table],
    sql: str,
    rows: int | None,
    parameters: tuple[Parameter, ...],
) -> tuple[Source, ...]:
    from forerun.planner.sampling import filtered_sources

    if rows == 0:
        return found
    filtered = filtered_sources(
        sql, found, allowed_functions=allowed_functions(), parameters=parameters
    )
    drawable = {name: Drawable(table.footers, rows) for name, table in tables.items()}
    return with_samples(found, drawable, filtered)


def build_request(  # noqa: PLR0913 - the options of a command
    report: Report,
    tables: Mapping[str, Table],
    changing: frozenset[str],
    points: tuple[TimePoint, ...],
    method: Method,
    *,
    problem: Problem = PDW,
    settings: Settings | None = None,
    sample: int | None = None,
    parameters: tuple[Parameter, ...] = (),
    declared: Declared = NOTHING_DECLARED,
) -> PlanRequest:
    """The planning request of a whole day, before its first run. ``sample``: so many rows of each
    table are drawn at random, 0 for none, None where a filter is guessed."""
    found = with_overlaps(
        declared.of(with_statistics(tables, changing)),
        {name: table.footers for name, table in tables.items()},
    )
    return PlanRequest(
        report=report.name,
        sql=report.sql,
        sources=_with_samples(found, tables, report.sql, sample, parameters),
        parameters=parameters,
        points=points,
        method=method,
        problem=problem,
        settings=settings or Settings(allowed_functions=allowed_functions()),
    )
