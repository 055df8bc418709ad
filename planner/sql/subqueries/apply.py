"""Subqueries: EXISTS, IN and scalar subqueries become joins of the block that contains them.

Each public function turns one subquery of ``binder``'s block into a join over ``binder.relation``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Sort,
    Values,
)
from forerun.planner.algebra.scalar import (
    FALSE,
    TRUE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    references,
    substitute,
)
from forerun.planner.algebra.types import BIGINT, BOOLEAN, Column, ColumnId
from forerun.planner.sql.binding.binder import Binder, Bound
from forerun.planner.sql.binding.coercion import compare
from forerun.planner.sql.binding.scope import bind_outer
from forerun.planner.sql.subqueries.correlation import (
    at_most_one_row,
    exactly_one_row,
    outer_of,
)
from forerun.planner.sql.subqueries.dependent import at_most_one
from forerun.planner.sql.subqueries.domain import Domain, unnest
from forerun.planner.sql.subqueries.pull import Pulled, one_row_per_match, pull
from forerun.planner.sql.syntax.text import require_only


@dataclass(frozen=True)
class _Side:
    """The right side of the join that replaces a subquery, and what correlates it.

    ``values`` are the subquery's output columns as expressions over the right side and,
    where they depend on the outer row, over the left side.
    """

    relation: Relation
    correlation: tuple[Scalar, ...]
    values: tuple[Scalar, ...]
    pulled: Pulled | None


def exists_condition(binder: Binder, node: exp.Exists, *, negated: bool) -> None:
    """``[NOT] EXISTS`` as a conjunct: a SEMI or ANTI join."""
    side = _side(binder, node, _read(binder, node.this), existential=True)
    if side.pulled is not None and side.pulled.defaults is not None:
        # An aggregate without GROUP BY has a row whatever the outer row is.
        _keep_all_or_none(binder, keep=not negated)
        return
    kind = JoinKind.ANTI if negated else JoinKind.SEMI
    condition = conjunction(side.correlation)
    binder.relation = Join(kind, binder.relation, side.relation, condition)


def _keep_all_or_none(binder: Binder, *, keep: bool) -> None:
    if not keep:
        binder.relation = Filter(binder.relation, FALSE)


def in_condition(binder: Binder, node: exp.In, *, negated: bool) -> None:
    """``[NOT] IN (SELECT ...)`` as a conjunct: a SEMI join, or an ANTI join that knows NULLs.

    The condition of NOT IN is in the form that Spark's null-aware anti join recognizes.
    """
    side, equalities = _membership(binder, node)
    if negated:
        equalities = tuple(_or_unknown(equality) for equality in equalities)
    kind = JoinKind.ANTI if negated else JoinKind.SEMI
    condition = conjunction((*side.correlation, *equalities))
    binder.relation = Join(kind, binder.relation, side.relation, condition)


def exists_as_value(binder: Binder, node: exp.Exists) -> Scalar:
    """EXISTS inside an expression: a MARK join. It is never NULL."""
    side = _side(binder, node, _read(binder, node.this), existential=True)
    if side.pulled is not None and side.pulled.defaults is not None:
        return TRUE
    certain = tuple(_never_null(part) for part in side.correlation)
    return Ref(_mark(binder, side.relation, conjunction(certain)))


def in_as_value(binder: Binder, node: exp.In, *, negated: bool) -> Scalar:
    """``[NOT] IN`` inside an expression: a MARK join.

    Spark never answers NULL here: IN is true where some value is equal, NOT IN is true where every
    value is certainly different, and what is unknown makes either of them false.
    """
    side, equalities = _membership(binder, node)
    if negated:
        equalities = tuple(_or_unknown(equality) for equality in equalities)
    else:
        equalities = tuple(_never_null(equality) for equality in equalities)
    # A correlated condition that is NULL takes the row out of the subquery: it must be false.
    certain = tuple(_never_null(part) for part in side.correlation)
    mark = Ref(_mark(binder, side.relation, conjunction((*certain, *equalities))))
    return Call("not", (mark,), BOOLEAN) if negated else mark


def _or_unknown(equality: Scalar) -> Call:
    """True unless the two sides are certainly different, in the form Spark itself uses."""
    return Call("or", (equality, Call("isnull", (equality,), BOOLEAN)), BOOLEAN)


def _never_null(part: Scalar) -> Scalar:
    if isinstance(part, Call) and part.name == "<=>":
        return part
    return Call("<=>", (part, TRUE), BOOLEAN)


def _mark(binder: Binder, right: Relation, condition: Scalar) -> Column:
    mark = binder.context.session.columns.new("mark", BOOLEAN)
    binder.relation = Join(JoinKind.MARK, binder.relation, right, condition, mark)
    return mark


def _membership(binder: Binder, node: exp.In) -> tuple[_Side, tuple[Scalar, ...]]:
    """The subquery of an IN and the comparisons of the left values with its columns."""
    require_only(binder.text, node, "this", "query")
    parts = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    values = [binder.bind(part) for part in parts]
    bound = _read(binder, node.args["query"])
    if len(values) != len(bound.relation.columns):
        raise binder.text.error(
            node,
            f"IN compares {len(values)} values with a subquery of "
            f"{len(bound.relation.columns)} columns",
        )
    side = _side(binder, node, bound, existential=True, keep=True)
    equalities = []
    for part, value, column in zip(parts, values, side.values, strict=True):
        equality = compare("=", value, column)
        if equality is None:
            raise binder.text.error(part, f"{value.type} and {column.type} cannot be compared")
        equalities.append(equality)
    return side, tuple(equalities)


def scalar(binder: Binder, node: exp.Expr) -> Scalar:
    """A subquery as a value: NULL without a row, an error with more than one."""
    bound = _read(binder, node)
    if len(bound.relation.columns) != 1:
        count = len(bound.relation.columns)
        raise binder.text.error(node, f"a scalar subquery has one column, not {count}")
    one_row = at_most_one_row(bound.relation)
    side = _side(binder, node, bound, existential=False)
    if not side.correlation and not one_row:
        side = _checked(binder, side)
    value, pulled = side.values[0], side.pulled
    condition = conjunction(side.correlation)
    if exactly_one_row(side.relation) and not side.correlation:
        kind = JoinKind.INNER
    elif one_row or (pulled is not None and one_row_per_match(pulled)):
        kind = JoinKind.LEFT
    else:
        kind = JoinKind.SINGLE
    binder.relation = Join(kind, binder.relation, side.relation, condition)
    if kind is JoinKind.INNER or pulled is None or pulled.defaults is None:
        return value
    missing = Call("isnull", (Ref(_matched_key(side)),), BOOLEAN)
    return _or_default(missing, pulled.defaults[bound.relation.columns[0].id], value)


def _checked(binder: Binder, side: _Side) -> _Side:
    """The one row of an uncorrelated subquery, NULL if it has none, an error if it has several::

        project[case when count > 1 then error else max end](aggregate[max(v), count(*)](R))

    So what reads it joins exactly one row, and filters by it are known where joins are ordered.
    """
    new, value = binder.context.session.columns.new, side.values[0]
    one = new("value", value.type)
    rows, checked = new("rows", BIGINT), new("value", value.type)
    # The maximum merges; where there is no order, any value of the one row is it.
    ordered = value.type.is_known and "<" not in value.type.name
    call = AggregateCall("max" if ordered else "any_value", (value,))
    counted = Aggregate(side.relation, (), ((one, call), (rows, AggregateCall("count", ()))))
    item = (checked, at_most_one(Ref(one), Ref(rows)))
    return _Side(Project(counted, (item,)), (), (Ref(checked),), None)


def lateral(binder: Binder, node: exp.Expr, *, outer: bool) -> tuple[Bound, tuple[Scalar, ...]]:
    """``JOIN LATERAL (SELECT ...)``: join each row of the binder with the rows that the subquery
    has for it; ``outer``: rows for which it has none stay, with NULLs.

    Returns what was read, and what its columns are over the binder's relation.
    """
    bound = _read(binder, node)
    # Each row has one of what computes values alone.
    applied = _applied(bound.relation, binder.relation, (Project,) if outer else _BY_ROW)
    if applied is not None:
        binder.relation = applied
        return bound, _refs(bound)
    side = _side(binder, node, bound, existential=False, deferred=not outer)
    condition, pulled = conjunction(side.correlation), side.pulled
    defaults = pulled.defaults if pulled is not None and side.correlation else None
    kind = JoinKind.LEFT if outer or defaults is not None else JoinKind.INNER
    binder.relation = Join(kind, binder.relation, side.relation, condition)
    if defaults is None:
        return bound, side.values
    missing = Call("isnull", (Ref(_matched_key(side)),), BOOLEAN)
    pairs = zip(bound.relation.columns, side.values, strict=True)
    return bound, tuple(_or_default(missing, defaults[c.id], value) for c, value in pairs)


_BY_ROW = (Project, Filter, Generate)


def _applied(
    relation: Relation, rows: Relation, operators: tuple[type[Relation], ...]
) -> Relation | None:
    """Return what a subquery without tables makes of each of some rows, beside the row; None if it
    has other operators than these."""
    if relation == Values((), ((),)):
        return rows
    if not isinstance(relation, operators):
        return None
    below = _applied(relation.inputs[0], rows, operators)
    here: dict[ColumnId, Scalar] = {column.id: Ref(column) for column in rows.columns}
    match below, relation:
        case Relation(), Filter():
            return Filter(below, bind_outer(relation.predicate, here))
        case Relation(), Generate(call=Call(name, args, type_)):
            call = Call(name, tuple(bind_outer(arg, here) for arg in args), type_)
            return replace(relation, input=below, call=call)
        case Relation(), Project():
            items = ((column, bind_outer(value, here)) for column, value in relation.items)
            return Project(below, (*((c, Ref(c)) for c in rows.columns), *items))
    return None


def _or_default(missing: Scalar, default: Scalar, value: Scalar) -> Scalar:
    if isinstance(default, Literal) and default.text is None:
        return value
    return Call("case", (missing, default, value), value.type)


def _matched_key(side: _Side) -> Column:
    """A column of the right side that is NULL only where the left join found no partner."""
    ids = {column.id: column for column in side.relation.columns}
    for predicate in side.correlation:
        for reference in sorted(references(predicate)):
            if reference in ids:
                return ids[reference]
    raise ValueError("a correlated aggregate without a correlated key")


def _read(binder: Binder, node: exp.Expr) -> Bound:
    context = replace(binder.context, parent=binder.scope)
    return binder.context.bind_query(context, node)


def _side(
    binder: Binder,
    node: exp.Expr,
    bound: Bound,
    *,
    existential: bool,
    keep: bool = False,
    deferred: bool = False,
) -> _Side:
    """Remove the correlation with ``binder.relation`` from a subquery. ``deferred``: its values may
    be computed behind the join."""
    session = binder.context.session
    here = {column.id: column for column in binder.relation.columns}
    outer = outer_of(bound.relation)
    relation: Relation = bound.relation
    if existential and not keep:
        relation = _whether_a_row(relation)
    _require_grouped(binder, node, set(outer) - set(here))
    try:
        pulled = pull(relation, session.columns, existential=existential)
        usable = pulled is not None and (existential or deferred or not pulled.deferred)
        if pulled is not None and usable and not _outer_left(pulled.relation):
            return _pulled_side(bound, pulled, here, keep or not existential)
        mine = tuple(here[i] for i in outer if i in here)
        if not mine:
            return _Side(bound.relation, (), _refs(bound), None)
        domain = Domain.of(binder.relation, mine, session.columns)
        unnested, mapped = unnest(bound.relation, domain)
    except ValueError as error:
        raise binder.text.unsupported(node, f"a correlated subquery with {error}") from None
    same = tuple(Call("<=>", (Ref(here[i]), Ref(c)), BOOLEAN) for i, c in mapped.items())
    return _Side(unnested, same, _refs(bound), None)


def _whether_a_row(relation: Relation) -> Relation:
    """What EXISTS needs to see of its subquery: not the columns, the order or a positive LIMIT."""
    while True:
        positive = isinstance(relation, Limit) and not relation.offset and relation.count != 0
        if not (positive or isinstance(relation, Project | Sort)):
            return relation
        (relation,) = relation.inputs


def _require_grouped(binder: Binder, node: exp.Expr, missing: set[ColumnId]) -> None:
    """A subquery of a grouped block can only read the block's group keys."""
    for field in binder.scope.fields:
        if field.column.id in missing:
            raise binder.text.error(
                node,
                f"the subquery reads {field.name}, which is not in GROUP BY",
                f"add {field.name} to GROUP BY",
            )


def _outer_left(relation: Relation) -> bool:
    return bool(outer_of(relation))


def _refs(bound: Bound) -> tuple[Scalar, ...]:
    return tuple(Ref(column) for column in bound.relation.columns)


def _pulled_side(bound: Bound, pulled: Pulled, here: dict[ColumnId, Column], keep: bool) -> _Side:
    by: dict[ColumnId, Scalar] = {i: Ref(column) for i, column in here.items()}
    correlation = tuple(bind_outer(p, by) for p in pulled.predicates)
    values: tuple[Scalar, ...] = ()
    if keep:
        values = tuple(bind_outer(substitute(v, pulled.deferred), by) for v in _refs(bound))
    return _Side(pulled.relation, correlation, values, pulled)
