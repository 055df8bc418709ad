"""A range of days looked at, priced and computed: what is missing, corrected since, or there.

A day that is published and whose sources are as it has read them is left alone; one that was
corrected is repaired (:mod:`forerun.include.past.repair`). What was never published goes on in the
generation that somebody has begun, with all that its runs have kept, or in a new one. Several days
share an application, whose start is paid once, and one query where that is right
(:mod:`forerun.include.past.lifted_days`); each is committed and published by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Literal

from forerun.include.days.generations import generations
from forerun.include.days.handle import Day
from forerun.include.days.results import read_pointer
from forerun.include.past.lifted_days import lift_days, store_lifted
from forerun.include.past.repair import Repair, SourcesMovedError, begin_repair, find_repair
from forerun.include.reports.spec import ReportSpec
from forerun.include.runs.day_request import settings_of
from forerun.include.runs.prepare import (
    AskedRun,
    PreparedRun,
    ask_for_run,
    imagine_generation,
    open_generation,
    planned,
)
from forerun.include.sources.completeness import find_missing
from forerun.include.state.pointers import Pointer
from forerun.include.stores.opening import open_store
from forerun.include.stores.scratch_store import ScratchStore
from forerun.planner.api import plan
from forerun.planner.contract import Plan
from forerun.planner.contract.digest import digest_of
from forerun.planner.errors import ForerunError, LiftError, RequestError
from forerun.planner.request import Settings

Standing = Literal["published", "corrected", "missing", "blocked"]
_MOST_DAYS = 3_700
"""Ten years: a longer range is a slip of the pen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillDay:
    """A day of the range. ``cost`` is that of its run by estimate, in millionths of a CPU second,
    the start of an application included; 0 where nothing is to be done. ``what`` says in words what
    is to be done, or why nothing is. ``repair`` is that of a corrected day. For a missing day,
    ``asked`` is its pinned run; ``plan`` is its own plan, or, for days computed by one query, the
    largest day's plan."""

    date: date
    standing: Standing
    what: str
    cost: int = 0
    repair: Repair | None = None
    asked: AskedRun | None = None
    plan: Plan | None = None

    @property
    def is_to_do(self) -> bool:
        return self.standing in ("corrected", "missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Days that share an application, oldest first. ``at_once``: those of them that one query
    computes, for ``query_cost`` without the start; ``why_not`` says why there is none."""

    days: tuple[BackfillDay, ...]
    at_once: frozenset[date] = frozenset()
    query_cost: int = 0
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """A range, looked at. ``start``: what starting an application costs, in the same unit as the
    days; ``together``: at most so many days share one."""

    spec: ReportSpec
    days: tuple[BackfillDay, ...]
    applications: tuple[Application, ...]
    start: int
    together: int

    @property
    def apart(self) -> int:
        """Return the cost of the range with an application for each day."""
        return sum(day.cost for day in self.days)

    @property
    def cost(self) -> int:
        """Return the cost of the range as it is done: days that share an application pay the start
        once, and those that one query computes pay the query."""
        return sum(self.start + self._work(application) for application in self.applications)

    def cost_of(self, dates: Collection[date]) -> int:
        """Return the cost of some of the days that are to be done, in the applications that they
        would share; one query computes days together only if all that it was made for are among
        them."""
        parts = (_only(application, dates) for application in self.applications)
        return sum(self.start + self._work(part) for part in parts if part.days)

    def _work(self, application: Application) -> int:
        alone = (day for day in application.days if day.date not in application.at_once)
        return application.query_cost + sum(day.cost - self.start for day in alone)


def _only(application: Application, dates: Collection[date]) -> Application:
    """Return an application without the days that are not among ``dates``."""
    days = tuple(day for day in application.days if day.date in dates)
    if application.at_once.issubset(dates):
        return replace(application, days=days)
    return replace(application, days=days, at_once=frozenset(), query_cost=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunDays:
    """Days of an application whose runs are planned, and those that cannot be begun, each with the
    reason. ``query``: the URI of the query that computes several of them at once, empty for none.
    """

    runs: tuple[tuple[Day, PreparedRun], ...]
    failed: tuple[tuple[date, ForerunError], ...]
    query: str


def find_backfill(
    store_uri: str,
    spec: ReportSpec,
    first: date,
    last: date,
    *,
    now: datetime,
    together: int,
    settings: Settings | None = None,
    at_once: bool = True,
) -> Backfill:
    """Look at every day from ``first`` to ``last`` and plan what is to be done. It changes nothing.
    ``at_once``: one query may compute several days.

    Raises :class:`forerun.planner.errors.RequestError` for a range that has no days, or too many.
    """
    if not 0 <= (last - first).days < _MOST_DAYS:  # a sum could leave the calendar
        raise RequestError(
            f"from {first} to {last} is no range of days",
            hint=f"Give the first and the last day, at most {_MOST_DAYS} days apart.",
        )
    settings = settings or Settings()
    dates = spec.report_dates(first, last)
    looked = [_looked_at(store_uri, spec, day, now, settings) for day in dates]
    any_day = imagine_generation(store_uri, spec, dates[0], now=now)
    start = round(settings_of(any_day, settings).prices.run_start)
    wanted = [one for one in looked if isinstance(one, AskedRun) or one.is_to_do]
    parts = [wanted[at : at + together] for at in range(0, len(wanted), together)]
    applications, priced = [], dict[date, BackfillDay]()
    for part in parts:
        application, priced_part = _priced(part, start, at_once=at_once)
        priced |= {day.date: day for day in priced_part}
        if application.days:
            applications.append(application)
    return Backfill(
        spec=spec,
        days=tuple(one if isinstance(one, BackfillDay) else priced[one.day.date] for one in looked),
        applications=tuple(applications),
        start=start,
        together=together,
    )


def _priced(
    days: Sequence[BackfillDay | AskedRun], start: int, *, at_once: bool
) -> tuple[Application, tuple[BackfillDay, ...]]:
    """The days with their prices, and the application of those that can be done: by one query where
    that is right and cheaper, else each by its own plan."""
    alike = [day for day in days if isinstance(day, AskedRun) and not day.request.committed]
    why_not, costs, query_cost, largest = "", dict[date, int](), 0, None
    if at_once and len(alike) > 1:
        try:
            found = lift_days(alike)
        except LiftError as error:
            why_not = f"{error.reason}: {error.message}"
        else:
            query_cost, largest = found.cost - start, found.largest.plan
            costs = {a.day.date: c for a, c in zip(alike, found.alone, strict=True)}
    priced = tuple(
        day if isinstance(day, BackfillDay) else _missing(day, costs.get(day.day.date), largest)
        for day in days
    )
    application = Application(
        days=tuple(day for day in priced if day.is_to_do),
        at_once=frozenset(costs),
        query_cost=query_cost,
        why_not=why_not,
    )
    return application, priced


def _missing(asked: AskedRun, cost: int | None, largest: Plan | None) -> BackfillDay:
    """A day that is to be computed, at this cost by the query of which the ``largest`` day has this
    plan; or, if the cost is not known, by a plan of its own."""
    if cost is not None:
        return BackfillDay(
            date=asked.day.date,
            standing="missing",
            what="to compute anew",
            cost=cost,
            asked=asked,
            plan=largest,
        )
    try:
        made = plan(asked.request).plan
    except ForerunError as error:
        return BackfillDay(date=asked.day.date, standing="blocked", what=error.message)
    base = made.run.base if made.method == "incremental" else 0
    generation = asked.day.at.generation
    how = f"from the state of run {base} of generation {generation}" if base else "anew"
    return BackfillDay(
        date=asked.day.date,
        standing="missing",
        what=f"to compute {how}",
        cost=made.run.estimated_cost,
        asked=asked,
        plan=made,
    )


def begin_days(
    store_uri: str, spec: ReportSpec, application: Application, *, now: datetime, settings: Settings
) -> BegunDays:
    """Open what the days of an application are computed in, and plan their runs. Repeated, it goes
    on with what the first try has decided. A day that cannot be begun holds up no other."""
    failed: list[tuple[date, ForerunError]] = []
    begun: list[tuple[Day, PreparedRun | AskedRun]] = []
    for one in application.days:
        try:
            begun.append(_asked(store_uri, spec, one, now, settings))
        except ForerunError as error:
            failed.append((one.date, error))
    found = plan_days(begun, application.at_once)
    return replace(found, failed=(*failed, *found.failed))


def plan_days(
    begun: Sequence[tuple[Day, PreparedRun | AskedRun]], at_once: Container[date] | None = None
) -> BegunDays:
    """Plan the runs of days that share an application: by one query those that it is right and
    cheaper for, of the dates ``at_once`` or of all; each of the others by its own plan. A day that
    cannot be planned holds up no other."""
    query, prepared = "", dict[date, PreparedRun]()
    alike = [
        asked
        for _, asked in begun
        if isinstance(asked, AskedRun)
        and (at_once is None or asked.day.date in at_once)
        and not asked.request.committed
    ]
    if len(alike) > 1:
        with suppress(LiftError):  # each day has its own plan
            runs, query = store_lifted(lift_days(alike))
            prepared = {a.day.date: run for a, run in zip(alike, runs, strict=True)}
    done: list[tuple[Day, PreparedRun]] = []
    failed: list[tuple[date, ForerunError]] = []
    for day, run in begun:
        if isinstance(run, PreparedRun):
            done.append((day, run))
        elif day.date in prepared:
            done.append((day, prepared[day.date]))
        else:
            try:
                done.append((day, planned(run)))
            except ForerunError as error:
                failed.append((day.date, error))
    return BegunDays(runs=tuple(done), failed=tuple(failed), query=query)


def _asked(
    store_uri: str, spec: ReportSpec, found: BackfillDay, now: datetime, settings: Settings
) -> tuple[Day, PreparedRun | AskedRun]:
    """Open what a day is computed in and pin its sources; a repair is planned, too."""
    if found.repair is not None:
        store = open_store(store_uri)
        repair = find_repair(store, spec, found.date, now=now, settings=settings)
        prepared = begin_repair(repair, now=now)
        return replace(repair.day, at=prepared.at), prepared
    begun = _begun(store_uri, spec, found.date)
    day = begun or open_generation(
        store_uri, spec, found.date, trigger=f"backfill-{digest_of(spec.digest)[:16]}", now=now
    )
    asked = ask_for_run(day, spec.runs, now=now, settings=settings, by_itself=True)
    if found.asked is not None and isinstance(asked, AskedRun) and _moved(found.asked, asked):
        raise SourcesMovedError(
            f"the sources of {spec.name} of {found.date} changed since they were looked at",
            hint="Nothing is computed of that day: ask for the range again.",
        )
    return day, asked


def _moved(before: AskedRun, now: AskedRun) -> bool:
    return any(pin.files != before.pins[name].files for name, pin in now.pins.items())


def _looked_at(
    store_uri: str, spec: ReportSpec, day: date, now: datetime, settings: Settings
) -> BackfillDay | AskedRun:
    """One day of the range; if it is to be computed, what planning it asks. What cannot be told of
    it is said in its row, and holds up no other."""
    try:
        published = read_pointer(open_store(store_uri), spec.name, day)
        if published is not None and not published.early:
            return _published(store_uri, spec, day, now, settings, published)
        if missing := find_missing(spec, day, now):
            what = "; ".join(one.text for one in missing)
            return BackfillDay(date=day, standing="blocked", what=f"not complete: {what}")
        begun = _begun(store_uri, spec, day)
        handle = begun.imagined() if begun else imagine_generation(store_uri, spec, day, now=now)
        asked = ask_for_run(handle, spec.runs, now=now, settings=settings, by_itself=True)
    except ForerunError as error:
        return BackfillDay(date=day, standing="blocked", what=error.message)
    if isinstance(asked, AskedRun):
        return asked
    return BackfillDay(date=day, standing="missing", what="computed: to be published")


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
