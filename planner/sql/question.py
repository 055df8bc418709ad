"""The question that Spark is asked about a text before its first stage runs."""

from __future__ import annotations

from forerun.planner.contract.digest import digest_of
from forerun.planner.contract.plan_v1 import ColumnSpec, NamedTable, Question
from forerun.planner.request import PlanRequest
from forerun.planner.sql.frontend import read_query


def question_of(request: PlanRequest) -> Question:
    """Return the question about the text of a planning request. Raises
    :class:`forerun.planner.errors.SqlError` for a text that cannot be read."""
    query = read_query(
        request.sql,
        request.sources,
        allowed_functions=request.settings.allowed_functions,
        parameters=request.parameters,
    )
    tables = tuple(
        NamedTable(
            name=source.name,
            columns=tuple(ColumnSpec(name=c.name, type=c.type.sql) for c in source.columns),
        )
        for source in sorted(request.sources, key=lambda source: source.name)
    )
    types = tuple((one.name, one.type) for one in query.parameters)
    return Question(
        id=digest_of(request.sql, query.reading, tables, types, request.settings.session)[:32],
        reading=query.reading,
        tables=tables,
        columns=query.names,
        ordered=query.ordered,
        parameters=query.parameters,
    )
