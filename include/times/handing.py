"""Hands to a day of a cluster what was decided for it: a newer schedule, which its waits follow."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from forerun.include.days.generations import spec_of
from forerun.include.days.handle import Day
from forerun.include.days.run_times import read_times, store_times
from forerun.include.state.cluster_report import WantedRun
from forerun.include.state.layout import Generation
from forerun.include.state.run_schedule import RunSchedule, ScheduledRun
from forerun.include.stores.store import Store
from forerun.include.times.cluster_reports import put_wanted
from forerun.include.times.night import SOON_S, DecidedNight, NightMember
from forerun.include.times.outlook import curves_known, prices_until
from forerun.planner.errors import ForerunError
from forerun.planner.schedule.night import ReportPlan
from forerun.planner.schedule.piecewise import TICK

_LOG = logging.getLogger(__name__)


def hand_over(
    store: Store, member: NightMember, plan: ReportPlan, night: DecidedNight, now: datetime
) -> bool:
    """Store the times of a plan as the newest schedule of a day, and say to the others that it
    wants them. False where they are as before, or the day cannot be told: then what it had before
    holds, and its runs wait for cores as they come."""
    record, wanted = member.record, member.day
    at = Generation(record.report, wanted.day, wanted.generation)
    try:
        day = Day(store, spec_of(store, at), at)
        runs = _runs(member, plan, day.spec.runs)
        if plan is not night.own and _as_before(wanted.runs, runs):
            return False  # those of one application are told together, however little it is
        starts = (*runs[:-1], replace(runs[-1], at=_final_from(member, runs, night)))
        last = max(runs[-1].at, member.forecast.due)
        schedule = RunSchedule(
            number=0,  # given when it is stored
            decided_at=now.astimezone(UTC).isoformat(),
            before=runs[0].run if len(runs) == 1 else member.slots[0],
            runs=(*_before(day, runs[0].run), *_scheduled(day, starts, last)),
            forced=night.is_forced(plan),
            missing_s=plan.missing,
            complete=False,
            why=f"the night of cluster {night.name}, as it was decided for {night.decided_for}",
        )
        store_times(day, schedule)
        put_wanted(day, night.name, replace(wanted, runs=runs), record.application)
    except ForerunError as error:
        _LOG.warning("%s is not told what was decided for it: %s", at.report, error.message)
        return False
    return True


def _runs(member: NightMember, plan: ReportPlan, last: int) -> tuple[WantedRun, ...]:
    """The runs of a plan in the slots of the day."""
    *early, final = plan.runs
    runs = [
        WantedRun(run=slot, at=run.start, seconds=run.seconds)
        for slot, run in zip(member.slots, early, strict=False)
    ]
    return (*runs, WantedRun(run=last, at=final.start, seconds=final.seconds))


def _final_from(member: NightMember, runs: tuple[WantedRun, ...], night: DecidedNight) -> float:
    """The instant from which a final run may start: later than it could only where it is cheaper
    then. It is not put off for late rows or a crowd: it waits for its sources, and for its turn."""
    final, prices = runs[-1], night.cluster.prices
    ready = max([member.forecast.ready, *(run.at + run.seconds for run in runs[:-1])])
    could = max(ready, member.forecast.arrived[-1][0], prices.start)
    saves = (
        final.at > could
        and prices.integral(final.at, final.at + final.seconds)
        < prices.integral(could, could + final.seconds) - TICK
    )
    return final.at if saves else min(final.at, ready)


def _as_before(old: tuple[WantedRun, ...], new: tuple[WantedRun, ...]) -> bool:
    if [one.run for one in old] != [one.run for one in new]:
        return False
    return all(abs(one.at - then.at) < SOON_S for one, then in zip(old, new, strict=True))


def _before(day: Day, run: int) -> tuple[ScheduledRun, ...]:
    """The runs of earlier slots, as they were."""
    schedule = read_times(day).schedule
    return tuple(one for one in schedule.runs if one.run < run) if schedule else ()


def _scheduled(day: Day, runs: tuple[WantedRun, ...], last: float) -> Iterator[ScheduledRun]:
    prices = prices_until(day.spec, day.date, last)
    curves = curves_known(day.store, day.spec, day.date)
    for one in runs:
        final = day.is_final(one.run)
        arrived = (
            (name, 1.0 if final else min(1.0, curve.rows_at(one.at) / curve.total))
            for name, curve in curves.items()
        )
        yield ScheduledRun(
            run=one.run,
            at=datetime.fromtimestamp(one.at, UTC).isoformat(),
            weight=prices.at(one.at),
            arrived=tuple(arrived),
        )
