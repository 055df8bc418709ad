"""Rewrites INTERSECT and EXCEPT as counts of how often each side has a row.

An aggregate with mergeable counts over a UNION ALL has delta rules; a set operation would need its
own. Spark itself runs INTERSECT ALL and EXCEPT ALL this way (``RewriteIntersectAll``,
``RewriteExceptAll``), and INTERSECT and EXCEPT as semi and anti joins with as many exchanges.
"""

from __future__ import annotations

from dataclasses import dataclass

from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Project,
    Relation,
    Repeat,
    SetKind,
    SetOperation,
    UnionAll,
    rewrite,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, conjunction
from forerun.planner.algebra.types import BIGINT, BOOLEAN, INT, Column
from forerun.planner.rules.normalize.rule import NormalizeContext, is_renaming

_Side = tuple[Relation, tuple[Column, ...]]
_ONE, _NONE, _ZERO = Literal("1", INT), Literal(None, INT), Literal("0", BIGINT)


@dataclass(frozen=True, slots=True)
class _Made:
    """The relation that replaces a set operation, and the sides that it counts."""

    relation: Relation
    kind: SetKind
    sides: tuple[Relation, ...]


def count_sides(relation: Relation, context: NormalizeContext) -> Relation:
    """``L op R`` = rows of ``agg[row; l, r](L union all R)`` by their counts l in L and r in R::

        intersect      l > 0 and r > 0          intersect all   least(l, r) times
        except         l > 0 and r = 0          except all      l - r times, where that is positive

    Grouping compares rows as set operations do: NULL equals NULL. A chain of INTERSECT, or of
    EXCEPT on the left, becomes one aggregate with a count per side. Without ALL, a DISTINCT of a
    side is dropped, since multiplicities do not matter.
    """
    known: dict[int, _Made] = {}

    def rule(node: Relation) -> Relation:
        if not isinstance(node, SetOperation):
            return node
        if node.all:
            return _repeated(node, context)
        sides = (*_unfolded(known, node.kind, node.left), node.right)
        if node.kind is SetKind.INTERSECT:
            sides = (*sides[:-1], *_unfolded(known, node.kind, node.right))
        made = _tested(node, sides, context)
        known[id(made)] = _Made(made, node.kind, sides)
        return made

    return rewrite(relation, rule)


def _unfolded(known: dict[int, _Made], kind: SetKind, side: Relation) -> tuple[Relation, ...]:
    found = known.get(id(side))
    return found.sides if found is not None and found.kind is kind else (side,)


def _as_sets(sides: tuple[Relation, ...]) -> tuple[_Side, ...]:
    """Return the sides without their own DISTINCT, since multiplicities do not matter."""
    found = []
    for side in sides:
        rows = side
        if isinstance(side, Aggregate) and not side.calls and side.keys:
            rows = side.input
        elif isinstance(side, Project) and isinstance(side.input, Aggregate):
            distinct = side.input
            if not distinct.calls and distinct.keys and is_renaming(side):
                rows = Project(distinct.input, side.items)
        found.append((rows, side.columns))
    return tuple(found)


def _counted(
    merged: tuple[Column, ...], sides: tuple[_Side, ...], context: NormalizeContext
) -> tuple[Relation, tuple[Column, ...]]:
    """Return the distinct rows of all sides, and for each side the column that counts how often it
    has the row."""
    marks = tuple(context.fresh("side", INT) for _ in sides)
    branches = []
    for place, (rows, columns) in enumerate(sides):
        shown = tuple((column, Ref(column)) for column in columns)
        of_side = (_ONE if other == place else _NONE for other in range(len(sides)))
        branches.append(
            Project(rows, (*shown, *((context.fresh("side", INT), mark) for mark in of_side)))
        )
    union = UnionAll(tuple(branches), (*merged, *marks))
    counts = tuple(context.fresh("times", BIGINT) for _ in sides)
    calls = tuple(
        (count, AggregateCall("count", (Ref(mark),)))
        for count, mark in zip(counts, marks, strict=True)
    )
    return Aggregate(union, merged, calls), counts


def _tested(node: SetOperation, sides: tuple[Relation, ...], context: NormalizeContext) -> Relation:
    counted, counts = _counted(node.merged, _as_sets(sides), context)
    wanted = [">" if node.kind is SetKind.INTERSECT or i == 0 else "=" for i in range(len(counts))]
    tests = tuple(
        Call(op, (Ref(count), _ZERO), BOOLEAN) for op, count in zip(wanted, counts, strict=True)
    )
    kept = Filter(counted, conjunction(tests))
    return Project(kept, tuple((column, Ref(column)) for column in node.merged))


def _repeated(node: SetOperation, context: NormalizeContext) -> Relation:
    sides = tuple((side, side.columns) for side in node.inputs)
    counted, (left, right) = _counted(node.merged, sides, context)
    name = "least" if node.kind is SetKind.INTERSECT else "-"
    times = context.fresh("times", BIGINT)
    shown = tuple((column, Ref(column)) for column in node.merged)
    rows = Project(counted, (*shown, (times, Call(name, (Ref(left), Ref(right)), BIGINT))))
    return Repeat(rows, times)
