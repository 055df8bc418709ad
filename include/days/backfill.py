"""A range of days looked at, priced and computed: what is missing, corrected since, or there.

A day that is published and whose sources are as it has read them is left alone; one that was
corrected is repaired (:mod:`include.days.repair`). What was never published goes on in the
generation that somebody has begun, with all that its runs have kept, or in a new one. Several days
share an application, whose start is paid once; each is committed and published by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Literal

from include.days.day_request import settings_of
from include.days.generations import generations
from include.days.handle import Day
from include.days.prepare import (
    PreparedRun,
    imagine_generation,
    open_generation,
    prepare_run,
)
from include.days.repair import Repair, begin_repair, find_repair
from include.days.results import read_pointer
from include.reports.spec import ReportSpec
from include.sources.completeness import find_missing
from include.state.opening import open_store
from include.state.pointers import Pointer
from include.state.scratch_store import ScratchStore
from planner.contract.digest import digest_of
from planner.errors import ForerunError, RequestError
from planner.request import Settings

Standing = Literal["published", "corrected", "missing", "blocked"]
_MOST_DAYS = 3_700
"""Ten years: a longer range is a slip of the pen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillDay:
    """A day of the range. ``cost``: of its run by estimate, in millionths of a CPU second, the
    start of an application included; 0 where nothing is to be done. ``what`` says in words what is
    to be done, or why nothing is. ``repair``: of a day that was corrected."""

    date: date
    standing: Standing
    what: str
    cost: int = 0
    repair: Repair | None = None

    @property
    def is_to_do(self) -> bool:
        return self.standing in ("corrected", "missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """A range, looked at. ``start``: what starting an application costs, in the same unit as the
    days; ``together``: at most so many days share one."""

    spec: ReportSpec
    days: tuple[BackfillDay, ...]
    start: int
    together: int

    @property
    def applications(self) -> tuple[tuple[BackfillDay, ...], ...]:
        """The days to do, oldest first, as they share applications."""
        wanted = [day for day in self.days if day.is_to_do]
        cuts = range(0, len(wanted), self.together)
        return tuple(tuple(wanted[at : at + self.together]) for at in cuts)

    @property
    def apart(self) -> int:
        """What the range costs with an application for each day."""
        return sum(day.cost for day in self.days)

    @property
    def cost(self) -> int:
        """What it costs as it is done: of days that share an application, the start once."""
        return self.apart - sum(self.start * (len(days) - 1) for days in self.applications)


def find_backfill(
    store_uri: str,
    spec: ReportSpec,
    first: date,
    last: date,
    *,
    now: datetime,
    together: int,
    settings: Settings | None = None,
) -> Backfill:
    """Look at every day from ``first`` to ``last`` and plan what is to be done. It changes nothing.

    Raises :class:`planner.errors.RequestError` for a range that has no days, or too many.
    """
    if not first <= last < first + timedelta(days=_MOST_DAYS):
        raise RequestError(
            f"from {first} to {last} is no range of days",
            hint=f"Give the first and the last day, at most {_MOST_DAYS} days apart.",
        )
    settings = settings or Settings()
    dates = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    days = tuple(_looked_at(store_uri, spec, day, now, settings) for day in dates)
    any_day = imagine_generation(store_uri, spec, first, now=now)
    start = round(settings_of(any_day, settings).prices.run_start)
    return Backfill(spec=spec, days=days, start=start, together=together)


def begin_day(
    store_uri: str, spec: ReportSpec, found: BackfillDay, *, now: datetime, settings: Settings
) -> tuple[Day, PreparedRun]:
    """Open what a day is computed in, and plan its run. Repeated, it goes on with what the first
    try has decided. Raises what opening, pinning and planning raise."""
    if found.repair is not None:
        store = open_store(store_uri)
        repair = find_repair(store, spec, found.date, now=now, settings=settings)
        prepared = begin_repair(repair, now=now)
        return replace(repair.day, at=prepared.at), prepared
    begun = _begun(store_uri, spec, found.date)
    day = begun or open_generation(
        store_uri, spec, found.date, trigger=f"backfill-{digest_of(spec.digest)[:16]}", now=now
    )
    return day, prepare_run(day, spec.runs, now=now, settings=settings)


def _looked_at(
    store_uri: str, spec: ReportSpec, day: date, now: datetime, settings: Settings
) -> BackfillDay:
    """One day of the range. What cannot be told of it is said in its row, and holds up no other."""
    try:
        published = read_pointer(open_store(store_uri), spec.name, day)
        if published is not None and not published.early:
            return _published(store_uri, spec, day, now, settings, published)
        if missing := find_missing(spec, day, now):
            what = "; ".join(one.text for one in missing)
            return BackfillDay(date=day, standing="blocked", what=f"not complete: {what}")
        begun = _begun(store_uri, spec, day)
        handle = begun.imagined() if begun else imagine_generation(store_uri, spec, day, now=now)
        result = prepare_run(handle, spec.runs, now=now, settings=settings).result
    except ForerunError as error:
        return BackfillDay(date=day, standing="blocked", what=error.message)
    if result is None:
        return BackfillDay(date=day, standing="missing", what="computed: to be published")
    base = result.plan.run.base if result.plan.method == "incremental" else 0
    how = f"from the state of run {base} of generation {handle.at.generation}" if base else "anew"
    cost = result.plan.run.estimated_cost
    return BackfillDay(date=day, standing="missing", what=f"to compute {how}", cost=cost)


def _published(
    store_uri: str,
    spec: ReportSpec,
    day: date,
    now: datetime,
    settings: Settings,
    published: Pointer,
) -> BackfillDay:
    store = ScratchStore(open_store(store_uri))
    repair = find_repair(store, spec, day, now=now, settings=settings)
    if not repair.is_needed:
        what = f"published, version {published.version}"
        return BackfillDay(date=day, standing="published", what=what)
    changed = "its sources changed" if repair.corrections is None else _kinds(repair)
    best = repair.best
    how = "anew" if best.base is None else f"from the state of {best.base.name}"
    return BackfillDay(
        date=day,
        standing="corrected",
        what=f"{changed}; to compute {how}",
        cost=best.cost,
        repair=repair,
    )


def _kinds(repair: Repair) -> str:
    kinds = [one.kind for one in repair.corrections or ()]
    counts = ((kind, kinds.count(kind)) for kind in ("new", "changed", "vanished"))
    return "files since: " + ", ".join(f"{count} {kind}" for kind, count in counts if count)


def _begun(store_uri: str, spec: ReportSpec, day: date) -> Day | None:
    """The generation that somebody has begun with the report as it is, None if there is none."""
    store = open_store(store_uri)
    for at, record in generations(store, spec.name, day):
        if not record.repairs:
            return Day(store, spec, at) if record.spec == spec.digest else None
    return None
