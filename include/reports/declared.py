"""The sources of a report as its author declares them: what a text is read over before any file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from forerun.include.reports.spec import ReportSpec

if TYPE_CHECKING:
    from forerun.planner.request import Source
    from forerun.planner.sql.frontend import Query


def declared_sources(spec: ReportSpec) -> tuple[Source, ...]:
    """Return the sources of a report with their declared columns."""
    # Here, not above: whoever builds a report needs no parser.
    from forerun.planner.algebra.types import parse_type
    from forerun.planner.request import Source, SourceColumn

    return tuple(
        Source(
            name=source.name,
            columns=tuple(
                SourceColumn(name=c.name, type=parse_type(c.type), nullable=c.nullable)
                for c in source.columns
            ),
        )
        for source in spec.sources
    )


def read_declared(spec: ReportSpec, text: str, allowed: Iterable[str]) -> Query:
    """Read a text over the declared sources of a report, with its parameters on any day.
    ``allowed`` are the functions that the deployment allows. Raises
    :class:`forerun.planner.errors.SqlError`."""
    from forerun.planner.sql.frontend import read_query

    return read_query(
        text,
        declared_sources(spec),
        allowed_functions=allowed,
        parameters=spec.parameters_on(spec.any_day),
    )
