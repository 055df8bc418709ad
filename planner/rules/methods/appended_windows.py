"""Goes on with windows where rows come in the order that the windows are in.

::

    dW(R)  =  project[f_old and f](W(dR) left join L_old on p)       L  =  agg[p; n, max(o), f](R)

*W* numbers rows or aggregates them so far, by partitions *p* and in the order of *o*, in which the
author declares that rows come. Then the rows that were there stay as they are, and what comes goes
on from them: from their number, their sum, their greatest value, which are an aggregate by *p*. So
such a window has a delta, and takes nothing back.

Correctness: every frame begins with the first row of the partition and ends with the current one,
so the value of a row depends on no later row. That a row comes later than all that its partition
had is looked at for each row, and the run fails where it does not hold: its last try is batch. Rows
that tie in *o* have then come together. Bags: a row of dR is matched with at most one of L. NULLs:
a partition of NULL is one, matched by ``<=>``; rows without *o* are first, so they may come into a
new partition only. Retractions: none; of a changelog no order is declared. Numbers choose among
rows that tie, and what is kept stays one of the right answers; they are read in one place then, as
windows that are computed again. The row before is not among them, since of rows that tie one would
have to know which is last (:mod:`forerun.planner.rules.methods.recent_rows`).

Source: distributed IVM 3.2: what a step does not touch stays; the states of what later rows extend
are those of streaming engines that go by the time of events.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

from forerun.planner.algebra.aggregates.functions import function, is_aggregate, type_of
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    Version,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, conjunction, references
from forerun.planner.algebra.types import BIGINT, BOOLEAN, STRING, UNKNOWN, Column, ColumnId
from forerun.planner.memo.groups import View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference
from forerun.planner.memo.tree import original
from forerun.planner.props.repeatable import Repeated, Repeats
from forerun.planner.rules.join_block import tvr_of
from forerun.planner.rules.methods.changed_partitions import is_seen_once
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds

OUT_OF_ORDER = (
    "a row came that is not after all others of its partition by {name}: the order in which the "
    "source is declared to come does not hold"
)
_SO_FAR = ("", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
"""Frames from the first row of the partition to the current one, by default with those that tie."""
_ZERO = Literal("0", BIGINT)


@dataclass(frozen=True, slots=True)
class _Continued:
    """A window function that goes on. ``before``: the aggregate that is kept of the rows before;
    ``value``: the value of a row, of that and of what the function gives it among the rows that
    came."""

    before: AggregateCall
    value: Callable[[Scalar, Scalar], Scalar]


def appends(match: Match) -> Column | None:
    """Return the column in whose declared order the rows of a window come, if the window has no
    delta yet and goes on where its input does; else None."""
    memo, window = match.memo, match.expression.node
    tvr = memo.tvr_of(match.expression.group)
    if not isinstance(window, Window) or not isinstance(window.input, Reference) or tvr is None:
        return None
    given = tvr_of(memo, window.input)
    only_comes = given.changing and given.has_delta and given.weight is None
    if not only_comes or given.repeated.rows is not Repeats.ALWAYS or tvr.has_delta:
        return None
    if tvr.repeats is Repeats.CHOSEN and not is_seen_once(memo, match.expression.group, tvr.new):
        return None
    return _order(memo, window, window.input)


def _fire(match: Match) -> bool:
    memo, window = match.memo, match.expression.node
    tvr, order = memo.tvr_of(match.expression.group), appends(match)
    if order is None or tvr is None or not isinstance(window, Window):
        return False
    known = tuple(one for _, call in window.calls if (one := _continued(call)) is not None)
    if len(known) < len(window.calls) or not _repeat(memo, window, tvr.repeated):
        return False
    tvr.weight = None
    rows = _appended(memo, match.ids, window, order, known)
    memo.link(tvr, Version.DELTA, View.ROWS, rows, RULE.name)
    return True


def reads_chosen(memo: Memo, window: Window, call: WindowCall) -> bool:
    """Return whether a call reads a column whose values a window below has chosen."""
    below = tvr_of(memo, window.input).repeated if isinstance(window.input, Reference) else None
    return below is not None and any(below.is_chosen(references(arg)) for arg in call.args)


def _repeat(memo: Memo, window: Window, made: Repeated) -> bool:
    """Return whether what goes on of each call is the same when it is computed again: what is added
    up is not chosen, or its sum over rows that tie is not."""
    return all(
        column.id not in made.chosen
        for column, call in window.calls
        if reads_chosen(memo, window, call)
    )


def _order(memo: Memo, window: Window, rows: Reference) -> Column | None:
    """The column that rows are declared to come in the order of, if all calls are in its order and
    of the same partitions."""
    first = window.calls[0][1]
    if any((c.partition, c.order) != (first.partition, first.order) for _, c in window.calls):
        return None
    key = first.order[0] if first.order else None
    if key is None or not key.ascending or not key.nulls_first:
        return None
    return key.column if _is_in_order(memo, original(memo, rows.group), key.column) else None


def _is_in_order(memo: Memo, node: Relation, column: Column) -> bool:
    """Return whether rows are those of one table, filtered or not, which come in the order of the
    column: a row of a join comes when its partner does, and may be an old one."""
    while not isinstance(node, Scan):
        if isinstance(node, Project):
            made = next(scalar for own, scalar in node.items if own.id == column.id)
            if not isinstance(made, Ref):
                return False
            column = made.column
        elif not isinstance(node, Filter | Window):
            return False
        (node,) = node.inputs
    return column.id in memo.in_order


def goes_on(call: WindowCall) -> bool:
    """Return whether a call goes on from an aggregate of the rows before."""
    return _continued(call) is not None


def _continued(call: WindowCall) -> _Continued | None:
    """Return how a call goes on; None where it is not known."""
    if call.frame not in _SO_FAR or call.distinct or call.ignore_nulls:
        return None
    return _number() if call.name == "row_number" else _of_parts(call)


def _appended(
    memo: Memo, ids: ColumnIds, window: Window, order: Column, known: tuple[_Continued, ...]
) -> Relation:
    """The rows of the delta, each with what its functions give after the rows before."""
    rows, first = window.input, window.calls[0][1]
    if not isinstance(rows, Reference):
        raise TypeError(f"{rows} is no reference")
    given = tvr_of(memo, rows)
    count, last = ids.of_type("rows_before", BIGINT), ids.of_type("last", order.type)
    states = tuple((ids.of_type("before", type_of(one.before)), one.before) for one in known)
    counted = ((count, AggregateCall("count", ())), (last, AggregateCall("max", (Ref(order),))))
    read = {order.id, *(column.id for column in first.partition)}.union(
        *(references(arg) for one in known for arg in one.before.args)
    )
    below = unread(memo, memo.reference(given.new), read)
    lasts = Aggregate(below, first.partition, (*counted, *states))
    before = memo.reference(memo.add(lasts, RULE.name), before=True)
    names = tuple(ids.new(column.name, column) for column in first.partition)
    named = Project(
        before,
        (*((new, Ref(old)) for new, old in zip(names, first.partition, strict=True)),
         *((column, Ref(column)) for column in lasts.columns[len(names) :])),
    )  # fmt: skip
    delta = memo.reference(given.edges[Version.DELTA, View.ROWS])
    among = tuple((ids.of_type(column.name, column.type), call) for column, call in window.calls)
    came = Window(delta, among)
    same = conjunction(
        tuple(
            Call("<=>", (Ref(mine), Ref(theirs)), BOOLEAN)
            for mine, theirs in zip(first.partition, names, strict=True)
        )
    )
    joined = Join(JoinKind.LEFT if names else JoinKind.INNER, came, named, same)
    items = []
    for (column, _), (made, _), (state, _), one in zip(
        window.calls, among, states, known, strict=True
    ):
        value = one.value(Ref(state), Ref(made))
        items.append((column, in_order(value, Ref(count), Ref(last), order)))
    return Project(joined, (*((c, Ref(c)) for c in rows.columns), *items))


def unread(memo: Memo, rows: Reference, read: Set[ColumnId]) -> Reference:
    """Return the rows without windows of which no column is read."""
    node = next(memo.alternatives(rows.group)).node
    while isinstance(node, Window) and isinstance(node.input, Reference):
        if not read.isdisjoint(column.id for column, _ in node.calls):
            break
        rows = node.input
        node = next(memo.alternatives(rows.group)).node
    return rows


def in_order(value: Scalar, count: Scalar, last: Scalar, order: Column) -> Scalar:
    """Return the value of a row that comes after all that its partition had (``count`` rows, the
    greatest value of the ``order`` is ``last``); else it is an error in the run."""
    none = Call("=", (_or_zero(count), _ZERO), BOOLEAN)
    after = Call(">", (Ref(order), last), BOOLEAN)
    first = (Call("isnull", (last,), BOOLEAN), Call("isnotnull", (Ref(order),), BOOLEAN))
    fine = Call("or", (none, after, conjunction(first)), BOOLEAN)
    return value_if(fine, value, OUT_OF_ORDER.format(name=order.name))


def value_if(fine: Scalar, value: Scalar, text: str) -> Scalar:
    """Return the value where a condition holds; elsewhere it is an error with this text."""
    error = Call("raise_error", (Literal(text, STRING),), BOOLEAN)
    return Call("case", (fine, value, Call("cast", (error,), value.type)), value.type)


def _or_zero(count: Scalar) -> Scalar:
    return Call("coalesce", (count, _ZERO), BIGINT)


# -- functions -------------------------------------------------------------------------------------


def _of_parts(call: WindowCall) -> _Continued | None:
    """Go on with an aggregate function whose value is that of two parts, of exact values: others
    would be added up in another order."""
    two = function(call.name).of_two if is_aggregate(call.name) else None
    exact = all(arg.type.is_known and not arg.type.is_floating for arg in call.args)
    if two is None or not exact:
        return None

    def value(before: Scalar, made: Scalar) -> Scalar:
        none, came_none = (Call("isnull", (one,), BOOLEAN) for one in (before, made))
        both = Call(two, (before, made), made.type)
        if made.type.name == "DECIMAL":  # a sum of two has a digit more
            both = Call("cast", (Call(two, (before, made), UNKNOWN),), made.type)
        return Call("case", (none, made, came_none, before, both), made.type)

    return _Continued(AggregateCall(call.name, call.args), value)


def _number() -> _Continued:
    def value(before: Scalar, made: Scalar) -> Scalar:
        return Call("cast", (Call("+", (_or_zero(before), made), BIGINT),), made.type)

    return _Continued(AggregateCall("count", ()), value)


RULE = MemoRule(
    "AppendedWindows",
    Window,
    _fire,
    "Distributed IVM 3.2: windows that later rows extend, in a declared order",
    deltas=True,
)
