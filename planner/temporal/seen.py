"""What was counted of relations in earlier runs and days, which beats estimates.

A count is of another moment, with other numbers of rows in the sources. It is brought to this one
in proportion to the estimates: ``rows = counted * estimate(now) / estimate(then)``, which is exact
where nothing but the amount of data has changed. Source: LEO (Stillger et al. 2001), "DB2's
learning optimizer", whose adjustment factors these are.
"""

from __future__ import annotations

import math

from planner.algebra.relational import Aggregate, Relation
from planner.memo.memo import GroupId, Memo, Tvr, View
from planner.memo.tree import original
from planner.request import Observed, PlanRequest
from planner.stats.estimate import Estimator
from planner.temporal.space import Slot

EVEN = 0.5
"""Guess: half of the rows of a group arrive independently of each other."""


class Seen:
    """``sources`` of the request are those of the whole day."""

    def __init__(self, memo: Memo, request: PlanRequest) -> None:
        self._memo = memo
        self._sources = request.sources
        self._counted: dict[GroupId, tuple[Relation, float]] = {}
        self._apart: dict[GroupId, float] = {}

    def learn(self, slot: Slot, observed: Observed) -> None:
        """Rows of append-only families add up to those of the relation. Of the others, the first
        partition is the relation; what later ones of states hold is the groups that were touched.
        """
        group = self._memo.leader(slot.tvr.new)
        relation = original(self._memo, group)
        arrived, rows = observed.partitions[0]
        if slot.view is View.ROWS:
            arrived, rows = observed.partitions[-1][0], sum(n for _, n in observed.partitions)
        then = self._estimator(arrived).rows(relation)
        if then > 0.0:
            self._counted[group] = (relation, rows / then)
        if slot.view is View.STATES and len(observed.partitions) > 1:
            self._learn_arrival(slot.tvr, relation, observed)

    def knows(self, group: GroupId) -> bool:
        """Whether a snapshot group was ever counted."""
        return group in self._counted

    def rows(self, group: GroupId, now: Estimator) -> float | None:
        """The rows of a snapshot group when the sources are as ``now`` has them; None if they were
        never counted."""
        if group not in self._counted:
            return None
        relation, factor = self._counted[group]
        return factor * now.rows(relation)

    def apart_share(self, group: GroupId) -> float:
        """How far the rows of an aggregate's group arrive independently: 0 (together) to 1."""
        return self._apart.get(group, EVEN)

    def _learn_arrival(self, tvr: Tvr, relation: Relation, observed: Observed) -> None:
        """From the groups that the last step touched, between those that it would have touched if
        the rows of a group came together or apart."""
        if not isinstance(relation, Aggregate):
            return
        (before, _), (after, touched) = observed.partitions[-2:]
        given, day = relation.input, Estimator(self._sources)
        rows = self._estimator(after).rows(given) - self._estimator(before).rows(given)
        group = self._memo.leader(tvr.new)
        groups = max(1.0, self.rows(group, day) or day.rows(relation))
        apart, together = touched_groups(groups, rows, day.rows(given))
        if apart > together:
            self._apart[group] = min(1.0, max(0.0, (touched - together) / (apart - together)))

    def _estimator(self, arrived: tuple[tuple[str, int], ...]) -> Estimator:
        return Estimator(self._sources, {name: float(rows) for name, rows in arrived})


def touched_groups(groups: float, rows: float, all_rows: float) -> tuple[float, float]:
    """Groups that ``rows`` of ``all_rows`` rows belong to, if the rows of a group arrive
    independently (Cardenas 1975), and if they arrive together (an order comes with its lines)."""
    apart = groups * -math.expm1(-max(0.0, rows) / groups)
    return apart, groups * max(0.0, rows) / max(1.0, all_rows)
