"""A plan for the rest of a day as the search compares it, and the decision between several."""

from __future__ import annotations

from dataclasses import dataclass, replace

from forerun.planner.contract.plan_v1 import PlanMethod
from forerun.planner.temporal.extraction import ExtractedPlan


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan for the rest of the day, in millionths of a CPU second. ``by_run`` has the cost of
    each opened run with its fixed cost, ``total`` is the weighted sum; candidates are compared by
    ``rank``, and clearly cheaper than what it is compared with if its first number is below
    ``limit``. Without ``extracted`` it is the user's own text in every run that gives the result.
    ``held`` are the estimated bytes in the store after each of its runs but the last.
    ``text_plans``: for the user's own text, the plan of each result that it is priced by."""

    opened: tuple[int, ...]
    extracted: ExtractedPlan | None
    by_run: tuple[float, ...]
    total: float
    rank: tuple[float, ...]
    held: tuple[int, ...] = ()
    limit: float = 0.0
    text_plans: tuple[ExtractedPlan, ...] = ()

    @property
    def is_text(self) -> bool:
        """Return whether this is the user's own text, for which no plan was extracted."""
        return self.extracted is None

    @property
    def keeps(self) -> bool:
        """Return whether a run reads what an earlier run or another report stored."""
        return self.extracted is not None and self.extracted.keeps

    def is_worth_it(self, late: Candidate) -> bool:
        """Return whether this is clearly cheaper than batch and its final run no dearer than
        ``late``."""
        return self.rank[0] < self.limit and self.by_run[-1] <= late.by_run[-1]

    @property
    def is_batch(self) -> bool:
        """Return whether nothing is done early: the user's own text, or own batch."""
        return not self.keeps

    @property
    def kind(self) -> PlanMethod:
        """Return the name of the method of the plan that is made of this."""
        if self.keeps:
            return "incremental"
        return "batch" if self.is_text else "own-batch"

    def without_tables(self) -> Candidate:
        """Return a copy without DP tables, for a candidate that will not be chosen."""
        return replace(
            self,
            extracted=None if self.extracted is None else self.extracted.without_tables(),
            text_plans=tuple(plan.without_tables() for plan in self.text_plans),
        )


def in_order(one: Candidate) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Return what candidates are sorted by: their rank, and then the runs that they open."""
    return one.rank, one.opened


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """The chosen candidate, batch as the user's own text, and the rejected candidates. ``late`` is
    what the plan is without early work, which has to be clearly cheaper: the text, or own batch.
    ``evaluations`` counts the alternatives that were costed in all searches. ``open`` says whether
    early work was a choice at all: not if batch is asked for or the day is at its end. ``budget``
    is the most bytes that may be kept, or None. ``searched``: for how many sets of opened runs a
    plan was searched for first."""

    chosen: Candidate
    batch: Candidate
    late: Candidate
    rejected: tuple[Candidate, ...]
    evaluations: int
    open: bool
    budget: int | None = None
    searched: int = 0
