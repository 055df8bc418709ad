"""Gives a join by intervals an equality: buckets of several widths.

::

    L join[low <= x <= high] R
        =  project(filter[low <= x <= high](
               project[w, x div w](L join W)  join[=]  project[width, low div width + n](R join N)))
    width  =  the least of W of which low..high is in at most 16 buckets;  n <= those that it is in

    L semi[..] R  =  L semi[=] c          L left[..] R  =  L join[..] R  +  L anti[=] c
    c  =  distinct(project[x, columns that the condition reads](L semi[.., by buckets] R))

Rows whose values lie in the intervals of other rows are found without comparing all with all, and
both inputs can be distributed and kept by their buckets. The widths *W* are those of what people
have intervals of, each sixteen times the one before, and one that holds everything. A value is
there once for each width, an interval once for each bucket of its own width. So few pairs are left
out by the condition of the query, however short some intervals are and however long others: an
interval covers a third of its buckets at least, unless its width is the least one or the widest.

Bags: an interval has one width, a value one bucket of it, so a pair is found once. Semi and anti
joins and the rows of a left join without partner go by the values that the condition reads, since
rows that are equal in these have partners or have none alike; so the left side is read twice, and
is the same each time. NULLs: a bound or value of NULL is in no bucket, unless the condition says
that a bound of NULL is none; columns beside them are compared with ``<=>``. Retractions: the law
holds for every version of L and R. What is computed of each row cannot fail: numbers are divided by
two at least before they are subtracted, or are few.
Source: the relational interval tree (Kriegel, Pötke and Seidl, "Managing intervals efficiently in
object-relational databases", VLDB 2000), here with sixteen ways and as an equality of columns.
"""

from __future__ import annotations

from forerun.planner.algebra.bands import counted
from forerun.planner.algebra.intervals import PointInInterval, bucket_of_width, interval
from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    UnionAll,
)
from forerun.planner.algebra.scalar import (
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    conjuncts,
    equals,
    is_deterministic,
    references,
)
from forerun.planner.algebra.types import BIGINT, BOOLEAN, Column
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference
from forerun.planner.props.repeatable import Repeats
from forerun.planner.rules.explore.banded_joins import across, once_for_each
from forerun.planner.rules.join_block import tvr_of
from forerun.planner.rules.normalize.safety import is_movable
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds

_BY_VALUES = frozenset({JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI})
_WAYS = 16
"""How many times as wide the buckets of a width are as those of the next, and the most buckets of
its own width that an interval is in."""
_WIDEST = 2**62


def _fire(match: Match) -> bool:
    node = match.expression.node
    if not isinstance(node, Join) or split_condition(node).pairs:
        return False
    if node.kind is not JoinKind.INNER and not _is_by_values(match.memo, node):
        return False
    found = interval(node)
    if found is None or across(node) is not None or not is_deterministic(node.condition):
        return False
    if not all(map(is_movable, found.scalars)):
        return False
    made = _Buckets(node, found, match.ids)
    match.memo.equate(match.expression.group, made.joined(), RULE.name)
    return True


def _is_by_values(memo: Memo, join: Join) -> bool:
    """Return whether the rows of a join are found by the values of its condition: both sides are
    the same each time that they are read."""
    sides = [side for side in join.inputs if isinstance(side, Reference)]
    same = all(tvr_of(memo, side).repeats is Repeats.ALWAYS for side in sides)
    return join.kind in _BY_VALUES and len(sides) == len(join.inputs) and same


class _Buckets:
    """The parts of a join by intervals."""

    def __init__(self, join: Join, found: PointInInterval, ids: ColumnIds) -> None:
        self._join, self._interval, self._ids = join, found, ids
        self._low, self._point, self._high = (
            ids.of_type(name, BIGINT) for name in ("low", "point", "high")
        )
        numbers = (
            ((self._low, found.lowest), (self._high, found.highest)),
            ((self._point, counted(found.point)),),
        )
        self._sides = tuple(
            Project(side, (*_same(side.columns), *numbers[place == found.point_side]))
            for place, side in enumerate(join.inputs)
        )
        widths = [found.unit.shortest]
        while widths[-1] < found.unit.longest:
            widths.append(widths[-1] * _WAYS)
        self._widths = (*widths, _WIDEST)
        points, of_point = self._points(self._sides[found.point_side])
        spans, of_span = self._spans(self._sides[1 - found.point_side])
        self._buckets = tuple(equals(*pair) for pair in zip(of_point, of_span, strict=True))
        self._each = (points, spans) if found.point_side == 0 else (spans, points)

    def joined(self) -> Relation:
        """Return the join by buckets."""
        join, columns = self._join, self._join.columns
        if join.kind is JoinKind.INNER:
            return Project(self._near(JoinKind.INNER), _same(columns))
        left = self._sides[0]
        met, same = self._met()
        if join.kind is not JoinKind.LEFT:
            return Project(Join(join.kind, left, met, same), _same(columns))
        alone = Join(JoinKind.ANTI, left, met, same)
        padded = tuple((column, _or_null(column, left)) for column in columns)
        pairs = Project(self._near(JoinKind.INNER), _same(columns))
        return UnionAll((pairs, Project(alone, padded)), columns)

    def _near(self, kind: JoinKind) -> Relation:
        """Return the pairs of the inner join, or of a semi join the rows of the left, once for each
        bucket of theirs in which they have a partner, with the numbers of their values."""
        condition = self._join.condition
        if kind is JoinKind.INNER:
            return Filter(Join(kind, *self._each, conjunction(self._buckets)), condition)
        return Join(kind, *self._each, conjunction((*self._buckets, *conjuncts(condition))))

    def _points(self, side: Relation) -> tuple[Relation, tuple[Column, Column]]:
        """Return the values, once for each width, with the width and their bucket of it."""
        width, bucket = (self._ids.of_type(name, BIGINT) for name in ("width", "bucket"))
        each = once_for_each(side, width, self._widths)
        items = (*_same(each.columns), (bucket, bucket_of_width(self._point, width)))
        return Project(each, items), (width, bucket)

    def _spans(self, side: Relation) -> tuple[Relation, tuple[Column, Column]]:
        """Return the intervals, once for each bucket of their width that they are in, with both."""
        width, after, bucket = (self._ids.of_type(n, BIGINT) for n in ("width", "after", "bucket"))
        wide = Project(side, (*_same(side.columns), (width, self._width())))
        first, last = (bucket_of_width(of, width) for of in (self._low, self._high))
        long = Call("-", (last, first), BIGINT)
        reached = Call("<=", (Ref(after), long), BOOLEAN)
        each = Filter(once_for_each(wide, after, range(_WAYS)), reached)
        number = bucket_of_width(self._low, width, after)
        return Project(each, (*_same(wide.columns), (bucket, number))), (width, bucket)

    def _width(self) -> Scalar:
        """Return the least width of which an interval is in few buckets."""
        parts: list[Scalar] = []
        for width in self._widths[:-1]:
            low, high = (
                Call("div", (Ref(of), _number(width)), BIGINT) for of in (self._low, self._high)
            )
            long = Call("-", (high, low), BIGINT)
            parts += (Call("<", (long, _number(_WAYS)), BOOLEAN), _number(width))
        return Call("case", (*parts, _number(self._widths[-1])), BIGINT)

    def _met(self) -> tuple[Aggregate, Scalar]:
        """Return what the condition reads of the rows of the left that have a partner, each once,
        and the condition by which these are found again."""
        found = self._interval
        numbers = (self._point,) if found.point_side == 0 else (self._low, self._high)
        told = {scalar.column.id for scalar in found.scalars if isinstance(scalar, Ref)}
        told -= {
            id_ for end in (found.low, found.high) if end.open_ for id_ in references(end.open_)
        }
        read = references(self._join.condition) - told
        beside = tuple(column for column in self._join.left.columns if column.id in read)
        made = tuple(self._ids.new(column.name, column) for column in (*numbers, *beside))
        items = tuple((new, Ref(old)) for new, old in zip(made, (*numbers, *beside), strict=True))
        same = [equals(old, new) for old, new in zip(numbers, made, strict=False)]
        same += [
            Call("<=>", (Ref(old), Ref(new)), BOOLEAN)
            for old, new in zip(beside, made[len(numbers) :], strict=True)
        ]
        partners = Project(self._near(JoinKind.SEMI), items)
        return Aggregate(partners, made, ()), conjunction(tuple(same))


def _same(columns: tuple[Column, ...]) -> tuple[tuple[Column, Scalar], ...]:
    return tuple((column, Ref(column)) for column in columns)


def _or_null(column: Column, rows: Relation) -> Scalar:
    return Ref(column) if column.id in rows.column_ids else Literal(None, column.type)


def _number(value: int) -> Literal:
    return Literal(str(value), BIGINT)


RULE = MemoRule(
    "IntervalJoin",
    Join,
    _fire,
    "Kriegel, Pötke and Seidl, VLDB 2000: intervals by buckets of a width of their own",
)
