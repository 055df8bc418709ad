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

from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    rewrite,
    walk,
)
from forerun.planner.algebra.scalar import (
    FALSE,
    TRUE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    conjuncts,
    references,
    substitute,
)
from forerun.planner.algebra.types import BIGINT, BOOLEAN, INT, STRING, Column, ColumnId

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


def _not_false(part: Scalar) -> Scalar:
    """True where ``part`` is true or unknown, in a form that can be a hash join if there is one."""
    if isinstance(part, Call) and part.name == "<=>":
        certain, truth = part.args
        return certain if truth == TRUE else part
    return Call("coalesce", (part, TRUE), BOOLEAN)


def _membership(node: Join, mark: Column, new_id: NewId) -> Relation | None:
    """Whether ``x`` is among the ``y`` of R, without correlation, by hash joins::

    (x = y) <=> true:           L left join (distinct y of R) on x = y
    (x = y) or isnull(x = y):   the same, cross join (count(*), count(y)) of R
    """
    sides = _compared(node)
    if sides is None:
        return None
    x, y, or_unknown = sides
    key = Column(new_id(), "key", y.type)
    known = Filter(Project(node.right, ((key, y),)), Call("isnotnull", (Ref(key),), BOOLEAN))
    joined: Relation = Join(
        JoinKind.LEFT, node.left, Aggregate(known, (key,), ()), Call("=", (x, Ref(key)), BOOLEAN)
    )
    found: Scalar = Call("isnotnull", (Ref(key),), BOOLEAN)
    if or_unknown:
        value, rows, present = (
            Column(new_id(), name, type_)
            for name, type_ in (("value", y.type), ("rows", BIGINT), ("present", BIGINT))
        )
        counts = (
            (rows, AggregateCall("count", ())),
            (present, AggregateCall("count", (Ref(value),))),
        )
        facts = Aggregate(Project(node.right, ((value, y),)), (), counts)
        joined = Join(JoinKind.INNER, joined, facts, TRUE)
        some = Call(">", (Ref(rows), Literal("0", BIGINT)), BOOLEAN)
        no_x = Call("and", (some, Call("isnull", (x,), BOOLEAN)), BOOLEAN)
        no_y = Call("<", (Ref(present), Ref(rows)), BOOLEAN)
        found = Call("or", (found, no_x, no_y), BOOLEAN)
    kept = tuple((column, Ref(column)) for column in node.left.columns)
    return Project(joined, (*kept, (mark, found)))


def _compared(node: Join) -> tuple[Scalar, Scalar, bool] | None:
    """The left and the right side of the one comparison, and whether unknown counts as equal."""
    condition = node.condition
    if not isinstance(condition, Call) or condition.name not in ("<=>", "or"):
        return None
    if len(condition.args) != 2:
        return None
    equality, rest = condition.args
    or_unknown = condition.name == "or"
    expected = Call("isnull", (equality,), BOOLEAN) if or_unknown else TRUE
    if not isinstance(equality, Call) or equality.name != "=" or rest != expected:
        return None
    mine = frozenset(column.id for column in node.left.columns)
    theirs = frozenset(column.id for column in node.right.columns)
    for x, y in (equality.args, equality.args[::-1]):
        if references(x) <= mine and references(y) and references(y) <= theirs:
            return x, y, or_unknown
    return None


def _mark(node: Join, new_id: NewId) -> Relation:
    if node.mark is None:
        raise ValueError("a MARK join has a mark")
    membership = _membership(node, node.mark, new_id)
    if membership is not None:
        return membership
    domain, copies, mine, condition = _domain(node, new_id)
    possible = conjunction(tuple(_not_false(part) for part in conjuncts(condition)))
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
    items: list[tuple[Column, Scalar]] = [(c, Ref(c)) for c in node.left.columns]
    for column, value in zip(node.right.columns, values, strict=True):
        items.append((column, at_most_one(Ref(value), Ref(count))))
    return Project(joined, tuple(items))


def at_most_one(value: Ref, count: Ref) -> Scalar:
    """The value, unless so many rows have one that a scalar subquery fails."""
    too_many = Call(">", (count, Literal("1", BIGINT)), BOOLEAN)
    error = Call("raise_error", (Literal(_TOO_MANY, STRING),), value.type)
    failure = Call("cast", (error,), value.type) if value.type.is_known else error
    return Call("case", (too_many, failure, value), value.type)
