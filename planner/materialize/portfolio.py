"""The best plan of one method, and the best of all: together, some of them alone, and batch.

The greedy search over all methods starts from what the temporal search finds by itself, and may end
where no single change helps although another set of kept snapshots would. What a method keeps that
limits what may be kept, as continuous views do, is such a set. So each of these is planned alone
too, the search over all methods goes on from what it keeps, and the cheapest plan of all is
returned. Methods that only have fewer rules search the same space again, with less of it: of 270
queries (TPC-H, TPC-DS, JOB) one was planned for 3 % less and one for 0.4 %, for twice the time.
Under a state budget, no method is planned alone: there are other seeds (``budget``), and what is
looked at must not depend on the budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from forerun.planner.algebra.describe import words_of
from forerun.planner.algebra.relational import Relation
from forerun.planner.contract.plan_v1 import ReliedForeignKey
from forerun.planner.exact.sums import ExactSums
from forerun.planner.materialize.artifacts import ArtifactFamilies, all_chains
from forerun.planner.materialize.candidate import Candidate, PlanDecision
from forerun.planner.materialize.opening import RunOpening, Seed
from forerun.planner.request import PlanRequest
from forerun.planner.rules.exploration import ExplorationScope, Explored, explore
from forerun.planner.rules.explore.catalog import EXPLORE, LastTwoRuns
from forerun.planner.rules.explore.small_values import magnitudes
from forerun.planner.rules.incremental import foreign_key
from forerun.planner.rules.methods import (
    appended_windows,
    recent_rows,
    split_windows,
    upcoming_rows,
)
from forerun.planner.rules.methods.catalog import AUTO, SINGLE
from forerun.planner.rules.methods.method import Method
from forerun.planner.temporal.group_sizes import GroupSizes, estimator
from forerun.planner.temporal.space import Space
from forerun.planner.tvr.signed import ColumnIds


@dataclass(frozen=True, slots=True)
class MethodPlanned:
    """The plan of a method, and the search space that it was found in. ``ids`` go on from those of
    the memo. ``spent`` names the budgets, as the settings call them, that ended a search early."""

    method: Method
    explored: Explored
    space: Space
    group_sizes: GroupSizes
    families: ArtifactFamilies
    decision: PlanDecision
    ids: ColumnIds
    spent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComparedPlans:
    """The best plan and what it was compared with.

    ``alone`` names the methods that were planned alone, ``left_out`` those that were not because
    the budget of evaluations was spent. ``spent`` names the budgets, as the settings call them,
    that ended a search: with larger ones, the plan might be better.
    """

    best: MethodPlanned
    alone: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    evaluations: int = 0
    spent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MethodPlan:
    """The best plan of one method alone and, in words, what it keeps; or why the method does not
    apply."""

    method: Method
    candidate: Candidate | None = None
    keeps: tuple[str, ...] = ()
    why_not: str = ""


def growing_sources(request: PlanRequest) -> frozenset[str]:
    """Return the names of the sources that grow during the day."""
    return frozenset(source.name for source in request.sources if source.changing)


def retracting_sources(request: PlanRequest) -> frozenset[str]:
    """Return the names of the growing sources whose deliveries also retract rows."""
    growing = (source for source in request.sources if source.changing)
    return frozenset(source.name for source in growing if source.change == "changelog")


def ordered_columns(request: PlanRequest) -> frozenset[tuple[str, str]]:
    """Return the columns, each with its source, in whose order rows are declared to come."""
    growing = growing_sources(request) - retracting_sources(request)
    return frozenset(
        (s.name, s.ordered_by) for s in request.sources if s.ordered_by and s.name in growing
    )


def declared_keys(request: PlanRequest) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the keys that authors declare, by source, for the sources that have any."""
    return {source.name: source.keys for source in request.sources if source.keys}


def foreign_keys(request: PlanRequest) -> tuple[ReliedForeignKey, ...]:
    """Return the declared foreign keys between sources that only grow. Where a source takes rows
    back, a row may go whose key is named, and come again: nothing is known of what comes then."""
    only_grow = growing_sources(request) - retracting_sources(request)
    return tuple(
        ReliedForeignKey(source=source.name, key=one.key)
        for source in request.sources
        for one in source.foreign_keys
        if {source.name, one.key.parent} <= only_grow
    )


_IN_ORDER = frozenset(
    one.RULE.name for one in (appended_windows, recent_rows, split_windows, upcoming_rows)
)
"""The rules for sources whose rows are declared to come in an order."""

Relied = frozenset[tuple[str, str]]
"""The (source, column) pairs whose declared NOT NULL the normal form of a query depends on."""


def plan_alone(
    method: Method, relation: Relation, request: PlanRequest, ids: ColumnIds, relied: Relied
) -> MethodPlanned:
    """Return the best plan of a method. ``ids`` is not changed, so a method gives the same plan
    whatever else is planned."""
    return _MethodSearch(method, relation, request, ids, relied).planned()


def plan_best(
    relation: Relation, request: PlanRequest, ids: ColumnIds, relied: Relied
) -> ComparedPlans:
    """Return the cheapest plan of all methods together, of those that limit what may be kept, and
    batch."""
    together = _MethodSearch(AUTO, relation, request, ids, relied)
    best = together.planned()
    spent = best.decision.evaluations
    settled = request.settings.temporal == "early" or request.settings.state_budget is not None
    if settled or not together.runs.looked_at or _is_hopeless(best.decision):
        return ComparedPlans(best, evaluations=spent, spent=best.spent)
    searches, apart = [together], list[MethodPlanned]()
    left_out: list[str] = []
    for method in SINGLE:
        if method.keeps is None or method.why_not(relation, growing_sources(request)) is not None:
            continue
        if spent >= request.settings.compare:  # so it need not be explored either
            left_out.append(method.name)
            continue
        alone = _MethodSearch(method, relation, request, ids, relied)
        share = alone.expressions / together.expressions
        if spent + share * best.decision.evaluations > request.settings.compare:
            left_out.append(method.name)
            continue
        searches.append(alone)
        apart.append(alone.planned())
        spent += apart[-1].decision.evaluations
    seeds = tuple(seed for one in apart for seed in _seeds(one, best))
    best = together.planned(seeds)
    for one in apart:
        if one.decision.chosen.rank < best.decision.chosen.rank:
            best = one
    if best.decision.chosen.is_batch and not request.committed:
        others = [one.from_the_other_end() for one in searches]
        best = min(others, key=lambda one: one.decision.chosen.rank)
    names = tuple(one.method.name for one in apart)
    spent = together.runs.evaluations + sum(one.decision.evaluations for one in apart)
    over = dict.fromkeys(name for one in (together.planned(), *apart) for name in one.spent)
    if left_out:
        over["compare"] = None
    return ComparedPlans(best, names, tuple(left_out), spent, tuple(over))


def _is_hopeless(decision: PlanDecision) -> bool:
    """Return whether no early work that was found costs less than none. Other searches find
    plans that are at most a few hundredths cheaper, and early work has to be clearly cheaper
    than batch. Where nothing was found to keep, no single thing may repay its run and stage, and
    what a method keeps together may."""
    early = [one for one in (decision.chosen, *decision.rejected) if not one.is_batch]
    return bool(early) and all(one.rank >= decision.late.rank for one in early)


def plans_by_method(
    relation: Relation, request: PlanRequest, ids: ColumnIds, relied: Relied
) -> tuple[MethodPlan, ...]:
    """Return what each method gives when it is asked for by name, as for the plan of a day."""
    result = []
    for method in SINGLE:
        why_not = method.why_not(relation, growing_sources(request))
        if why_not is not None:
            result.append(MethodPlan(method, why_not=str(why_not)))
            continue
        asked = replace(request, method=method.name)
        alone = plan_alone(method, relation, asked, ids, relied)
        result.append(MethodPlan(method, alone.decision.chosen, tuple(_kept(alone))))
    return tuple(result)


def _kept(one: MethodPlanned) -> list[str]:
    """Describe what a plan keeps, each family once."""
    chosen = one.decision.chosen.extracted
    used = sorted(chosen.used) if chosen is not None else []
    return list(dict.fromkeys(one.families.family(kept, 0).title for kept, _ in used))


class _MethodSearch:
    """The memo of one method and the search over it, which can be continued."""

    def __init__(
        self,
        method: Method,
        relation: Relation,
        request: PlanRequest,
        ids: ColumnIds,
        relied: Relied,
    ) -> None:
        off, named = request.settings.left_out, foreign_keys(request)
        ordered = ordered_columns(request)
        off |= frozenset() if named else {foreign_key.RULE.name}  # it would be tried for nothing
        off |= frozenset() if ordered else _IN_ORDER
        self._method = method
        self._ids = ids.fork()
        batch = request.method == "batch" and request.settings.own_batch != "always"
        trees = () if batch else tuple(tree for tree in EXPLORE if tree.name not in off)
        rules = tuple(rule for rule in method.rules if rule.name not in off)
        scope = ExplorationScope(
            growing_sources(request),
            retracting_sources(request),
            _last_two_runs(request),
            request.settings.explore,
            declared_keys(request),
            named,
            request.repairable,
            magnitudes(request.sources),
            ordered,
            frozenset(source.name for source in request.sources if source.panes),
        )
        self._explored = explore(relation, scope, trees, rules, self._ids)
        self._space = Space(
            self._explored.memo,
            self._explored.root,
            method.keeps,
            placed_unions=request.settings.prices.placed_unions,
            buckets=request.settings.prices.buckets,
        )
        self._group_sizes = GroupSizes(self._explored.memo, request)
        self._families = ArtifactFamilies(
            self._space, self._group_sizes, request, words_of(relation)
        )
        self._group_sizes.learn(self._families.observed())
        self.runs = RunOpening(
            self._space,
            self._group_sizes,
            self._families,
            request,
            relied,
            ExactSums(relation, request.sources, self._ids.fork()),
        )
        self._decision: PlanDecision | None = None

    @property
    def expressions(self) -> int:
        """Return how many expressions the memo has: the work of the search grows with them."""
        return len(self._explored.memo.expressions)

    def planned(self, seeds: tuple[Seed, ...] = ()) -> MethodPlanned:
        """Return the best plan. With ``seeds``, the search goes on from what other plans keep."""
        if self._decision is None:
            self._decision = self.runs.decide()
        if seeds:
            self._decision = self.runs.improve(self._decision, seeds)
        return self._planned(self._decision)

    def from_the_other_end(self) -> MethodPlanned:
        """Return the plan after a second search that starts with everything kept that can be."""
        self._decision = self.runs.from_the_other_end(self.planned().decision)
        return self._planned(self._decision)

    def _planned(self, decision: PlanDecision) -> MethodPlanned:
        return MethodPlanned(
            self._method,
            self._explored,
            self._space,
            self._group_sizes,
            self._families,
            decision,
            self._ids,
            tuple(self._spent()),
        )

    def _spent(self) -> Iterator[str]:
        if self._explored.trace.spent:
            yield "explore"
        if self.runs.cut:
            yield "tries"


def _last_two_runs(request: PlanRequest) -> LastTwoRuns | None:
    """Return estimators for the last two runs as the day was forecast first, so that joins keep
    their orders all day; None if the day has one run only."""
    sources = request.first_sources or request.sources
    if len(request.points) < 2:
        return None
    before, after = (estimator(sources, point) for point in request.points[-2:])
    return before, after


def _seeds(one: MethodPlanned, other: MethodPlanned) -> Iterator[Seed]:
    """Yield what the plan of one method keeps, as chains of another one's memo."""
    chosen = one.decision.chosen.extracted
    if chosen is None:
        return
    known = {other.families.fingerprint(kept, 0): kept for kept in all_chains(other.space)}
    found = ((one.families.fingerprint(kept, 0), index) for kept, index in chosen.used)
    kept = frozenset((known[digest], index) for digest, index in found if digest in known)
    yield Seed(one.decision.chosen.opened, kept)
