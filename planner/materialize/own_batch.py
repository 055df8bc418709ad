"""Batch in stages of our own: where it may take the place of the user's text, and what it costs."""

from __future__ import annotations

from forerun.planner.cost.constants import CLEAREST
from forerun.planner.cost.prices import Prices
from forerun.planner.materialize.checkpoints import checkpoints, until_done
from forerun.planner.materialize.objective import PlanComparison
from forerun.planner.materialize.stage_prices import stage_prices
from forerun.planner.request import PlanRequest
from forerun.planner.temporal.alternatives import AlternativeEnumerator
from forerun.planner.temporal.extraction import ExtractedPlan
from forerun.planner.temporal.space import Space

_METHODS = {"cost": ("auto",), "always": ("auto", "batch"), "never": ()}
"""The methods for which it is planned at all, by the setting."""


def is_a_choice(request: PlanRequest) -> bool:
    """Return whether own batch is a choice: not in a day that has begun early, nor where early runs
    give a result, nor by cost on an engine whose prices do not tell."""
    settings = request.settings
    if settings.own_batch == "cost" and not settings.prices.own_batch:
        return False
    begun = request.committed or PlanComparison(request).early_results
    return request.method in _METHODS[settings.own_batch] and not begun


def is_safer(
    request: PlanRequest,
    plan: ExtractedPlan,
    space: Space,
    alternatives: AlternativeEnumerator,
    text: float,
) -> bool:
    """Return whether own batch is clearly cheaper than a text of this cost by what both take until
    they are done, where runs are ended from outside: the text has no checkpoints."""
    interruptions = request.settings.interruptions
    if not interruptions:
        return False
    priced = alternatives.at_prices(own_batch_prices(request))
    (found,) = checkpoints(plan, space, priced, interruptions).values()
    return found.expected < CLEAREST * until_done(text, interruptions)


def own_batch_prices(request: PlanRequest) -> Prices:
    """Return the prices of own batch. It reads nothing that is kept, so each small side of its
    joins is computed and counted before the stage."""
    prices = stage_prices(request).from_sources()
    return prices.with_counted_sides() if request.settings.small_sides else prices
