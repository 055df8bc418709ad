"""Row counts of earlier runs and days, which take the place of estimates.

A count was taken when the sources had other numbers of rows. It is scaled in proportion to the
estimates: ``rows = counted * estimate(now) / estimate(then)``, which is exact where nothing but the
amount of data has changed. Source: LEO (Stillger et al. 2001), "DB2's learning optimizer", which
calls these factors adjustment factors.
"""

from __future__ import annotations

import math

from forerun.planner.algebra.relational import Aggregate, Relation
from forerun.planner.memo.groups import GroupId, Tvr, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.tree import original
from forerun.planner.request import Observed, PlanRequest
from forerun.planner.stats.estimate import Estimator
from forerun.planner.temporal.space import Slot

EVEN = 0.5
"""The share of rows that are taken to arrive independently of others in their group, until it is
observed. A guess."""


class ObservedSizes:
    """Scales observed row counts of snapshots to other amounts of data. The ``sources`` of the
    request describe the whole day."""

    def __init__(self, memo: Memo, request: PlanRequest) -> None:
        self._memo = memo
        self._sources = request.sources
        self._counted: dict[GroupId, tuple[Relation, float]] = {}
        self._apart: dict[GroupId, float] = {}

    def learn(self, slot: Slot, observed: Observed) -> None:
        """Learn the size of a slot's snapshot from the partitions that were counted.

        The partitions of plain rows add up to the relation. Of weighted rows and states only the
        first partition is the relation; later partitions of states tell how many groups a step
        touched.
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
        """Return whether a snapshot group was ever counted."""
        return group in self._counted

    def rows(self, group: GroupId, now: Estimator) -> float | None:
        """Return the rows of a snapshot group for the amounts of data that ``now`` estimates with;
        None if the group was never counted."""
        if group not in self._counted:
            return None
        relation, factor = self._counted[group]
        return factor * now.rows(relation)

    def apart_share(self, group: GroupId) -> float:
        """Return how independently the rows of one group of an aggregate arrive: 0 (all together)
        to 1 (independently)."""
        return self._apart.get(group, EVEN)

    def _learn_arrival(self, tvr: Tvr, relation: Relation, observed: Observed) -> None:
        """Learn :meth:`apart_share` by placing the number of groups that the last step touched
        between the two extremes of :func:`touched_groups`."""
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
    """Return how many of ``groups`` are touched by ``rows`` out of ``all_rows`` rows: first if the
    rows of a group arrive independently (Cardenas 1975), then if they arrive together, as an order
    comes with its lines."""
    apart = groups * -math.expm1(-max(0.0, rows) / groups)
    return apart, groups * max(0.0, rows) / max(1.0, all_rows)
