"""The work behind a cost: how many rows, bytes, groups and starts are charged at which price.

Once it is decided how rows are had, a cost is linear in the prices. So the same formulas, over
prices that remember what they were multiplied by, tell the *work* of a stage: how often each price
was charged. Executed work beside the CPU that it took is what prices are fitted to
(:mod:`forerun.planner.cost.calibration`). The search itself counts in plain numbers, which are
quicker.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import SupportsIndex

from forerun.planner.cost.prices import STARTS, WORK, Prices

Work = Mapping[str, float]
"""How often each price is charged, by the name of the price; without those that are not."""
NOTHING: Work = MappingProxyType({})


class Charge(float):
    """A cost in millionths of a CPU second that knows its work. It is the number it stands for
    wherever it is compared, so decisions made with it are those made with plain numbers; rounding
    rounds the number and leaves the work as it is."""

    __slots__ = ("work",)

    def __new__(cls, value: float, work: Work = NOTHING) -> Charge:
        """Return a cost of this many millionths of a CPU second, made of this work."""
        made = super().__new__(cls, value)
        made.work = work
        return made

    work: Work

    def __add__(self, other: float) -> Charge:
        return Charge(float(self) + float(other), _sum(self.work, work_of(other), 1.0))

    __radd__ = __add__

    def __sub__(self, other: float) -> Charge:
        return Charge(float(self) - float(other), _sum(self.work, work_of(other), -1.0))

    def __mul__(self, factor: float) -> Charge:
        times = {name: factor * count for name, count in self.work.items()}
        return Charge(float(self) * factor, times)

    __rmul__ = __mul__

    # A float gives a whole number here, which could not know its work.
    def __round__(self, digits: SupportsIndex | None = None) -> Charge:  # type: ignore[override]
        return Charge(
            round(float(self)) if digits is None else round(float(self), digits), self.work
        )


def work_of(cost: float) -> Work:
    """Return the work of a cost; a plain number has none."""
    return cost.work if isinstance(cost, Charge) else NOTHING


def stated_work(cost: float) -> tuple[tuple[str, float], ...]:
    """Return the work of a cost as stages state it: by name, in six digits. Nothing is charged a
    millionth of a time: that is what rounding leaves where counts cancel out."""
    counts = {name: float(f"{n:.6g}") for name, n in work_of(cost).items() if n > 1e-6}
    return tuple(sorted(counts.items()))


def itemized(prices: Prices) -> Prices:
    """Return the same prices as charges that remember how often they are multiplied."""
    return prices.with_prices(
        {name: Charge(prices.of(name), {name: 1.0}) for name in (*WORK, *STARTS)}
    )


def _sum(one: Work, other: Work, sign: float) -> Work:
    if not other:
        return one
    total = dict(one)
    for name, count in other.items():
        total[name] = total.get(name, 0.0) + sign * count
    return {name: count for name, count in total.items() if count}
