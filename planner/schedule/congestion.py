"""Planned cores over a night, and the price that is added where they exceed the ceiling.

Each report is planned alone; what it sees of the others is a price. Where the cores that are
planned exceed the ceiling the price rises, by how much it is exceeded now, and by how much it was
in the rounds before: what is asked for again and again becomes so dear that all leave it who can
(negotiated congestion, as routes of chips are found).
"""

from __future__ import annotations

import math
from itertools import accumulate

from forerun.planner.schedule.cluster import NightCluster, TakenCores
from forerun.planner.schedule.night import ReportPlan
from forerun.planner.schedule.piecewise import TICK

CELL_S = 300.0
"""The grid on which cores are counted."""

NOW, BEFORE = 4.0, 2.0
"""What a core pays beside its price, in mean prices, for each part of the ceiling that the cell is
over it: now, and in the mean of the rounds before."""


class Congestion:
    """Planned cores by cell, and the tariff that follows from them."""

    def __init__(self, cluster: NightCluster) -> None:
        self._cluster = cluster
        count = math.ceil((cluster.end - cluster.start) / CELL_S)
        middles = [cluster.start + (i + 0.5) * CELL_S for i in range(count)]
        self._ceiling = [cluster.ceiling.at(min(at, cluster.end - TICK)) for at in middles]
        self._planned = [0.0] * count
        self._history = [0.0] * count
        length = cluster.end - cluster.start
        self._mean_price = cluster.prices.integral(cluster.start, cluster.end) / length

    def add(self, plan: ReportPlan, sign: float = 1.0) -> None:
        """Count a plan's cores, or, with -1, no longer."""
        for run in plan.runs:
            self._count(run.start, run.end, sign * plan.report.cores)

    def take(self, one: TakenCores) -> None:
        """Count cores that are taken whatever is planned."""
        self._count(max(one.start, self._cluster.start), min(one.end, self._cluster.end), one.cores)

    def _count(self, start: float, end: float, cores: float) -> None:
        for cell, seconds in self._cells(start, end):
            self._planned[cell] += cores * seconds / CELL_S

    def is_over(self, plan: ReportPlan) -> bool:
        """Return whether a run of the plan lies where more is planned than the ceiling."""
        return any(
            self._planned[cell] > self._ceiling[cell] + TICK
            for run in plan.runs
            for cell, _ in self._cells(run.start, run.end)
        )

    def over(self) -> float:
        """Core seconds that are planned above the ceiling."""
        pairs = zip(self._planned, self._ceiling, strict=True)
        return CELL_S * sum(max(0.0, planned - ceiling) for planned, ceiling in pairs)

    def remember(self) -> None:
        """End a round: what is over the ceiling now stays dearer."""
        for cell, (planned, ceiling) in enumerate(zip(self._planned, self._ceiling, strict=True)):
            if planned > ceiling:
                self._history[cell] += (planned - ceiling) / ceiling

    def tariff(self, cores: float) -> CongestedTariff:
        """The prices as one report with so many cores sees them now."""
        mean = self._mean_price
        added = [
            mean * (BEFORE * history + NOW * max(0.0, (planned + cores - ceiling) / ceiling))
            for history, planned, ceiling in zip(
                self._history, self._planned, self._ceiling, strict=True
            )
        ]
        return CongestedTariff(self._cluster, added)

    def _cells(self, start: float, end: float) -> list[tuple[int, float]]:
        origin = self._cluster.start
        first = max(0, int((start - origin) / CELL_S))
        last = min(len(self._planned) - 1, int((end - origin - TICK) / CELL_S))
        return [
            (i, min(end, origin + (i + 1) * CELL_S) - max(start, origin + i * CELL_S))
            for i in range(first, last + 1)
        ]


class CongestedTariff:
    """The prices of a cluster with something added in each cell."""

    def __init__(self, cluster: NightCluster, added: list[float]) -> None:
        self._prices = cluster.prices
        self._origin = cluster.start
        self._added = added
        self._sums = list(accumulate(added, initial=0.0))

    def integral(self, start: float, end: float) -> float:
        """Return the price times seconds that a core pays from one instant to another."""
        return self._prices.integral(start, end) + CELL_S * (self._up_to(end) - self._up_to(start))

    def _up_to(self, instant: float) -> float:
        cells = (instant - self._origin) / CELL_S
        whole = min(int(cells), len(self._added) - 1)
        return self._sums[whole] + self._added[whole] * (cells - whole)
