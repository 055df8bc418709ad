"""Rules for join conditions: conjuncts over one side move into that input, and the expressions of
equalities become plain columns."""

from __future__ import annotations

from forerun.planner.algebra.relational import Join, JoinKind, Project, Relation
from forerun.planner.algebra.scalar import (
    Call,
    Ref,
    Scalar,
    conjunction,
    conjuncts,
    is_deterministic,
    references,
    substitute,
)
from forerun.planner.algebra.types import BOOLEAN, Column, ColumnId
from forerun.planner.rules.normalize.rule import (
    NormalizeContext,
    NormalizeRule,
    filtered,
    ids_of,
    is_renaming,
    reordered,
)
from forerun.planner.rules.normalize.safety import can_fail, is_movable

_LEFT_MOVES = frozenset({JoinKind.INNER, JoinKind.SEMI})
_RIGHT_MOVES = frozenset(
    {JoinKind.INNER, JoinKind.SEMI, JoinKind.LEFT, JoinKind.ANTI, JoinKind.SINGLE}
)


def _condition_to_inputs(node: Relation, _: NormalizeContext) -> Relation | None:
    """``L join[c and p(R)] R`` = ``L join[c] filter[p](R)``; for inner and semi joins also p(L).

    A right row that fails p is nobody's partner. A left row that fails p(L) still appears in a
    left, anti or single join: there p stays. Nothing moves in full joins (both sides are kept) and
    mark joins (p may be NULL, and then so is the mark).
    """
    if not isinstance(node, Join):
        return None
    left, right = ids_of(node.left), ids_of(node.right)
    parts = conjuncts(node.condition)
    to_left, to_right, stay = [], [], []
    for part in parts:
        read = references(part)
        if node.kind in _LEFT_MOVES and read <= left and is_movable(part):
            to_left.append(part)
        elif node.kind in _RIGHT_MOVES and read <= right and is_movable(part):
            to_right.append(part)
        else:
            stay.append(part)
    if not to_left and not to_right:
        return None
    return Join(
        node.kind,
        filtered(node.left, to_left),
        filtered(node.right, to_right),
        conjunction(tuple(stay)),
        node.mark,
    )


def _above_renaming(node: Relation, _: NormalizeContext) -> Relation | None:
    """``project[y := x](L) join R`` = ``project[y := x](L join R)`` for items that are columns.

    Joins see through renamings, so that neighbouring inner joins form one block. A NULL-extended
    column stays NULL under another name. Not for computed items: of NULL-extended rows they need
    not be NULL, and they would be computed once per pair.
    """
    if not isinstance(node, Join):
        return None
    sides: list[Relation] = []
    by: dict[ColumnId, Scalar] = {}
    for side in node.inputs:
        if isinstance(side, Project) and is_renaming(side):
            by |= {column.id: scalar for column, scalar in side.items}
            side = side.input
        sides.append(side)
    if not by:
        return None
    left, right = sides
    joined = Join(node.kind, left, right, substitute(node.condition, by), node.mark)
    return Project(joined, tuple((c, by.get(c.id, Ref(c))) for c in node.columns))


def _keys_to_columns(node: Relation, context: NormalizeContext) -> Relation | None:
    """``L join[e(L) = f(R)] R`` = ``project(project[x := e](L) join[x = y] project[y := f](R))``.

    Rows can be distributed by columns only. Only if both sides are of one type (else Spark would
    cast one of them to a third). An expression that can fail is moved only if the join has no
    other equality: it is then computed for rows without partners too, as Spark does for join keys;
    else it stays in the residual.
    """
    if not isinstance(node, Join):
        return None
    left, right = ids_of(node.left), ids_of(node.right)
    equalities = [p for p in conjuncts(node.condition) if _key_sides(p, left, right)]
    must = all(can_fail(part) for part in equalities)
    new_left: dict[Scalar, Column] = {}
    new_right: dict[Scalar, Column] = {}
    parts: list[Scalar] = []
    for part in conjuncts(node.condition):
        sides = _key_sides(part, left, right)
        if sides is None or (can_fail(part) and not must):
            parts.append(part)
        else:
            one, other = sides
            keys = (_as_column(one, new_left, context), _as_column(other, new_right, context))
            parts.append(Call("=", (Ref(keys[0]), Ref(keys[1])), BOOLEAN))
    if not new_left and not new_right:
        return None
    sides_ = (_extended(node.left, new_left), _extended(node.right, new_right))
    joined = Join(node.kind, *sides_, conjunction(tuple(parts)), node.mark)
    return reordered(joined, node.columns)


def _key_sides(
    part: Scalar, left: frozenset[ColumnId], right: frozenset[ColumnId]
) -> tuple[Scalar, Scalar] | None:
    """Return the two sides of an equality between the inputs, left input first; None if the
    conjunct is not such an equality, or its sides differ in type."""
    if not isinstance(part, Call) or part.name != "=" or not is_deterministic(part):
        return None
    one, other = part.args
    if one.type != other.type or not one.type.is_known:
        return None
    of_one, of_other = references(one), references(other)
    if not of_one or not of_other:
        return None
    if of_one <= left and of_other <= right:
        return one, other
    if of_one <= right and of_other <= left:
        return other, one
    return None


def _as_column(scalar: Scalar, new: dict[Scalar, Column], context: NormalizeContext) -> Column:
    if isinstance(scalar, Ref):
        return scalar.column
    if scalar not in new:
        new[scalar] = context.fresh("key", scalar.type)
    return new[scalar]


def _extended(side: Relation, new: dict[Scalar, Column]) -> Relation:
    if not new:
        return side
    kept = tuple((column, Ref(column)) for column in side.columns)
    return Project(side, (*kept, *((column, scalar) for scalar, column in new.items())))


CONDITION_TO_INPUTS = NormalizeRule("PushConditionIntoInputs", Join, _condition_to_inputs)
ABOVE_RENAMING = NormalizeRule("PullRenamingAboveJoin", Join, _above_renaming)
KEYS_TO_COLUMNS = NormalizeRule("JoinKeysToColumns", Join, _keys_to_columns)
