"""Gives a join by a band an equality: buckets of the two columns.

::

    L join[low <= y - x <= high] R
        =  project(filter[low <= y - x <= high](
               project[i = x div w](L)  join[i = j]  (project[y div w](R) join {apart})))
    j  =  y div w - apart,  for each number of buckets of width w that y may be apart from x

Rows of two inputs that are near one another in time or number are found without comparing all with
all, and both inputs can be distributed and kept by their buckets. The width is that of the band, so
the rows of one side are there three or four times, once for each bucket in which a partner may be.

Bags: a pair is so many buckets apart and no other, so it is found once, and the condition of the
query is still asked of it. NULLs: a NULL is in no bucket and in no band. A left, semi or anti join
keeps each left row once, so the rows on its right are the ones that are repeated; of an inner join
either side is, and cost decides. Retractions: the law holds for every version of L and R. What the
buckets are made of cannot fail (:mod:`forerun.planner.algebra.bands`).
Source: DeWitt, Naughton and Schneider, "An evaluation of non-equijoin algorithms", VLDB 1991 (the
band join by partitions).
"""

from __future__ import annotations

from collections.abc import Iterable

from forerun.planner.algebra.bands import Band, bands, bucket, buckets_apart
from forerun.planner.algebra.nested import array_of
from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import (
    Filter,
    Generate,
    Join,
    JoinKind,
    Project,
    Relation,
)
from forerun.planner.algebra.scalar import (
    Call,
    Literal,
    Ref,
    conjunction,
    conjuncts,
    equals,
    is_deterministic,
)
from forerun.planner.algebra.types import BIGINT, UNKNOWN, Column
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds

_KINDS = frozenset({JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI})
_NUMBERS = array_of(BIGINT)
_NARROWEST = 2
"""The least width of a bucket: the number of one is then half of the largest at most."""


def _fire(match: Match) -> bool:
    node = match.expression.node
    if not isinstance(node, Join) or node.kind not in _KINDS or split_condition(node).pairs:
        return False
    band = across(node)
    if band is None or not is_deterministic(node.condition):
        return False
    match.memo.equate(match.expression.group, _banded(node, band, match.ids, 1), RULE.name)
    if node.kind is JoinKind.INNER:
        match.memo.equate(match.expression.group, _banded(node, band, match.ids, 0), RULE.name)
    return True


def across(join: Join) -> Band | None:
    """Return the narrowest band between the two sides, None if there is none."""
    left = join.left.column_ids
    found = bands(conjuncts(join.condition))
    across = [band for band in found if (band.base.id in left) is not (band.point.id in left)]
    return min(across, key=lambda band: band.high - band.low, default=None)


def _banded(join: Join, band: Band, ids: ColumnIds, repeated: int) -> Relation:
    """The join by buckets, with the rows of one side (0: the left one) repeated."""
    width = max(band.high - band.low, _NARROWEST)
    of_left = (band.base, band.point) if band.base.id in join.left.column_ids else (
        band.point, band.base
    )  # fmt: skip
    numbered, columns = [], []
    for side, column in zip(join.inputs, of_left, strict=True):
        made = ids.of_type("bucket", BIGINT)
        items = tuple((c, Ref(c)) for c in side.columns)
        numbered.append(Project(side, (*items, (made, bucket(column, width)))))
        columns.append(made)
    # The point is so many buckets after the base.
    sign = 1 if of_left[repeated] == band.base else -1
    apart = tuple(sign * number for number in buckets_apart(band, width))
    numbered[repeated], columns[repeated] = _repeated(
        numbered[repeated], columns[repeated], apart, ids
    )
    same = equals(*columns)
    kept = tuple((column, Ref(column)) for column in join.columns)
    if join.kind is JoinKind.INNER:
        near = Join(JoinKind.INNER, numbered[0], numbered[1], same)
        return Project(Filter(near, join.condition), kept)
    condition = conjunction((same, *conjuncts(join.condition)))
    return Project(Join(join.kind, numbered[0], numbered[1], condition), kept)


def _repeated(
    side: Project, made: Column, apart: tuple[int, ...], ids: ColumnIds
) -> tuple[Project, Column]:
    """The rows of a side, once for each of the buckets in which partners may be, and the column
    that says which one."""
    by, near = ids.of_type("apart", BIGINT), ids.of_type("bucket", BIGINT)
    items = tuple((c, Ref(c)) for c in side.columns if c != made)
    total = Call("+", (Ref(made), Ref(by)), BIGINT)
    return Project(once_for_each(side, by, apart), (*items, (near, total))), near


def once_for_each(side: Relation, made: Column, numbers: Iterable[int]) -> Generate:
    """Return the rows of a side, once for each of some numbers, which are in the column ``made``.

    As a join with constant rows they would be one of several joins to Spark, which begins with that
    of the two sides by the condition of the query, and so compares all rows with all."""
    literals = tuple(Literal(str(number), BIGINT) for number in numbers)
    return Generate(side, Call("explode", (Call("array", literals, _NUMBERS),), UNKNOWN), (made,))


RULE = MemoRule(
    "BandedJoin",
    Join,
    _fire,
    "DeWitt, Naughton and Schneider, VLDB 1991: a band join by partitions of its values",
)
