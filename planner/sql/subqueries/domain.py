"""Apply removal in general: compute the subquery for every distinct combination of outer values.

The dependent join is pushed down to the leaves, where it is an ordinary join with the domain D,
the distinct outer values. Every operator above carries D's columns along: a Filter or Project reads
them, an Aggregate or Window groups by them, a Limit numbers rows within them. Law per operator
after Neumann and Kemper, "Unnesting Arbitrary Queries" (BTW 2015).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from forerun.planner.algebra.aggregates.functions import value_when_empty
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
    SetOperation,
    Sort,
    SortKey,
    UnionAll,
    Window,
)
from forerun.planner.algebra.scalar import TRUE, Call, Literal, Ref, Scalar, conjunction
from forerun.planner.algebra.types import BOOLEAN, Column, ColumnId
from forerun.planner.sql.binding.scope import ColumnSource, bind_outer
from forerun.planner.sql.subqueries.correlation import is_correlated
from forerun.planner.sql.subqueries.pull import first_rows

Mapped = dict[ColumnId, Column]
"""Which column of a relation carries which outer column."""


@dataclass(frozen=True)
class Domain:
    """The distinct combinations of the outer columns that a subquery reads."""

    relation: Relation
    outer: tuple[Column, ...]
    columns: ColumnSource

    @classmethod
    def of(cls, left: Relation, outer: tuple[Column, ...], columns: ColumnSource) -> Domain:
        return cls(Aggregate(left, outer, ()), outer, columns)

    def copy(self) -> tuple[Relation, Mapped]:
        """The domain under new column ids, so that it can stand in a tree more than once."""
        fresh = tuple(self.columns.copy(column) for column in self.outer)
        items = tuple((new, Ref(old)) for new, old in zip(fresh, self.outer, strict=True))
        mapped = {old.id: new for new, old in zip(fresh, self.outer, strict=True)}
        return Project(self.relation, items), mapped


def bind(scalar: Scalar, mapped: Mapping[ColumnId, Column]) -> Scalar:
    return bind_outer(scalar, {i: Ref(column) for i, column in mapped.items()})


def same_values(left: Mapped, right: Mapped) -> tuple[Scalar, ...]:
    """The two sides speak of the same outer row; NULL is a value like any other here."""
    return tuple(Call("<=>", (Ref(left[i]), Ref(right[i])), BOOLEAN) for i in left)


def unnest(relation: Relation, domain: Domain) -> tuple[Relation, Mapped]:
    """``relation`` for every row of the domain: its columns, plus columns that carry the domain's.

    Raises ValueError with a reason where no law is known.
    """
    if not is_correlated(relation):
        copy, mapped = domain.copy()
        return Join(JoinKind.INNER, copy, relation, TRUE), mapped
    match relation:
        case Filter() | Project() | Generate():
            return _row_by_row(relation, domain)
        case Aggregate():
            return _aggregate(relation, domain)
        case Join():
            return _join(relation, domain)
        case UnionAll():
            return _union(relation, domain)
        case SetOperation():
            return _set_operation(relation, domain)
        case Window():
            return _window(relation, domain)
        case Sort():
            return unnest(relation.input, domain)
        case Limit():
            return _limit(relation, domain)
    raise ValueError(f"correlation inside {type(relation).__name__}")


def _row_by_row(relation: Filter | Project | Generate, domain: Domain) -> tuple[Relation, Mapped]:
    below, mapped = unnest(relation.input, domain)
    match relation:
        case Filter():
            return Filter(below, bind(relation.predicate, mapped)), mapped
        case Generate():
            args = tuple(bind(arg, mapped) for arg in relation.call.args)
            call = Call(relation.call.name, args, relation.call.type)
            return Generate(below, call, relation.made, relation.outer), mapped
        case Project():
            items = tuple((column, bind(scalar, mapped)) for column, scalar in relation.items)
            return Project(below, items + _carried(mapped)), mapped


def _carried(mapped: Mapped) -> tuple[tuple[Column, Scalar], ...]:
    return tuple((column, Ref(column)) for column in mapped.values())


def _aggregate(relation: Aggregate, domain: Domain) -> tuple[Relation, Mapped]:
    below, mapped = unnest(relation.input, domain)
    calls = tuple((column, _bind_call(call, mapped)) for column, call in relation.calls)
    carried = tuple(mapped.values())
    if relation.keys or not relation.calls:
        return Aggregate(below, relation.keys + carried, calls), mapped
    # Without keys there is a row even for outer values that select nothing.
    raw = tuple((domain.columns.copy(column), call) for column, call in calls)
    grouped = Aggregate(below, carried, raw)
    every, outer = domain.copy()
    joined = Join(JoinKind.LEFT, every, grouped, conjunction(same_values(outer, mapped)))
    items: list[tuple[Column, Scalar]] = []
    for (column, call), (kept, _) in zip(calls, raw, strict=True):
        empty = value_when_empty(call.name)
        value: Scalar = Ref(kept)
        if empty is not None:
            value = Call("coalesce", (value, Literal(empty, column.type)), column.type)
        items.append((column, value))
    return Project(joined, (*items, *_carried(outer))), outer


def _bind_call(call: AggregateCall, mapped: Mapped) -> AggregateCall:
    where = None if call.where is None else bind(call.where, mapped)
    return replace(call, args=tuple(bind(arg, mapped) for arg in call.args), where=where)


def _join(relation: Join, domain: Domain) -> tuple[Relation, Mapped]:
    kind, left, right = relation.kind, relation.left, relation.right
    if kind is JoinKind.FULL:
        raise ValueError("correlation inside a FULL JOIN")
    inner_right_only = kind is JoinKind.INNER and not is_correlated(left)
    if kind is JoinKind.RIGHT or (inner_right_only and is_correlated(right)):
        swapped = {JoinKind.RIGHT: JoinKind.LEFT}.get(kind, kind)
        turned, mapped = _join(Join(swapped, right, left, relation.condition), domain)
        order = (*left.columns, *right.columns)
        items = tuple((column, Ref(column)) for column in order)
        return Project(turned, items + _carried(mapped)), mapped
    outer_left, mapped = unnest(left, domain)
    if not is_correlated(right):
        condition = bind(relation.condition, mapped)
        return replace(relation, left=outer_left, right=right, condition=condition), mapped
    outer_right, mapped_right = unnest(right, domain)
    same = same_values(mapped, mapped_right)
    condition = conjunction((*same, bind(relation.condition, mapped)))
    return replace(relation, left=outer_left, right=outer_right, condition=condition), mapped


def _union(relation: UnionAll, domain: Domain) -> tuple[Relation, Mapped]:
    branches = tuple(_in_order(branch, domain) for branch in relation.branches)
    mapped = {column.id: domain.columns.copy(column) for column in domain.outer}
    return UnionAll(branches, relation.merged + tuple(mapped.values())), mapped


def _in_order(relation: Relation, domain: Domain) -> Relation:
    """The unnested relation with exactly its own columns, then the domain's, in order."""
    below, mapped = unnest(relation, domain)
    items = tuple((column, Ref(column)) for column in relation.columns)
    return Project(below, items + _carried({c.id: mapped[c.id] for c in domain.outer}))


def _set_operation(relation: SetOperation, domain: Domain) -> tuple[Relation, Mapped]:
    left, right = _in_order(relation.left, domain), _in_order(relation.right, domain)
    mapped = {column.id: domain.columns.copy(column) for column in domain.outer}
    merged = relation.merged + tuple(mapped.values())
    return replace(relation, left=left, right=right, merged=merged), mapped


def _window(relation: Window, domain: Domain) -> tuple[Relation, Mapped]:
    below, mapped = unnest(relation.input, domain)
    calls = tuple(
        (
            column,
            replace(
                call,
                args=tuple(bind(arg, mapped) for arg in call.args),
                partition=call.partition + tuple(mapped.values()),
            ),
        )
        for column, call in relation.calls
    )
    return Window(below, calls), mapped


def _limit(relation: Limit, domain: Domain) -> tuple[Relation, Mapped]:
    """The first rows per outer row: numbered within the domain's columns, then cut."""
    order: tuple[SortKey, ...] = ()
    below = relation.input
    if isinstance(below, Sort):
        order, below = below.keys, below.input
    rows, mapped = unnest(below, domain)
    # Without ORDER BY any rows are right, but a number needs an order.
    order = order or tuple(SortKey(column) for column in mapped.values())
    return first_rows(rows, relation, tuple(mapped.values()), order, domain.columns), mapped
