"""What a join condition says: equalities between the sides, and the rest."""

from __future__ import annotations

from planner.algebra.relational import Join
from planner.algebra.scalar import Call, Ref, Scalar, conjunction, conjuncts
from planner.algebra.types import Column


def split_condition(join: Join) -> tuple[tuple[tuple[Column, Column], ...], Scalar]:
    """The equalities ``left column = right column`` of one type, and the conjunction of the rest.

    Only plain columns count: normalization moves expressions and casts below the join, because
    rows can be distributed by columns only. Each pair is given left side first.
    """
    left = {column.id for column in join.left.columns}
    pairs: list[tuple[Column, Column]] = []
    rest: list[Scalar] = []
    for part in conjuncts(join.condition):
        pair = _equality(part)
        if pair is not None and (pair[0].id in left) != (pair[1].id in left):
            pair = pair if pair[0].id in left else (pair[1], pair[0])
            if pair not in pairs:
                pairs.append(pair)
        else:
            rest.append(part)
    return tuple(pairs), conjunction(tuple(rest))


def _equality(part: Scalar) -> tuple[Column, Column] | None:
    if not (isinstance(part, Call) and part.name == "="):
        return None
    a, b = part.args
    if isinstance(a, Ref) and isinstance(b, Ref) and a.type == b.type:
        return a.column, b.column
    return None
