"""Plans within a byte budget: how the dynamic program and the greedy search meet.

The dynamic program (``diss``) says for every budget which set of chains is worth its bytes. Each of
these sets is a seed: the temporal search plans the day with those chains alone, shares what it can,
and a few chains are tried beside them, as long as the plan stays below the bytes of the next seed;
a change above that is refused unseen. All plans that were seen on the way, those of the search
without a budget too, are candidates if they fit.

What is looked at does not depend on the budget, but for where it ends: with more bytes there are
never fewer candidates. So the cost of the cheapest one never rises with the budget.
"""

from __future__ import annotations

from itertools import pairwise

from planner.materialize.actions import Day, steps_of
from planner.materialize.diss import Step, thinned
from planner.materialize.search import Search
from planner.temporal.chosen import Chosen
from planner.temporal.tables import Kept

MOST_SEEDS = 8
"""Sets of chains that are planned with, for one set of opened runs: those that save most."""
TRIES_PER_SEED = 3
"""Chains that are tried beside those of a seed."""


def plans_within(budget: int, day: Day, search: Search) -> list[Chosen]:
    """Plans that never hold more than ``budget`` bytes. What committed runs hold is there whether
    it fits or not: beyond the budget, a plan may use it, but adds nothing."""
    held = day.holdings
    room = max(0, budget - held.committed)
    seeds = thinned(steps_of(day), MOST_SEEDS)
    for seed, after in pairwise((*seeds, None)):
        if seed is not None and seed.bytes <= room:
            _grow(day, search, seed, after.bytes if after is not None else seed.bytes)
    return [plan for plan in search.seen if held.most(plan) <= held.committed + room]


def _grow(day: Day, search: Search, seed: Step[Kept], limit: int) -> None:
    """Plan with a seed, and greedily with one chain more as long as that is cheaper."""
    kept, size = seed.kept, seed.bytes
    best = search.with_chains(kept)
    tries = TRIES_PER_SEED
    for more in search.dear_first(day.near):
        if tries <= 0 or best is None:
            return
        larger = size + day.holdings.chain(more, day.near.spans, committed=more in day.committed)
        if more in kept or larger > limit:
            continue
        tries -= 1
        found = search.with_chains(kept | {more})
        if found is not None and found.total < best.total:
            best, kept, size = found, kept | {more}, larger
