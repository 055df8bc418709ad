"""``--choose``: the time points of a day that a report's runs are at, chosen among a dozen."""

from __future__ import annotations

from dataclasses import replace

from forerun import console
from forerun.cli.options import CheckedDay
from forerun.planner.cost.prices import SPARK, Prices
from forerun.planner.errors import RequestError
from forerun.planner.request import PDW
from forerun.planner.schedule.choose import MOST_CANDIDATES, choose_times


def with_chosen_times(day: CheckedDay, prices: Prices = SPARK) -> CheckedDay:
    """The day with those of its time points that are chosen, as many as ``--choose`` says at most;
    the same day without it. A note says which, and why. ``prices`` are those of the engine.

    Raises :class:`RequestError` where there is nothing to choose.
    """
    if day.choose is None:
        return day
    early = len(day.points) - 1
    if day.is_group or day.problem != PDW or day.choose > early or early > MOST_CANDIDATES:
        raise RequestError(
            f"--choose {day.choose} cannot choose among {early + 1} time points of this day",
            hint=f"It takes one report without early results, up to {MOST_CANDIDATES + 1} time "
            "points in --arrived and --weights, and fewer runs than these.",
        )
    request = day.requests("auto")[0]
    request = replace(request, settings=replace(request.settings, prices=prices))
    chosen = choose_times(request, day.choose - 1)
    points = tuple(day.points[number - 1] for number in chosen.opened)
    shown = ", ".join(f"{point.arrived:.0%} at price {point.weight:g}" for point in points)
    console.notes().print(f"runs: {shown} ({chosen.why})")
    return replace(day, points=points)
