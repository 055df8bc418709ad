"""The sets of runs that may be opened in what is left of a day, and those of them to search.

Each set that is searched costs a search of its own, and of five early runs there are 32 sets. What
opening a set costs can be told without a search, roughly: each early run starts an application and
writes what it keeps, and does the part of the work of batch that has arrived since the run before,
at the price of its hour. Of the sets of one size those are searched for which that is least, the
smallest sets first, until a larger one is no cheaper: what one more run saves gets less with every
run, and what it costs to start does not. The search then tells what this cannot: what is kept, what
is read again.

So the sum over a set goes from each of its runs to the next one, and the best set of a size is a
shortest path of so many steps through the day: a day may have many runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby, pairwise

from forerun.planner.materialize.objective import PlanComparison
from forerun.planner.request import PlanRequest

ALONE = 3
"""So many sets with a single run more than there has to be are searched at most: the two that look
cheapest, and a third one that is near to the first. Of more, which take longer to search, one of
each size."""
_NEAR = 10
"""What looks dearer than the cheapest by at most one part in so many is near to it."""

_ALL_SETS_UP_TO = 6
"""Of more free runs not all sets are searched, even if that is asked for."""

Opened = tuple[int, ...]


class OpenedSets:
    """The sets of opened runs of a request, each with the runs that give the result. ``work`` is
    what batch takes in its last run but for its start, in millionths of a CPU second, and
    ``sources`` are the names of those that the query reads."""

    def __init__(self, request: PlanRequest, work: float, sources: frozenset[str]) -> None:
        self._request = request
        self._work = work
        comparison = PlanComparison(request)
        self._weights = comparison.weights
        last, results = len(request.points), comparison.early_results
        early = [run for run in range(request.current, last) if _may_open(request, run, results)]
        self._wanted = (*results, last)
        self._free = tuple(run for run in early if run not in self._wanted)
        priced = {run: request.prices_of(run) for run in (*early, *self._wanted)}
        self._starts = {run: round(p.run_start + p.stage_start) for run, p in priced.items()}
        own = request.settings.prices
        self._dearness = {
            run: 1.0 if prices == own else prices.aggregate_row / own.aggregate_row
            for run, prices in priced.items()
        }
        self._rows = {
            one.name: max(1, one.rows)
            for one in request.sources
            if one.changing and one.name in sources
        }
        self._base = request.committed[-1].index if request.committed else 0
        self._arrived = {run: self._arrived_by(run) for run in (self._base, *early, last)}
        # Who names sets has more to compare than what they cost, and so has a limit of bytes. With
        # the last run first, more early runs may help it by so little that no rule can tell.
        self._to_the_end = (
            request.open_sets is not None
            or request.settings.all_sets
            or request.settings.state_budget is not None
            or not comparison.objective.is_weighted_cost
        )

    def by_size(self) -> Iterator[tuple[int, tuple[Opened, ...]]]:
        """Yield each number of runs with the sets of so many to search, the smallest one first."""
        request, fewest = self._request, len(self._wanted)
        if request.settings.temporal == "early" or request.method == "progressive":
            yield fewest + len(self._free), (self._with_wanted(self._free),)
        elif request.open_sets is not None:
            named = sorted({self._with_wanted(opened) for opened in request.open_sets}, key=len)
            for size, sets in groupby(named, key=len):
                yield size, self._cheapest(size, sets)
        elif request.settings.all_sets and len(self._free) <= _ALL_SETS_UP_TO:
            for count in range(len(self._free) + 1):
                sets = map(self._with_wanted, combinations(self._free, count))
                yield fewest + count, self._cheapest(fewest + count, sets)
        else:
            yield fewest, (self._wanted,)
            if self._free:
                single = (self._with_wanted((run,)) for run in self._free)
                yield fewest + 1, self._cheapest(fewest + 1, single)
                yield from self._shortest_paths(fewest + 2)

    def may_end(self, size: int) -> bool:
        """Return whether no larger sets are searched if those of this size were no better."""
        return not self._to_the_end and size >= len(self._wanted) + 2

    def _with_wanted(self, opened: Sequence[int]) -> Opened:
        return tuple(sorted({*opened, *self._wanted}))

    def _cheapest(self, size: int, sets: Iterable[Opened]) -> tuple[Opened, ...]:
        """Return those of the sets of one size that are searched, in order."""
        costs = {one: self._cost(one) for one in sets}
        ranked = sorted(costs, key=lambda one: (costs[one], one))
        if self._request.settings.all_sets:
            return tuple(sorted(ranked))
        if size != len(self._wanted) + 1:
            return tuple(ranked[:1])
        limit = costs[ranked[0]] * (_NEAR + 1)
        near = (one for one in ranked[2:ALONE] if costs[one] * _NEAR <= limit)
        return tuple(sorted((*ranked[:2], *near)))

    def _cost(self, opened: Opened) -> int:
        """Return roughly what a plan costs that opens these runs."""
        return sum(self._step(run, following) for run, following in pairwise((self._base, *opened)))

    def _step(self, run: int, following: int) -> int:
        """Return roughly what the following run costs if no run is opened in between."""
        share = max(0.0, self._arrived[following] - self._arrived[run])
        work = self._work * share * self._dearness[following]
        return self._weights[following] * (self._starts[following] + round(work))

    def _arrived_by(self, run: int) -> float:
        """Return which part of the rows of all sources has arrived by a run."""
        if not run:
            return 0.0
        point = self._request.points[run - 1]
        if not self._rows:
            return point.arrived
        arrived = (rows * point.fraction(name) for name, rows in self._rows.items())
        return sum(arrived) / sum(self._rows.values())

    def _shortest_paths(self, fewest: int) -> Iterator[tuple[int, tuple[Opened, ...]]]:
        """Yield the cheapest set of each size from the ``fewest`` runs on."""
        last = self._wanted[-1]
        runs = self._with_wanted(self._free)
        ways: dict[int, tuple[int, Opened]] = {self._base: (0, ())}
        for size in range(1, len(runs) + 1):
            found: dict[int, tuple[int, Opened]] = {}
            for following in runs:
                passed = max((run for run in self._wanted if run < following), default=self._base)
                before = [run for run in ways if passed <= run < following]
                if before:
                    found[following] = min(
                        (ways[run][0] + self._step(run, following), (*ways[run][1], following))
                        for run in before
                    )
            if size >= fewest:
                yield size, (found[last][1],)
            ways = found


def _may_open(request: PlanRequest, run: int, results: tuple[int, ...]) -> bool:
    """Return whether an early run may do anything; one that gives a result always may."""
    return request.may_open is None or run in request.may_open or run in results
