"""Operators written for an engine that would take them otherwise than Spark does.

**Copies.** Sail (DataFusion) concludes from GROUP BY that the keys of its rows are unique, and
still does so of the copies that ``explode`` makes of them. A join with such a side keeps one of the
copies where no column of the side is read, and DISTINCT keeps all of them. Of the rows of a join it
concludes nothing: so what is copied is joined with one row first.

**Casts.** Sail names a call of an aggregate by its function and columns, and refuses two of one
name: ``sum(v)`` beside ``sum(CAST(v AS DOUBLE))``. A filter that keeps all rows is a part of the
name.

**Quotients.** Sail divides by ``CASE WHEN b = 0 THEN raise_error(...) ELSE b END``, which is an
error over no rows at all, and its joins hand on batches of no rows. A limit passes on only what has
rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from forerun.planner.algebra.expressions import scalars_of
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    UnionAll,
    Values,
)
from forerun.planner.algebra.scalar import TRUE, Call, Scalar, conjunction, conjuncts, walk
from forerun.planner.algebra.types import BOOLEAN, NULL, UNKNOWN
from forerun.planner.contract.plan_v1 import ResultOutput
from forerun.planner.cost.prices import Prices
from forerun.planner.exact.quotients import DIVIDING, with_exact_quotients
from forerun.planner.sql.frontend import Query
from forerun.planner.sql.printing.printer import to_sql
from forerun.planner.tvr.signed import ColumnIds

_ALL_ROWS = 2**62


def written_for(prices: Prices, ids: ColumnIds, relation: Relation) -> Relation:
    """Return a relation of the same rows which an engine with these prices computes as Spark does
    its own."""
    return _rewritten(prices, ids, relation, {}) if prices.flaws else relation


def text_for(prices: Prices, query: Query, text: str) -> str:
    """Return what computes the report from its sources in one stage: the user's own ``text``, but
    for an engine that cuts quotients off, where the query has some: that is told the query as it
    was read, with exact ones. Or the same day would have other digits by other modes."""
    if "quotients" not in prices.flaws:
        return text
    written = written_for(prices, ColumnIds(query.last_id), query.relation)
    return text if written == query.relation else to_sql(written, names=query.names)


def result_output(query: Query, prices: Prices) -> ResultOutput:
    """Return what a stage gives that computes the report: for an engine that may give its columns
    other types than Spark does, with these."""
    types: tuple[str, ...] = ()
    if "types" in prices.flaws:
        kinds = (column.type for column in query.relation.columns)
        types = tuple("" if kind in (UNKNOWN, NULL) else kind.sql for kind in kinds)
    return ResultOutput(columns=query.names, ordered=query.ordered, types=types)


def _rewritten(
    prices: Prices, ids: ColumnIds, node: Relation, known: dict[Relation, Relation]
) -> Relation:
    """Return the relation with each operator written once: what several others read stays one part
    of the text."""
    if node not in known:
        below = tuple(_rewritten(prices, ids, one, known) for one in node.inputs)
        same = all(one is other for one, other in zip(below, node.inputs, strict=True))
        known[node] = _written(prices, ids, node if same else node.with_inputs(below))
    return known[node]


def _written(prices: Prices, ids: ColumnIds, node: Relation) -> Relation:
    if "quotients" in prices.flaws:
        node = _of_some_rows(with_exact_quotients(node, ids))
    if isinstance(node, Repeat) and "copies" in prices.flaws:
        one_row = Values((), ((),))
        return Repeat(Join(JoinKind.INNER, node.input, one_row, TRUE), node.count)
    if isinstance(node, Aggregate) and "casts" in prices.flaws:
        return _apart(node)
    if isinstance(node, Project) and isinstance(node.input, Aggregate) and "casts" in prices.flaws:
        return replace(node, input=_apart(node.input))
    return node


def _of_some_rows(node: Relation) -> Relation:
    """Return the operator over rows that do not come straight from a join, if it divides."""
    if not isinstance(node, Project | Filter | Aggregate) or not _divides(node):
        return node
    below = node.input
    while isinstance(below, Project | Filter):
        below = below.input
    if not isinstance(below, Join | UnionAll | Repeat):
        return node
    if isinstance(node, Filter):
        # What does not divide stays below: a limit between a join and its equalities makes it a
        # product.
        parts = conjuncts(node.predicate)
        divide = tuple(part for part in parts if _has_quotient(part))
        others = tuple(part for part in parts if not _has_quotient(part))
        joined = Filter(node.input, conjunction(others)) if others else node.input
        return Filter(Limit(joined, _ALL_ROWS), conjunction(divide))
    return node.with_inputs((Limit(node.input, _ALL_ROWS),))


def _divides(node: Project | Filter | Aggregate) -> bool:
    return any(map(_has_quotient, scalars_of(node)))


def _has_quotient(scalar: Scalar) -> bool:
    return any(isinstance(part, Call) and part.name in DIVIDING for part in walk(scalar))


def _apart(node: Aggregate) -> Aggregate:
    columns, calls = zip(*node.calls, strict=True) if node.calls else ((), ())
    return replace(node, calls=tuple(zip(columns, _named_apart(calls), strict=True)))


def _named_apart(calls: Sequence[AggregateCall]) -> list[AggregateCall]:
    """Return the calls, those that differ in casts alone with filters of different lengths."""
    seen: dict[Hashable, list[AggregateCall]] = {}
    made = []
    for call in calls:
        name = (call.name, call.distinct, call.where, tuple(map(_without_casts, call.args)))
        alike = seen.setdefault(name, [])
        place = next((i for i, one in enumerate(alike) if one.args == call.args), len(alike))
        if place == len(alike):
            alike.append(call)
        made.append(replace(call, where=_longer(call.where, place)))
    return made


def _longer(where: Scalar | None, times: int) -> Scalar | None:
    for _ in range(times):
        where = TRUE if where is None else Call("and", (where, TRUE), BOOLEAN)
    return where


def _without_casts(scalar: Scalar) -> Scalar:
    if not isinstance(scalar, Call):
        return scalar
    if scalar.name == "cast":
        return _without_casts(scalar.args[0])
    return replace(scalar, args=tuple(map(_without_casts, scalar.args)))
