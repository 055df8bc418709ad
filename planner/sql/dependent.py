"""MARK and SINGLE joins in terms of what SQL has.

Both ask, for every left row, about all of its partners at once. The answer depends on the left
columns of the condition only, so it is computed once per distinct combination of these (the domain
of Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015) and joined back::

    D       =  distinct columns of the condition, from L
    answer  =  group by D over (D join R on condition is not false)
    L MARK R    =  L left join answer on D: true if any partner is true, NULL if any is unknown
    L SINGLE R  =  L left join answer on D: its one partner's columns, an error for two
"""

from __future__ import annotations

from collections.abc import Callable

from planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Join,
    JoinKind,
    Project,
    Relation,
    rewrite,
    walk,
)
from planner.algebra.scalar import (
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
from planner.algebra.types import BIGINT, BOOLEAN, INT, STRING, Column, ColumnId

Columns = tuple[Column, ...]
NewId = Callable[[], ColumnId]
_Domain = tuple[Relation, Columns, Columns, Scalar]

_TOO_MANY = "More than one row returned by a subquery used as an expression."


def expand(relation: Relation) -> Relation:
    """The relation without MARK and SINGLE joins; itself if it has none."""
    highest = max((c.id for node in walk(relation) for c in node.columns), default=0)
    fresh = iter(range(highest + 1, 2**31))

    def rule(node: Relation) -> Relation:
        if isinstance(node, Join) and node.kind is JoinKind.MARK:
            return _mark(node, lambda: ColumnId(next(fresh)))
        if isinstance(node, Join) and node.kind is JoinKind.SINGLE:
            return _single(node, lambda: ColumnId(next(fresh)))
        return node

    return rewrite(relation, rule)


def _domain(node: Join, new_id: NewId) -> _Domain:
    """D under new ids, its columns, the left columns they stand for, and the condition over D."""
    used = references(node.condition)
    mine = tuple(column for column in node.left.columns if column.id in used)
    copies = tuple(Column(new_id(), column.name, column.type) for column in mine)
    renamed = Project(
        node.left, tuple((copy, Ref(column)) for copy, column in zip(copies, mine, strict=True))
    )
    condition = substitute(
        node.condition, {c.id: Ref(copy) for c, copy in zip(mine, copies, strict=True)}
    )
    return Aggregate(renamed, copies, ()), copies, mine, condition


def _joined_back(node: Join, answer: Relation, copies: Columns, mine: Columns) -> Join:
    same = conjunction(
        tuple(
            Call("<=>", (Ref(column), Ref(copy)), BOOLEAN)
            for column, copy in zip(mine, copies, strict=True)
        )
    )
    return Join(JoinKind.LEFT, node.left, answer, same)


def _mark(node: Join, new_id: NewId) -> Relation:
    if node.mark is None:
        raise ValueError("a MARK join has a mark")
    domain, copies, mine, condition = _domain(node, new_id)
    possible = Call("coalesce", (condition, TRUE), BOOLEAN)
    strength = Column(new_id(), "__strength", INT)
    two, one, zero = (Literal(text, INT) for text in "210")
    score = Call("case", (condition, two, Call("isnull", (condition,), BOOLEAN), one, zero), INT)
    if copies:
        pairs: Relation = Join(JoinKind.INNER, domain, node.right, possible)
    else:
        pairs = node.right
    answer = Aggregate(pairs, copies, ((strength, AggregateCall("max", (score,))),))
    joined = _joined_back(node, answer, copies, mine)
    known = Ref(strength)
    value = Call(
        "case",
        (
            Call("=", (known, two), BOOLEAN),
            TRUE,
            Call("=", (known, one), BOOLEAN),
            Literal(None, BOOLEAN),
            FALSE,
        ),
        BOOLEAN,
    )
    return Project(joined, (*((c, Ref(c)) for c in node.left.columns), (node.mark, value)))


def _single(node: Join, new_id: NewId) -> Relation:
    domain, copies, mine, condition = _domain(node, new_id)
    if copies:
        pairs: Relation = Join(JoinKind.INNER, domain, node.right, condition)
    else:
        pairs = node.right
    count = Column(new_id(), "__partners", BIGINT)
    values = tuple(Column(new_id(), column.name, column.type) for column in node.right.columns)
    calls = (
        *(
            (value, AggregateCall("first", (Ref(column),)))
            for value, column in zip(values, node.right.columns, strict=True)
        ),
        (count, AggregateCall("count", ())),
    )
    joined = _joined_back(node, Aggregate(pairs, copies, calls), copies, mine)
    too_many = Call(">", (Ref(count), Literal("1", BIGINT)), BOOLEAN)
    items: list[tuple[Column, Scalar]] = [(c, Ref(c)) for c in node.left.columns]
    for column, value in zip(node.right.columns, values, strict=True):
        error = Call("raise_error", (Literal(_TOO_MANY, STRING),), column.type)
        failure = Call("cast", (error,), column.type)
        items.append((column, Call("case", (too_many, failure, Ref(value)), column.type)))
    return Project(joined, tuple(items))
