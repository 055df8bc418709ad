"""How big every operator's output is at every time point."""

from __future__ import annotations

import math

from planner.algebra.relational import Relation
from planner.cost.operators import Size
from planner.request import PlanRequest
from planner.stats.estimate import Estimator
from planner.temporal.annotate import Operator


class Sizes:
    """Estimated snapshots and deltas; run 0 is the empty beginning of the day."""

    def __init__(self, root: Operator, request: PlanRequest) -> None:
        self._snapshots: list[dict[int, Size]] = []
        operators = list(root.walk())
        for point in request.points:
            rows = {
                s.name: s.rows * (point.fraction(s.name) if s.changing else 1.0)
                for s in request.sources
            }
            estimator = Estimator(request.sources, rows)
            self._snapshots.append({op.index: _size(estimator, op.relation) for op in operators})

    def snapshot(self, operator: Operator, run: int) -> Size:
        """The whole output at run ``run``; nothing at run 0."""
        if run == 0:
            return Size(0.0, 8.0)
        return self._snapshots[run - 1][operator.index]

    def delta(self, operator: Operator, base: int, run: int) -> Size:
        """What came between the runs. Rows that are taken back are not counted apart: they are
        few wherever they are worth planning for."""
        new = self.snapshot(operator, run)
        if not operator.changing:
            return Size(new.rows if base == 0 else 0.0, new.width)
        return Size(max(0.0, new.rows - self.snapshot(operator, base).rows), new.width)

    def groups(self, operator: Operator, base: int, run: int) -> Size:
        """States that one run adds for an aggregate: the groups its delta touches.

        Between two extremes: the rows of a group arrive independently (Cardenas), or together
        (an order comes with its lines). Until it has been seen, half of each.
        """
        whole = self.snapshot(operator, len(self._snapshots))
        rows = self.delta(operator.inputs[0], base, run).rows
        groups = max(1.0, whole.rows)
        apart = groups * -math.expm1(-rows / groups)
        all_rows = self.snapshot(operator.inputs[0], len(self._snapshots)).rows
        together = groups * rows / max(1.0, all_rows)
        return Size((apart + together) / 2.0, whole.width + 8.0)


def _size(estimator: Estimator, relation: Relation) -> Size:
    return Size(max(0.0, estimator.rows(relation)), max(1.0, estimator.width(relation)))
