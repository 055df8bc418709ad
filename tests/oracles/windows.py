"""Window functions over one partition that is already in order."""

from __future__ import annotations

import re
from collections.abc import Callable

from forerun.planner.algebra.relational import WindowCall
from tests.oracles.aggregates import fold_items, fold_of
from tests.oracles.ordering import compare_rows, sort_key
from tests.oracles.scalars import Layout, compile_scalar
from tests.oracles.typing_rules import type_of
from tests.oracles.values import NotInterpretedError, Row, Value, row_key

_FRAME = re.compile(
    r"^(ROWS|RANGE)\s+(?:BETWEEN\s+)?(.+?)(?:\s+AND\s+(.+))?$", re.IGNORECASE | re.DOTALL
)
Bounds = tuple[int, int]


def as_they_come(members: list[int], _rows: list[Row]) -> list[int]:
    """The places of a partition's rows, those that tie in the order that they will have."""
    return members


def evaluate_window(call: WindowCall, rows: list[Row], layout: Layout) -> list[Value]:
    """The function's value for every row, in the order of ``rows``."""
    result: list[Value] = [None] * len(rows)
    groups: dict[object, list[int]] = {}
    for position, row in enumerate(rows):
        key = row_key(tuple(row[layout[c.id]] for c in call.partition))
        groups.setdefault(key, []).append(position)
    key_of = sort_key(call.order, layout)
    for members in groups.values():
        ordered = sorted(as_they_come(members, rows), key=lambda position: key_of(rows[position]))
        partition = [rows[position] for position in ordered]
        for position, value in zip(ordered, _partition(call, partition, layout), strict=True):
            result[position] = value
    return result


def _partition(call: WindowCall, rows: list[Row], layout: Layout) -> list[Value]:
    first, last = _peers(call, rows, layout)
    if call.name in _RANKS:
        return _RANKS[call.name](first, last, len(rows))
    args = [compile_scalar(arg, layout) for arg in call.args]
    values = [tuple(arg(row) for arg in args) for row in rows]
    if call.name in ("lag", "lead"):
        return _shifted(call, values)
    if call.name == "ntile":
        return _ntile(len(rows), values[0][0] if values else 1)
    types = [type_of(arg) for arg in call.args]
    fold = None if call.name == "nth_value" else fold_of(call.name)
    result: list[Value] = []
    for position in range(len(rows)):
        low, high = _frame(call, position, len(rows), first, last)
        items = values[low : high + 1] if low <= high else []
        if call.ignore_nulls:
            items = [item for item in items if item[0] is not None]
        if fold is None:
            nth = items[0][1] if items else 1
            result.append(items[nth - 1][0] if len(items) >= nth else None)
        else:
            result.append(fold_items(fold, items, types, distinct=call.distinct))
    return result


def _peers(call: WindowCall, rows: list[Row], layout: Layout) -> tuple[list[int], list[int]]:
    """First and last position of the rows that tie with each row."""
    first, last = list(range(len(rows))), list(range(len(rows)))
    for i in range(1, len(rows)):
        if compare_rows(rows[i - 1], rows[i], call.order, layout) == 0:
            first[i] = first[i - 1]
    for i in reversed(range(len(rows) - 1)):
        if first[i + 1] == first[i]:
            last[i] = last[i + 1]
    return first, last


def _dense(first: list[int], last: list[int], count: int) -> list[Value]:
    starts = sorted(set(first))
    return [starts.index(start) + 1 for start in first]


_RANKS: dict[str, Callable[[list[int], list[int], int], list[Value]]] = {
    "row_number": lambda first, last, count: list(range(1, count + 1)),
    "rank": lambda first, last, count: [start + 1 for start in first],
    "dense_rank": _dense,
    "percent_rank": lambda first, last, n: [start / (n - 1) if n > 1 else 0.0 for start in first],
    "cume_dist": lambda first, last, count: [(end + 1) / count for end in last],
}


def _shifted(call: WindowCall, values: list[tuple[Value, ...]]) -> list[Value]:
    result = []
    for position, value in enumerate(values):
        step = value[1] if len(value) > 1 else 1
        other = position - step if call.name == "lag" else position + step
        default = value[2] if len(value) > 2 else None
        result.append(values[other][0] if 0 <= other < len(values) else default)
    return result


def _ntile(count: int, tiles: int) -> list[Value]:
    small, larger = divmod(count, tiles)
    sizes = [small + (tile < larger) for tile in range(tiles)]
    return [tile + 1 for tile, size in enumerate(sizes) for _ in range(size)]


def _frame(
    call: WindowCall, position: int, count: int, first: list[int], last: list[int]
) -> Bounds:
    """Positions of the frame; without a clause it ends at the row's last peer, if ordered."""
    if not call.frame:
        return (0, last[position] if call.order else count - 1)
    match = _FRAME.match(call.frame.strip())
    if match is None:
        raise NotInterpretedError(f"frame {call.frame}")
    by_rows = match[1].upper() == "ROWS"
    start, end = match[2].upper(), (match[3] or "CURRENT ROW").upper()
    here = (position, position) if by_rows else (first[position], last[position])
    low = _bound(start, here[0], count, by_rows=by_rows)
    high = _bound(end, here[1], count, by_rows=by_rows)
    return (max(low, 0), min(high, count - 1))


def _bound(text: str, here: int, count: int, *, by_rows: bool) -> int:
    if text == "CURRENT ROW":
        return here
    amount, _, direction = text.partition(" ")
    if amount == "UNBOUNDED":
        return 0 if direction.startswith("PRECEDING") else count - 1
    if not by_rows:
        raise NotInterpretedError("RANGE with a distance")
    return here - int(amount) if direction.startswith("PRECEDING") else here + int(amount)
