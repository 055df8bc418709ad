"""Apply removal by pulling correlated predicates up to the join.

A correlated subquery is a tree with placeholders (``scope.OUTER``) for columns of the outer query.
If they occur only in predicates that can be evaluated after the operators above them, those
predicates become part of the join condition and nothing is computed twice. Where that is not
legal, ``domain.py`` computes the subquery for every distinct combination of outer values instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from forerun.planner.algebra.aggregates.functions import value_when_empty
from forerun.planner.algebra.expressions import scalars_of
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Sort,
    SortKey,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import (
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    conjuncts,
    references,
    substitute,
)
from forerun.planner.algebra.types import BOOLEAN, INT, Column, ColumnId
from forerun.planner.sql.binding.scope import ColumnSource
from forerun.planner.sql.subqueries.correlation import (
    at_most_one_row,
    has_outer,
    is_correlated,
)


@dataclass(frozen=True)
class Pulled:
    """``relation`` has no placeholder left; ``predicates`` (over its columns and placeholders) are
    to be part of the join condition.

    ``deferred`` are output columns that depend on the outer row: expressions to use instead.
    ``defaults`` is set when the subquery is an aggregate without GROUP BY: an outer row without
    partner then has one implied row with these values.
    """

    relation: Relation
    predicates: tuple[Scalar, ...] = ()
    deferred: dict[ColumnId, Scalar] = field(default_factory=dict)
    defaults: dict[ColumnId, Scalar] | None = None


def pull(relation: Relation, columns: ColumnSource, *, existential: bool = False) -> Pulled | None:
    """Pull all correlated predicates out of ``relation``; None where that would change its rows.

    ``existential``: how often a row is there does not matter.
    """
    relation = without_cut(relation)
    if isinstance(relation, Aggregate) and not relation.keys and relation.calls:
        return _scalar_aggregate(relation, columns)
    if isinstance(relation, Sort):
        return pull(relation.input, columns, existential=existential)
    if existential and (smaller := _without_duplicates(relation)) is not None:
        return pull(smaller, columns, existential=True)
    if not is_correlated(relation) and not _has_defaults(relation):
        return Pulled(relation)
    match relation:
        case Filter():
            return _filter(relation, columns, existential)
        case Project():
            return _project(relation, columns, existential)
        case Join():
            return _join(relation, columns, existential)
        case Aggregate():
            return _aggregate(relation, columns)
        case Limit():
            return _limit(relation, columns)
    return None


def _limit(relation: Limit, columns: ColumnSource) -> Pulled | None:
    """The first rows per value of the correlated keys, which are equated with outer values: an
    outer row sees all rows of its values, in the order that numbers them."""
    sort = relation.input
    if not isinstance(sort, Sort):
        return None
    inner = pull(sort.input, columns)
    if inner is None or inner.deferred or inner.defaults is not None or not inner.predicates:
        return None
    equal = [equated(predicate) for predicate in inner.predicates]
    keys = tuple(side[0].column for side in equal if side and isinstance(side[0], Ref))
    known = {column.id for column in inner.relation.columns}
    if len(keys) != len(equal) or any(key.column.id not in known for key in sort.keys):
        return None
    numbered = first_rows(inner.relation, relation, tuple(dict.fromkeys(keys)), sort.keys, columns)
    return replace(inner, relation=numbered)


def first_rows(
    rows: Relation,
    limit: Limit,
    by: tuple[Column, ...],
    order: tuple[SortKey, ...],
    columns: ColumnSource,
) -> Relation:
    """Return the rows that a LIMIT with its OFFSET leaves of each part of ``rows``, by these
    columns."""
    number = columns.new("row_number", INT)
    call = WindowCall("row_number", (), by, order)
    bounds: list[Scalar] = []
    if limit.count is not None:
        last = Literal(str(limit.count + limit.offset), INT)
        bounds.append(Call("<=", (Ref(number), last), BOOLEAN))
    if limit.offset:
        bounds.append(Call(">", (Ref(number), Literal(str(limit.offset), INT)), BOOLEAN))
    return Filter(Window(rows, ((number, call),)), conjunction(tuple(bounds)))


def _without_duplicates(relation: Relation) -> Relation | None:
    if isinstance(relation, Aggregate) and not relation.calls and relation.keys:
        return relation.input
    return None


def without_cut(relation: Relation) -> Relation:
    """Without a LIMIT that cannot take away anything."""
    if isinstance(relation, Limit) and not relation.offset and relation.count != 0:
        return without_cut(relation.input) if at_most_one_row(relation.input) else relation
    return relation


def _has_defaults(relation: Relation) -> bool:
    """Is this an aggregate without GROUP BY, under projections?"""
    while isinstance(relation, Project):
        relation = relation.input
    return isinstance(relation, Aggregate) and not relation.keys and bool(relation.calls)


def _filter(relation: Filter, columns: ColumnSource, existential: bool) -> Pulled | None:
    inner = pull(relation.input, columns, existential=existential)
    if inner is None or inner.defaults is not None:
        return None
    parts = [substitute(p, inner.deferred) for p in conjuncts(relation.predicate)]
    local = tuple(p for p in parts if not has_outer(p))
    up = tuple(p for p in parts if has_outer(p))
    below = Filter(inner.relation, conjunction(local)) if local else inner.relation
    return replace(inner, relation=below, predicates=inner.predicates + up)


def _project(relation: Project, columns: ColumnSource, existential: bool) -> Pulled | None:
    inner = pull(relation.input, columns, existential=existential)
    if inner is None:
        return None
    items: list[tuple[Column, Scalar]] = []
    deferred: dict[ColumnId, Scalar] = {}
    for column, scalar in relation.items:
        value = substitute(scalar, inner.deferred)
        if has_outer(value):
            deferred[column.id] = value
        else:
            items.append((column, value))
    if deferred and inner.defaults is not None:
        return None
    needed = {i for p in (*inner.predicates, *deferred.values()) for i in references(p)}
    needed -= {column.id for column, _ in items}
    items += [(c, Ref(c)) for c in inner.relation.columns if c.id in needed]
    defaults = None
    if inner.defaults is not None:
        defaults = {c.id: fold_null(substitute(s, inner.defaults)) for c, s in relation.items}
    return Pulled(Project(inner.relation, tuple(items)), inner.predicates, deferred, defaults)


def _join(relation: Join, columns: ColumnSource, existential: bool) -> Pulled | None:
    left = pull(relation.left, columns, existential=existential and _is_filter(relation.kind))
    if left is None or left.deferred or left.defaults is not None:
        return None
    if relation.kind is JoinKind.INNER:
        right = pull(relation.right, columns, existential=existential)
        if right is None or right.deferred or right.defaults is not None:
            return None
        parts = conjuncts(relation.condition)
        local = tuple(p for p in parts if not has_outer(p))
        up = tuple(p for p in parts if has_outer(p))
        joined = Join(JoinKind.INNER, left.relation, right.relation, conjunction(local))
        return Pulled(joined, left.predicates + right.predicates + up)
    # Anything that is not a plain pair of rows must see its right side and condition as written.
    if relation.kind in (JoinKind.RIGHT, JoinKind.FULL) or is_correlated(relation.right):
        return None
    if has_outer(relation.condition):
        return None
    return Pulled(replace(relation, left=left.relation), left.predicates)


def _is_filter(kind: JoinKind) -> bool:
    return kind in (JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI)


def _aggregate(relation: Aggregate, columns: ColumnSource) -> Pulled | None:
    """Groups become groups per value of the correlated keys, which are equated with outer values.

    Legal because an outer row then sees exactly the groups of the rows that it selects.
    """
    inner = pull(relation.input, columns)
    if inner is None or inner.deferred or inner.defaults is not None:
        return None
    if any(has_outer(scalar) for scalar in scalars_of(relation)):
        return None
    return _grouped_by_correlation(relation, inner, columns)


def _grouped_by_correlation(
    relation: Aggregate, inner: Pulled, columns: ColumnSource
) -> Pulled | None:
    keys, predicates, computed = list(relation.keys), [], []
    for predicate in inner.predicates:
        sides = equated(predicate)
        if sides is None:
            return None
        local, outer = sides
        if isinstance(local, Ref):
            key = local.column
        else:
            key = columns.new("key", local.type)
            computed.append((key, local))
        if key not in keys:
            keys.append(key)
        predicates.append(Call("=", (Ref(key), outer), predicate.type))
    below = inner.relation
    if computed:
        kept = tuple((column, Ref(column)) for column in below.columns)
        below = Project(below, kept + tuple(computed))
    return Pulled(Aggregate(below, tuple(keys), relation.calls), tuple(predicates))


def _scalar_aggregate(relation: Aggregate, columns: ColumnSource) -> Pulled | None:
    inner = pull(relation.input, columns)
    if inner is None or inner.deferred or inner.defaults is not None:
        return None
    if any(has_outer(scalar) for scalar in scalars_of(relation)):
        return None
    if not inner.predicates:
        return Pulled(Aggregate(inner.relation, (), relation.calls), defaults={})
    grouped = _grouped_by_correlation(relation, inner, columns)
    return None if grouped is None else replace(grouped, defaults=empty_row(relation))


def empty_row(relation: Aggregate) -> dict[ColumnId, Scalar]:
    """The row an aggregate without keys gives for no input: counts are 0, the rest is NULL."""
    return {
        column.id: Literal(value_when_empty(call.name), column.type)
        for column, call in relation.calls
    }


def equated(predicate: Scalar) -> tuple[Scalar, Scalar] | None:
    """``local = outer`` or the reverse, with nothing mixed in: (local side, outer side)."""
    if not isinstance(predicate, Call) or predicate.name != "=":
        return None
    first, second = predicate.args
    for local, outer in ((first, second), (second, first)):
        if not has_outer(local) and references(local) and not references(outer):
            return local, outer
    return None


_STRICT = frozenset({
    "+", "-", "*", "/", "%", "div", "=", "<>", "<", "<=", ">", ">=", "neg", "cast", "round", "abs",
    "sqrt", "floor", "ceil", "not", "||", "concat",
})  # fmt: skip


def fold_null(scalar: Scalar) -> Scalar:
    """The scalar, or a NULL literal if it must be NULL because a NULL goes into it."""
    if not isinstance(scalar, Call):
        return scalar
    args = tuple(fold_null(arg) for arg in scalar.args)
    if scalar.name in _STRICT and any(isinstance(a, Literal) and a.text is None for a in args):
        return Literal(None, scalar.type)
    if scalar.name == "coalesce":
        rest = tuple(a for a in args if not (isinstance(a, Literal) and a.text is None))
        if not rest:
            return Literal(None, scalar.type)
        if isinstance(rest[0], Literal):
            return rest[0]
    return Call(scalar.name, args, scalar.type)


def one_row_per_match(pulled: Pulled) -> bool:
    """Can an outer row have at most one partner? True if all keys of the topmost aggregate are
    equated with outer values."""
    relation = pulled.relation
    while isinstance(relation, Project | Filter | Sort):
        relation = relation.input
    if not isinstance(relation, Aggregate):
        return False
    fixed = set()
    for predicate in pulled.predicates:
        sides = equated(predicate)
        if sides is not None and isinstance(sides[0], Ref):
            fixed.add(sides[0].column.id)
    return all(key.id in fixed for key in relation.keys)
