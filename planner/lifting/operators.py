"""Lifts a query from one day to many: the relation that it gives for each day of a list, in one.

A *daily* source has other rows on each day, with the number of the day as one more column; all
other sources have the same rows on every day. The lifted relation has the columns of the query and
the day, and for each day ``d`` of the list, as bags::

    select[day = d](lifted(R)) without the day  =  R over the rows of day d

Every operator has a law of its own, from its inputs up. An input that reads no daily source is the
same on every day: it stays as it is where the operator allows that, and is crossed with the list of
days where it does not. Days are numbers and never NULL, so ``L.day = R.day`` is true or false, and
a conjunction with it never becomes unknown by it.

What cannot be lifted is refused with a reason: values that differ each time they are computed would
be computed once for all days, and aggregates that go by the order of rows would see another order.
Which of the rows that tie a LIMIT takes, or a row number tells apart, is open in the plain query,
and so it is here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from forerun.planner.algebra.aggregates.functions import answer_of, function, value_when_empty
from forerun.planner.algebra.aggregates.record import Answer, Empty
from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetOperation,
    Sort,
    SortKey,
    StateRead,
    UnionAll,
    Values,
    Window,
    WindowCall,
    fold,
)
from forerun.planner.algebra.scalar import (
    TRUE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    conjuncts,
    equals,
    is_deterministic,
)
from forerun.planner.algebra.types import BOOLEAN, INT, Column
from forerun.planner.contract.plan_v1 import DAY_COLUMN
from forerun.planner.errors import LiftError, NotLifted
from forerun.planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class Lifted:
    """A relation for all days. ``day`` is the last of its columns; None: it has no such column,
    because it is the same on every day."""

    relation: Relation
    day: Column | None = None


@dataclass(frozen=True, slots=True)
class DayList:
    """The days that a query is lifted to, numbered from 0; ``daily`` names the sources that have
    rows by the day. ``total``: an aggregate without keys that need not have a row for a day without
    rows."""

    daily: frozenset[str]
    count: int
    ids: ColumnIds
    total: Relation | None = None

    def new(self) -> Column:
        """Return a new column for the number of a day."""
        return self.ids.of_type(DAY_COLUMN, INT)

    def rows(self) -> Values:
        """Return the list of days, a row each."""
        return Values((self.new(),), tuple((Literal(str(n), INT),) for n in range(self.count)))

    def by_day(self, side: Lifted) -> tuple[Relation, Column]:
        """Return a relation that has the day, and its day: what is the same on every day is there
        once for each."""
        if side.day is not None:
            return side.relation, side.day
        days = self.rows()
        (day,) = days.columns
        crossed = Join(JoinKind.INNER, side.relation, days, TRUE)
        return crossed, day


def lift(
    relation: Relation, daily: Iterable[str], days: int, ids: ColumnIds, *, every_day: bool = True
) -> Relation:
    """Return the relation for all of so many days: its columns, and the day as the last one.

    Scans of ``daily`` sources read a column :data:`DAY_COLUMN` of them. A top-level order becomes
    one by day first. Without ``every_day`` the law holds for the days that have a row in the
    result: a query that is one aggregate of all its rows then has none for a day without rows, and
    is not joined with the list of days. Raises :class:`forerun.planner.errors.LiftError` for what
    cannot be lifted.
    """
    to = DayList(frozenset(daily), days, ids, None if every_day else _total(relation))
    found = fold(relation, lambda node, inputs: lifted(node, inputs, to))
    if found.day is None:
        raise LiftError(NotLifted.NOTHING_DAILY, "the query reads no source that differs by day")
    return found.relation


def _total(relation: Relation) -> Relation | None:
    """The aggregate without keys that a query is, but for what is done to its one row."""
    while isinstance(relation, Project | Filter | Sort):
        relation = relation.input
    return relation if isinstance(relation, Aggregate) and not relation.keys else None


@operator_pass("lifting")
def lifted(node: Relation, inputs: tuple[Lifted, ...], to: DayList) -> Lifted:
    """Return the operator for all days, given its inputs for all days."""
    raise NotImplementedError


@lifted.register(Scan)
def _scan(node: Scan, _: tuple[Lifted, ...], to: DayList) -> Lifted:
    if node.source not in to.daily:
        return Lifted(node)
    day = to.new()
    return Lifted(replace(node, scanned=(*node.scanned, day)), day)


@lifted.register(StateRead)
def _state_read(node: StateRead, _: tuple[Lifted, ...], __: DayList) -> Lifted:
    raise LiftError(NotLifted.STATE, f"the family {node.family} is of one day")


@lifted.register(Values)
def _values(node: Values, _: tuple[Lifted, ...], __: DayList) -> Lifted:
    _require_same_each_time(cell for row in node.rows for cell in row)
    return Lifted(node)


@lifted.register(Filter, Repeat)
def _row_by_row(node: Filter | Repeat, inputs: tuple[Lifted, ...], _: DayList) -> Lifted:
    """A row is kept, or repeated, by what is in it."""
    if isinstance(node, Filter):
        _require_same_each_time((node.predicate,))
    (below,) = inputs
    return Lifted(replace(node, input=below.relation), below.day)


@lifted.register(Project)
def _project(node: Project, inputs: tuple[Lifted, ...], to: DayList) -> Lifted:
    """The day gets a new column, since a relation may be projected twice and then joined."""
    _require_same_each_time(scalar for _, scalar in node.items)
    (below,) = inputs
    if below.day is None:
        return Lifted(replace(node, input=below.relation))
    day = to.new()
    return Lifted(Project(below.relation, (*node.items, (day, Ref(below.day)))), day)


@lifted.register(Join)
def _join(node: Join, inputs: tuple[Lifted, ...], to: DayList) -> Lifted:
    """Pairs are of one day. A right side that is the same on every day needs none, unless its own
    rows are kept without a partner; and a left side needs none in an inner join only, since all
    other kinds say something of each of its rows on each day."""
    _require_same_each_time((node.condition,))
    left, right = inputs
    if left.day is None and right.day is None:
        return Lifted(replace(node, left=left.relation, right=right.relation))
    keeps_right = node.kind in (JoinKind.RIGHT, JoinKind.FULL)
    keeps_left = node.kind not in (JoinKind.INNER, JoinKind.RIGHT)
    if keeps_left:
        left = Lifted(*to.by_day(left))
    if keeps_right:
        right = Lifted(*to.by_day(right))
    condition = node.condition
    if left.day is not None and right.day is not None:
        same: Scalar = equals(left.day, right.day)
        if node.kind is JoinKind.MARK:  # the form in which a mark join takes it for an equality
            same = Call("<=>", (same, TRUE), BOOLEAN)
        condition = conjunction((*conjuncts(condition), same))
    joined = replace(node, left=left.relation, right=right.relation, condition=condition)
    days = [Ref(side.day) for side in (left, right) if side.day is not None]
    value: Scalar = days[0]
    if node.kind is JoinKind.RIGHT:
        value = days[-1]
    elif node.kind is JoinKind.FULL:
        value = Call("coalesce", tuple(days), INT)
    return _with_day(joined, node.columns, value, to)


@lifted.register(Aggregate)
def _aggregate(node: Aggregate, inputs: tuple[Lifted, ...], to: DayList) -> Lifted:
    """Groups are of one day. Without keys there is a row for each day of the list, with the values
    over no rows on a day without any."""
    for _, call in node.calls:
        _require_of_the_rows(call)
    (below,) = inputs
    if below.day is None:
        return Lifted(replace(node, input=below.relation))
    if node.keys or node is to.total:
        grouped = Aggregate(below.relation, (*node.keys, below.day), node.calls)
        return _with_day(grouped, node.columns, Ref(below.day), to)
    values = tuple((to.ids.new(column.name, column), call) for column, call in node.calls)
    days = to.rows()
    (day,) = days.columns
    grouped = Aggregate(below.relation, (below.day,), values)
    joined = Join(JoinKind.LEFT, days, grouped, equals(day, below.day))
    no_rows = Call("isnull", (Ref(below.day),), BOOLEAN)
    out = to.new()
    items = tuple(
        (column, _or_over_no_rows(value, call, no_rows))
        for (column, _), (value, call) in zip(node.calls, values, strict=True)
    )
    return Lifted(Project(joined, (*items, (out, Ref(day)))), out)


def _or_over_no_rows(value: Column, call: AggregateCall, no_rows: Scalar) -> Scalar:
    """The value of a call, or on a day without rows what it is over none. NULL is there already."""
    text = value_when_empty(call.name)
    if text is None:
        return Ref(value)
    return Call("case", (no_rows, Literal(text, value.type), Ref(value)), value.type)


@lifted.register(UnionAll)
def _union(node: UnionAll, inputs: tuple[Lifted, ...], to: DayList) -> Lifted:
    if all(side.day is None for side in inputs):
        return Lifted(replace(node, branches=tuple(side.relation for side in inputs)))
    branches = tuple(to.by_day(side)[0] for side in inputs)
    day = to.new()
    return Lifted(UnionAll(branches, (*node.merged, day)), day)


@lifted.register(Recursion)
def _recursion(node: Recursion, inputs: tuple[Lifted, ...], _: DayList) -> Lifted:
    if any(side.day is not None for side in inputs):
        raise LiftError(NotLifted.ONLY_TEXT, "it is recursive over rows of a day")
    _require_same_each_time(node.inside())
    return Lifted(node.with_inputs(tuple(side.relation for side in inputs)))


@lifted.register(SetOperation)
def _set_operation(node: SetOperation, inputs: tuple[Lifted, ...], to: DayList) -> Lifted:
    """Rows of two days differ, in the day."""
    left, right = inputs
    if left.day is None and right.day is None:
        return Lifted(replace(node, left=left.relation, right=right.relation))
    day = to.new()
    sides = to.by_day(left)[0], to.by_day(right)[0]
    return Lifted(SetOperation(node.kind, node.all, *sides, (*node.merged, day)), day)


@lifted.register(Sort)
def _sort(node: Sort, inputs: tuple[Lifted, ...], _: DayList) -> Lifted:
    (below,) = inputs
    if below.day is None:
        return Lifted(replace(node, input=below.relation))
    return Lifted(Sort(below.relation, (SortKey(below.day), *node.keys)), below.day)


@lifted.register(Limit)
def _limit(node: Limit, inputs: tuple[Lifted, ...], to: DayList) -> Lifted:
    """The rows of a day are numbered in their order, and those with the numbers in between stay, in
    this order."""
    (below,) = inputs
    if below.day is None:
        return Lifted(replace(node, input=below.relation))
    keys = _order_of(node)
    rows = below.relation.input if isinstance(below.relation, Sort) else below.relation
    number = to.ids.of_type("__place", INT)
    # Rows without an order are numbered in any: the day is the same for all of them.
    call = WindowCall("row_number", (), (below.day,), keys or (SortKey(below.day),))
    tests = []
    if node.offset:
        tests.append(Call(">", (Ref(number), Literal(str(node.offset), INT)), BOOLEAN))
    if node.count is not None:
        last = Literal(str(node.offset + node.count), INT)
        tests.append(Call("<=", (Ref(number), last), BOOLEAN))
    cut = Filter(Window(rows, ((number, call),)), conjunction(tuple(tests)))
    first = Sort(cut, (SortKey(below.day), *keys))
    return _with_day(first, node.columns, Ref(below.day), to)


def _order_of(node: Limit) -> tuple[SortKey, ...]:
    """The order that a LIMIT cuts in; none if there is none."""
    below: Relation = node.input
    while isinstance(below, Limit):
        below = below.input
    return below.keys if isinstance(below, Sort) else ()


@lifted.register(Generate)
def _generate(node: Generate, inputs: tuple[Lifted, ...], to: DayList) -> Lifted:
    """Take rows apart day by day: what is made of a row is of its day."""
    _require_same_each_time((node.call,))
    (below,) = inputs
    made = replace(node, input=below.relation)
    return Lifted(made) if below.day is None else _with_day(made, node.columns, Ref(below.day), to)


@lifted.register(Window)
def _window(node: Window, inputs: tuple[Lifted, ...], to: DayList) -> Lifted:
    """Windows are of one day."""
    _require_same_each_time(arg for _, call in node.calls for arg in call.args)
    (below,) = inputs
    if below.day is None:
        return Lifted(replace(node, input=below.relation))
    by = below.day
    calls = tuple((c, replace(call, partition=(*call.partition, by))) for c, call in node.calls)
    return _with_day(Window(below.relation, calls), node.columns, Ref(by), to)


def _with_day(relation: Relation, columns: tuple[Column, ...], day: Scalar, to: DayList) -> Lifted:
    """The columns of an operator, and the day after them."""
    out = to.new()
    return Lifted(Project(relation, (*((c, Ref(c)) for c in columns), (out, day))), out)


def _require_same_each_time(scalars: Iterable[Scalar]) -> None:
    if not all(is_deterministic(scalar) for scalar in scalars):
        raise LiftError(
            NotLifted.VARIES, "it has a function whose values differ each time it is computed"
        )


def _require_of_the_rows(call: AggregateCall) -> None:
    """A value has to be of the bag of rows, and we have to know what it is over none."""
    _require_same_each_time((*call.args, call.where or TRUE))
    if answer_of(call) is not Answer.BAG:
        raise LiftError(NotLifted.CHOOSES, f"{call.name} goes by the order of rows")
    if function(call.name).empty is Empty.OTHER:
        raise LiftError(NotLifted.EMPTY, f"the value of {call.name} over no rows is not known")
