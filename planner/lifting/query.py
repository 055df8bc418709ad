"""The query of a request for many days, and its sources with the day as a column."""

from __future__ import annotations

from dataclasses import replace

from forerun.planner.algebra.types import INT
from forerun.planner.contract.plan_v1 import DAY_COLUMN
from forerun.planner.errors import LiftError, NotLifted
from forerun.planner.lifting.operators import lift
from forerun.planner.request import ANSI, ColumnStats, Days, PlanRequest, Source, SourceColumn
from forerun.planner.sql.frontend import Query
from forerun.planner.tvr.signed import ColumnIds


def lifted_request(request: PlanRequest, days: Days) -> PlanRequest:
    """Return the request with the day as a column of its daily sources, to be planned in stages of
    our own whatever they cost: the user's text knows no days.

    No declaration is relied on: a key of a day is none of all days, and NULLs that one day must not
    have would fail them all. It is not cut, since one query is one stage. Raises
    :class:`forerun.planner.errors.LiftError` for a session without ANSI mode, in which only the
    report's own text is read.
    """
    if dict(request.settings.session).get(ANSI) != "true":
        raise LiftError(NotLifted.SESSION, "the session is without ANSI mode")
    return replace(
        request,
        sources=tuple(_with_day(source, days) for source in request.sources),
        method="batch",
        settings=replace(request.settings, own_batch="always", interruptions=0.0),
    )


def _with_day(source: Source, days: Days) -> Source:
    columns = tuple(replace(column, nullable=True) for column in source.columns)
    source = replace(source, columns=columns, keys=())
    if source.name not in days.daily:
        return source
    last = str(days.count - 1)
    known = ColumnStats(minimum="0", maximum=last, distinct=float(days.count))
    return replace(
        source,
        columns=(*columns, SourceColumn(name=DAY_COLUMN, type=INT)),
        stats=(*source.stats, (DAY_COLUMN, known)) if source.stats else (),
    )


def lifted_query(query: Query, days: Days, sources: tuple[Source, ...], ids: ColumnIds) -> Query:
    """Return the query for all days, with the day as its last column. A day that has no row in its
    result is to be computed by itself: whoever splits it up by day cannot tell its columns either.

    ``sources`` are those of one day. Raises :class:`forerun.planner.errors.LiftError` for a query
    that cannot be lifted.
    """
    if query.only_text:
        raise LiftError(NotLifted.ONLY_TEXT, query.only_text[0])
    if query.hinted:
        raise LiftError(NotLifted.HINTED, "the query tells Spark by hints how to run one day")
    columns = (column.name for source in sources for column in source.columns)
    if DAY_COLUMN in {name.lower() for name in (*query.names, *columns)}:
        raise LiftError(NotLifted.NAME, f"a column is called {DAY_COLUMN} already")
    relation = lift(query.relation, days.daily, days.count, ids, every_day=False)
    return replace(query, relation=relation, names=(*query.names, DAY_COLUMN))
