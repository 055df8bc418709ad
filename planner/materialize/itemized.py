"""The chosen plan with costs that know their work, for the stages that are handed out."""

from __future__ import annotations

from dataclasses import replace

from forerun.planner.cost.prices import Prices
from forerun.planner.cost.work import itemized
from forerun.planner.exact.sums import ExactSums
from forerun.planner.materialize.candidate import Candidate
from forerun.planner.materialize.own_batch import own_batch_prices
from forerun.planner.materialize.stage_prices import by_engine, stage_prices, text_prices
from forerun.planner.request import PlanRequest, Settings
from forerun.planner.temporal.alternatives import AlternativeEnumerator
from forerun.planner.temporal.extraction import ExtractedPlan
from forerun.planner.temporal.group_sizes import GroupSizes
from forerun.planner.temporal.itemized import itemized_plan
from forerun.planner.temporal.space import Space


def itemized_candidate(
    candidate: Candidate,
    request: PlanRequest,
    space: Space,
    group_sizes: GroupSizes,
    sums: ExactSums,
) -> Candidate:
    """Return a candidate whose plans are itemized. ``space``, ``group_sizes`` and ``sums`` are
    those that it was found with."""
    alternatives = itemized_alternatives(candidate, request, space, group_sizes, sums)

    def again(plan: ExtractedPlan) -> ExtractedPlan:
        return itemized_plan(space, plan, alternatives)

    return replace(
        candidate,
        extracted=None if candidate.extracted is None else again(candidate.extracted),
        text_plans=tuple(again(plan) for plan in candidate.text_plans),
    )


def itemized_alternatives(
    candidate: Candidate,
    request: PlanRequest,
    space: Space,
    group_sizes: GroupSizes,
    sums: ExactSums,
) -> AlternativeEnumerator:
    """Return the alternatives that a candidate was found among, at prices that know their work."""
    charged = replace(request, settings=_itemized(request.settings))
    prices = _prices(candidate, charged)
    alternatives = AlternativeEnumerator(space, group_sizes, prices=prices, sums=sums)
    return by_engine(charged, alternatives) if candidate.keeps else alternatives


def _itemized(settings: Settings) -> Settings:
    """Return settings with charges in the place of prices."""
    early = settings.early_prices
    return replace(
        settings,
        prices=itemized(settings.prices),
        early_prices=None if early is None else itemized(early),
    )


def _prices(candidate: Candidate, charged: PlanRequest) -> Prices:
    """Return the prices that a candidate was found by, as charges."""
    if candidate.is_text:
        return text_prices(charged)
    return stage_prices(charged) if candidate.keeps else own_batch_prices(charged)
