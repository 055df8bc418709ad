"""Which runs are opened: the outer loop over sets of early runs, each charged its fixed cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from planner.cost.constants import CLEARLY
from planner.materialize.families import Families
from planner.request import PlanRequest
from planner.temporal.annotate import Operator
from planner.temporal.assign import Assignment, Choice, Mode
from planner.temporal.sizes import Sizes

_ALL_SUBSETS_UP_TO = 6
_MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to do the rest of the day. ``by_run`` has the cost of each opened run, fixed cost and
    all; ``total`` the weighted sum. Without a choice it is batch, the user's own text at the end.
    """

    opened: tuple[int, ...]
    choice: Choice | None
    by_run: tuple[float, ...]
    total: float

    @property
    def is_batch(self) -> bool:
        return self.choice is None


@dataclass(frozen=True, slots=True)
class Decision:
    """What was chosen, what batch would cost, and what else was looked at."""

    chosen: Candidate
    batch: Candidate
    rejected: tuple[Candidate, ...]


def decide(
    root: Operator,
    sizes: Sizes,
    families: Families,
    request: PlanRequest,
    batch: Candidate | None = None,
) -> Decision:
    """The cheapest candidate whose final run is not dearer than batch; batch if none is clearly
    cheaper. Batch is always among them: as given, or as the query itself would cost."""
    last = len(request.points)
    weights = tuple(point.weight for point in request.points)
    batch = batch or _batch(root, sizes, weights, request)
    if request.method == "batch" or (request.current == last and not request.committed):
        return Decision(batch, batch, ())
    candidates = _candidates(root, sizes, families, request, request.settings.temporal == "early")
    if not candidates and request.method == "progressive":
        # Nothing repays early work here, but early runs are what was asked for.
        candidates = _candidates(root, sizes, families, request, eager=True)
    seen = (*candidates, batch)
    if request.method == "auto" and request.settings.temporal == "cost":
        candidates = [one for one in candidates if _is_worth_it(one, batch)] or [batch]
    best = min(candidates, key=lambda one: (one.total, one.opened), default=batch)
    rejected = tuple(one for one in seen if one is not best)
    return Decision(best, batch, rejected)


def _candidates(
    root: Operator, sizes: Sizes, families: Families, request: PlanRequest, eager: bool
) -> list[Candidate]:
    """The best way to do the day for each set of opened runs, where it keeps anything."""
    weights = tuple(point.weight for point in request.points)
    base = request.committed[-1].index if request.committed else 0
    candidates = []
    for opened in _opened_sets(request):
        assignment = Assignment(sizes, weights, opened, base, families.is_available, eager=eager)
        choice = assignment.best(root)
        if any(part.mode is Mode.KEPT for part in walk(choice)):
            candidates.append(_candidate(opened, choice, families, request))
    return candidates


def walk(choice: Choice) -> Iterator[Choice]:
    stack = [choice]
    while stack:
        part = stack.pop()
        yield part
        stack.extend(part.inputs)


def _is_worth_it(one: Candidate, batch: Candidate) -> bool:
    return one.total < CLEARLY * batch.total and one.by_run[-1] <= batch.by_run[-1]


def _opened_sets(request: PlanRequest) -> Iterator[tuple[int, ...]]:
    """Sets of runs to open, each with the final run. With many early runs left, only sets of the
    cheapest ones: work goes first where compute is cheap."""
    last = len(request.points)
    early = tuple(range(request.current, last))
    if request.settings.temporal == "early" or request.method == "progressive":
        yield (*early, last)
    elif len(early) <= _ALL_SUBSETS_UP_TO:
        for count in range(len(early), -1, -1):
            for chosen in combinations(early, count):
                yield (*chosen, last)
    else:
        by_price = sorted(early, key=lambda run: (request.points[run - 1].weight, run))
        for count in range(len(early), -1, -1):
            yield (*sorted(by_price[:count]), last)


def _candidate(
    opened: tuple[int, ...], choice: Choice, families: Families, request: PlanRequest
) -> Candidate:
    """A choice with what its runs cost. What is kept twice under one fingerprint is made once."""
    fixed = 0.0 if request.method == "progressive" else request.settings.run_cost * _MICRO
    by_run = [fixed for _ in opened]
    seen: set[str] = set()
    stack = [choice]
    while stack:
        part = stack.pop()
        if part.mode is Mode.KEPT:
            digest = families.fingerprint(part.operator, part.key)
            if digest in seen:
                continue
            seen.add(digest)
        by_run = [a + b for a, b in zip(by_run, part.own, strict=True)]
        stack.extend(part.inputs)
    weights = [request.points[run - 1].weight for run in opened]
    total = sum(weight * cost for weight, cost in zip(weights, by_run, strict=True))
    return Candidate(opened, choice, tuple(by_run), total)


def _batch(
    root: Operator, sizes: Sizes, weights: tuple[float, ...], request: PlanRequest
) -> Candidate:
    """Everything at the end, from the sources."""
    last = len(request.points)
    nothing_kept = Assignment(sizes, weights, (last,), 0, lambda _operator, _key: False)
    choice = nothing_kept.best(root)
    fixed = 0.0 if request.method == "progressive" else request.settings.run_cost * _MICRO
    cost = choice.by_run()[-1] + fixed
    return Candidate((last,), None, (cost,), weights[-1] * cost)
