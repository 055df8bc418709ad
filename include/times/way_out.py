"""When a day goes over to plain batch by itself: while that can still be in time and what was
planned cannot, or has failed and could not be followed by it; and on its last try in any case."""

from __future__ import annotations

from datetime import datetime

from forerun.include.days.handle import Day
from forerun.include.days.ledger import read_history
from forerun.include.times.safe_start import AROUND_S, newest_plan, remaining_cost
from forerun.include.times.wall_forecast import NEWEST, WallForecast
from forerun.planner.cost.constants import MICRO

_BATCH = ("batch", "own-batch")
"""Methods of plans that read nothing that was kept."""


def read_way_out(day: Day, now: datetime, *, failed: bool = False, last: bool = False) -> str:
    """Why the final run of a day should be planned as batch at ``now``, empty if it should not.

    ``failed``: it has been tried; ``last``: it is tried once more and not again. Asked of the plan
    that is stored, by forecasts from the ledger.
    """
    planned = newest_plan(day.store, day.at, day.spec.runs)
    if planned is None or planned.method in _BATCH:
        return ""
    chain = day.chain()
    history = read_history(day.store, day.spec.name, NEWEST * day.spec.runs)
    before = [entry for entry in history if entry.day < day.at.day]
    forecast = WallForecast(before, day.spec.policy)
    left = remaining_cost(planned, chain[-1].run if chain else 0)
    kept_s, _ = forecast.of(left, len(chain) + 1)
    batch_s, _ = forecast.of(planned.batch_run_cost / MICRO)
    time_s = (day.spec.deadline_on(day.date) - now).total_seconds() - AROUND_S
    return way_out(kept_s, batch_s, time_s, failed=failed, last=last)


def way_out(
    kept_s: float | None, batch_s: float | None, time_s: float, *, failed: bool, last: bool
) -> str:
    """Return why the final run is to be batch now, or "": the pure form of :func:`read_way_out`.
    The arguments are seconds: the forecast incremental run, the forecast batch run, the time left.
    The last try of a run that has failed is batch also where that is late or not forecast: what has
    failed before would be late, too, and batch needs nothing that is kept.
    """
    if kept_s is None or batch_s is None:
        return f"{_LAST_TRY}: nothing forecasts either way" if failed and last else ""
    figures = f"{kept_s:.0f} s with what is kept, {batch_s:.0f} s as batch, {time_s:.0f} s are left"
    if failed and last:
        return f"{_LAST_TRY}: {figures}"
    if batch_s > time_s:
        return ""
    if kept_s > time_s:
        return f"only batch can be in time: {figures}"
    if failed and kept_s + batch_s > time_s:
        return f"the final run has failed, and after another try batch would be late: {figures}"
    return ""


_LAST_TRY = "the final run has failed, and this is its last try"
