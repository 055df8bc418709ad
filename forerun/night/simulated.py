"""What ``forerun schedule simulate`` lets happen to the reports of a night."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from forerun.include.reports.values.clock import parse_time
from forerun.night.file import Night
from forerun.night.what_if import find_report
from forerun.planner.errors import ScheduleError
from forerun.planner.schedule.night_course import Turnout


@dataclass(frozen=True, slots=True, kw_only=True)
class Surprises:
    """The faults as they were typed, each ``NAME=VALUE``; ``seed``: draw a turnout for every
    report, on which they come on top."""

    late: Sequence[str] = ()
    slow: Sequence[str] = ()
    failed: Sequence[str] = ()
    lost: Sequence[str] = ()
    seed: int | None = None

    def turnouts(self, night: Night) -> dict[str, Turnout]:
        """How each report turns out. Raises :class:`ScheduleError` for a report that is not
        there, or a value that means nothing."""
        found = {one.name: Turnout(arrivals=one.arrivals) for one in night.reports}
        if self.seed is not None:
            draw = random.Random(self.seed)
            found = {name: _drawn(draw, turnout) for name, turnout in found.items()}
        for name, value in _pairs(self.late, night, "--late"):
            seconds = float(parse_time(value, "the delay").seconds)
            old = found[name]
            found[name] = replace(old, arrivals=old.arrivals.shifted(seconds))
        for name, value in _pairs(self.slow, night, "--slow"):
            found[name] = replace(found[name], slower=_factor(value))
        for name, value in _pairs(self.failed, night, "--failed"):
            tries = found[name].failed | {_try(value)}
            found[name] = replace(found[name], failed=tries)
        for name, value in _pairs(self.lost, night, "--lost"):
            tries = found[name].lost | {_try(value)}
            found[name] = replace(found[name], lost=tries)
        return found


def _drawn(draw: random.Random, turnout: Turnout) -> Turnout:
    """Up to a tenth more or fewer rows, and slower or faster; one in ten is late by up to an hour,
    one in ten a third slower."""
    arrivals = turnout.arrivals.scaled(draw.uniform(0.9, 1.1))
    late = draw.uniform(0, 3600) if draw.random() < 0.1 else 0.0
    slower = draw.uniform(0.95, 1.1) * (1.33 if draw.random() < 0.1 else 1.0)
    return replace(turnout, arrivals=arrivals.shifted(late), slower=slower)


def _pairs(given: Sequence[str], night: Night, option: str) -> Iterator[tuple[str, str]]:
    for one in given:
        name, found, value = one.partition("=")
        if not found:
            raise ScheduleError(f"{option} {one!r} has no value", hint=f"Write {option} NAME=...")
        yield find_report(night, name).name, value


def _factor(text: str) -> float:
    try:
        factor = float(text.removesuffix("x"))
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise ScheduleError(f"the factor {text!r} is no number above 0")
    return factor


def _try(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ScheduleError(f"the try {text!r} is no number from 1 on")
    return int(text)
