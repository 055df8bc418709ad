"""What work costs in stages of our own, which are not written as the user's text is."""

from __future__ import annotations

from planner.cost.prices import Prices
from planner.request import PlanRequest, Source


def stage_prices(request: PlanRequest) -> Prices:
    """Return the prices of a day's stages: sums of DECIMALs are exact sums where files have bounds
    (:mod:`planner.stages.exact_sums`)."""
    prices, settings = request.settings.prices, request.settings
    narrow = settings.exact_sums and all(_has_bounds(source) for source in request.sources)
    return prices.with_exact_sums() if narrow else prices


def _has_bounds(source: Source) -> bool:
    """Return whether the bounds of its DECIMALs are known, of one at least: a column may have none
    because it is NULL everywhere."""
    decimals = {column.name for column in source.columns if column.type.name == "DECIMAL"}
    known = {name for name, stats in source.stats if stats.minimum is not None}
    return not decimals or not decimals.isdisjoint(known)
