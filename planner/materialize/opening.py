"""Decides which early runs are opened: the outer loop over sets of runs, each at a fixed cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from forerun.planner.cost.constants import CLEARLY
from forerun.planner.exact.sums import ExactSums
from forerun.planner.materialize.artifacts import ArtifactFamilies
from forerun.planner.materialize.budget import plans_within
from forerun.planner.materialize.candidate import Candidate, PlanDecision, in_order
from forerun.planner.materialize.declaration_checks import DeclarationChecks
from forerun.planner.materialize.diss_actions import DissInput
from forerun.planner.materialize.footprint import Footprint
from forerun.planner.materialize.no_regret import NoRegretLimit
from forerun.planner.materialize.objective import PlanComparison
from forerun.planner.materialize.opened_sets import OpenedSets
from forerun.planner.materialize.own_batch import is_a_choice, is_safer, own_batch_prices
from forerun.planner.materialize.searched_sets import Searched, SearchedSets
from forerun.planner.materialize.sharing import GreedySharing
from forerun.planner.materialize.stage_prices import by_engine, stage_prices, text_prices
from forerun.planner.request import PlanRequest
from forerun.planner.temporal.alternatives import AlternativeEnumerator
from forerun.planner.temporal.as_of import Span
from forerun.planner.temporal.extraction import ExtractedPlan, extract_plan
from forerun.planner.temporal.group_costs import DpProblem
from forerun.planner.temporal.group_sizes import GroupSizes
from forerun.planner.temporal.solution import ChainTerms, Partition
from forerun.planner.temporal.solve import Solver
from forerun.planner.temporal.space import Space
from forerun.planner.temporal.uncertainty import Uncertainty


@dataclass(frozen=True, slots=True)
class Seed:
    """Partitions that may be worth sharing together if these runs are opened."""

    opened: tuple[int, ...]
    kept: frozenset[Partition]


class RunOpening:
    """Searches for the best plan of the runs that are left of a day."""

    def __init__(
        self,
        space: Space,
        group_sizes: GroupSizes,
        families: ArtifactFamilies,
        request: PlanRequest,
        relied: frozenset[tuple[str, str]] = frozenset(),
        sums: ExactSums | None = None,
    ) -> None:
        """``relied``: the (source, column) pairs whose declared NOT NULL plans depend on."""
        self._checks = DeclarationChecks(request, relied)
        self._space = space
        self._families = families
        self._request = request
        self._last = len(request.points)
        self._base = request.committed[-1].index if request.committed else 0
        self._comparison = PlanComparison(request)
        self._weights = self._comparison.weights
        self._group_sizes = group_sizes
        committed = sum(run.bytes for run in request.committed)
        self._footprint = Footprint(space, group_sizes, committed)
        self._budget = request.settings.state_budget
        self._alternatives = by_engine(
            request,
            AlternativeEnumerator(space, group_sizes, prices=stage_prices(request), sums=sums),
        )
        self._of_batch = 0
        self._no_regret: NoRegretLimit | None = None
        self._searches: list[tuple[tuple[int, ...], GreedySharing]] = []
        self._work = 0.0

    @property
    def _has_views(self) -> bool:
        """Return whether committed runs have stored anything that can be read."""
        return bool(self._request.committed)

    @property
    def _terms(self) -> ChainTerms:
        return ChainTerms(
            late=self._request.method != "progressive",  # each of its early runs has work
            read_only=frozenset(self._families.read_only),
        )

    @property
    def looked_at(self) -> bool:
        """Return whether any early work was searched for."""
        return bool(self._searches)

    @property
    def cut(self) -> bool:
        """Return whether any search for shared partitions ended because its tries were spent."""
        return any(search.cut for _, search in self._searches)

    @property
    def evaluations(self) -> int:
        """Return how many alternatives were costed so far, those of batch included."""
        return self._of_batch + sum(search.evaluations for _, search in self._searches)

    def decide(self) -> PlanDecision:
        """Choose the cheapest candidate that is clearly cheaper than batch and whose final run
        costs no more; else batch. If a method is asked for by name or early work is forced, its
        plan is chosen even where it does not pay, and batch only where there is none."""
        request = self._request
        batch = self._batch()
        late, refused = self._late(batch)
        self._work = late.by_run[-1] - self._starts((self._last,))[0]
        at_the_end = request.current == self._last and not self._has_views
        may_keep = self._budget != 0 or bool(request.committed)
        if request.method == "batch" or at_the_end or not may_keep:
            return PlanDecision(late, batch, late, refused, self.evaluations, False, self._budget)
        early = request.settings.temporal == "early"
        candidates = self._candidates(early, None if early else late)
        searched = len(self._searches)
        if not candidates and request.method == "progressive":
            # Early work does not pay here, but early runs were asked for.
            candidates = self._but_for_starts() or self._candidates(True, None)
        worth = [one for one in candidates if one.is_worth_it(late)]
        if request.method not in ("auto", "progressive") and not early and not worth:
            # Early work does not pay here, but a method was asked for by name.
            candidates = self._candidates(False, None) or self._candidates(True, None)
        seen = (*candidates, late, *refused)
        if request.method == "auto" and not early:
            candidates = worth or [late]
        elif request.method != "progressive" and not early:
            candidates = worth or candidates
        best = min(candidates, key=in_order, default=late)
        rejected = tuple(one for one in seen if one is not best)
        spent = self.evaluations
        return PlanDecision(best, batch, late, rejected, spent, True, self._budget, searched)

    def from_the_other_end(self, decision: PlanDecision) -> PlanDecision:
        """Search again from everything kept that can be: the first search may have ended where no
        single change helps. Returns the decision for the best plan found that is worth choosing
        over batch; if there is none, for the old choice."""
        found = self._candidates(True, decision.late)
        worth = [one for one in found if one.is_worth_it(decision.late)]
        best = min(worth, key=in_order, default=decision.chosen)
        others = (decision.chosen, *decision.rejected, *found)
        rejected = tuple(one for one in others if one is not best)
        return replace(decision, chosen=best, rejected=rejected, evaluations=self.evaluations)

    def improve(self, decision: PlanDecision, seeds: Sequence[Seed]) -> PlanDecision:
        """Search on from what other plans keep. Returns the decision unchanged but for its counts,
        or one with a cheaper choice."""
        late, searches = decision.late, dict(self._searches)
        best: tuple[GreedySharing, Candidate] | None = None
        for seed in seeds:
            search = searches.get(seed.opened)
            found = None if search is None else search.sharing(seed.kept)
            if search is None or found is None or not found.keeps:
                continue
            one = self._candidate(seed.opened, found, *found.by_run)
            limit = decision.chosen if best is None else best[1]
            if one.rank < limit.rank and one.is_worth_it(late):
                best = (search, one)
        if best is None or best[1].extracted is None:
            return replace(decision, evaluations=self.evaluations)
        search, first = best
        improved = search.better(best[1].extracted)
        better = self._candidate(first.opened, improved, *improved.by_run)
        chosen = better if improved.keeps and better.is_worth_it(late) else first
        rejected = (decision.chosen, *decision.rejected)
        return replace(decision, chosen=chosen, rejected=rejected, evaluations=self.evaluations)

    def _but_for_starts(self) -> list[Candidate]:
        """Return what would be the best plan if starting stages and joins cost nothing, at what it
        does cost: of a small day, that is what speaks against early work. It has work in each of
        its early runs."""
        searches = dict(self._searches)
        free = self._alternatives.without_starts()
        found = []
        for one in self._candidates(False, None, free):
            search = searches.get(one.opened)
            if search is None or one.extracted is None:
                continue
            plan = search.sharing(one.extracted.used)
            early = set(range(len(one.opened) - 1))
            if plan is not None and plan.keeps and early <= {index for _, index in plan.used}:
                found.append(self._candidate(one.opened, plan, *plan.by_run))
        return found

    def _candidates(
        self,
        forced: bool,
        batch: Candidate | None,
        alternatives: AlternativeEnumerator | None = None,
    ) -> list[Candidate]:
        """Return the best plan for each set of opened runs, if it keeps anything; the best of them
        is improved. With ``forced``, whatever can be kept is kept. With ``batch``, only sets of
        runs that may pay are searched, and only a plan that is already cheaper than batch is
        improved."""
        forced_groups = self._space.makeable_by_step() if forced else frozenset()
        alternatives = alternatives or self._alternatives.forcing(forced_groups)
        sets = OpenedSets(self._request, self._work, self._space.sources)
        done = SearchedSets()
        found: list[Candidate] = []
        for size, of_size in sets.by_size():
            before = min(one.rank for one in found) if found else None
            for opened in of_size:
                if batch is not None and not self._may_pay(opened, batch):
                    continue
                searched = self._begin(opened, alternatives, done)
                found = done.lean(found, batch)  # what both begin with was taken over
                chosen = searched.search.first()
                done.add(searched)
                if chosen is not None:
                    found.append(self._candidate(opened, chosen, *chosen.by_run))
            if sets.may_end(size) and found and min(one.rank for one in found) == before:
                break
        found = done.lean(found, batch)
        first = min(found, key=in_order, default=None)
        if first is not None and (batch is None or first.rank < batch.rank):
            better = self._improved(first, batch, done.of(first.opened).search)
            found = [better if one is first else one for one in found]
        if self._budget is not None:
            asked, fitting, found = None if forced else batch, SearchedSets(), []
            for searched in done:
                fitting.add(searched)
                found += self._within(self._budget, searched, alternatives, asked)
                found = fitting.lean(found, asked)
        return [one for one in found if one.keeps]

    def _begin(
        self, opened: tuple[int, ...], alternatives: AlternativeEnumerator, done: SearchedSets
    ) -> Searched:
        """Make a search for the best plan that opens these runs. It goes on from what was found for
        a set that begins with the same runs."""
        spans, near = self._spans(opened), done.nearest(self._spans(opened))
        solver = Solver(
            DpProblem(
                space=self._space,
                alternatives=alternatives,
                spans=spans,
                weights=self._weights,
                committed=self._families.committed | self._terms.read_only,
                twins=self._families.twins,
                terms=self._terms,
            ),
            near=None if near is None else near.listed,
        )
        search = GreedySharing(
            self._space,
            solver,
            self._weights,
            self._request.settings.tries,
            self._comparison.early_results_among(opened),
            whole=self._budget is not None,  # any of its plans may be the best that fits
            near=None if near is None else near.root,
        )
        self._searches.append((opened, search))
        return Searched(opened, search, solver)

    def _improved(
        self, first: Candidate, batch: Candidate | None, search: GreedySharing
    ) -> Candidate:
        """Return a cheaper candidate that opens the same runs, or the first one if the cheaper one
        keeps nothing or is no longer worth choosing over batch."""
        if first.extracted is None:
            raise ValueError("batch is not improved")
        improved = search.better(first.extracted)
        better = self._candidate(first.opened, improved, *improved.by_run)
        lost = first.keeps and not better.keeps
        if batch is not None and first.is_worth_it(batch):
            lost = lost or not better.is_worth_it(batch)
        return first if lost else better

    def _within(
        self,
        budget: int,
        searched: Searched,
        alternatives: AlternativeEnumerator,
        batch: Candidate | None,
    ) -> list[Candidate]:
        """Return at most one candidate: the best plan that opens these runs and fits the budget, of
        those that are worth choosing over ``batch`` if there are any."""
        opened = searched.opened
        searched.search.first()  # its plan is one of those seen, but may have been dropped
        day = DissInput(
            space=self._space,
            alternatives=alternatives,
            footprint=self._footprint,
            near=searched.solver.solve(),
            weights=self._weights,
            twins=self._families.twins,
            committed=self._families.committed,
            results=(*self._comparison.early_results_among(opened), len(opened) - 1),
        )
        found = [
            self._candidate(opened, plan, *plan.by_run)
            for plan in plans_within(budget, day, searched.search)
            if plan.keeps
        ]
        if batch is not None:
            found = [one for one in found if one.is_worth_it(batch)] or found
        return [min(found, key=lambda one: one.rank)] if found else []

    def _may_pay(self, opened: tuple[int, ...], batch: Candidate) -> bool:
        """Return whether these runs have something to keep or to read, and opening them does not by
        itself cost more than they can save."""
        if len(opened) == 1 and not self._has_views:
            return False
        alone = self._comparison.rank(opened, self._starts(opened))
        return alone[0] < CLEARLY * batch.rank[0]

    def _candidate(
        self, opened: tuple[int, ...], chosen: ExtractedPlan | None, *costs: int
    ) -> Candidate:
        spans = self._spans(opened) if chosen is not None else [Span(0, run) for run in opened]
        checks = (self._checks.cost(span, batch=chosen is None) for span in spans)
        by_run = tuple(
            cost + start + check
            for cost, start, check in zip(costs, self._starts(opened), checks, strict=True)
        )
        total, rank = self._comparison.total(opened, by_run), self._comparison.rank(opened, by_run)
        held = () if chosen is None else self._footprint.after_runs(chosen)
        limit = 0.0
        if chosen is not None and self._no_regret is not None:
            limit = self._no_regret.limit(chosen, rank[0])
        return Candidate(opened, chosen, by_run, total, rank, held, limit)

    def _starts(self, opened: tuple[int, ...]) -> tuple[int, ...]:
        """Return what opening each of these runs costs: its application, unless the run is there
        anyway, and the stage of its result, if it gives one. A stage that keeps something is
        charged where its partition is written."""
        free = self._request.method == "progressive"
        results = (*self._comparison.early_results, self._last)
        starts = []
        for run in opened:
            prices = self._request.prices_of(run)
            start = 0 if free else round(prices.run_start)
            starts.append(start + (run in results) * round(prices.stage_start))
        return tuple(starts)

    def _batch(self) -> Candidate:
        """Plan batch: each result by itself from the sources, as Spark runs the user's query."""
        opened = (*self._comparison.early_results, self._last)
        plans = [self._from_sources(run, rewrites=False) for run in opened]
        batch = self._candidate(opened, None, *(cost for plan in plans for cost in plan.by_run))
        batch = replace(batch, text_plans=tuple(plans))
        self._compare_with(batch, plans)
        return batch

    def _late(self, batch: Candidate) -> tuple[Candidate, tuple[Candidate, ...]]:
        """Choose between the user's own text and own batch, which has to be clearly cheaper. From
        here on early work is compared with the one that is cheaper by estimate, so none is done
        for what rewriting alone might save. Returns the other one, too, if it was planned."""
        if not is_a_choice(self._request) or self._no_regret is None:
            return batch, ()
        plan = self._from_sources(self._last, rewrites=True)
        if plan.keeps:  # what other reports keep is read by what is searched for
            return batch, ()
        own = self._candidate((self._last,), plan, *plan.by_run)
        own = replace(own, limit=self._no_regret.limit_for_good(plan))
        always = self._request.settings.own_batch == "always"
        if always or own.rank < batch.rank:
            self._compare_with(own, [plan])
        text = batch.text_plans[-1].by_run[-1]
        safer = is_safer(self._request, plan, self._space, self._alternatives, text)
        if always or safer or own.is_worth_it(batch):
            return own, (batch,)
        return batch, (own.without_tables(),)

    def _compare_with(self, late: Candidate, plans: Sequence[ExtractedPlan]) -> None:
        uncertainty = Uncertainty(self._space, self._group_sizes, self._request)
        self._no_regret = NoRegretLimit(
            uncertainty, self._comparison.decisive, late.rank[0], tuple(plans)
        )

    def _from_sources(self, run: int, *, rewrites: bool) -> ExtractedPlan:
        """Plan the result of a run by itself, with nothing kept before."""
        request = self._request
        prices = own_batch_prices(request) if rewrites else text_prices(request)
        solver = Solver(
            DpProblem(
                space=self._space,
                alternatives=self._alternatives.at_prices(prices),
                spans=(Span(0, run),),
                weights=self._weights,
                terms=ChainTerms(keeping=False, rewrites=rewrites),
            )
        )
        chosen = extract_plan(self._space, solver.solve(), self._weights)
        self._of_batch += solver.evaluations
        if chosen is None:
            raise ValueError("the query cannot be computed from its sources")
        return chosen

    def _spans(self, opened: tuple[int, ...]) -> tuple[Span, ...]:
        bases = (self._base, *opened[:-1])
        return tuple(Span(base, run) for base, run in zip(bases, opened, strict=True))
