"""The multiset algebra that the laws are about: a bag is a Counter of rows.

Only tests use it, as the oracle of the convention; it lives here because it *is* the convention.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

Row = tuple[Hashable, ...]
Bag = Counter[Row]


def bag(rows: Iterable[Row]) -> Bag:
    return Counter(rows)


def consolidated(delta: Bag) -> Bag:
    """Without the rows that count zero times."""
    return Counter({row: n for row, n in delta.items() if n})


def combine(old: Bag, delta: Bag) -> Bag:
    """OLD + DELTA = NEW."""
    result = Counter(old)
    for row, n in delta.items():
        result[row] += n
    return consolidated(result)


def difference(new: Bag, old: Bag) -> Bag:
    """The delta that leads from OLD to NEW."""
    return combine(new, Counter({row: -n for row, n in old.items()}))


def product(left: Bag, right: Bag, matches: Callable[[Row, Row], bool]) -> Bag:
    """The join of two signed bags: weights multiply."""
    result: Bag = Counter()
    for lrow, m in left.items():
        for rrow, n in right.items():
            if matches(lrow, rrow):
                result[lrow + rrow] += m * n
    return consolidated(result)
