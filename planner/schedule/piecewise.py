"""Non-decreasing piecewise-linear functions: what has arrived by when, what a batch takes."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise

from forerun.planner.errors import ScheduleError

TICK = 1e-6
"""Instants that are closer than this many seconds are one: sums of floats differ by less."""


@dataclass(frozen=True, slots=True)
class PiecewiseLinear:
    """A non-decreasing function through the knots ``(xs[i], ys[i])``.

    Before the first knot it is ``ys[0]``; after the last one it rises by ``beyond`` for each unit
    of x. Two knots may share an x only in the form of a step, the lower y first: there the value is
    the higher one. Raises :class:`ScheduleError` for knots that fall or are out of order.
    """

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    beyond: float = 0.0

    def __post_init__(self) -> None:
        if not self.xs or len(self.xs) != len(self.ys):
            raise ScheduleError("a curve needs as many values as knots, and at least one")
        if not all(map(math.isfinite, (*self.xs, *self.ys, self.beyond))):
            raise ScheduleError("a curve has a knot that is not a finite number")
        for name, values in (("knots", self.xs), ("values", self.ys)):
            for before, after in pairwise(values):
                if after < before:
                    raise ScheduleError(
                        f"a curve must not fall, and its {name} go from {before:g} to {after:g}",
                        hint="Give the knots in order; what has arrived, or what a larger batch "
                        "takes, never becomes less.",
                    )
        if self.beyond < 0:
            raise ScheduleError(f"a curve must not fall after its last knot ({self.beyond:g})")

    def at(self, x: float) -> float:
        """The value at ``x``."""
        after = bisect_right(self.xs, x)
        if after == 0:
            return self.ys[0]
        if after == len(self.xs):
            return self.ys[-1] + self.beyond * (x - self.xs[-1])
        left, right = self.xs[after - 1], self.xs[after]
        low, high = self.ys[after - 1], self.ys[after]
        return low + (high - low) * (x - left) / (right - left)

    def first(self, y: float) -> float:
        """The smallest x with at least the value ``y``: ``-inf`` if it always has it, ``inf`` if it
        never does."""
        if y <= self.ys[0]:
            return -math.inf
        after = bisect_left(self.ys, y)
        if after == len(self.ys):
            return self.xs[-1] + (y - self.ys[-1]) / self.beyond if self.beyond else math.inf
        return self._between(after, y)

    def last(self, y: float) -> float:
        """The largest x with at most the value ``y``: ``-inf`` if there is none, ``inf`` if the
        function never exceeds it."""
        if y < self.ys[0]:
            return -math.inf
        after = bisect_right(self.ys, y)
        if after == len(self.ys):
            return self.xs[-1] + (y - self.ys[-1]) / self.beyond if self.beyond else math.inf
        return self._between(after, y)

    def _between(self, after: int, y: float) -> float:
        left, right = self.xs[after - 1], self.xs[after]
        low, high = self.ys[after - 1], self.ys[after]
        return left + (right - left) * (y - low) / (high - low)
