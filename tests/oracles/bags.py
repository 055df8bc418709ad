"""Comparison of bags of rows in the sense of DESIGN section 6, for the tests.

Exact values compare exactly (a decimal with its scale). Doubles may differ by 1e-9 of what went
in; NaN equals NaN and infinities compare by sign. Which of several right answers a LIMIT takes at
a tie is left open by :func:`same_limited`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from tests.oracles.values import Row, Value, order_key, row_key

TOLERANCE = 1e-9


class DifferenceError(AssertionError):
    """Two bags differ; the message shows rows that only one of them has."""


def exact_part(row: Row) -> tuple[Any, ...]:
    """What must be equal to the bit; a double leaves only whether it is NULL, NaN or infinite."""
    return tuple(_exact(value) for value in row)


def _exact(value: Value) -> Any:
    if isinstance(value, float):
        return ("double", "finite" if math.isfinite(value) else str(value))
    if isinstance(value, Decimal):
        return ("decimal", value, value.as_tuple().exponent)
    if isinstance(value, list | tuple):
        return tuple(_exact(item) for item in value)
    return (type(value).__name__, value)


def close(left: float, right: float, magnitude: float) -> bool:
    """Within the tolerance of ``magnitude``, the sum of absolute values that went in."""
    if not math.isfinite(left) or not math.isfinite(right):
        return str(left) == str(right)
    return abs(left - right) <= TOLERANCE * max(magnitude, abs(left), abs(right))


def compare_bags(expected: Sequence[Row], actual: Sequence[Row], magnitude: float = 1.0) -> None:
    """Raise :class:`DifferenceError` unless both hold the same rows equally often."""
    left, right = _grouped(expected), _grouped(actual)
    problems = []
    for key in {**left, **right}:
        mine, other = left.get(key, []), right.get(key, [])
        if len(mine) != len(other):
            problems.append(f"{len(mine)} expected, {len(other)} found: {(mine or other)[0]}")
        elif not _same_doubles(mine, other, magnitude):
            problems.append(f"doubles differ: expected {mine[:3]}, found {other[:3]}")
    if problems:
        head = f"{len(expected)} rows expected, {len(actual)} found\n"
        raise DifferenceError(head + "\n".join(problems[:8]))


def _grouped(rows: Sequence[Row]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(exact_part(row), []).append(row)
    return groups


def _doubles(row: Row) -> list[float]:
    return [value for value in row if isinstance(value, float)]


def _same_doubles(left: list[Row], right: list[Row], magnitude: float) -> bool:
    """Is there a pairing in which all doubles are close? Sorted order first, then a matching."""
    mine = sorted((_doubles(row) for row in left), key=lambda r: [order_key(v) for v in r])
    other = sorted((_doubles(row) for row in right), key=lambda r: [order_key(v) for v in r])
    if all(_close_rows(a, b, magnitude) for a, b in zip(mine, other, strict=True)):
        return True
    return len(mine) <= 200 and _has_matching(mine, other, magnitude)


def _close_rows(left: list[float], right: list[float], magnitude: float) -> bool:
    return all(close(a, b, magnitude) for a, b in zip(left, right, strict=True))


def _has_matching(left: list[list[float]], right: list[list[float]], magnitude: float) -> bool:
    """A perfect matching between rows that are close (augmenting paths)."""
    owner: dict[int, int] = {}

    def place(i: int, seen: set[int]) -> bool:
        for j, candidate in enumerate(right):
            if j not in seen and _close_rows(left[i], candidate, magnitude):
                seen.add(j)
                if j not in owner or place(owner[j], seen):
                    owner[j] = i
                    return True
        return False

    return all(place(i, set()) for i in range(len(left)))


def with_equal_scales(
    expected: Sequence[Row], actual: Sequence[Row]
) -> tuple[list[Row], list[Row]]:
    """Both, with decimals rounded to the smaller scale where the scales of a column differ.

    Only for Sail: its quotients of decimals have another scale than Spark's, which the planner
    writes.
    """
    both = [*expected, *actual]
    columns = [[row[i] for row in both] for i in range(len(both[0]) if both else 0)]
    scales = [
        [int(v.as_tuple().exponent) for v in column if isinstance(v, Decimal)] for column in columns
    ]
    common = [max(scale) if len(set(scale)) > 1 else None for scale in scales]

    def convert(row: Row) -> Row:
        return tuple(
            v.quantize(Decimal(1).scaleb(scale), ROUND_HALF_UP)
            if scale is not None and isinstance(v, Decimal)
            else v
            for v, scale in zip(row, common, strict=True)
        )

    return [convert(row) for row in expected], [convert(row) for row in actual]


def same_limited(
    full: Sequence[Row], actual: Sequence[Row], keys: Sequence[int], count: int
) -> None:
    """``actual`` are the first ``count`` of ``full`` (all rows, in order) by the columns ``keys``.

    Equal bag of sort keys; every row above the cut; at the cut, rows drawn from the tie class.
    """
    expected = list(full[:count])
    of = lambda row: row_key(tuple(row[k] for k in keys))  # noqa: E731
    if Counter(map(of, expected)) != Counter(map(of, actual)):
        raise DifferenceError("the sort keys of the limited rows differ")
    if not expected or len(expected) == len(full):
        compare_bags(expected, actual)
        return
    cut = of(expected[-1])
    compare_bags([r for r in expected if of(r) != cut], [r for r in actual if of(r) != cut])
    pool = Counter(exact_part(row) for row in full if of(row) == cut)
    drawn = Counter(exact_part(row) for row in actual if of(row) == cut)
    if drawn - pool:
        raise DifferenceError(
            f"rows at the cut that are not in the tie class: {list(drawn - pool)[:3]}"
        )
