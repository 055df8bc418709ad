"""Goes on with windows that look ahead at a few rows, where rows come in the order of the window.

::

    W(R)  =  W(R)_old anti T  +  W((W(R)_old semi T) + dR)
    T     =  distinct[p, o](filter[r <= m](rank[p; o desc] r (R_old)))

*W* reads, for each row, at most *m* rows after it in its partition *p*: the row after (``lead``),
or a frame of rows that are still to come. In the order *o* the author declares that rows come. Then
only the last *m* rows of each partition, those at *T*, see what comes; those before them stay as
they are. Where *m* is one, *T* is the greatest *o* of each partition, else its first ones in the
opposite order, which each run keeps of its own rows
(:mod:`forerun.planner.rules.methods.contenders`). So it is as with partitions that change
(:mod:`forerun.planner.rules.methods.changed_partitions`), but for how many rows go and come: a few
of each partition.

Correctness: at *T* are all rows that are not before the first one there, with their ties, and a row
before them has *m* rows of R_old after it. That what comes is later than all that its partition had
is looked at for each row, by the greatest value there. Which row is after which one has to be sure
among rows that tie: either what is read of them are columns of *p* and *o*, or *p* and *o* hold a
key together, which is looked at by whether numbers are ranks. Where either does not hold the run
fails: its last try is batch. Bags: of rows that tie, each is one of as many. NULLs: *p* and *o* are
compared by ``<=>``; rows without *o* are first, so they may come into a new partition only.
Retractions: none; of a changelog no order is declared. Functions that look back may be columns of R
already, and stay with the rows that are computed again, whatever was chosen among ties.
Source: as for windows that look back (:mod:`forerun.planner.rules.methods.recent_rows`).
"""

from __future__ import annotations

import re

from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    SortKey,
    UnionAll,
    Version,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import (
    FALSE,
    TRUE,
    Call,
    Literal,
    Ref,
    conjunction,
)
from forerun.planner.algebra.types import BOOLEAN, INT, Column
from forerun.planner.memo.groups import View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Kept, Reference
from forerun.planner.rules.join_block import tvr_of
from forerun.planner.rules.methods.appended_windows import (
    appends,
    unread,
)
from forerun.planner.rules.methods.recent_rows import (
    looked_at,
    sees_few,
    steps,
)
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds

_AFTER_CHANGED = 3
_COMING = re.compile(r"ROWS BETWEEN (?:CURRENT ROW|\d+ FOLLOWING) AND (\d+) FOLLOWING")


def _fire(match: Match) -> bool:
    memo, window = match.memo, match.expression.node
    tvr, order = memo.tvr_of(match.expression.group), appends(match)
    if order is None or tvr is None or not isinstance(window, Window):
        return False
    if not goes_on(memo, window):
        return False
    rows = _replaced(match, window, order)
    memo.link(tvr, Version.NEW, View.SPLIT, rows, RULE.name)
    return True


def goes_on(memo: Memo, window: Window) -> bool:
    """Return whether all functions of a window look ahead at a few rows, of which it is sure which
    they are."""
    return sees_few(memo, window, _looks_ahead)


def _looks_ahead(call: WindowCall) -> int | None:
    """Return at how many rows after its own a call looks at most; None if that has no bound, or if
    its value depends on more than these rows."""
    if call.name == "lead":
        return steps(call)
    if call.distinct or call.ignore_nulls or any(arg.type.is_floating for arg in call.args):
        return None
    coming = _COMING.fullmatch(call.frame)
    return int(coming[1]) if coming else None


def _replaced(match: Match, window: Window, order: Column) -> Relation:
    """Return the union of the rows that see nothing of what comes, and of the others anew."""
    memo, ids, rows = match.memo, match.ids, window.input
    if not isinstance(rows, Reference):
        raise TypeError(f"{rows} is no reference")
    call = window.calls[0][1]
    most = max(1, *(_looks_ahead(one) or 0 for _, one in window.calls))
    read = {order.id, *(column.id for column in call.partition)}
    places = _last_places(ids, unread(memo, memo.reference(rows.group), read), call, order, most)
    before = memo.reference(memo.add(places, RULE.name), before=True)
    mine = (*call.partition, order)
    names = tuple(ids.new(column.name, column) for column in mine)
    last = Project(before, tuple(zip(names, map(Ref, places.columns), strict=True)))
    same = conjunction(
        tuple(
            Call("<=>", (Ref(one), Ref(other)), BOOLEAN)
            for one, other in zip(mine, names, strict=True)
        )
    )
    group = memo.group(match.expression.group)
    kept = Kept(group.id, group.columns)
    stays, seeing = (Join(kind, kept, last, same) for kind in (JoinKind.ANTI, JoinKind.SEMI))
    delta = memo.reference(tvr_of(memo, rows).edges[Version.DELTA, View.ROWS])
    return UnionAll((stays, _again(ids, window, seeing, delta, order)), group.columns)


def _last_places(
    ids: ColumnIds, rows: Reference, call: WindowCall, order: Column, most: int
) -> Aggregate:
    """Return where the last rows of each partition are, so many and those that tie with them: the
    partition, and each value of the order."""
    if most == 1:
        last = ids.of_type("last", order.type)
        return Aggregate(rows, call.partition, ((last, AggregateCall("max", (Ref(order),))),))
    rank, keys = ids.of_type("rank", INT), (*call.partition, order)
    backwards = (SortKey(order, ascending=False, nulls_first=False),)
    items = tuple((column, Ref(column)) for column in keys)
    placed = Window(
        Project(rows, items), ((rank, WindowCall("rank", (), call.partition, backwards)),)
    )
    first = Filter(placed, Call("<=", (Ref(rank), Literal(str(most), INT)), BOOLEAN))
    return Aggregate(Project(first, items), keys, ())


def _again(
    ids: ColumnIds, window: Window, seeing: Relation, delta: Reference, order: Column
) -> Relation:
    """Return the rows that see what comes, and what comes, each with what its functions give."""
    came, rows = ids.of_type("came", BOOLEAN), window.input.columns
    both = UnionAll(
        (
            Project(seeing, (*((c, Ref(c)) for c in rows), (came, FALSE))),
            Project(delta, (*((c, Ref(c)) for c in delta.columns), (came, TRUE))),
        ),
        (*rows, came),
    )
    among, values = looked_at(ids, window, both, came, order)
    items = (
        (column, Call("case", (Ref(came), later, there), column.type))
        for column, there, later in values
    )
    return Project(among, (*((column, Ref(column)) for column in rows), *items))


RULE = MemoRule(
    "UpcomingRows",
    Window,
    _fire,
    "Distributed IVM 3.2: windows that look ahead at a few rows, in a declared order",
    deltas=True,
    priority=_AFTER_CHANGED,
)
