"""Which runs are opened: the outer loop over sets of early runs, each charged its fixed cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from planner.cost.constants import CLEARLY, STAGE_SHARE
from planner.materialize.families import Families
from planner.materialize.search import Search
from planner.request import PlanRequest
from planner.temporal.chosen import Chosen, choose
from planner.temporal.figures import Figures
from planner.temporal.solve import Solver, Terms
from planner.temporal.space import Space
from planner.temporal.ways import Span, Ways

_ALL_SUBSETS_UP_TO = 6
_MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to do the rest of the day. ``by_run`` has the cost of each opened run, fixed cost and
    all; ``total`` the weighted sum. Without ``chosen`` it is batch, the user's own text at the end.
    """

    opened: tuple[int, ...]
    chosen: Chosen | None
    by_run: tuple[float, ...]
    total: float

    @property
    def is_batch(self) -> bool:
        return self.chosen is None


@dataclass(frozen=True, slots=True)
class Decision:
    """What was chosen, what batch would cost, and what else was looked at. ``evaluations``: how
    often the cost of a way was compared, over all searches. ``open``: whether early work was a
    choice at all; it is not where batch is asked for, or where the day is at its end."""

    chosen: Candidate
    batch: Candidate
    rejected: tuple[Candidate, ...]
    evaluations: int
    open: bool


class Runs:
    """Searches the runs that are left of a day."""

    def __init__(
        self, space: Space, figures: Figures, families: Families, request: PlanRequest
    ) -> None:
        self._space = space
        self._families = families
        self._request = request
        self._last = len(request.points)
        self._base = request.committed[-1].index if request.committed else 0
        self._weights = {
            run: round(point.weight * _MICRO) for run, point in enumerate(request.points, 1)
        }
        self._figures = figures
        self._fixed = 0 if request.method == "progressive" else request.settings.run_cost * _MICRO
        self._evaluations = 0

    def decide(self) -> Decision:
        """The cheapest candidate whose final run is not dearer than batch; batch if none is clearly
        cheaper. Batch is always among them."""
        request = self._request
        batch = self._batch()
        at_the_end = request.current == self._last and not request.committed
        if request.method == "batch" or at_the_end:
            return Decision(batch, batch, (), self._evaluations, open=False)
        early = request.settings.temporal == "early"
        candidates = self._candidates(early, batch)
        if not candidates and request.method == "progressive":
            # Nothing repays early work here, but early runs are what was asked for.
            candidates = self._candidates(True, batch)
        seen = (*candidates, batch)
        if request.method == "auto" and not early:
            candidates = [one for one in candidates if _is_worth_it(one, batch)] or [batch]
        best = min(candidates, key=lambda one: (one.total, one.opened), default=batch)
        rejected = tuple(one for one in seen if one is not best)
        return Decision(best, batch, rejected, self._evaluations, open=True)

    def _candidates(self, eager: bool, batch: Candidate) -> list[Candidate]:
        """The best way to do the day for each set of opened runs, where it keeps anything; the
        best of them is then improved. ``eager``: whatever can be kept is, rather than computed
        again."""
        kept = {g for slot in self._space.slots for g in (slot.whole, slot.snapshot)}
        ways = Ways(self._space.memo, self._figures, frozenset(kept if eager else ()))
        terms = Terms(
            late=self._request.method != "progressive",  # each of its early runs has work
            stage_cost=round(STAGE_SHARE * self._request.settings.run_cost * _MICRO),
        )
        searches: list[tuple[Search, Candidate]] = []
        for opened in self._opened_sets():
            if self._opening_alone(opened) >= CLEARLY * batch.total and not eager:
                continue  # whatever the runs did, they could not pay for themselves
            solver = Solver(
                self._space,
                ways,
                self._spans(opened),
                self._weights,
                self._families.committed,
                self._families.twins,
                terms,
            )
            search = Search(self._space, solver, self._weights, self._request.settings.tries)
            chosen = search.first()
            if chosen is not None:
                searches.append((search, self._candidate(opened, chosen)))
        if searches:
            search, first = min(searches, key=lambda found: found[1].total)
            if first.chosen is not None:
                better = self._candidate(first.opened, search.better(first.chosen))
                searches = [(s, better if one is first else one) for s, one in searches]
        self._evaluations += sum(search.evaluations for search, _ in searches)
        return [one for _, one in searches if one.chosen is not None and one.chosen.keeps]

    def _opening_alone(self, opened: tuple[int, ...]) -> float:
        return self._total(opened, tuple(self._fixed for _ in opened))

    def _candidate(self, opened: tuple[int, ...], chosen: Chosen) -> Candidate:
        by_run = tuple(cost + self._fixed for cost in chosen.by_run)
        return Candidate(opened, chosen, by_run, self._total(opened, by_run))

    def _batch(self) -> Candidate:
        """Everything at the end, from the sources, as Spark would do the user's own text."""
        opened = (self._last,)
        ways = Ways(self._space.memo, self._figures)
        spans = (Span(0, self._last),)
        solver = Solver(
            self._space, ways, spans, self._weights, frozenset(), {}, Terms(keeping=False)
        )
        chosen = choose(self._space, solver.solve(), self._weights)
        self._evaluations += solver.evaluations
        if chosen is None:
            raise ValueError("the query cannot be computed from its sources")
        by_run = (chosen.by_run[-1] + self._fixed,)
        return Candidate(opened, None, by_run, self._total(opened, by_run))

    def _total(self, opened: tuple[int, ...], by_run: tuple[float, ...]) -> float:
        points = self._request.points
        return sum(points[r - 1].weight * cost for r, cost in zip(opened, by_run, strict=True))

    def _spans(self, opened: tuple[int, ...]) -> tuple[Span, ...]:
        bases = (self._base, *opened[:-1])
        return tuple(Span(base, run) for base, run in zip(bases, opened, strict=True))

    def _opened_sets(self) -> Iterator[tuple[int, ...]]:
        """Sets of runs to open, each with the final run. With many early runs left, only sets of
        the cheapest ones: work goes first where compute is cheap."""
        early = tuple(range(self._request.current, self._last))
        if self._request.settings.temporal == "early" or self._request.method == "progressive":
            yield (*early, self._last)
        elif len(early) <= _ALL_SUBSETS_UP_TO:
            for count in range(len(early), -1, -1):
                for chosen in combinations(early, count):
                    yield (*chosen, self._last)
        else:
            points = self._request.points
            by_price = sorted(early, key=lambda run: (points[run - 1].weight, run))
            for count in range(len(early), -1, -1):
                yield (*sorted(by_price[:count]), self._last)


def _is_worth_it(one: Candidate, batch: Candidate) -> bool:
    return one.total < CLEARLY * batch.total and one.by_run[-1] <= batch.by_run[-1]
