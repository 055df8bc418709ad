"""The prices of work in stages of our own, and in the user's text, which is written otherwise."""

from __future__ import annotations

from forerun.planner.cost.prices import Prices
from forerun.planner.request import PlanRequest


def stage_prices(request: PlanRequest) -> Prices:
    """Return the prices of a day's stages, whose sums of DECIMALs are exact sums."""
    prices = request.settings.prices
    return prices.with_exact_sums() if request.settings.exact_sums else prices


def text_prices(request: PlanRequest) -> Prices:
    """Return the prices of the user's own text."""
    return request.settings.prices.of_text()
