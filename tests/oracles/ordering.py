"""The order of rows under sort keys, with Spark's places for NULL."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from forerun.planner.algebra.relational import SortKey
from tests.oracles.scalars import Layout
from tests.oracles.values import Row, compare


def compare_rows(left: Row, right: Row, keys: tuple[SortKey, ...], layout: Layout) -> int:
    """-1, 0 or 1; 0 is a tie (peers)."""
    for key in keys:
        a, b = left[layout[key.column.id]], right[layout[key.column.id]]
        if a is None or b is None:
            if a is b:
                continue
            return -1 if (a is None) is key.nulls_first else 1
        order = compare(a, b)
        if order:
            return order if key.ascending else -order
    return 0


def sort_key(keys: tuple[SortKey, ...], layout: Layout) -> Any:
    """For ``sorted``: stable, so rows that tie keep the order they came in."""
    return cmp_to_key(lambda a, b: compare_rows(a, b, keys, layout))
