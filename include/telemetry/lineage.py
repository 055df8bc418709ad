"""The lineage of a report: its sources and, column by column, where the values of its result come
from. Taken from the algebra of the planned query; who sends it says it in the words of a
standard."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from forerun.include.days.handle import Day
from forerun.include.reports.sinks import IcebergTable, VersionedFolder
from forerun.include.state.layout import report_results_folder
from forerun.planner.props.lineage import Origin, lineage
from forerun.planner.result import PlanResult


@dataclass(frozen=True, slots=True, order=True)
class DataPlace:
    """The place of data, as OpenLineage names datasets: ``namespace`` is the file system or bucket,
    ``name`` the path in it."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class MadeColumn:
    """A column of a result and the columns of sources that have to do with its values."""

    name: str
    type: str
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class ReportLineage:
    """``sources`` by name: their place, and the (name, type) pairs of their declared columns.
    ``columns`` of the result, and in ``rows`` the origins that decide which rows it has."""

    sources: dict[str, tuple[DataPlace, tuple[tuple[str, str], ...]]]
    columns: tuple[MadeColumn, ...]
    rows: tuple[Origin, ...]


def place_of(path: str) -> DataPlace:
    """The dataset that a path is in: up to its first part that changes from day to day, such as
    ``{ds}``, so that all days are one dataset."""
    steady = path.partition("{")[0]
    if steady != path:
        steady = steady.rpartition("/")[0]
    url = urlsplit(steady)
    if url.scheme in ("", "file"):
        return DataPlace("file", url.path.rstrip("/") or "/")
    return DataPlace(f"{url.scheme}://{url.netloc}", url.path.strip("/") or "/")


def result_place(day: Day) -> DataPlace:
    """The dataset of a report's results: the table that it publishes into, or its own folder."""
    sink = day.spec.published_to
    if isinstance(sink, IcebergTable):
        catalog, _, table = sink.name.partition(".")
        return DataPlace(f"iceberg://{catalog}", table)
    if not isinstance(sink, VersionedFolder):
        return place_of(sink.path)
    return place_of(day.store.uri(report_results_folder(day.at.report)))


def report_lineage(day: Day, result: PlanResult) -> ReportLineage:
    """The lineage of a planned report."""
    query = result.query
    found = lineage(query.relation)
    return ReportLineage(
        sources={
            source.name: (place_of(source.path), tuple((c.name, c.type) for c in source.columns))
            for source in day.spec.sources
        },
        columns=tuple(
            MadeColumn(name, column.type.sql, tuple(sorted(found.columns[column.id])))
            for name, column in zip(query.names, query.relation.columns, strict=True)
        ),
        rows=tuple(sorted(found.rows)),
    )
