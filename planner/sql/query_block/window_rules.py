"""The demands of Spark on a window function: an order, a frame, constants among its arguments.

sqlglot reads any of them over any window. What Spark's analyzer refuses is refused here, where the
text is read, and not in the night.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from forerun.planner.algebra.aggregates.functions import function, is_aggregate
from forerun.planner.algebra.functions import OWN_FRAMES
from forerun.planner.algebra.relational import SortKey
from forerun.planner.algebra.scalar import Literal, Scalar, references
from forerun.planner.algebra.type_kinds import is_ordered, kind_of
from forerun.planner.algebra.types import INT, Column
from forerun.planner.sql.syntax.text import QueryText

_TO_CURRENT = " AND CURRENT ROW"
_ORDERED = frozenset({*OWN_FRAMES, "nth_value"})
_ARGUMENTS = {
    "row_number": (0, 0), "cume_dist": (0, 0), "ntile": (0, 1), "lag": (0, 3), "lead": (0, 3),
    "nth_value": (2, 3),
}  # fmt: skip
_COUNTED = {"ntile": 0, "lag": 1, "lead": 1, "nth_value": 1}
"""By function: the place of the argument that is a number of rows, a constant INT."""
_SKIPPING = frozenset({"lag", "lead", "nth_value"})
_BOUND = re.compile(
    r"UNBOUNDED (?:PRECEDING|FOLLOWING)|CURRENT ROW|(?P<by>.+) (?P<side>PRECEDING|FOLLOWING)"
)
_OFFSETS = {"d": "imw", "t": "mw", "n": "mw"}
"""By the kind of the one key that a window is ordered by: kinds of offsets of a frame by RANGE. Any
number is taken as an offset of numbers."""


def check_function(
    text: QueryText, node: exp.Expr, name: str, args: Sequence[Scalar], *, skips: bool
) -> None:
    """Refuse arguments that a function of windows does not take."""
    least, most = _ARGUMENTS.get(name, (0, len(args)))
    if not least <= len(args) <= most:
        raise text.error(node, f"{name} takes {least} to {most} arguments, not {len(args)}")
    place = _COUNTED.get(name, len(args))
    if place < len(args):
        count = args[place]
        if references(count) or count.type not in (INT,):
            raise text.error(node, f"{name} counts rows with a constant of type INT")
        if isinstance(count, Literal) and name not in ("lag", "lead") and int(count.text or 0) < 1:
            raise text.error(node, f"{name} counts rows from 1")
    aggregate = function(name) if is_aggregate(name) else None
    if skips and name not in _SKIPPING and not (aggregate and aggregate.skips_nulls):
        raise text.error(node, f"{name} has no IGNORE NULLS")


def check_window(
    text: QueryText,
    node: exp.Expr,
    name: str,
    partition: Sequence[Column],
    order: Sequence[SortKey],
    frame: str,
) -> None:
    """Refuse a window over which Spark does not compute the function."""
    for column in (*partition, *(key.column for key in order)):
        if not is_ordered(column.type):
            raise text.error(node, f"no window is ordered by values of type {column.type}")
    if name in _ORDERED and not order:
        raise text.error(node, f"{name} needs an ORDER BY in its window")
    if frame and name in OWN_FRAMES and frame not in (allowed := _written(OWN_FRAMES[name])):
        wanted = " or ".join(allowed) or "none at all"
        raise text.error(node, f"{name} has a frame of its own, {wanted}", "leave the frame out")
    if frame:
        _check_bounds(text, node, frame, order)


def _written(frame: str) -> tuple[str, ...]:
    """Return how a frame up to the current row may be written; not at all where it is empty."""
    return (frame.replace("BETWEEN ", "").removesuffix(_TO_CURRENT), frame) if frame else ()


def check_offset(text: QueryText, node: exp.Expr, kind: str, value: Literal) -> None:
    """Refuse an offset of a frame by ROWS that is no INT."""
    if kind == "ROWS" and value.type != INT:
        raise text.error(node, f"a frame by ROWS counts with an INT, not with {value.type}")


def check_range(
    text: QueryText, node: exp.Expr, offsets: Sequence[Literal], order: Sequence[SortKey]
) -> None:
    """Refuse a frame by RANGE whose offsets are not those of the one key that it is ordered by."""
    if not offsets:
        return
    if len(order) != 1:
        raise text.error(node, "a frame by RANGE with an offset has one key in ORDER BY")
    by = kind_of(order[0].column.type)
    for offset in offsets:
        kind = kind_of(offset.type)
        if by == "d" and kind == "w" and offset.type.name != "INTERVAL DAY":
            raise text.error(node, "a frame by RANGE over DATE has no offset within a day")
        known = (
            "ilfecs"
            if by in ("f", "e")
            else _OFFSETS.get(by, "ilfecsmw" if by in ("i", "l", "c") else "")
        )
        if by and kind and by not in "mw" and kind not in known:
            of = order[0].column.type
            raise text.error(node, f"a frame by RANGE over {of} has no offset of {offset.type}")


def _check_bounds(text: QueryText, node: exp.Expr, frame: str, order: Sequence[SortKey]) -> None:
    kind, _, rest = frame.partition(" ")
    first, _, last = rest.removeprefix("BETWEEN ").partition(" AND ")
    if first == "UNBOUNDED FOLLOWING" or last == "UNBOUNDED PRECEDING":
        raise text.error(node, "a frame begins with its end")
    whole = (first, last) == ("UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING")
    if kind == "RANGE" and not order and not whole:
        raise text.error(node, "a frame by RANGE needs an ORDER BY in its window")
    places = [_place(bound) for bound in (first, last) if bound]
    if kind == "ROWS" and None not in places and len(places) == 2:
        begin, end = places
        if begin is not None and end is not None and begin[1] and end[1] and begin[0] > end[0]:
            raise text.error(node, "a frame ends before it begins")


def _place(bound: str) -> tuple[int, bool] | None:
    """Return how many rows after the current one a bound is, and whether it is an offset."""
    found = _BOUND.fullmatch(bound)
    if found is None or found["by"] is None:
        return (0, False) if bound == "CURRENT ROW" else None
    if not re.fullmatch(r"-?\d+", found["by"]):
        return None
    return int(found["by"]) * (1 if found["side"] == "FOLLOWING" else -1), True
