"""Plans the reports of a group together: at which time points their application is opened.

The reports of a group share applications: at each time point there is one, for all reports that
have work then. So what opening it costs is charged once, and whether a time point is
worth it is for all reports to decide together. A report's best plan for a set of opened runs does
not depend on what opening them costs; its planner has found one for every set that may pay. The
search goes over sets of time points, and for each takes every report's cheapest plan that needs no
others. The time points at which results are given are in every set: with no others, it is batch for
the group, all queries in one application.

Sharing what runs have in common while reports keep their own deadlines: iShare (Tang et al., SIGMOD
2021) and section 2.1 of Tempura; here, reports share starts. Sub-plans that queries have in common
were shared, too, and dropped: by whole processes that saved nothing (docs/lab/groups.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from forerun.planner import api
from forerun.planner.algebra.relational import Join, walk
from forerun.planner.cost.constants import CLEARLY
from forerun.planner.cost.prices import Prices
from forerun.planner.errors import ForerunError
from forerun.planner.gc_pause import without_collecting
from forerun.planner.materialize.candidate import Candidate
from forerun.planner.nesting import room_for_nesting
from forerun.planner.request import PlanRequest
from forerun.planner.result import PlanResult

_ALL_SETS_UP_TO = 6
"""So many time points may be opened or not before only sets of the cheapest ones are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A report of a group, as it is to be planned: its request, and the group's time point of each
    of its runs, in order. Time points are numbered from 1 in the order of time."""

    request: PlanRequest
    points: tuple[int, ...]

    @property
    def of_group(self) -> PlanRequest:
        """The request with the prices of applications that are shared. All sets of runs are
        searched: what is second best for a report may be best for the group."""
        settings = self.request.settings
        early = settings.early_prices
        asked = replace(
            settings,
            prices=settings.prices.in_group(),
            early_prices=None if early is None else early.in_group(),
            all_sets=True,
        )
        return replace(self.request, settings=asked)

    def is_elsewhere(self, point: int) -> bool:
        """Return whether another engine than that of the final run does its run at a time point."""
        return self.points.index(point) + 1 in self.request.early_runs

    def prices_at(self, point: int) -> Prices:
        """The prices of the engine that does its run at a time point."""
        return self.request.prices_of(self.points.index(point) + 1)

    def at(self, one: Candidate) -> frozenset[int]:
        """The time points at which a plan of the report does anything."""
        return frozenset(self.points[run - 1] for run in one.opened)


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The plans of a group's reports, in the order of its members. A member that cannot be planned
    has its error here; the other members are planned without it.

    ``opened``: the time points with an application. ``cost`` is the weighted cost of all, ``batch``
    that of all queries in one application for each time point that gives results, in millionths of
    a CPU second.
    """

    results: tuple[PlanResult | ForerunError, ...]
    opened: tuple[int, ...] = ()
    cost: float = 0.0
    batch: float = 0.0


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of a report: its planned result, and the candidates to choose among."""

    member: Member
    found: PlanResult
    candidates: tuple[Candidate, ...]

    def cold(self, prices: Prices) -> float:
        """Return what the starts of a stage with all joins of the query cost in an application of
        its own, in millionths of a CPU second."""
        joins = sum(isinstance(node, Join) for node in walk(self.found.relation))
        return prices.stage_start + joins * prices.join_start

    def best(self, points: frozenset[int]) -> Candidate:
        """The cheapest candidate that does nothing at other time points. There always is one where
        these are among them: batch."""
        possible = [one for one in self.candidates if self.member.at(one) <= points]
        return min(possible, key=lambda one: (one.rank, one.opened))


def whole_days(requests: Iterable[PlanRequest]) -> tuple[Member, ...]:
    """Reports of a group that all have a run at each of its time points."""
    return tuple(
        Member(request=request, points=tuple(range(1, len(request.points) + 1)))
        for request in requests
    )


@without_collecting()
@room_for_nesting()
def plan_group(members: Sequence[Member]) -> GroupPlan:
    """Plan the rest of a day of all reports of a group together.

    A report that was asked for by a method other than ``auto`` gets it, and the time points that it
    takes are open for all. Raises nothing for what a single report's planning raises.
    """
    results: list[PlanResult | ForerunError] = []
    options: list[_Options] = []
    for member in members:
        try:
            found = api.plan(member.of_group)
        except ForerunError as error:
            results.append(error)
            continue
        results.append(found)
        options.append(_Options(member, found, tuple(_candidates(found))))
    if not options:
        return GroupPlan(tuple(results))
    needed: frozenset[int] = frozenset().union(*map(_needed, options))
    chosen = _cheapest(options, needed)
    place = iter([_planned(one, chosen) for one in options])
    planned = [one if isinstance(one, ForerunError) else next(place) for one in results]
    return _group_plan(options, planned, needed)


def _candidates(found: PlanResult) -> Iterator[Candidate]:
    """Yield what may be chosen: the plan that was, and where it is for the cost to decide, batch
    and what is clearly cheaper."""
    decision = found.decision
    yield decision.chosen
    if found.request.method != "auto" or found.request.settings.temporal == "early":
        return
    if not decision.chosen.is_batch:
        yield decision.late
    yield from (one for one in decision.rejected if one.is_worth_it(decision.late))


def _needed(options: _Options) -> frozenset[int]:
    """The time points that have to be open for a report, whatever it does: for its results at
    least."""
    return frozenset.intersection(*map(options.member.at, options.candidates))


def _cheapest(options: Sequence[_Options], needed: frozenset[int]) -> frozenset[int]:
    """The set of time points that costs the least; more than the needed ones only if that is
    clearly cheaper."""
    wanted = {p for one in options for c in one.candidates for p in one.member.at(c)}
    prices = _prices(options)
    sets = _sets(sorted(wanted - needed, key=lambda point: (prices[point], point)))
    costs = {needed | extra: _cost(options, needed | extra) for extra in sets}
    best = min(costs, key=lambda points: (costs[points], sorted(points)))
    return best if _is_clearly_cheaper(options, best, needed) else needed


def _is_clearly_cheaper(
    options: Sequence[_Options], points: frozenset[int], needed: frozenset[int]
) -> bool:
    """Return whether opening ``points`` beats ``needed`` by the no-regret margin, measured only on
    the reports whose plan changes."""
    otherwise = [one for one in options if one.best(points) is not one.best(needed)]
    before = sum(one.best(needed).total for one in otherwise)
    after = sum(one.best(points).total for one in otherwise)
    extra = _starts(options, points) - _starts(options, needed)
    return after + extra < CLEARLY * before


def _sets(free: Sequence[int]) -> Iterator[frozenset[int]]:
    """Yield sets of time points, given in the order of their prices."""
    if len(free) <= _ALL_SETS_UP_TO:
        for count in range(len(free) + 1):
            yield from map(frozenset, combinations(free, count))
    else:
        yield from (frozenset(free[:count]) for count in range(len(free) + 1))


def _cost(options: Sequence[_Options], points: frozenset[int]) -> float:
    return _starts(options, points) + sum(one.best(points).total for one in options)


def _starts(options: Sequence[_Options], points: frozenset[int]) -> float:
    """The weighted cost of the applications if these time points are open."""
    chosen = [(one, one.member.at(one.best(points))) for one in options]
    return _applications(options, points, chosen)


def _applications(
    options: Sequence[_Options],
    points: Iterable[int],
    chosen: Iterable[tuple[_Options, frozenset[int]]],
) -> float:
    """The weighted cost of the applications at each of these time points, one of each engine, for
    the reports that do anything there."""
    prices, chosen = _prices(options), tuple(chosen)
    cost = 0.0
    for point in points:
        by_engine: dict[bool, list[tuple[Prices, float]]] = {}
        for one in (one for one, at in chosen if point in at):
            member, engine = one.member, one.member.prices_at(point)
            priced = by_engine.setdefault(member.is_elsewhere(point), [])
            priced.append((engine, one.cold(engine)))
        if not by_engine:  # it is opened for nothing
            own = (one.member.request.settings.prices for one in options)
            cost += prices[point] * max(each.application(()) for each in own)
        for priced in by_engine.values():
            cold = [each for _, each in priced]
            cost += prices[point] * max(engine.application(cold) for engine, _ in priced)
    return cost


def _prices(options: Iterable[_Options]) -> Mapping[int, float]:
    """The price of compute at each time point: the highest that a report gives for it."""
    found: dict[int, float] = {}
    for one in options:
        member = one.member
        for point, time in zip(member.points, member.request.points, strict=True):
            found[point] = max(found.get(point, 0.0), time.weight)
    return found


def _planned(options: _Options, points: frozenset[int]) -> PlanResult:
    """The report's plan if only these time points are open. Where that is not the one which was
    found first, it is planned again, so that it has its stages."""
    best = options.best(points)
    if best is options.found.decision.chosen:
        return options.found
    member = options.member
    may_open = member.request.may_open
    allowed = tuple(
        run
        for run, point in enumerate(member.points, 1)
        if point in points and (may_open is None or run in may_open)
    )
    return api.plan(replace(member.of_group, may_open=allowed))


def _group_plan(
    options: Sequence[_Options],
    planned: Sequence[PlanResult | ForerunError],
    needed: frozenset[int],
) -> GroupPlan:
    """Add up what was planned."""
    found = [one for one in planned if isinstance(one, PlanResult)]
    decisions, plans = [one.decision for one in found], [one.plan for one in found]
    chosen = [
        (one, one.member.at(decision.chosen))
        for one, decision in zip(options, decisions, strict=True)
    ]
    opened: frozenset[int] = frozenset().union(*(at for _, at in chosen))
    return GroupPlan(
        results=tuple(planned),
        opened=tuple(sorted(opened)),
        cost=_applications(options, opened, chosen) + sum(plan.estimated_cost for plan in plans),
        batch=_starts(options, needed) + sum(one.batch.total for one in decisions),
    )
