"""Goes on with windows that look back at a few rows, where rows come in the order of the window.

::

    dW(R)  =  filter[came](W(L_old + dR))        L  =  filter[r <= k](row_number[p; o desc] r (R))

*W* reads, for each row, at most *k* rows before it in its partition *p*: the row before (``lag``),
or a frame of rows that moves. In the order *o* the author declares that rows come. Then the rows
that were there stay as they are, and what comes is computed of itself and of the last *k* rows of
each partition, *L*. They are the first ones in the opposite order, which each run keeps of its own
rows (:mod:`forerun.planner.rules.methods.contenders`).

Correctness: a row of dR comes after all rows of its partition in R_old, so the *k* rows before it
are among the last *k* of R_old and those of dR. Which rows are the last ones has to be sure: *p*
and the columns of *o* together hold a key. Both is looked at for each row that comes and for the
rows that it goes on from, by the greatest value that its partition had and by whether numbers are
ranks, and the run fails where it does not hold: its last try is batch. Bags: a key leaves no
copies. NULLs: PARTITION BY takes them for a value; rows without *o* are first, so they may come
into a new partition only. Retractions: none; of a changelog no order is declared. Source: as for
other windows in a declared order (:mod:`forerun.planner.rules.methods.appended_windows`); the last
rows of a frame are what streaming engines keep of a window of rows.
"""

from __future__ import annotations

import re

from forerun.planner.algebra.relational import (
    Filter,
    Project,
    Relation,
    SortKey,
    UnionAll,
    Version,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import FALSE, TRUE, Call, Literal, Ref
from forerun.planner.algebra.types import BIGINT, BOOLEAN, INT, Column
from forerun.planner.memo.groups import View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference
from forerun.planner.memo.tree import original
from forerun.planner.props.dependencies import closure, facts
from forerun.planner.props.keys import is_key
from forerun.planner.rules.join_block import tvr_of
from forerun.planner.rules.methods.appended_windows import appends, in_order, value_if
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds

TIED = (
    "rows of one partition tie by {names}: the key that is declared, which tells them apart, does "
    "not hold"
)
_MOVING = re.compile(r"ROWS BETWEEN (\d+) PRECEDING AND (?:CURRENT ROW|\d+ PRECEDING)")
_MOST = 1000
"""The most rows of a partition that are kept so; further back, a frame is mostly all of it."""


def _fire(match: Match) -> bool:
    memo, window = match.memo, match.expression.node
    tvr = memo.tvr_of(match.expression.group)
    order = appends(match)
    if order is None or tvr is None or not isinstance(window, Window):
        return False
    rows = window.input
    back = [_looks_back(call) for _, call in window.calls]
    most = max((one for one in back if one is not None), default=0)
    if None in back or most > _MOST or not isinstance(rows, Reference):
        return False
    if not _is_told_apart(memo, rows, window.calls[0][1]):
        return False
    tvr.weight = None
    came = _after_recent(memo, match.ids, window, rows, order, most)
    memo.link(tvr, Version.DELTA, View.ROWS, came, RULE.name)
    return True


def _looks_back(call: WindowCall) -> int | None:
    """Return at how many rows before its own a call looks at most; None if that has no bound, or if
    its value depends on more than these rows."""
    if call.distinct or call.ignore_nulls or any(arg.type.is_floating for arg in call.args):
        return None
    if call.name == "lag" and not call.frame:
        by = call.args[1] if len(call.args) > 1 else Literal("1", INT)
        known = isinstance(by, Literal) and re.fullmatch(r"\d+", by.text or "")
        return int(by.text or 0) if known and isinstance(by, Literal) else None
    moving = _MOVING.fullmatch(call.frame)
    return int(moving[1]) if moving else None


def _is_told_apart(memo: Memo, rows: Reference, call: WindowCall) -> bool:
    """Return whether the columns of the partition and of the order hold a key of the rows."""
    known = facts(original(memo, rows.group), memo.keys, {})
    columns = [column.id for column in (*call.partition, *(key.column for key in call.order))]
    return is_key(closure(columns, known.dependencies), known.keys)


def _after_recent(
    memo: Memo, ids: ColumnIds, window: Window, rows: Reference, order: Column, most: int
) -> Relation:
    """The rows of the delta, each with what its functions give of them and the most recent rows."""
    given, first = tvr_of(memo, rows), window.calls[0][1]
    columns = tuple((column, Ref(column)) for column in rows.columns)
    text = TIED.format(names=", ".join(key.column.name for key in first.order))
    apart, came = ids.of_type("apart", BOOLEAN), ids.of_type("came", BOOLEAN)
    kept = memo.add(_recent(ids, memo.reference(given.new), first, apart, most + 1), RULE.name)
    recent = memo.reference(kept, before=True)
    delta = memo.reference(given.edges[Version.DELTA, View.ROWS])
    both = UnionAll(
        (
            Project(recent, (*columns, (came, value_if(Ref(apart), FALSE, text)))),
            Project(delta, (*columns, (came, TRUE))),
        ),
        (*rows.columns, came),
    )
    before = Call("not", (Ref(came),), BOOLEAN)
    one = Call("case", (before, Literal("1", INT), Literal(None, INT)), INT)
    greatest = Call("case", (before, Ref(order), Literal(None, order.type)), order.type)
    count, latest = ids.of_type("rows_before", BIGINT), ids.of_type("last", order.type)
    rank, number = ids.of_type("rank", INT), ids.of_type("number", INT)
    made = tuple((ids.of_type(column.name, column.type), call) for column, call in window.calls)
    among = Window(
        both,
        (
            *made,
            (count, WindowCall("count", (one,), first.partition, ())),
            (latest, WindowCall("max", (greatest,), first.partition, ())),
            (rank, WindowCall("rank", (), first.partition, first.order)),
            (number, WindowCall("row_number", (), first.partition, first.order)),
        ),
    )
    single = Call("=", (Ref(rank), Ref(number)), BOOLEAN)
    items = []
    for (column, _), (value, _) in zip(window.calls, made, strict=True):
        later = in_order(Ref(value), Ref(count), Ref(latest), order)
        items.append((column, value_if(single, later, text)))
    return Project(Filter(among, Ref(came)), (*columns, *items))


def _recent(
    ids: ColumnIds, rows: Reference, call: WindowCall, apart: Column, most: int
) -> Relation:
    """The last rows of each partition, and whether each has a place of its own: one more than is
    looked back at, so that the first of those does not tie with one that is left out unseen."""
    backwards = tuple(SortKey(k.column, not k.ascending, not k.nulls_first) for k in call.order)
    place, rank = ids.of_type("from_last", INT), ids.of_type("rank", INT)
    placed = Window(
        rows,
        (
            (place, WindowCall("row_number", (), call.partition, backwards)),
            (rank, WindowCall("rank", (), call.partition, backwards)),
        ),
    )
    last = Filter(placed, Call("<=", (Ref(place), Literal(str(most), INT)), BOOLEAN))
    columns = tuple((column, Ref(column)) for column in rows.columns)
    return Project(last, (*columns, (apart, Call("=", (Ref(rank), Ref(place)), BOOLEAN))))


RULE = MemoRule(
    "RecentRows",
    Window,
    _fire,
    "Distributed IVM 3.2: windows that look back at a few rows, in a declared order",
    deltas=True,
)
