"""Calls of aggregate functions in names of columns, where Spark shows other arguments than those
that are written."""

from __future__ import annotations

from enum import Enum


class Ordered(Enum):
    """The part of ORDER BY in WITHIN GROUP that Spark shows."""

    WAY = "its value, and DESC"
    OTHER_WAY = "its value, and DESC where it ascends"
    KEYS = "its keys as those of a sort"


ORDERED = {
    "mode": Ordered.OTHER_WAY,
    "listagg": Ordered.KEYS,
    "percentile_cont": Ordered.WAY,
    "percentile_disc": Ordered.WAY,
}
MOST_SHOWN = dict.fromkeys(
    ("first", "first_value", "last", "last_value", "any_value", "approx_count_distinct"), 1
)
"""Functions of which Spark shows so many arguments at most."""
ADDED: dict[str, tuple[int, tuple[str, ...]]] = {
    "percentile": (2, ("1",)),
    **dict.fromkeys(("percentile_approx", "approx_percentile"), (2, ("10000",))),
    **dict.fromkeys(("listagg", "string_agg"), (1, ("NULL",))),
    "hll_sketch_agg": (1, ("12",)),
    "approx_top_k": (1, ("5", "10000")),
}
"""By function: how many arguments are written at least, and those that Spark has after them."""
