"""From a SQL file and a folder of tables to a planning request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from forerun.tables import CHANGING_ROWS, Table
from include.samples import draw
from include.sizes import parse_bytes
from include.statistics import column_stats
from planner.algebra.types import parse_type
from planner.errors import ForerunError, RequestError
from planner.request import (
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


class ReportFileError(ForerunError):
    """The file with the report's SQL cannot be read."""

    code = "report-file"


def read_sql(path: Path) -> str:
    """The text of a report."""
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
    return text


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
    """Where the result is wanted and what plans are compared by, from the command line."""
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
    from planner.rules.methods.catalog import check_rules

    names = tuple(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip()))
    check_rules(names)
    return names


def check_size(text: str) -> str:
    """The text of --state-budget, if it is a size or not given."""
    if text:
        parse_bytes(text, "--state-budget")
    return text


def parse_settings(rules_off: str | None, state_budget: str) -> Settings:
    """The planner's settings from the options of a command."""
    budget = parse_bytes(state_budget, "--state-budget") if state_budget else None
    return Settings(rules_off=parse_rules(rules_off), state_budget=budget)


def changing_tables(tables: Mapping[str, Table], named: str | None) -> frozenset[str]:
    """The tables that change: those named, by default those of more than CHANGING_ROWS rows."""
    if named is None:
        return frozenset(name for name, table in tables.items() if table.rows > CHANGING_ROWS)
    names = frozenset(part.strip() for part in named.split(",") if part.strip())
    if unknown := sorted(names - set(tables)):
        raise RequestError(
            f"--changing names the table {unknown[0]}, which is not there",
            hint=f"The tables are {', '.join(sorted(tables))}.",
        )
    return names


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


def with_samples(
    found: tuple[Source, ...], tables: Mapping[str, Table], sql: str, rows: int
) -> tuple[Source, ...]:
    """Sources with about so many rows, drawn at random, of what the query filters; 0 for none."""
    from planner.sampling import filtered_columns

    if not rows:
        return found
    filtered = filtered_columns(sql, found)
    return tuple(
        replace(one, sample=draw(tables[one.name].footers, filtered.get(one.name, ()), rows))
        for one in found
    )


def build_request(
    report: Path,
    tables: Mapping[str, Table],
    changing: frozenset[str],
    points: tuple[TimePoint, ...],
    method: Method,
    problem: Problem = PDW,
    settings: Settings | None = None,
    sample: int = 0,
) -> PlanRequest:
    """The planning request of a whole day, before its first run. ``sample``: so many rows of each
    table are drawn at random."""
    sql = read_sql(report)
    return PlanRequest(
        report=report.stem,
        sql=sql,
        sources=with_samples(with_statistics(tables, changing), tables, sql, sample),
        points=points,
        method=method,
        problem=problem,
        settings=settings or Settings(),
    )
