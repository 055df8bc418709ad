"""Keeps the best DP entries of one group in one run, by the distribution of their rows."""

from __future__ import annotations

from forerun.planner.temporal.solution import DpEntry
from forerun.planner.temporal.space import Key

ANY_DISTRIBUTION: Key = ()
"""The empty key: the entry under it is the cheapest of all, however its rows are distributed."""


def distributions_served(key: Key) -> tuple[Key, ...]:
    """Return the required distributions that rows distributed by ``key`` satisfy: ``key`` and the
    empty one."""
    return (ANY_DISTRIBUTION, key) if key else (ANY_DISTRIBUTION,)


def is_better(best: dict[Key, DpEntry], key: Key, cost: int) -> bool:
    """Return whether an entry of this cost would be stored by :func:`keep_better`. It is cheap to
    ask before the entry is made."""
    known = best.get(ANY_DISTRIBUTION)
    if known is None or cost < known.cost:
        return True
    if not key:
        return False
    known = best.get(key)
    return known is None or cost < known.cost


def keep_better(best: dict[Key, DpEntry], key: Key, entry: DpEntry) -> None:
    """Store an entry under every distribution that it serves and for which it is the cheapest so
    far."""
    for served in distributions_served(key):
        known = best.get(served)
        if known is None or entry.cost < known.cost:
            best[served] = entry
