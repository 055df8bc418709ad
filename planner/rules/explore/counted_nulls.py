"""Rewrites NOT IN over values that may be NULL into anti joins by its keys and counts.

::

    L anti[x = y or (x = y) is null] R
        =  project[z = pattern(x)](L anti[x = y] R)  join[z = p]
               filter[n_p = 0](agg[; n_p ...](R)  join  {p})

    over several columns, for each set S of some of them, an anti join more:
        anti[x_i = y_i for i in S, and x_i is null or y_i is null for all others]

One NULL among the values of R makes NOT IN unknown for every row of L, and so does an ``x`` that is
NULL, unless R has no row at all. The condition of NOT IN has no equality that rows could be kept or
moved by, and says what it means only once all of R is there. It is a conjunction over the columns:
each is equal, or NULL on one side. Multiplied out, every term but one has an equality, and an anti
join by a disjunction is one after the other. The last term asks whether R has a row of which all
columns are NULL that are not NULL in the row of L: that is one count of R for each *pattern* of
NULLs that a row of L may have. All joins here have an equality, so they are maintained as any other
is, and an aggregate above is pushed below the last one
(:mod:`forerun.planner.rules.explore.eager_aggregate`).

Bags: anti joins keep the rows of L as often as they come, and each meets at most one pattern.
NULLs: where a count is 0, the conditions say the same. Retractions: counts and anti joins take rows
back, and a NULL that goes lets the rows of L come. R is read several times, so it has to give the
same rows each time, and values that can fail are not computed where the other side has no row to
compare them with. NOT IN of a correlated subquery, or with a column that is never NULL on either
side, has an equality already.
Source: null-aware anti join (Bellamkonda et al., "Enhanced subquery optimizations in Oracle",
VLDB 2009), here by counts that are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from itertools import combinations

from forerun.planner.algebra.aggregates.states import ONE, ZERO
from forerun.planner.algebra.predicates import null_aware_pairs
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Values,
    rewrite,
    sources,
)
from forerun.planner.algebra.scalar import (
    TRUE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    equals,
)
from forerun.planner.algebra.types import BIGINT, BOOLEAN, INT, Column
from forerun.planner.props.repeatable import Repeats, repeats
from forerun.planner.rules.normalize.safety import is_movable
from forerun.planner.tvr.signed import ColumnIds

_MOST_COLUMNS = 3
"""Of more columns there would be fifteen anti joins, and more."""


def count_nulls(
    relation: Relation, ids: ColumnIds, growing: AbstractSet[str] = frozenset()
) -> Relation | None:
    """Rewrite every NOT IN whose subquery reads a source that grows; return None if there is
    none."""
    result = rewrite(relation, lambda node: _counted(node, ids, growing) or node)
    return None if result is relation else result


def _counted(node: Relation, ids: ColumnIds, growing: AbstractSet[str]) -> Relation | None:
    if not isinstance(node, Join):
        return None
    pairs = null_aware_pairs(node)
    if not 1 <= len(pairs) <= _MOST_COLUMNS or not sources(node.right) & growing:
        return None
    values = (value for pair in pairs for value in pair)
    if repeats(node.right) is not Repeats.ALWAYS or not all(map(is_movable, values)):
        return None
    named = [
        tuple(ids.of_type(name, value.type) for name, value in zip("xy", pair, strict=True))
        for pair in pairs
    ]
    given = zip(named, pairs, strict=True)
    items = tuple((column, Ref(column)) for column in node.left.columns)
    left = Project(node.left, (*items, *((x, pair[0]) for (x, _), pair in given)))
    given = zip(named, pairs, strict=True)
    right = Project(node.right, tuple((y, pair[1]) for (_, y), pair in given))
    different: Relation = left
    for equal in _some(len(pairs)):
        parts = (equals(x, y) if at in equal else _either(x, y) for at, (x, y) in enumerate(named))
        different = Join(JoinKind.ANTI, different, right, conjunction(tuple(parts)))
    return _by_pattern(node, different, right, named, ids)


def _by_pattern(
    node: Join,
    different: Relation,
    right: Relation,
    named: Sequence[tuple[Column, ...]],
    ids: ColumnIds,
) -> Relation:
    """The rows that none of R is unknown to be equal to, by which of their columns are NULL."""
    known, allowed = ids.of_type("nulls", INT), ids.of_type("nulls", INT)
    kept = tuple((column, Ref(column)) for column in node.columns)
    told = Project(different, (*kept, (known, _pattern([x for x, _ in named]))))
    patterns = range(1 << len(named))
    calls, passing = [], []
    for pattern in patterns:
        count = ids.of_type("n", BIGINT)
        others = [Ref(y) for at, (_, y) in enumerate(named) if not pattern & 1 << at]
        all_null = conjunction(tuple(_call("isnull", y) for y in others))
        one = Call("case", (all_null, ONE, Literal(None, BIGINT)), BIGINT)
        calls.append((count, AggregateCall("count", (one,) if others else ())))
        same = _call("=", Ref(allowed), _number(pattern))
        passing.append(_call("and", same, _call("=", Ref(count), ZERO)))
    marks = Values((allowed,), tuple((_number(pattern),) for pattern in patterns))
    both = Join(JoinKind.INNER, Aggregate(right, (), tuple(calls)), marks, TRUE)
    by_mark = Project(Filter(both, _any(passing)), ((allowed, Ref(allowed)),))
    return Project(Join(JoinKind.INNER, told, by_mark, equals(known, allowed)), kept)


def _some(count: int) -> Iterator[frozenset[int]]:
    """Yield the sets of some of so many columns, the one of all first."""
    for size in range(count, 0, -1):
        yield from map(frozenset, combinations(range(count), size))


def _pattern(columns: Sequence[Column]) -> Scalar:
    """Return the number whose bits say which columns are NULL."""
    bits = [
        Call("case", (_call("isnull", Ref(column)), _number(1 << at), _number(0)), INT)
        for at, column in enumerate(columns)
    ]
    return reduce(lambda one, other: Call("+", (one, other), INT), bits[1:], bits[0])


def _either(one: Column, other: Column) -> Scalar:
    return _call("or", _call("isnull", Ref(one)), _call("isnull", Ref(other)))


def _any(parts: Sequence[Scalar]) -> Scalar:
    return reduce(lambda one, other: _call("or", one, other), parts[1:], parts[0])


def _number(value: int) -> Literal:
    return Literal(str(value), INT)


def _call(name: str, *args: Scalar) -> Call:
    return Call(name, args, BOOLEAN)
