"""Which runs are opened: the outer loop over sets of early runs, each charged its fixed cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from planner.cost.constants import CLEARLY, STAGE_SHARE
from planner.materialize.actions import Day
from planner.materialize.budget import plans_within
from planner.materialize.families import Families
from planner.materialize.holdings import Holdings
from planner.materialize.interval import Interval
from planner.materialize.objective import MICRO, Goal
from planner.materialize.search import Search
from planner.request import PlanRequest
from planner.temporal.chosen import Chosen, choose
from planner.temporal.doubt import Uncertainty
from planner.temporal.figures import Figures
from planner.temporal.fill import Terms
from planner.temporal.solve import Solver
from planner.temporal.space import Space
from planner.temporal.tables import Partition
from planner.temporal.ways import Span, Ways

_ALL_SUBSETS_UP_TO = 6


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to do the rest of the day. ``by_run`` has the cost of each opened run, fixed cost and
    all; ``total`` the weighted sum; candidates are compared by ``rank``. Without ``chosen`` it is
    batch: the user's own text in every run that gives the result. ``held``: the bytes that are in
    the store after each of the runs but the last, by estimate. ``limit``: below this, the first of
    ``rank`` is clearly less than batch's.
    """

    opened: tuple[int, ...]
    chosen: Chosen | None
    by_run: tuple[float, ...]
    total: float
    rank: tuple[float, ...]
    held: tuple[int, ...] = ()
    limit: float = 0.0

    @property
    def is_batch(self) -> bool:
        return self.chosen is None

    @property
    def keeps(self) -> bool:
        """Whether a run reads what an earlier one, or another report, left."""
        return self.chosen is not None and self.chosen.keeps

    def without_tables(self) -> Candidate:
        """What it costs and keeps, when it will not be chosen."""
        return self if self.chosen is None else replace(self, chosen=self.chosen.without_tables())


def _order(one: Candidate) -> tuple[tuple[float, ...], tuple[int, ...]]:
    return one.rank, one.opened


@dataclass(frozen=True, slots=True)
class Decision:
    """What was chosen, what batch would cost, and what else was looked at. ``evaluations``: how
    often the cost of a way was compared, over all searches. ``open``: whether early work was a
    choice at all; it is not where batch is asked for, or where the day is at its end. ``budget``:
    the most bytes that may be kept, None for any."""

    chosen: Candidate
    batch: Candidate
    rejected: tuple[Candidate, ...]
    evaluations: int
    open: bool
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class _Searched:
    """The search for the best plan that opens these runs."""

    opened: tuple[int, ...]
    search: Search
    solver: Solver


@dataclass(frozen=True, slots=True)
class Seed:
    """Partitions that may be worth sharing together, where these runs are opened."""

    opened: tuple[int, ...]
    kept: frozenset[Partition]


class Runs:
    """Searches the runs that are left of a day. ``looked_at``: whether any early work was;
    ``evaluations``: how often the cost of a way was compared so far."""

    def __init__(
        self, space: Space, figures: Figures, families: Families, request: PlanRequest
    ) -> None:
        self._space = space
        self._families = families
        self._request = request
        self._last = len(request.points)
        self._base = request.committed[-1].index if request.committed else 0
        self._goal = Goal(request)
        self._weights = self._goal.weights
        self._figures = figures
        committed = sum(run.bytes for run in request.committed)
        self._holdings = Holdings(space, figures, committed)
        self._budget = request.settings.state_budget
        self._ways = Ways(space, figures, prices=request.settings.prices)
        self._fixed = 0 if request.method == "progressive" else request.settings.run_cost * MICRO
        self._of_batch = 0
        self._interval: Interval | None = None
        self._searches: list[tuple[tuple[int, ...], Search]] = []

    @property
    def _has_views(self) -> bool:
        """Whether there is anything to read but sources, before any run is done."""
        return bool(self._request.committed or self._request.shared)

    @property
    def looked_at(self) -> bool:
        return bool(self._searches)

    @property
    def cut(self) -> bool:
        """Whether a search for what is kept ended with its tries."""
        return any(search.cut for _, search in self._searches)

    @property
    def evaluations(self) -> int:
        return self._of_batch + sum(search.evaluations for _, search in self._searches)

    def decide(self) -> Decision:
        """The cheapest candidate whose final run is not dearer than batch; batch if none is clearly
        cheaper. Batch is always among them."""
        request = self._request
        batch = self._batch()
        at_the_end = request.current == self._last and not self._has_views
        if request.method == "batch" or at_the_end:
            return Decision(batch, batch, (), self.evaluations, False, self._budget)
        early = request.settings.temporal == "early"
        candidates = self._candidates(early, None if early else batch)
        if not candidates and request.method == "progressive":
            # Nothing repays early work here, but early runs are what was asked for.
            candidates = self._candidates(True, None)
        worth = [one for one in candidates if self._is_worth_it(one, batch)]
        fresh = not request.committed
        if request.method not in ("auto", "progressive") and fresh and not early and not worth:
            # Nothing repays early work here, but a method was asked for by name.
            candidates = self._candidates(False, None) or self._candidates(True, None)
        seen = (*candidates, batch)
        if request.method == "auto" and not early:
            candidates = worth or [batch]
        elif request.method != "progressive" and not early:
            candidates = worth or (candidates if fresh else [*candidates, batch])
        best = min(candidates, key=_order, default=batch)
        rejected = tuple(one for one in seen if one is not best)
        return Decision(best, batch, rejected, self.evaluations, True, self._budget)

    def from_the_other_end(self, decision: Decision) -> Decision:
        """The same, or what is worth it of the searches that begin where all is kept that can be,
        instead of what is cheapest by itself, from where no single change may lead on."""
        found = self._candidates(True, decision.batch)
        worth = [one for one in found if self._is_worth_it(one, decision.batch)]
        best = min(worth, key=_order, default=decision.chosen)
        others = (decision.chosen, *decision.rejected, *found)
        rejected = tuple(one for one in others if one is not best)
        return replace(decision, chosen=best, rejected=rejected, evaluations=self.evaluations)

    def improve(self, decision: Decision, seeds: Sequence[Seed]) -> Decision:
        """The same, or a cheaper one that is found from what other plans keep."""
        batch, searches = decision.batch, dict(self._searches)
        best: tuple[Search, Candidate] | None = None
        for seed in seeds:
            search = searches.get(seed.opened)
            found = None if search is None else search.sharing(seed.kept)
            if search is None or found is None or not found.keeps:
                continue
            one = self._candidate(seed.opened, found, *found.by_run)
            limit = decision.chosen if best is None else best[1]
            if one.rank < limit.rank and self._is_worth_it(one, batch):
                best = (search, one)
        if best is None or best[1].chosen is None:
            return replace(decision, evaluations=self.evaluations)
        search, first = best
        improved = search.better(best[1].chosen)
        better = self._candidate(first.opened, improved, *improved.by_run)
        chosen = better if improved.keeps and self._is_worth_it(better, batch) else first
        rejected = (decision.chosen, *decision.rejected)
        return Decision(chosen, batch, rejected, self.evaluations, open=True)

    def _candidates(self, eager: bool, batch: Candidate | None) -> list[Candidate]:
        """The best way to do the day for each set of opened runs, where it keeps anything; the
        best of them is then improved. ``eager``: whatever can be kept is, rather than computed
        again. ``batch``: only sets of runs that may be worth opening, beside it; and only what is
        cheaper already is improved."""
        dear = self._space.makeable_by_step() if eager else frozenset()
        ways = self._ways.eagerly(dear)
        terms = Terms(
            late=self._request.method != "progressive",  # each of its early runs has work
            stage_cost=round(STAGE_SHARE * self._request.settings.run_cost * MICRO),
            lent=frozenset(self._families.lent_chains),
        )
        searches: dict[tuple[int, ...], _Searched] = {}
        found: list[Candidate] = []
        for opened in self._opened_sets():
            if batch is not None and not self._may_pay(opened, batch):
                continue
            solver = Solver(
                self._space,
                ways,
                self._spans(opened),
                self._weights,
                self._families.committed | terms.lent,
                self._families.twins,
                terms,
            )
            early, tries = self._goal.early_results_among(opened), self._request.settings.tries
            whole = self._budget is not None  # any of its plans may be the best that fits
            search = Search(self._space, solver, self._weights, tries, early, whole=whole)
            self._searches.append((opened, search))
            chosen = search.first()
            if chosen is not None:
                searches[opened] = _Searched(opened, search, solver)
                found.append(self._candidate(opened, chosen, *chosen.by_run))
                found = self._lean(found, batch, searches)
        first = min(found, key=_order, default=None)
        if first is not None and (batch is None or first.rank < batch.rank):
            better = self._improved(first, batch, searches[first.opened].search)
            found = [better if one is first else one for one in found]
        if self._budget is not None:
            asked, done, found = None if eager else batch, {}, []
            for opened, searched in searches.items():
                done[opened] = searched
                found += self._within(self._budget, searched, ways, terms.stage_cost, asked)
                found = self._lean(found, asked, done)
        return [one for one in found if one.keeps]

    def _improved(self, first: Candidate, batch: Candidate | None, search: Search) -> Candidate:
        """A cheaper one that opens the same runs, unless it is no longer what makes the first one
        worth choosing."""
        if first.chosen is None:
            raise ValueError("batch is not improved")
        improved = search.better(first.chosen)
        better = self._candidate(first.opened, improved, *improved.by_run)
        lost = first.keeps and not better.keeps
        if batch is not None and self._is_worth_it(first, batch):
            lost = lost or not self._is_worth_it(better, batch)
        return first if lost else better

    def _lean(
        self,
        found: list[Candidate],
        batch: Candidate | None,
        searches: Mapping[tuple[int, ...], _Searched],
    ) -> list[Candidate]:
        """The same, and the tables only of those that may still be chosen: of a query of hundreds
        of joins, those for one set of opened runs take tens of megabytes."""
        ranked = sorted(found, key=_order)
        keeping = [one for one in ranked if one.keeps]
        worth = [one for one in keeping if batch is not None and self._is_worth_it(one, batch)]
        leading = [group[0].opened for group in (ranked, keeping, worth) if group]
        for opened, searched in searches.items():
            if opened not in leading:
                searched.search.forget()
        return [one if one.opened in leading else one.without_tables() for one in found]

    def _within(
        self,
        budget: int,
        searched: _Searched,
        ways: Ways,
        stage_cost: int,
        batch: Candidate | None,
    ) -> list[Candidate]:
        """The best plan that opens these runs within a budget: of those that are worth it beside
        batch, if there are any."""
        opened = searched.opened
        searched.search.first()  # it is among the plans, though it may have been forgotten
        day = Day(
            space=self._space,
            ways=ways,
            holdings=self._holdings,
            near=searched.solver.solve(),
            weights=self._weights,
            twins=self._families.twins,
            committed=self._families.committed,
            stage_cost=stage_cost,
            results=(*self._goal.early_results_among(opened), len(opened) - 1),
        )
        found = [
            self._candidate(opened, plan, *plan.by_run)
            for plan in plans_within(budget, day, searched.search)
            if plan.keeps
        ]
        if batch is not None:
            found = [one for one in found if self._is_worth_it(one, batch)] or found
        return [min(found, key=lambda one: one.rank)] if found else []

    def _may_pay(self, opened: tuple[int, ...], batch: Candidate) -> bool:
        """Whether one of the runs may leave something for a later one, or finds something, and
        opening them does not alone cost more than they could save."""
        if len(opened) == 1 and not self._has_views:
            return False
        alone = self._goal.rank(opened, tuple(self._fixed for _ in opened))
        return alone[0] < CLEARLY * batch.rank[0]

    def _is_worth_it(self, one: Candidate, batch: Candidate) -> bool:
        """Whether early work is clearly cheaper than batch, and its final run no dearer."""
        return one.rank[0] < one.limit and one.by_run[-1] <= batch.by_run[-1]

    def _candidate(self, opened: tuple[int, ...], chosen: Chosen | None, *costs: int) -> Candidate:
        by_run = tuple(cost + self._fixed for cost in costs)
        total, rank = self._goal.total(opened, by_run), self._goal.rank(opened, by_run)
        held = () if chosen is None else self._holdings.after_runs(chosen)
        limit = 0.0
        if chosen is not None and self._interval is not None:
            limit = self._interval.limit(chosen, rank[0])
        return Candidate(opened, chosen, by_run, total, rank, held, limit)

    def _batch(self) -> Candidate:
        """Every wanted result by itself from the sources, as Spark would do the user's own text."""
        opened = (*self._goal.early_results, self._last)
        costs = []
        plans: list[Chosen] = []
        for run in opened:
            solver = Solver(
                self._space,
                self._ways,
                (Span(0, run),),
                self._weights,
                frozenset(),
                {},
                Terms(keeping=False),
            )
            chosen = choose(self._space, solver.solve(), self._weights)
            self._of_batch += solver.evaluations
            if chosen is None:
                raise ValueError("the query cannot be computed from its sources")
            costs += chosen.by_run
            plans.append(chosen)
        batch = self._candidate(opened, None, *costs)
        uncertainty = Uncertainty(self._space, self._figures, self._request)
        self._interval = Interval(uncertainty, self._goal.decisive, batch.rank[0], tuple(plans))
        return batch

    def _spans(self, opened: tuple[int, ...]) -> tuple[Span, ...]:
        bases = (self._base, *opened[:-1])
        return tuple(Span(base, run) for base, run in zip(bases, opened, strict=True))

    def _opened_sets(self) -> Iterator[tuple[int, ...]]:
        """Sets of runs to open, each with those that give the result. With many early runs left,
        only sets of the cheapest ones: work goes first where compute is cheap."""
        early = range(self._request.current, self._last)
        wanted = (*self._goal.early_results, self._last)
        free = tuple(run for run in early if run not in wanted)
        if self._request.settings.temporal == "early" or self._request.method == "progressive":
            yield (*early, self._last)
        elif len(free) <= _ALL_SUBSETS_UP_TO:
            for count in range(len(free), -1, -1):
                for chosen in combinations(free, count):
                    yield tuple(sorted((*chosen, *wanted)))
        else:
            points = self._request.points
            by_price = sorted(free, key=lambda run: (points[run - 1].weight, run))
            for count in range(len(free), -1, -1):
                yield tuple(sorted((*by_price[:count], *wanted)))
