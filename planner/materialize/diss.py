"""Choose what to keep under a byte budget: the dynamic program of DISS (sections 4.3 and 5).

A *goal* is what is wanted of a part of the query: its changes (the paper's D) or all of its rows
(its F). An *action* meets a goal at a cost, may keep artifacts, and sets goals for the parts below.
For a goal g and a budget of m bytes::

    best[g](m)  =  min over actions a with bytes(a) <= m  of
                   cost(a)  +  min over m_1 + ... + m_n <= m - bytes(a)  of  sum best[g_i](m_i)

The paper's Algorithm 1 sets D and F to infinity inside its loop over the actions, which would
forget all actions but the last; here the minimum is over all of them.

best[g] never rises with m and has few steps, which is why the paper finds them by binary search
over the budgets. Here a function *is* its steps: sums and minima of step functions are step
functions. So no budget between two steps is looked at, bytes need no coarser unit, and the answer
for a budget is one bisection.

It is exact for trees, as in the paper. An artifact that two parts of a plan keep is paid for once,
but the work below it is counted twice; the temporal search, which shares, costs it again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Goal = TypeVar("Goal")
Artifact = TypeVar("Artifact")

MOST_STEPS = 48
"""The most steps that a function may have. Beyond, the steps that save least are dropped, and the
function is an upper bound."""


@dataclass(frozen=True, slots=True)
class Price:
    """The bytes of an artifact, and the cost of writing it, without that of computing its later
    deltas."""

    bytes: int
    cost: int


@dataclass(frozen=True, slots=True)
class GoalAction(Generic[Goal, Artifact]):
    """One way to meet a goal. ``cost`` is its own, without the prices of the artifacts that it
    ``keeps``; ``goals`` are those that it sets for the parts below."""

    cost: int
    keeps: tuple[Artifact, ...] = ()
    goals: tuple[Goal, ...] = ()


@dataclass(frozen=True, slots=True)
class BudgetStep(Generic[Artifact]):
    """A step of best[g]: from ``bytes`` on, a goal can be met at ``cost`` by keeping ``kept``."""

    bytes: int
    cost: int
    kept: frozenset[Artifact]


class Program(Generic[Goal, Artifact]):
    """The dynamic program. ``prices`` has every artifact that an action keeps."""

    def __init__(self, prices: Mapping[Artifact, Price]) -> None:
        self._prices = prices
        self._best: dict[Goal, tuple[BudgetStep[Artifact], ...]] = {}

    def meet(self, goal: Goal, actions: Iterable[GoalAction[Goal, Artifact]]) -> None:
        """Compute a goal's function. The goals that its actions set must be computed before; an
        action with a goal that nothing meets is not applicable."""
        found: list[BudgetStep[Artifact]] = []
        for action in actions:
            found += self._of(action)
        self._best[goal] = thinned(lower_envelope(found), MOST_STEPS)

    def steps(self, goal: Goal) -> tuple[BudgetStep[Artifact], ...]:
        """Return the function of a goal, fewest bytes first; empty if nothing meets it."""
        return self._best.get(goal, ())

    def at(self, goal: Goal, budget: int) -> BudgetStep[Artifact] | None:
        """Return the cheapest step within a budget in bytes; None if nothing meets the goal in
        it."""
        steps = self.steps(goal)
        place = bisect_right(steps, budget, key=lambda step: step.bytes)
        return steps[place - 1] if place else None

    def _of(self, action: GoalAction[Goal, Artifact]) -> list[BudgetStep[Artifact]]:
        """Return the step function of one action: its own price plus the functions of its goals."""
        prices = [self._prices[artifact] for artifact in action.keeps]
        own = BudgetStep(
            sum(price.bytes for price in prices),
            action.cost + sum(price.cost for price in prices),
            frozenset(action.keeps),
        )
        steps = [own]
        for goal in action.goals:
            below = self.steps(goal)
            pairs = (self._both(one, other) for one in steps for other in below)
            steps = list(thinned(lower_envelope(pairs), MOST_STEPS))
        return steps

    def _both(self, one: BudgetStep[Artifact], other: BudgetStep[Artifact]) -> BudgetStep[Artifact]:
        """Add two steps. An artifact that both keep is paid for once."""
        twice = [self._prices[artifact] for artifact in one.kept & other.kept]
        return BudgetStep(
            one.bytes + other.bytes - sum(price.bytes for price in twice),
            one.cost + other.cost - sum(price.cost for price in twice),
            one.kept | other.kept,
        )


def lower_envelope(steps: Iterable[BudgetStep[Artifact]]) -> tuple[BudgetStep[Artifact], ...]:
    """Return the steps of the minimum of all: each has more bytes and costs less than the one
    before."""
    best: list[BudgetStep[Artifact]] = []
    for step in sorted(steps, key=lambda step: (step.bytes, step.cost)):
        if not best or step.cost < best[-1].cost:
            best.append(step)
    return tuple(best)


def thinned(steps: tuple[BudgetStep[Artifact], ...], most: int) -> tuple[BudgetStep[Artifact], ...]:
    """Return the first step and the ``most`` - 1 others that save most over the step before
    them."""
    if len(steps) <= most:
        return steps
    drops = {i: steps[i - 1].cost - steps[i].cost for i in range(1, len(steps))}
    kept = sorted(sorted(drops, key=lambda i: (-drops[i], i))[: most - 1])
    return (steps[0], *(steps[i] for i in kept))
