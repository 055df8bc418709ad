"""Prices and capacities over the hours of a night: constant between two instants.

A price is what a core costs for a second, relatively; a capacity is how many cores may be busy. A
curve has no gap, no overlap, and nothing that is zero or negative: where nothing may run is a
*blackout*, which a cluster names apart (:class:`forerun.planner.schedule.cluster.NightCluster`), so
that a forgotten hour can never be taken for a free one.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.piecewise import TICK


@dataclass(frozen=True, slots=True)
class Piece:
    """From ``start`` up to and without ``end`` the value is ``value``."""

    start: float
    end: float
    value: float


class StepCurve:
    """A curve of steps over instants. ``what`` names it in errors, ``show`` says an instant there
    as a person would (a clock time, say)."""

    __slots__ = ("_sums", "end", "starts", "values", "what")

    def __init__(
        self,
        pieces: Iterable[Piece],
        what: str = "the curve",
        show: Callable[[float], str] = "{:g}".format,
    ) -> None:
        ordered = sorted(pieces, key=lambda piece: (piece.start, piece.end))
        if not ordered:
            raise ScheduleError(f"{what} is empty", hint="Give at least one piece.")
        for piece in ordered:
            _check(piece, what, show)
        for before, after in pairwise(ordered):
            _check_next_to(before, after, what, show)
        self.what = what
        self.starts = tuple(piece.start for piece in ordered)
        self.values = tuple(piece.value for piece in ordered)
        self.end = ordered[-1].end
        whole = (p.value * (p.end - p.start) for p in ordered)
        self._sums = tuple(accumulate(whole, initial=0.0))

    @property
    def start(self) -> float:
        return self.starts[0]

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The steps in order."""
        ends = (*self.starts[1:], self.end)
        return tuple(map(Piece, self.starts, ends, self.values))

    def at(self, instant: float) -> float:
        """The value at an instant. Raises :class:`ScheduleError` outside of the curve."""
        return self.values[self._place(instant)]

    def integral(self, start: float, end: float) -> float:
        """The sum of value times seconds from ``start`` to ``end``, which is not before it."""
        return self._up_to(end) - self._up_to(start)

    def least(self, start: float, end: float) -> float:
        """The least value from ``start`` up to ``end``, which is after it."""
        inside = (self._place(at) for at in self.breakpoints(start, end))
        return min(self.values[place] for place in (self._place(start), *inside))

    def breakpoints(self, start: float, end: float) -> tuple[float, ...]:
        """The instants strictly between the two at which the value changes."""
        return tuple(at for at in self.starts if start < at < end)

    def with_piece(self, piece: Piece) -> StepCurve:
        """The same curve with another value during ``piece``: what a spot price does, or cores that
        are lost for a while."""
        cut: list[Piece] = []
        for old in self.pieces:
            if old.start < piece.start:
                cut.append(Piece(old.start, min(old.end, piece.start), old.value))
            if old.end > piece.end:
                cut.append(Piece(max(old.start, piece.end), old.end, old.value))
        inside = Piece(max(piece.start, self.start), min(piece.end, self.end), piece.value)
        return StepCurve([*cut, inside], self.what) if inside.start < inside.end else self

    def between(self, start: float, end: float) -> StepCurve:
        """The part of the curve between two instants, which it covers."""
        pieces = (Piece(max(p.start, start), min(p.end, end), p.value) for p in self.pieces)
        return StepCurve((p for p in pieces if p.start < p.end), self.what)

    def plus(self, other: StepCurve) -> StepCurve:
        """The sum of two curves over the instants of this one, which ``other`` must cover."""
        edges = sorted({*self.starts, *other.breakpoints(self.start, self.end), self.end})
        return StepCurve(
            (Piece(a, b, self.at(a) + other.at(a)) for a, b in pairwise(edges)), self.what
        )

    def _place(self, instant: float) -> int:
        if instant < self.start - TICK or instant >= self.end + TICK:
            raise ScheduleError(
                f"{self.what} is not known at {instant:g}: it is given from {self.start:g} to "
                f"{self.end:g}",
                hint="Give it for the whole night, up to the last deadline and a little beyond.",
            )
        return max(0, bisect_right(self.starts, instant) - 1)

    def _up_to(self, instant: float) -> float:
        place = self._place(instant)
        return self._sums[place] + self.values[place] * (instant - self.starts[place])


def _check(piece: Piece, what: str, show: Callable[[float], str]) -> None:
    spans = f"from {show(piece.start)} to {show(piece.end)}"
    if not piece.start < piece.end:
        raise ScheduleError(f"{what} has a piece {spans}, which is empty")
    if not math.isfinite(piece.value) or piece.value <= 0:
        raise ScheduleError(
            f"{what} is {piece.value:g} {spans}; it has to be more than 0",
            hint="Where nothing may run, name a blackout.",
        )


def _check_next_to(before: Piece, after: Piece, what: str, show: Callable[[float], str]) -> None:
    if after.start < before.end - TICK:
        raise ScheduleError(
            f"{what} is given twice from {show(after.start)} to {show(min(before.end, after.end))}",
            hint="Let each piece end where the next one starts.",
        )
    if after.start > before.end + TICK:
        raise ScheduleError(
            f"{what} is not given from {show(before.end)} to {show(after.start)}",
            hint="Let each piece end where the next one starts.",
        )


def constant(start: float, end: float, value: float, what: str = "the curve") -> StepCurve:
    """A curve of one step."""
    return StepCurve([Piece(start, end, value)], what)
