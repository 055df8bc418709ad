"""Merges a semi join with some groups of an aggregate into a join with the same aggregate.

::

    (.. (X semi[x = k] filter[p](A)) ..) join[x = k] A   =   .. (X join[x = k] filter[p](A)) ..

A has one row per ``k``, so the row that the semi join looks for is the row that the join finds, and
the join can take the place of the semi join. TPC-H Q18 has this form once its sums are pushed below
the joins: the groups are then merged once, and only those that pass HAVING are joined. ``..`` are
operators that pass the rows of X on without null-extending them: projections that keep ``x``,
filters, inner joins, and the left sides of left, semi and anti joins.

Source: self-join elimination on keys (Chakravarthy, Grant and Minker, "Logic-based approach to
semantic query optimization", TODS 1990), here of a semi join.
"""

from __future__ import annotations

from forerun.planner.algebra.fingerprint import canonical
from forerun.planner.algebra.predicates import equality, split_condition
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    rewrite,
)
from forerun.planner.algebra.scalar import (
    TRUE,
    Ref,
    Scalar,
    conjunction,
    conjuncts,
    equals,
    substitute,
)
from forerun.planner.algebra.types import Column, ColumnId


def join_groups_once(relation: Relation) -> Relation:
    """Return the relation with every semi join of this form replaced by the join."""
    return rewrite(relation, _at_join)


def _at_join(node: Relation) -> Relation:
    if not isinstance(node, Join) or node.kind is not JoinKind.INNER:
        return node
    for side in (1, 0):
        groups = node.inputs[side]
        if not isinstance(groups, Aggregate) or len(groups.keys) != 1:
            continue
        for pair in split_condition(node).pairs:
            if pair[side].id != groups.keys[0].id:
                continue
            joined = _joined(node.inputs[1 - side], pair[1 - side], groups)
            if joined is not None:
                rest = tuple(
                    part
                    for part in conjuncts(node.condition)
                    if {c.id for c in equality(part) or ()} != {c.id for c in pair}
                )
                kept = Filter(joined, conjunction(rest)) if rest else joined
                return Project(kept, tuple((column, Ref(column)) for column in node.columns))
    return node


def _joined(relation: Relation, key: Column, groups: Aggregate) -> Relation | None:
    """Replace the semi join of ``key`` with the groups by a join, and pass the columns of the
    groups on to the top; return None if there is no such semi join."""
    if isinstance(relation, Project):
        value = {column.id: scalar for column, scalar in relation.items}[key.id]
        below = _joined(relation.input, value.column, groups) if isinstance(value, Ref) else None
        if below is None:
            return None
        added = tuple((column, Ref(column)) for column in groups.columns)
        return Project(below, (*relation.items, *added))
    if isinstance(relation, Filter):
        below = _joined(relation.input, key, groups)
        return None if below is None else Filter(below, relation.predicate)
    if not isinstance(relation, Join):
        return None
    predicate = _predicate_of(relation, key, groups)
    if predicate is not None:
        condition = equals(key, groups.keys[0])
        return Join(JoinKind.INNER, relation.left, Filter(groups, predicate), condition)
    for side in _handing(relation):
        if key.id in {column.id for column in relation.inputs[side].columns}:
            below = _joined(relation.inputs[side], key, groups)
            if below is not None:
                inputs = list(relation.inputs)
                inputs[side] = below
                return relation.with_inputs(tuple(inputs))
    return None


def _handing(join: Join) -> tuple[int, ...]:
    """Return the inputs (0, 1) whose rows a join passes on without null-extending them."""
    if join.kind is JoinKind.INNER:
        return (0, 1)
    return (0,) if join.kind in (JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI) else ()


def _predicate_of(join: Join, key: Column, groups: Aggregate) -> Scalar | None:
    """Return the filter over the right side of a semi join of ``key`` with the same groups, in the
    columns of ``groups``; None if the join is none of that form."""
    pairs, residual = split_condition(join)
    if join.kind is not JoinKind.SEMI or residual != TRUE or len(pairs) != 1:
        return None
    mine, theirs = pairs[0]
    below, predicates = join.right, []
    while isinstance(below, Project | Filter):
        if isinstance(below, Filter):
            predicates.append(below.predicate)
        else:
            value = {column.id: scalar for column, scalar in below.items}[theirs.id]
            if predicates or not isinstance(value, Ref):
                return None
            theirs = value.column
        below = below.input
    if mine.id != key.id or len(predicates) != 1 or not isinstance(below, Aggregate):
        return None
    if [k.id for k in below.keys] != [theirs.id] or canonical(below) != canonical(groups):
        return None
    same: dict[ColumnId, Scalar] = {
        old.id: Ref(new) for old, new in zip(below.columns, groups.columns, strict=True)
    }
    return substitute(predicates[0], same)
