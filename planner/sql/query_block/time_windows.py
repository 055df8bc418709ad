"""``window()`` and ``session_window()``: moments by the stretch of time that they lie in.

Spark makes an operator below the block of each, and so does this; rows without a moment are not
among its rows. With *t* in microseconds since 1970::

    window(t, size)         start  =  t - pmod(t - offset, size)
    window(t, size, slide)  start  =  one of t's last start by the slide and those before it, as
                                      far as they reach beyond t: a generator
    session_window(t, gap)  in the order of t, a row begins a session where the one before it is
                            more than the gap earlier; a session reaches to its last t + gap

So a tumbling window is a value of each row, a sliding one is taken apart row by row, and sessions
are windows by the other columns of GROUP BY.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp

from forerun.planner.algebra.nested import TIME_WINDOW
from forerun.planner.algebra.relational import (
    Filter,
    Generate,
    SortKey,
    Window,
    WindowCall,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar
from forerun.planner.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    Column,
    DataType,
)
from forerun.planner.sql.binding.binder import Binder
from forerun.planner.sql.binding.coercion import cast
from forerun.planner.sql.query_block.conditions import SUBQUERIES

_WINDOW, _SESSION = "window", "session_window"
_LENGTHS = {
    "week": 604_800_000_000, "day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000,
    "second": 1_000_000, "millisecond": 1_000, "microsecond": 1,
}  # fmt: skip
_PART = re.compile(r"\s*([+-]?\d+)\s+([a-z]+?)s?(?=\s|\Z)", re.IGNORECASE)


def is_time_window(node: exp.Expr) -> bool:
    """Return whether an expression is a call of ``window`` or ``session_window``."""
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in (_WINDOW, _SESSION)


def time_windows(roots: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The calls of ``window`` and ``session_window`` of a block below these expressions."""
    return [found for root in roots for found in _below(root)]


def _below(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, SUBQUERIES):
        return
    if is_time_window(node):
        yield node
        return
    for child in node.iter_expressions():
        yield from _below(child)


def add_time_window(
    binder: Binder, nodes: Sequence[exp.Expr], others: Sequence[Scalar]
) -> tuple[str, Column]:
    """Compute the one time window that ``nodes`` are calls of as a column of the binder's relation;
    return its name and the column. ``others`` are the other expressions of GROUP BY.

    Raises :class:`forerun.planner.errors.UnsupportedSqlError` for several windows, lengths that are
    no constants, and moments without a time zone.
    """
    text, first = binder.text, nodes[0]
    if any(node != first for node in nodes):
        raise text.unsupported(first, "several time windows", "compute one of them in a subquery")
    name = str(first.this).lower()
    moment, *lengths = first.expressions or [first]
    value = binder.bind(moment)
    value = cast(value, TIMESTAMP) if value.type == DATE else value
    if value.type != TIMESTAMP:
        what = f"{name} of a value of type {value.type}"
        raise text.unsupported(first, what, "it takes a TIMESTAMP")
    most = 1 if name == _SESSION else 3
    if not 1 <= len(lengths) <= most:
        raise text.error(first, f"{name} does not take {len(first.expressions)} arguments")
    sizes = [_length(binder, node) for node in lengths]
    (at,) = binder.as_columns([("moment", value)])
    binder.relation = Filter(binder.relation, Call("isnotnull", (Ref(at),), BOOLEAN))
    if name == _SESSION:
        _positive(binder, first, sizes[0])
        column = _session(binder, at, sizes[0], others)
    else:
        size, slide, offset = (*sizes, *(sizes[0], 0)[len(sizes) - 1 :])
        _positive(binder, first, size, slide)
        if slide > size or abs(offset) >= slide:
            raise text.error(first, "a window slides by at most its size, and begins within that")
        column = _slot(binder, at, size, slide, offset)
    for node in nodes:
        binder.known[id(node)] = Ref(column)
    return name, column


def _positive(binder: Binder, node: exp.Expr, *lengths: int) -> None:
    if min(lengths) <= 0:
        raise binder.text.error(node, "the length of a time window is greater than nothing")


def _length(binder: Binder, node: exp.Expr) -> int:
    """A length of time, '1 hour 30 minutes', in microseconds; a day has 24 hours."""
    written = node.name if isinstance(node, exp.Literal) and node.is_string else ""
    total, done = 0, 0
    for part in _PART.finditer(text := re.sub(r"\Ainterval\s", "", written.strip(), flags=re.I)):
        unit = _LENGTHS.get(part[2].lower())
        if part.start() != done or unit is None:
            break
        total, done = total + int(part[1]) * unit, part.end()
    if not written or done != len(text):
        hint = "write it as '1 hour' or '15 minutes'"
        raise binder.text.unsupported(node, "a time window of this length", hint)
    return total


def _number(value: int) -> Literal:
    return Literal(str(value), BIGINT)


def _micros(moment: Scalar) -> Scalar:
    return Call("unix_micros", (moment,), BIGINT)


def _sum(one: Scalar, other: Scalar) -> Scalar:
    return Call("+", (one, other), BIGINT)


def _stretch(start: Scalar, end: Scalar) -> Scalar:
    parts = (Literal("start", STRING), _moment(start), Literal("end", STRING), _moment(end))
    return Call("named_struct", parts, TIME_WINDOW)


def _moment(micros: Scalar) -> Scalar:
    return Call("timestamp_micros", (micros,), TIMESTAMP)


def _added(binder: Binder, name: str, value: Scalar) -> Column:
    """A column of the binder's relation for a value that is not one yet."""
    (column,) = binder.as_columns([(name, value)])
    return column


def _slot(binder: Binder, at: Column, size: int, slide: int, offset: int) -> Column:
    """The windows that a moment lies in."""
    now = _micros(Ref(at))
    since = Call("-", (now, _number(offset)), BIGINT)
    last = Call("-", (now, Call("pmod", (since, _number(slide)), BIGINT)), BIGINT)
    start: Scalar = last
    if slide < size:
        first = _sum(last, _number(slide * (1 - -(-size // slide))))
        starts = Call("sequence", (first, last, _number(slide)), DataType("ARRAY<BIGINT>"))
        made = binder.context.session.columns.new("start", BIGINT)
        spread = Generate(binder.relation, Call("explode", (starts,), UNKNOWN), (made,), False)
        start = Ref(made)
        reaches = Call(">", (_sum(start, _number(size)), now), BOOLEAN)
        binder.relation = Filter(spread, reaches)
    return _added(binder, _WINDOW, _stretch(start, _sum(start, _number(size))))


def _session(binder: Binder, at: Column, gap: int, others: Sequence[Scalar]) -> Column:
    """The session of a moment, among those of the rows with its values of ``others``."""
    new = binder.context.session.columns.new
    by = tuple(dict.fromkeys(binder.as_columns([("session_key", one) for one in others])))
    order = (SortKey(at),)
    before, number, first, last = (
        new(name, type_)
        for name, type_ in (
            ("before", TIMESTAMP), ("session", BIGINT), ("first", TIMESTAMP), ("last", TIMESTAMP),
        )
    )  # fmt: skip
    binder.relation = Window(binder.relation, ((before, WindowCall("lag", (Ref(at),), by, order)),))
    later = Call(">", (_micros(Ref(at)), _sum(_micros(Ref(before)), _number(gap))), BOOLEAN)
    begins = Call("case", (later, Literal("1", INT), Literal("0", INT)), INT)
    flag = _added(binder, "begins", begins)
    binder.relation = Window(
        binder.relation, ((number, WindowCall("sum", (Ref(flag),), by, order)),)
    )
    of_session = (*by, number)
    ends = tuple(
        (column, WindowCall(name, (Ref(at),), of_session, ()))
        for column, name in ((first, "min"), (last, "max"))
    )
    binder.relation = Window(binder.relation, ends)
    end = _sum(_micros(Ref(last)), _number(gap))
    return _added(binder, _SESSION, _stretch(_micros(Ref(first)), end))
