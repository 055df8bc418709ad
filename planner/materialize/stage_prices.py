"""The prices of work in stages of our own, and in the user's text, which is written otherwise."""

from __future__ import annotations

from dataclasses import replace

from forerun.planner.cost.prices import Prices
from forerun.planner.request import PlanRequest
from forerun.planner.temporal.alternatives import AlternativeEnumerator


def stage_prices(request: PlanRequest) -> Prices:
    """Return the prices of the stages of runs that give a result; sums of DECIMALs are exact sums
    in them."""
    return _in_stages(request, request.settings.prices)


def by_engine(request: PlanRequest, alternatives: AlternativeEnumerator) -> AlternativeEnumerator:
    """Return alternatives at the prices of a day's stages, in its early runs at those of the engine
    that does them."""
    early = request.settings.early_prices
    if early is None:
        return alternatives
    return alternatives.with_early(request.early_runs, _in_stages(request, early))


def _in_stages(request: PlanRequest, prices: Prices) -> Prices:
    return prices.with_exact_sums() if request.settings.exact_sums else prices


def text_prices(request: PlanRequest) -> Prices:
    """Return the prices of the user's own text, which may read more of nested columns."""
    beside = tuple((one.name, one.beside) for one in request.sources if one.beside)
    return replace(request.settings.prices.of_text(), beside=beside)
