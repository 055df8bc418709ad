"""Rewrites NOT IN over values that may be NULL into an anti join by its key and two counts.

::

    L anti[x = y or (x = y) is null] R
        =  project[z = x is not null](L anti[x = y] R)  join[z = allowed]
               filter[n = 0 or (n = m and allowed)](
                   agg[; count(*) as n, count(y) as m](R)  join  {true, false})

One NULL among the values of R makes NOT IN unknown for every row of L, and so does an ``x`` that is
NULL, unless R has no row at all: how many rows and how many values R has decides it. The condition
of NOT IN has no equality that rows could be kept or moved by, and says what it means only once all
of R is there. Both joins here have one, so they are maintained as any other is, and an aggregate
above is pushed below the second one (:mod:`forerun.planner.rules.explore.eager_aggregate`).

Bags: an anti join keeps the rows of L as often as they come, and each meets at most one of the two
marks. NULLs: where ``n = m`` no ``y`` is NULL, and for an ``x`` that is not NULL the two conditions
say the same. Retractions: counts and anti joins take rows back, and a NULL that goes lets the rows
of L come. R is read twice, so it has to give the same rows each time, and values that can fail are
not computed where the other side has no row to compare them with. NOT IN over several columns has
no such form (a NULL in one column still differs by another one), and that of a correlated
subquery has an equality already.
Source: null-aware anti join (Bellamkonda et al., "Enhanced subquery optimizations in Oracle",
VLDB 2009), here by counts that are kept.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from forerun.planner.algebra.predicates import null_aware_pair
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
from forerun.planner.algebra.scalar import FALSE, TRUE, Call, Literal, Ref, Scalar, equals
from forerun.planner.algebra.types import BIGINT, BOOLEAN
from forerun.planner.props.repeatable import Repeats, repeats
from forerun.planner.rules.normalize.safety import is_movable
from forerun.planner.tvr.signed import ColumnIds


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
    pair = null_aware_pair(node)
    if pair is None or not sources(node.right) & growing:
        return None
    if repeats(node.right) is not Repeats.ALWAYS or not all(map(is_movable, pair)):
        return None
    x, y = (ids.of_type(name, value.type) for name, value in zip("xy", pair, strict=True))
    left = Project(node.left, (*((c, Ref(c)) for c in node.left.columns), (x, pair[0])))
    right = Project(node.right, ((y, pair[1]),))
    different = Join(JoinKind.ANTI, left, right, equals(x, y))
    known, allowed = ids.of_type("known", BOOLEAN), ids.of_type("allowed", BOOLEAN)
    items = tuple((column, Ref(column)) for column in node.columns)
    told = Project(different, (*items, (known, _call("isnotnull", Ref(x)))))
    rows, values = ids.of_type("n", BIGINT), ids.of_type("m", BIGINT)
    calls = ((rows, AggregateCall("count", ())), (values, AggregateCall("count", (Ref(y),))))
    marks = Values((allowed,), ((TRUE,), (FALSE,)))
    both = Join(JoinKind.INNER, Aggregate(right, (), calls), marks, TRUE)
    is_empty = _call("=", Ref(rows), Literal("0", BIGINT))
    passing = Filter(both, _call("or", is_empty, _call("and", equals(rows, values), Ref(allowed))))
    by_mark = Project(passing, ((allowed, Ref(allowed)),))
    return Project(Join(JoinKind.INNER, told, by_mark, equals(known, allowed)), items)


def _call(name: str, *args: Scalar) -> Call:
    return Call(name, args, BOOLEAN)
