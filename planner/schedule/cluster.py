"""The compute of a night: a ceiling on cores, prices, and times in which nothing may run."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.piecewise import TICK
from forerun.planner.schedule.step_curve import StepCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class BlackoutSpan:
    """A time in which nothing may run, nor still be running: ``start`` up to ``end``, in
    instants."""

    start: float
    end: float


def joined_blackouts(spans: Iterable[tuple[float, float]]) -> tuple[BlackoutSpan, ...]:
    """Spans as blackouts in order, those that touch as one; one that is empty, as where the clock
    skips an hour, is none."""
    found: list[BlackoutSpan] = []
    for start, end in sorted(spans):
        if found and start <= found[-1].end:
            before = found.pop()
            start, end = before.start, max(before.end, end)
        if start < end:
            found.append(BlackoutSpan(start=start, end=end))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightCluster:
    """``ceiling``: cores that may be busy; ``prices``: what a core costs for a second, relatively.
    Both cover the same night; ``blackouts`` are in order and apart. Raises :class:`ScheduleError`
    for what is not so."""

    ceiling: StepCurve
    prices: StepCurve
    blackouts: tuple[BlackoutSpan, ...] = ()

    def __post_init__(self) -> None:
        if (self.ceiling.start, self.ceiling.end) != (self.prices.start, self.prices.end):
            raise ScheduleError("the ceiling and the prices have to be given for the same night")
        for one in self.blackouts:
            if not one.start < one.end:
                raise ScheduleError(f"the blackout from {one.start:g} to {one.end:g} is empty")
        for before, after in pairwise(self.blackouts):
            if after.start < before.end:
                raise ScheduleError(
                    "the blackouts overlap, or are not in order",
                    hint="Write two that overlap as one.",
                )

    @property
    def start(self) -> float:
        return self.prices.start

    @property
    def end(self) -> float:
        return self.prices.end

    def is_open(self, start: float, end: float) -> bool:
        """Return whether something may run all the time between two instants."""
        return not any(one.start < end - TICK and start < one.end - TICK for one in self.blackouts)

    def opens(self, start: float, seconds: float) -> float:
        """The earliest instant from ``start`` on at which so many seconds without a blackout
        begin."""
        for one in self.blackouts:
            if one.start < start + seconds - TICK and start < one.end - TICK:
                start = one.end
        return start

    def latest(self, end: float, seconds: float) -> float:
        """The latest start of something that takes so long and is to be done by ``end``."""
        for one in reversed(self.blackouts):
            if one.start < end - TICK and end - seconds < one.end - TICK:
                end = one.start
        return end - seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenCores:
    """Cores that somebody has, or will have, from ``start`` on."""

    start: float
    seconds: float
    cores: float

    @property
    def end(self) -> float:
        return self.start + self.seconds


class FreeCores:
    """The cores that are free over a night, as runs are placed one after the other beside what is
    ``taken``."""

    def __init__(self, cluster: NightCluster, taken: Iterable[TakenCores] = ()) -> None:
        edges = {cluster.start, cluster.end, *cluster.ceiling.starts}
        for one in cluster.blackouts:
            edges |= {at for at in (one.start, one.end) if cluster.start < at < cluster.end}
        self._times = sorted(edges)
        self._free = [
            cluster.ceiling.at(at) if cluster.is_open(at, at + 2 * TICK) else 0.0
            for at in self._times[:-1]
        ]
        self._free.append(0.0)  # after the night
        for cores in taken:
            start = max(cores.start, cluster.start)
            if start < min(cores.end, cluster.end):
                self.take(start, cores.end - start, cores.cores)

    def earliest(self, release: float, seconds: float, cores: float) -> float:
        """The earliest start from ``release`` on at which so many cores are free for so long.
        Raises :class:`ScheduleError` if there is none before the end of the night."""
        place = max(0, bisect_right(self._times, release + TICK) - 1)
        start = max(release, self._times[0])
        while place < len(self._times) - 1:
            if self._free[place] < cores - TICK:
                start = self._times[place + 1]
            elif self._times[place + 1] >= start + seconds - TICK:
                return start
            place += 1
        raise ScheduleError(
            f"{cores:g} cores are free for {seconds:,.0f} s at no time before the end of the night",
            hint="Give the ceiling for longer, or raise it.",
        )

    def latest(self, end: float, seconds: float, cores: float) -> float | None:
        """The latest start from which so many cores are free for so long, until ``end`` at most;
        None if there is none."""
        place = bisect_right(self._times, end - TICK) - 1
        while place >= 0:
            if self._free[place] < cores - TICK:
                end = self._times[place]
            elif self._times[place] <= end - seconds + TICK:
                return end - seconds
            place -= 1
        return None

    def take(self, start: float, seconds: float, cores: float) -> None:
        """Use cores; giving them back is taking less than 0."""
        for at in (start, start + seconds):
            place = bisect_right(self._times, at + TICK) - 1
            if 0 <= place < len(self._times) - 1 and abs(self._times[place] - at) > TICK:
                self._times.insert(place + 1, at)
                self._free.insert(place + 1, self._free[place])
        first = bisect_right(self._times, start + TICK) - 1
        place = max(first, 0)
        while place < len(self._times) - 1 and self._times[place] < start + seconds - TICK:
            self._free[place] -= cores
            place += 1


def peak(runs: Iterable[tuple[float, float, float]]) -> float:
    """The most cores that are busy at once, of runs as ``(start, end, cores)``. Cores that are
    given back at an instant can be taken at the same one."""
    changes = [
        change
        for start, end, cores in runs
        for change in ((start, 1, cores), (end - TICK, 0, -cores))
    ]
    return max(accumulate(cores for _, _, cores in sorted(changes)), default=0.0)
