"""Generated nights: reports of a warehouse of some hundred, and how the night turns out.

Clock times are seconds since the midnight that begins the day; its rows come over the day and are
complete between 22:00 and 01:00, its reports are due between 02:00 and 08:00. Work by day is cheap,
the first hours after midnight are dear. The ceiling is what one batch of each report keeps busy for
five and a half to ten hours: the tighter nights have deadlines that no batch can meet.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from forerun.planner.schedule.arrivals import ArrivalCurve, arrival_curve
from forerun.planner.schedule.batch_cost import FittedCost
from forerun.planner.schedule.cluster import BlackoutSpan, NightCluster
from forerun.planner.schedule.night import NightReport
from forerun.planner.schedule.piecewise import PiecewiseLinear
from forerun.planner.schedule.step_curve import Piece, StepCurve

HOUR = 3600.0
MIDNIGHT = 24 * HOUR
END = 60 * HOUR
_PRICES = ((0, 7, 0.5), (7, 13, 0.35), (13, 18, 0.45), (18, 23, 0.6), (23, 28, 1.0), (28, 60, 0.7))


@dataclass(frozen=True, slots=True)
class GeneratedNight:
    """A night as it is forecast."""

    reports: tuple[NightReport, ...]
    cluster: NightCluster


def generate_night(seed: int, reports: int = 200) -> GeneratedNight:
    """The same night for the same seed."""
    draw = random.Random(seed)
    made = tuple(_report(draw, number) for number in range(reports))
    work = sum(report.cores * report.batch_seconds for report in made)
    widest = max(report.cores for report in made)
    ceiling = max(2 * widest, round(work / (draw.uniform(5.5, 10.0) * HOUR)))
    prices = StepCurve([Piece(a * HOUR, b * HOUR, p) for a, b, p in _PRICES], "the price")
    steps = [(0.0, 8 * HOUR, 1.0), (8 * HOUR, 18 * HOUR, 0.6), (18 * HOUR, END, 1.0)]
    curve = StepCurve([Piece(a, b, max(widest, ceiling * part)) for a, b, part in steps], "cores")
    blackouts = (BlackoutSpan(start=12 * HOUR, end=12.5 * HOUR),) if draw.random() < 0.3 else ()
    return GeneratedNight(made, NightCluster(ceiling=curve, prices=prices, blackouts=blackouts))


def _report(draw: random.Random, number: int) -> NightReport:
    rows = round(10 ** draw.uniform(5, 8))
    batch = draw.lognormvariate(6.2, 0.7)  # half of them above 8 minutes
    start = min(40.0, 0.3 * batch)
    knee = rows * draw.uniform(0.05, 0.3)
    slope = (batch - start) / rows
    early = slope * draw.uniform(1.0, 1.5)
    late = (batch - start - early * knee) / (rows - knee)
    merge = draw.uniform(0.01, 0.05) * batch
    cost = FittedCost(
        PiecewiseLinear((0.0, knee), (start, start + early * knee), beyond=late),
        PiecewiseLinear((2.0,), (2 * merge,), beyond=merge / 2),
    )
    arrivals = _arrivals(draw, rows)
    least = arrivals.complete_at + 1.3 * batch
    deadline = max(draw.uniform(26, 32) * HOUR, least)
    reserve = min(1200.0 + batch, 0.8 * (deadline - arrivals.complete_at - batch))
    cores = float(draw.choice([2, 4, 4, 8, 16]))
    return NightReport(
        name=f"report-{number:03}",
        cost=cost,
        arrivals=arrivals,
        deadline=deadline,
        cores=cores,
        reserve=max(0.0, reserve),
    )


def _arrivals(draw: random.Random, rows: int) -> ArrivalCurve:
    complete = draw.uniform(22, 25) * HOUR
    shape = [draw.uniform(0.2, 1.0) * (0.3 if hour < 6 else 1.0) for hour in range(24)]
    at, have, knots = 0.0, 0.0, [(0.0, 0.0)]
    for part in shape:
        at, have = at + complete / 24, have + part
        knots.append((at, have))
    return arrival_curve([(x, rows * y / have) for x, y in knots])


def as_it_was(draw: random.Random, report: NightReport) -> tuple[ArrivalCurve, float]:
    """How a report's day turns out: its arrivals, and by what factor its runs are slower.

    Most days are within some percent; one in ten is late by up to an hour, one in ten much bigger
    or smaller, one in ten a third slower.
    """
    arrivals = report.arrivals
    kind = draw.random()
    if kind < 0.1:
        arrivals = arrivals.shifted(draw.uniform(600, 3600), since=draw.uniform(10, 22) * HOUR)
    elif kind < 0.2:
        arrivals = arrivals.scaled(draw.choice([0.5, 1.3, 1.5]))
    else:
        arrivals = arrivals.scaled(draw.uniform(0.93, 1.07))
    slow = draw.uniform(0.95, 1.1) if draw.random() < 0.9 else draw.uniform(1.2, 1.35)
    return arrivals, slow
