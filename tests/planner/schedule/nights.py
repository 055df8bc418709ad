"""Small reports and clusters for the tests of nights: hours as seconds, and prices by the hour."""

from __future__ import annotations

from forerun.planner.schedule.arrivals import steady
from forerun.planner.schedule.batch_cost import linear_cost
from forerun.planner.schedule.cluster import BlackoutSpan, NightCluster
from forerun.planner.schedule.night import NightReport
from forerun.planner.schedule.step_curve import Piece, StepCurve, constant

H = 3600.0
END = 48 * H


def cluster(
    cores: float = 8.0,
    prices: tuple[tuple[float, float, float], ...] = ((0, 48, 1.0),),
    blackouts: tuple[tuple[float, float], ...] = (),
) -> NightCluster:
    """Hours in, seconds out."""
    return NightCluster(
        ceiling=constant(0, END, cores, "the ceiling"),
        prices=StepCurve([Piece(a * H, b * H, p) for a, b, p in prices], "the price"),
        blackouts=tuple(BlackoutSpan(start=a * H, end=b * H) for a, b in blackouts),
    )


def report(name: str = "r", **changes: object) -> NightReport:
    """A report whose 2,400 rows come evenly over the 24 hours and take an hour in one run, a minute
    of it the start; due at 03:00."""
    given = {
        "cost": linear_cost(60.0, 3540 / 2400, per_batch=30.0),
        "arrivals": steady(0, 24 * H, 2400),
        "deadline": 27 * H,
        "cores": 4.0,
        **changes,
    }
    return NightReport(name=name, **given)
