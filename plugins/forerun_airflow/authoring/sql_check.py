"""A report's SQL is read when Airflow parses its DAG file: a mistake in it is an import error.

Nothing is opened for that: the tables and columns are those that the report declares. It costs
about 0.2 CPU seconds per file, for the parser, and milliseconds per report
(docs/guides/reports.md#sql-is-checked-when-the-dag-file-is-parsed).
"""

from __future__ import annotations

from forerun.include.machine.settings import allowed_functions
from forerun.include.reports.declared import read_declared
from forerun.include.reports.sinks import CAST_IT, only_spark_reads
from forerun.include.reports.spec import PartitionFolder, ReportSpec, SpecError, VersionedFolder
from forerun.planner.errors import ForerunError


def check_sql(spec: ReportSpec) -> None:
    """Read the SQL of a report over its declared sources: syntax, tables, columns, functions,
    parameters, templates, and what the planner does not take.

    Raises :class:`forerun.include.reports.spec.SpecError` with the report's name, and line and
    column; for a result that has the column of the day in the table that it goes to; and for one
    that no table holds as Spark gives it.
    """
    try:
        query = read_declared(spec, spec.sql, allowed_functions())
    except ForerunError as error:
        raise SpecError(
            f"the SQL of report {spec.name}: {error.message}", hint=error.hint
        ) from None
    sink = spec.sink
    if isinstance(sink, VersionedFolder):
        return
    if sink.column.lower() in map(str.lower, query.names):
        kind = type(sink).__name__
        raise SpecError(
            f"report {spec.name}: its result has the column {sink.column}, and so has its "
            f"{kind}: readers would see the day in every row",
            hint=f"Name one of them otherwise: {kind}(column=...), or AS in the SQL.",
        )
    if isinstance(sink, PartitionFolder):
        return
    for name, column in zip(query.names, query.relation.columns, strict=True):
        if only_spark_reads(column.type.sql):
            raise SpecError(
                f"report {spec.name}: the column {name} of its result is {column.type.sql}, which "
                f"readers of a {type(sink).__name__} would find as numbers or bytes",
                hint=CAST_IT,
            )
