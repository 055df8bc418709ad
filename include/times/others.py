"""What others leave of a cluster's cores to a day that chooses its times, by the store.

Certain are the ceiling, the blackouts, a stop, and who holds cores now. Planned is what reports
before this one in the order of :mod:`forerun.planner.schedule.others` have said that they want
(:mod:`forerun.include.times.cluster_reports`); those of them that wait for cores already want them
now.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from forerun.include.days.handle import Day
from forerun.include.reports.cluster import Cluster as Declared
from forerun.include.state.cluster_report import ClusterReport
from forerun.include.state.expire import store_clock
from forerun.include.state.slots import Look
from forerun.include.times.cluster_reports import reports_of
from forerun.include.times.leases import Leases
from forerun.planner.schedule.cluster import Cluster, joined_blackouts
from forerun.planner.schedule.others import Others, TakenCores
from forerun.planner.schedule.step_curve import StepCurve

_STOPPED_S = 3600.0
"""How long a stop will last nobody says. Early runs are not planned for so long; when they are due,
it is decided again."""

_OVERDUE_S = 60.0
"""Whoever holds cores for longer than forecast is taken to hold them for so long still."""

Place = tuple[float, str, str]
"""Where a day stands in the order: the latest start of its final run, its report, its day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A day that chooses its times ``now``. Its final run has to begin by ``latest``, and compute
    costs ``prices``, which say also for how long anything is planned."""

    day: Day
    now: float
    latest: float
    prices: StepCurve

    @property
    def place(self) -> Place:
        return self.latest, self.day.at.report, self.day.at.day


def read_others(choice: Choice, declared: Declared) -> Others:
    """What others leave of a cluster. Raises what reading the store raises."""
    store, prices = choice.day.store, choice.prices
    leases = Leases(store, declared)
    look = leases.overview(store_clock(store))
    blackouts = look.cluster.dark_between(prices.start, prices.end)
    if look.stop is not None and look.stop.stopped:
        blackouts.append((choice.now, min(choice.now + _STOPPED_S, prices.end)))
    cluster = Cluster(
        ceiling=look.cluster.ceiling_between(prices.start, prices.end),
        prices=prices,
        blackouts=joined_blackouts(blackouts),
    )
    records = reports_of(store, declared.name, choice.day.date)
    return Others(
        cluster,
        choice.day.spec.policy.cores,
        held=tuple(_held(choice, look)),
        planned=(*_waiting(choice, look), *_planned(choice, look, records)),
    )


def _held(choice: Choice, look: Look) -> Iterator[TakenCores]:
    own = f"{choice.day.at.report} {choice.day.at.day} "
    for lease in look.slots.live(look.now):
        if not lease.name.startswith(own):
            left = max(lease.run_s - (look.now - lease.since), _OVERDUE_S)
            yield TakenCores(start=choice.now, seconds=left, cores=lease.cores)


def _waiting(choice: Choice, look: Look) -> Iterator[TakenCores]:
    for one in look.waiting:
        latest = math.inf if one.latest_start is None else one.latest_start
        own = (one.report, one.day) == (choice.day.at.report, choice.day.at.day)
        if not own and one.run_s > 0 and (latest, one.report, one.day) < choice.place:
            yield TakenCores(start=choice.now, seconds=one.run_s, cores=one.cores)


def _planned(
    choice: Choice, look: Look, records: tuple[ClusterReport, ...]
) -> Iterator[TakenCores]:
    """The runs to come of those before; runs that one application does are one."""
    known = {one.name for one in look.slots.live(look.now)}
    known |= {one.name for one in look.waiting}
    own = choice.day.at.report, choice.day.at.day
    found: dict[tuple[str, str, float], list[TakenCores]] = {}
    for record in records:
        for day in record.days:
            place = day.latest_start, record.report, day.day
            if place[1:] == own or place >= choice.place:
                continue
            for run in day.runs:
                start, end = max(run.at, choice.now), run.at + run.seconds
                who = record.application, record.report
                names = {f"{one} {day.day} run {run.run}" for one in who}
                if names & known or not start < end:
                    continue
                taken = TakenCores(start=start, seconds=end - start, cores=record.cores)
                found.setdefault((record.application, day.day, run.at), []).append(taken)
    for together in found.values():
        seconds = sum(one.seconds for one in together)
        cores = max(one.cores for one in together)
        yield TakenCores(start=together[0].start, seconds=seconds, cores=cores)
