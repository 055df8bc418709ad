"""Goes on with windows that look back at a few rows, where rows come in the order of the window.

::

    dW(R)  =  filter[came](W(L_old + dR))        L  =  filter[r <= k](row_number[p; o desc] r (R))

*W* reads, for each row, at most *k* rows before it in its partition *p*: the row before (``lag``),
or a frame of rows that moves. In the order *o* the author declares that rows come. Then the rows
that were there stay as they are, and what comes is computed of itself and of the last *k* rows of
each partition, *L*. They are the first ones in the opposite order, which each run keeps of its own
rows (:mod:`forerun.planner.rules.methods.contenders`).

Correctness: a row of dR comes after all rows of its partition in R_old, so the *k* rows before it
are among the last *k* of R_old and those of dR. That is looked at for each row that comes, by the
greatest value that its partition had. Which rows are the last ones has to be sure, too: either what
is read of them are columns of *p* and *o*, which are the same where rows tie, or *p* and *o* hold
a key together. That is looked at for each row that comes and for the rows that it goes on from, by
whether numbers are ranks. Where either does not hold the run fails: its last try is batch. Bags: of
rows that tie, each is one of as many. NULLs: PARTITION BY takes them for a value; rows without *o*
are first, so they may come into a new partition only. Retractions: none; of a changelog no order is
declared. Source: as for other windows in a declared order
(:mod:`forerun.planner.rules.methods.appended_windows`); the last rows of a frame are what streaming
engines keep of a window of rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from forerun.planner.algebra.aggregates.types import are_told_apart
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Project,
    Relation,
    SortKey,
    UnionAll,
    Version,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import FALSE, TRUE, Call, Literal, Ref, Scalar, references
from forerun.planner.algebra.types import BIGINT, BOOLEAN, INT, Column, ColumnId
from forerun.planner.memo.groups import View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference
from forerun.planner.memo.tree import original
from forerun.planner.props.dependencies import closure, facts
from forerun.planner.props.keys import is_key
from forerun.planner.rules.join_block import tvr_of
from forerun.planner.rules.methods.appended_windows import (
    appends,
    in_order,
    reads_chosen,
    unread,
    value_if,
)
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds

TIED = (
    "rows of one partition tie by {names}: the key that is declared, which tells them apart, does "
    "not hold"
)
_MOVING = re.compile(r"ROWS BETWEEN (\d+) PRECEDING AND (?:CURRENT ROW|\d+ PRECEDING)")
_MOST_ROWS = 1000
"""The most rows of a partition that are kept so; further back, a frame is mostly all of it."""


def _fire(match: Match) -> bool:
    memo, window = match.memo, match.expression.node
    tvr = memo.tvr_of(match.expression.group)
    order = appends(match)
    if order is None or tvr is None or not isinstance(window, Window):
        return False
    if not goes_on(memo, window):
        return False
    tvr.weight = None
    came = _after_recent(memo, match.ids, window, order)
    memo.link(tvr, Version.DELTA, View.ROWS, came, RULE.name)
    return True


def goes_on(memo: Memo, window: Window) -> bool:
    """Return whether all functions of a window look back at a few rows, of which it is sure which
    they are."""
    return sees_few(memo, window, _looks_back)


def sees_few(memo: Memo, window: Window, looks: Callable[[WindowCall], int | None]) -> bool:
    """Return whether all functions of a window see a few rows beside their own, as many as
    ``looks`` says (None: no bound), of which it is sure which they are."""
    far = [looks(call) for _, call in window.calls]
    if None in far or max(filter(None, far), default=0) > _MOST_ROWS:
        return False
    if any(reads_chosen(memo, window, call) for _, call in window.calls):
        return False
    return reads_what_ties(window) or _is_told_apart(memo, window)


def _looks_back(call: WindowCall) -> int | None:
    """Return at how many rows before its own a call looks at most; None if that has no bound, or if
    its value depends on more than these rows."""
    if call.name == "lag":
        return steps(call)
    if call.distinct or call.ignore_nulls or any(arg.type.is_floating for arg in call.args):
        return None
    moving = _MOVING.fullmatch(call.frame)
    return int(moving[1]) if moving else None


def steps(call: WindowCall) -> int | None:
    """Return how many rows away the row is that ``lag`` or ``lead`` reads; None if that is no
    constant, or is counted without NULLs."""
    by = call.args[1] if len(call.args) > 1 else Literal("1", INT)
    if call.frame or call.ignore_nulls or not isinstance(by, Literal):
        return None
    return int(by.text) if re.fullmatch(r"\d+", by.text or "") and by.text else None


def reads_what_ties(window: Window) -> bool:
    """Return whether what is read of other rows is the same among rows that tie."""
    first = window.calls[0][1]
    columns = (*first.partition, *(key.column for key in first.order))
    same = {column.id for column in columns if are_told_apart((column.type,))}
    by_place = all(call.name in ("lag", "lead") for _, call in window.calls)
    return by_place and _read(window) <= same


def _is_told_apart(memo: Memo, window: Window) -> bool:
    """Return whether the columns of the partition and of the order hold a key of the rows."""
    (rows,) = window.inputs
    if not isinstance(rows, Reference):
        return False
    known = facts(original(memo, rows.group), memo.keys, {})
    return is_key(closure(sorted(_places(window)), known.dependencies), known.keys)


def _after_recent(memo: Memo, ids: ColumnIds, window: Window, order: Column) -> Relation:
    """The rows of the delta, each with what its functions give of them and the most recent rows.
    Which rows these are is looked at, unless it is all the same to what is read of them."""
    rows, first = window.input, window.calls[0][1]
    if not isinstance(rows, Reference):
        raise TypeError(f"{rows} is no reference")
    given, surely = tvr_of(memo, rows), reads_what_ties(window)
    most = max(1, *(_looks_back(call) or 0 for _, call in window.calls))
    columns = tuple((column, Ref(column)) for column in rows.columns)
    text = TIED.format(names=", ".join(key.column.name for key in first.order))
    apart, came = ids.of_type("apart", BOOLEAN), ids.of_type("came", BOOLEAN)
    read = _read(window) | _places(window)
    below = unread(memo, memo.reference(given.new), read)
    if surely and most == 1 and _is_of_first(window):
        last = _latest(ids, below, first)
    else:
        last = _recent(ids, below, read, first, None if surely else apart, most)
    kept = {column.id for column in last.columns}
    recent = memo.reference(memo.add(last, RULE.name), before=True)
    delta = memo.reference(given.edges[Version.DELTA, View.ROWS])
    old = FALSE if surely else value_if(Ref(apart), FALSE, text)
    there = tuple((c, v if c.id in kept else Literal(None, c.type)) for c, v in columns)
    both = UnionAll(
        (Project(recent, (*there, (came, old))), Project(delta, (*columns, (came, TRUE)))),
        (*rows.columns, came),
    )
    among, values = looked_at(ids, window, both, came, order)
    items = ((column, later) for column, _, later in values)
    return Project(Filter(among, Ref(came)), (*columns, *items))


def looked_at(
    ids: ColumnIds, window: Window, both: Relation, came: Column, order: Column
) -> tuple[Window, list[tuple[Column, Scalar, Scalar]]]:
    """Return a window over rows that were there and rows that ``came``, and for each of its columns
    the value of a row that was there, and that of one that came. Values are errors in the run where
    one that came is not later than all that were there, or rows tie whose order has to be sure."""
    first, surely = window.calls[0][1], reads_what_ties(window)
    before = Call("not", (Ref(came),), BOOLEAN)
    one = Call("case", (before, Literal("1", INT), Literal(None, INT)), INT)
    greatest = Call("case", (before, Ref(order), Literal(None, order.type)), order.type)
    count, latest = ids.of_type("rows_before", BIGINT), ids.of_type("last", order.type)
    rank, number = ids.of_type("rank", INT), ids.of_type("number", INT)
    made = tuple((ids.of_type(column.name, column.type), call) for column, call in window.calls)
    places = (
        (rank, WindowCall("rank", (), first.partition, first.order)),
        (number, WindowCall("row_number", (), first.partition, first.order)),
    )
    among = Window(
        both,
        (
            *made,
            (count, WindowCall("count", (one,), first.partition, ())),
            (latest, WindowCall("max", (greatest,), first.partition, ())),
            *(() if surely else places),
        ),
    )
    single = Call("=", (Ref(rank), Ref(number)), BOOLEAN)
    text = TIED.format(names=", ".join(key.column.name for key in first.order))
    values = []
    for (column, _), (value, _) in zip(window.calls, made, strict=True):
        both_ways: list[Scalar] = [Ref(value), in_order(Ref(value), Ref(count), Ref(latest), order)]
        if not surely:
            both_ways = [value_if(single, one_way, text) for one_way in both_ways]
        values.append((column, both_ways[0], both_ways[1]))
    return among, values


def _read(window: Window) -> frozenset[ColumnId]:
    """The columns of a row that functions of other rows read."""
    return frozenset().union(*(references(arg) for _, call in window.calls for arg in call.args))


def _places(window: Window) -> frozenset[ColumnId]:
    """The columns of the partition and of the order."""
    first = window.calls[0][1]
    return frozenset(c.id for c in (*first.partition, *(key.column for key in first.order)))


def _is_of_first(window: Window) -> bool:
    """Return whether what is read of other rows is their partition and the first column of the
    order."""
    first = window.calls[0][1]
    columns = (*first.partition, first.order[0].column)
    return bool(first.partition) and _read(window) <= {column.id for column in columns}


def _latest(ids: ColumnIds, rows: Reference, call: WindowCall) -> Relation:
    """Return what is read of the last row of each partition, where that is its partition and the
    first column of the order: the greatest value of it. What comes is later by this column."""
    order = call.order[0].column
    last = ids.of_type("last", order.type)
    found = Aggregate(rows, call.partition, ((last, AggregateCall("max", (Ref(order),))),))
    return Project(found, (*((c, Ref(c)) for c in call.partition), (order, Ref(last))))


def _recent(
    ids: ColumnIds,
    rows: Reference,
    read: frozenset[ColumnId],
    call: WindowCall,
    apart: Column | None,
    most: int,
) -> Relation:
    """The last rows of each partition, as many as are looked back at at ``most``, and whether each
    has a place of its own (``apart``). Where that is looked at they are one more, so that the first
    of those does not tie with one that is left out unseen."""
    backwards = tuple(SortKey(k.column, not k.ascending, not k.nulls_first) for k in call.order)
    place, rank = ids.of_type("from_last", INT), ids.of_type("rank", INT)
    columns = tuple((column, Ref(column)) for column in rows.columns if column.id in read)
    numbers = ((place, WindowCall("row_number", (), call.partition, backwards)),)
    ranks = ((rank, WindowCall("rank", (), call.partition, backwards)),)
    placed = Window(
        Project(rows, columns) if len(columns) < len(rows.columns) else rows,
        numbers if apart is None else (*numbers, *ranks),
    )
    kept = Literal(str(most if apart is None else most + 1), INT)
    last = Filter(placed, Call("<=", (Ref(place), kept), BOOLEAN))
    if apart is None:
        return Project(last, columns)
    return Project(last, (*columns, (apart, Call("=", (Ref(rank), Ref(place)), BOOLEAN))))


RULE = MemoRule(
    "RecentRows",
    Window,
    _fire,
    "Distributed IVM 3.2: windows that look back at a few rows, in a declared order",
    deltas=True,
)
