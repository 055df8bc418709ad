"""Finds plans within a byte budget, by the dynamic program of DISS and the greedy search.

The dynamic program (``diss``) says for every budget which set of chains is worth its bytes. Each of
these sets is a seed: the temporal search plans the day with those chains alone, shares what it can,
and tries a few more chains as long as the estimated bytes stay within those of the next seed. All
plans that were seen on the way are candidates if they fit, those of the search without a budget
too.

Which plans are looked at depends on the budget only by where the seeds end: more bytes never give
fewer candidates. So the cost of the cheapest candidate never rises with the budget.
"""

from __future__ import annotations

from itertools import pairwise

from forerun.planner.materialize.diss import BudgetStep, thinned
from forerun.planner.materialize.diss_actions import DissInput, steps_of
from forerun.planner.materialize.sharing import GreedySharing
from forerun.planner.temporal.extraction import ExtractedPlan
from forerun.planner.temporal.solution import ChainId

MOST_SEEDS = 8
"""The most seeds that are planned for one set of opened runs: those that save most."""
TRIES_PER_SEED = 3
"""How many more chains are tried with each seed."""


def plans_within(budget: int, day: DissInput, search: GreedySharing) -> list[ExtractedPlan]:
    """Return the plans seen that never hold more than ``budget`` bytes. The bytes of committed runs
    are there whether they fit or not: if they exceed the budget, a plan may use them but must add
    nothing."""
    held = day.footprint
    room = max(0, budget - held.committed)
    seeds = thinned(steps_of(day), MOST_SEEDS)
    for seed, after in pairwise((*seeds, None)):
        if seed is not None and seed.bytes <= room:
            _grow(day, search, seed, after.bytes if after is not None else seed.bytes)
    return [plan for plan in search.seen if held.most(plan) <= held.committed + room]


def _grow(day: DissInput, search: GreedySharing, seed: BudgetStep[ChainId], limit: int) -> None:
    """Plan with a seed, then try a few more chains, one at a time within ``limit`` bytes, and go on
    from each that makes the plan cheaper."""
    kept, size = seed.kept, seed.bytes
    best = search.with_chains(kept)
    tries = TRIES_PER_SEED
    for more in search.costliest_first(day.near):
        if tries <= 0 or best is None:
            return
        larger = size + day.footprint.chain(more, day.near.spans, committed=more in day.committed)
        if more in kept or larger > limit:
            continue
        tries -= 1
        found = search.with_chains(kept | {more})
        if found is not None and found.total < best.total:
            best, kept, size = found, kept | {more}, larger
