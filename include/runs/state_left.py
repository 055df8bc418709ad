"""Plan what a final run leaves for what comes after it: state as of the whole day, where that is
expected to pay.

A final run keeps nothing by itself, since nothing of its day comes after it. Whoever expects
corrections says how many (:class:`forerun.include.reports.run_policy.RunPolicy`,
``expected_repairs``), and of a rolling range the next day comes (``inherit_days``). The final run
is then planned once more with one time point after it, with the result wanted at both: a repair
that brings a few rows, at the price of the final run times the repairs that are expected; or the
next day, which brings a day's rows and takes those of the oldest one back, at the price of the
final run. That is the problem of the day itself (Tempura, section 2.1), so the cost decides what is
kept. Of the plan the final run is taken; what comes after is planned when it is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from forerun.include.reports.spec import ReportSpec
from forerun.planner.api import PlanResult, plan
from forerun.planner.contract import ArtifactOutput, Plan, ResultOutput
from forerun.planner.contract.plan_v1 import stated
from forerun.planner.request import PlanRequest, Source, TimePoint

_REPAIRED = 0.001
"""How many rows a repair is expected to bring, as a share of those of the day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """One more time point after a final run, ``times`` as heavy as that. ``brings``: by source, how
    many rows come, or go, as a share of those of the day; of ``rolling`` ones some go each day.
    ``is_certain``: it does come. ``others``: sources of which it has other rows, so what is made of
    them is of no use to it."""

    times: float
    brings: Mapping[str, float]
    rolling: frozenset[str] = frozenset()
    is_certain: bool = False
    others: frozenset[str] = frozenset()


def with_state_left(request: PlanRequest, result: PlanResult, following: Following | None) -> Plan:
    """Return the plan of a final run that also keeps what would save more in what follows it; the
    plan as it is where keeping more does not pay, or where the day is batch.

    For repairs, which may never come, no final run is planned that would cost more than batch. Days
    do come, and each may be computed by itself. Only the cheapest plan for the weighted sum of
    costs is looked at.
    """
    found, last = result.plan, len(request.points)
    whole_sum = request.problem.objective == "weighted-sum" and request.method != "batch"
    may_keep = whole_sum and (found.method == "incremental" or (following and following.is_certain))
    if following is None or request.current != last or not may_keep:
        return found
    kept = plan(_with_one_more(request, following)).plan
    run = kept.runs[request.own_run(last) - 1]
    if following.is_certain:
        more = run.estimated_cost - found.run.estimated_cost
        saved = result.decision.late.by_run[-1] - kept.runs[-1].estimated_cost
        costly = more >= saved * following.times
    else:
        costly = run.estimated_cost > result.decision.batch.by_run[-1]
    written = {s.output.family for s in run.stages if isinstance(s.output, ArtifactOutput)}
    left = [family for family in kept.kept if family.id in written]
    usable = any(following.others.isdisjoint(family.sources) for family in left)
    if costly or not usable or kept.method != "incremental":
        return found
    stages = tuple(
        replace(stage, title="the report") if isinstance(stage.output, ResultOutput) else stage
        for stage in run.stages
    )
    own = replace(run, stages=stages, early_result=False)
    runs = (*kept.runs[: request.own_run(last) - 1], own)
    weighted = stated(found.estimated_cost * run.estimated_cost / max(1, found.run.estimated_cost))
    return replace(
        kept,
        # Checkpoints are of one run, and the one that follows is none of the day.
        families=tuple(f for f in kept.families if f.id in written or f in kept.kept),
        # Of their own day: what follows is none of it.
        runs=tuple(replace(r, arrived=f.arrived) for r, f in zip(runs, found.runs, strict=True)),
        estimated_cost=weighted,
        batch_cost=found.batch_cost,
    )


def following_of(request: PlanRequest, spec: ReportSpec, heirs: int) -> Following | None:
    """Return what is expected to come after the final run of a report's day; None for nothing.
    ``heirs``: how many days in a row may still inherit."""
    policy = spec.policy
    if heirs > 0:
        rolling = frozenset(s.name for s in spec.sources if spec.takes_back(s))
        # As many rows go of those as come, and both are computed alike.
        brings = {
            s.name: share * (2 if s.name in rolling else 1)
            for s in spec.sources
            if (share := spec.moves_by(s))
        }
        daily = (s.name for s in spec.sources if s.tells_days and s.name not in brings)
        return Following(
            times=heirs,
            brings=brings,
            rolling=rolling,
            is_certain=True,
            others=frozenset(daily),
        )
    if policy.expected_repairs:
        growing = (source.name for source in request.sources if source.changing)
        return Following(times=policy.expected_repairs, brings=dict.fromkeys(growing, _REPAIRED))
    return None


def _with_one_more(request: PlanRequest, following: Following) -> PlanRequest:
    """The same request with one more time point, at which more has come."""
    growing = [source.name for source in request.sources if source.changing]
    points = []
    for point in request.points:
        shares = {name: _share(request, following, name, point.fraction(name)) for name in growing}
        arrived = sum(shares.values()) / len(shares) if shares else point.arrived
        points.append(replace(point, arrived=arrived, by_source=tuple(shares.items())))
    last = points[-1]
    results = (*request.problem.results_at, len(points))
    return replace(
        request,
        points=(*points, TimePoint(weight=last.weight * following.times)),
        sources=tuple(_larger(request, source, following) for source in request.sources),
        problem=replace(request.problem, results_at=tuple(dict.fromkeys(results))),
    )


def _share(request: PlanRequest, following: Following, name: str, share: float) -> float:
    """Return which part of the rows of a source, with those that follow, is there at a time point
    at which ``share`` of those of the day is. What this day takes back counts as it does in the
    next one, so that both choose alike: as if it came."""
    brings = following.brings.get(name, 0.0)
    if name not in following.rolling or not request.runs_before:
        return share / (1.0 + brings)
    earlier = request.points[0].fraction(name)
    came = (share - earlier) / (1.0 - earlier) if earlier < 1.0 else 1.0
    return (1.0 + brings * came) / (1.0 + 2 * brings)


def _larger(request: PlanRequest, source: Source, following: Following) -> Source:
    share = following.brings.get(source.name, 0.0)
    if not source.changing or not share:
        return source
    goes_on = source.name in following.rolling and bool(request.runs_before)
    more = 1.0 + share * (1 + goes_on)
    rows, size = round(source.rows * more), round(source.bytes * more)
    return replace(source, rows=rows, bytes=size, retracted=0.0 if goes_on else source.retracted)
