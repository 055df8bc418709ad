"""The sets of runs that may be opened in what is left of a day."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from planner.materialize.objective import PlanComparison
from planner.request import PlanRequest

_ALL_SUBSETS_UP_TO = 6


def opened_sets(request: PlanRequest) -> Iterator[tuple[int, ...]]:
    """Yield the sets of runs to open, each with those that give the result: those that the request
    names, else all. If many early runs are left, only sets of the cheapest ones: work goes first
    where compute is cheap."""
    last, results = len(request.points), PlanComparison(request).early_results
    early = [run for run in range(request.current, last) if _may_open(request, run, results)]
    wanted = (*results, last)
    free = tuple(run for run in early if run not in wanted)
    if request.settings.temporal == "early" or request.method == "progressive":
        yield (*early, last)
    elif request.open_sets is not None:
        yield from sorted({tuple(sorted({*opened, *wanted})) for opened in request.open_sets})
    elif len(free) <= _ALL_SUBSETS_UP_TO:
        for count in range(len(free), -1, -1):
            for chosen in combinations(free, count):
                yield tuple(sorted((*chosen, *wanted)))
    else:
        by_price = sorted(free, key=lambda run: (request.points[run - 1].weight, run))
        for count in range(len(free), -1, -1):
            yield tuple(sorted((*by_price[:count], *wanted)))


def _may_open(request: PlanRequest, run: int, results: tuple[int, ...]) -> bool:
    """Return whether an early run may do anything; one that gives a result always may."""
    return request.may_open is None or run in request.may_open or run in results
