"""The night of a store: its reports as they ran last, with the arrivals and costs of past days.

Nothing is guessed. A report of which no past day tells when its rows come, or no run what they
cost, is left out, and why is said. What is read is what a day's own times are chosen by
(:mod:`forerun.include.times.choosing`), but a report is its slowest source here, and the cores are
shared.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from statistics import median

from forerun.include.days.ledger import read_history
from forerun.include.oncall.catalogue import days_of, known_reports, newest_spec
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.spec import ReportSpec
from forerun.include.reports.values.clock import parse_day, parse_time, parse_zone
from forerun.include.reports.values.fields import SpecError
from forerun.include.reports.values.hours import Hours, daily_curve
from forerun.include.state.cluster_report import ClusterReport
from forerun.include.state.expire import store_clock
from forerun.include.state.layout import CLUSTERS_FOLDER
from forerun.include.state.ledger_entry import LedgerEntry
from forerun.include.state.slots import Slots
from forerun.include.stores.store import MissingKeyError, Store, StoreError
from forerun.include.times.cluster_reports import RECENT, reports_of
from forerun.include.times.leases import Leases, read_cluster, read_stop
from forerun.include.times.outlook import curves_known
from forerun.include.times.so_far import SoFar, read_so_far
from forerun.include.times.wall_forecast import NEWEST, WallForecast, final_runs, usual_batch_s
from forerun.night.budgets import Budgets
from forerun.night.file import Night
from forerun.planner.errors import ContractError, ScheduleError
from forerun.planner.schedule.arrivals import ArrivalCurve, arrival_curve
from forerun.planner.schedule.batch_cost import PartsOfDay
from forerun.planner.schedule.cluster import NightCluster, joined_blackouts
from forerun.planner.schedule.night import NightReport, PlannedRun, together
from forerun.planner.schedule.past_runs import CostFit
from forerun.planner.schedule.step_curve import StepCurve

_AFTER_DAYS = 3
"""So many days after the last deadline are planned with: what is late has to run at some time."""


def stored_night(store: Store, cluster: str, day: date | None, now: datetime) -> Night:
    """The night after ``day``, by default that of ``now``, on a cluster of the store by its name,
    which may be empty if the store has one or none.

    Raises :class:`ScheduleError` if no report can be planned, with the reason for each.
    """
    declared = _declared(store, cluster)
    found = _StoredReports(store, declared.most if declared else None, now)
    specs = found.specs()
    timezone = declared.timezone if declared else _common_timezone(specs)
    day = day or now.astimezone(parse_zone(timezone)).date()
    members = _named(store, declared, specs, day)
    planned = [spec for spec in members if found.add(spec, day)]
    if not planned:
        reasons = "; ".join(f"{name}: {why}" for name, why in found.left_out.items())
        raise ScheduleError(
            f"no report of the store can be planned for {day}{': ' if reasons else ''}{reasons}",
            hint="A report can be once a DAG run has published a day of it. --day names another "
            "day; a night may also be given as a file.",
        )
    records = {one.report: one for one in reports_of(store, declared.name, day)} if declared else {}
    reports = tuple(_as_decided(found.reports, records, day, now.timestamp()))
    cores = float(sum(spec.policy.cores for spec in planned))
    under = _Shared(declared, timezone, cores, planned)
    others = sorted({spec.name for spec in specs} - {spec.name for spec in members})
    return Night(
        day=day,
        zone=parse_zone(timezone),
        cluster=under.cluster(day, found.reports, now.timestamp()),
        reports=reports,
        fits=found.fits,
        left_out=found.left_out,
        remarks=(*under.remarks(), *_elsewhere(declared, others), *_stopped(store, declared)),
        budgets=_budgets(store, declared, planned, day) if declared else None,
    )


def _as_decided(
    reports: list[NightReport], records: Mapping[str, ClusterReport], day: date, now: float
) -> Iterator[NightReport]:
    """The reports with the runs to come that were decided for them, which are planned anew only
    where they are in the way. Those that one application does are one."""
    applications: dict[str, list[NightReport]] = {}
    for one in reports:
        application = records[one.name].application if one.name in records else one.name
        applications.setdefault(application, []).append(one)
    for name, members in applications.items():
        joined = together(name, members) if len(members) > 1 else members[0]
        known = records.get(members[0].name)
        days = known.days if known else ()
        wanted = next((one for one in days if one.day == day.isoformat()), None)
        chosen = wanted.runs if wanted and wanted.forecast and now < joined.deadline else ()
        runs = [PlannedRun(start=r.at, rows=1, seconds=r.seconds) for r in chosen if r.at > now]
        yield replace(joined, decided=tuple(runs))


def _budgets(store: Store, declared: Cluster, specs: list[ReportSpec], day: date) -> Budgets:
    """The budgets of the cluster's owners, with what they have used on the day and the next one;
    as if nothing were used where the record of that cannot be read."""
    now = store_clock(store) if declared.budgets else 0.0
    try:
        slots = Leases(store, declared).overview(now).slots if declared.budgets else Slots()
    except ContractError:
        slots = Slots()
    days = [(day + timedelta(days=n)).isoformat() for n in (0, 1)]
    return Budgets(
        declared,
        {spec.name: spec.owner for spec in specs},
        {
            (owner, name): slots.used(owner, name, now)
            for owner, _ in declared.budgets
            for name in days
        },
    )


def _named(
    store: Store, declared: Cluster | None, specs: list[ReportSpec], day: date
) -> list[ReportSpec]:
    """The reports that name the cluster; all of them where none has said so, as in a store whose
    days were opened by a version of Forerun that did not write it down."""
    known = {one.report for one in reports_of(store, declared.name, day)} if declared else set()
    return [spec for spec in specs if not known or spec.name in known]


def _elsewhere(declared: Cluster | None, others: list[str]) -> tuple[str, ...]:
    if declared is None or not others:
        return ()
    return (f"not on cluster {declared.name}, or not for a week: {', '.join(others)}",)


def _stopped(store: Store, declared: Cluster | None) -> tuple[str, ...]:
    stop = read_stop(store, declared.name) if declared else None
    if stop is None or not stop.stopped:
        return ()
    return (f"{stop.by} has stopped the cluster at {stop.at}: planned as if it went on now",)


def _declared(store: Store, given: str) -> Cluster | None:
    if not given and not store.folders(CLUSTERS_FOLDER):
        return None
    return read_cluster(store, cluster_name(store, given))


def _common_timezone(specs: list[ReportSpec]) -> str:
    """The clock by which a night without a cluster is told."""
    zones = {spec.timezone for spec in specs}
    return zones.pop() if len(zones) == 1 else "UTC"


@dataclass
class _StoredReports:
    """The reports of a store as they are ``now``, and the reasons why some are left out. ``most``
    cores are there."""

    store: Store
    most: float | None
    now: datetime
    reports: list[NightReport] = field(default_factory=list)
    fits: dict[str, CostFit] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def specs(self) -> list[ReportSpec]:
        """The reports that DAGs run, as they were on their newest days."""
        found = []
        for known in known_reports(self.store):
            with self._or_left_out(known.name):
                spec = newest_spec(self.store, known.name)
                if spec is None:
                    raise ScheduleError("no day of it is left that a DAG run has opened")
                found.append(spec)
        return found

    def add(self, spec: ReportSpec, day: date) -> bool:
        """Return whether a report can be planned for a day; if not, it is left out."""
        with self._or_left_out(spec.name):
            report, fit = self._known(spec, day)
            self.reports.append(report)
            if fit is not None:
                self.fits[spec.name] = fit
        return spec.name not in self.left_out

    @contextmanager
    def _or_left_out(self, name: str) -> Iterator[None]:
        try:
            yield
        except (ContractError, MissingKeyError, ScheduleError, SpecError) as error:
            self.left_out[name] = error.message

    def _known(self, spec: ReportSpec, day: date) -> tuple[NightReport, CostFit | None]:
        newest = next(days_of(self.store, spec.name))
        if parse_day(newest) < day - RECENT:
            raise ScheduleError(f"it has not run since {newest}")
        policy = spec.policy
        if self.most is not None and policy.cores > self.most:
            raise ScheduleError(
                f"its runs need {policy.cores} cores, and the cluster has at most {self.most:g}"
            )
        history = read_history(self.store, spec.name, NEWEST * spec.runs)
        if not history:
            raise ScheduleError("no run of it is in the ledger")
        due = spec.deadline_on(day)
        # A night that is over is planned as a whole: that is what one wants to look at.
        done = read_so_far(self.store, spec, day) if self.now < due else SoFar()
        slowest, arrivals = self._arrivals(spec, day)
        forecast = WallForecast(history, policy)
        cost = _cost(forecast, history, spec.runs, slowest)
        report = NightReport(
            name=spec.name,
            cost=replace(cost, before=done.runs),
            arrivals=arrivals.after(done.rows_of(slowest)) if done.runs else arrivals,
            deadline=due.timestamp(),
            cores=policy.cores,
            reserve=float(parse_time(policy.reserve, "the reserve").seconds),
            at_most=spec.runs - done.last,
        )
        return report, forecast.fit

    def _arrivals(self, spec: ReportSpec, day: date) -> tuple[str, ArrivalCurve]:
        """The source that is complete last, and when its rows come."""
        growing = [source.name for source in spec.sources if source.arrival == "growing"]
        if not growing:
            raise ScheduleError("none of its sources grows over the day")
        curves = curves_known(self.store, spec, day)
        if lacking := sorted(set(growing) - set(curves)):
            raise ScheduleError(f"no past day tells when rows of {lacking[0]} come")
        slowest = max(sorted(curves), key=lambda name: curves[name].complete_at)
        return slowest, _not_before(curves[slowest], spec.points(day)[-1].timestamp())


def _not_before(curve: ArrivalCurve, own: float) -> ArrivalCurve:
    """The curve, whose last row is not known to be the last before the final run's own time."""
    if curve.complete_at >= own:
        return curve
    most = curve.total - 1.0
    pairs = zip(curve.rows.xs, curve.rows.ys, strict=True)
    return arrival_curve([*((x, min(y, most)) for x, y in pairs if x < own), (own, most + 1)])


def _cost(
    forecast: WallForecast, history: tuple[LedgerEntry, ...], final: int, source: str
) -> PartsOfDay:
    """What a run takes by its rows of a source: a day with so many rows as usual does the work of a
    usual batch."""
    batch_s = usual_batch_s(history, final)
    rows = [dict(entry.arrived).get(source, 0) for entry in final_runs(history, final)]
    usual = round(median(rows)) if rows else 0
    if batch_s is None or usual < 1:
        raise ScheduleError("the ledger does not say what batch would have cost")

    @functools.cache
    def seconds(part: float, batches: int) -> float:
        found, _ = forecast.of(part * batch_s, batches)
        return found or 0.0

    return PartsOfDay(seconds, usual)


class _Shared:
    """The cluster that reports are planned on: what was declared; without that, cores for all of
    them at once. It has one price for all: its own, else the one that most of the reports have."""

    def __init__(
        self, declared: Cluster | None, timezone: str, cores: float, specs: list[ReportSpec]
    ) -> None:
        self._declared, self._timezone, self._specs = declared, timezone, specs
        self._ceiling = declared.ceiling if declared else _all_day(cores)
        named = [s.policy.prices for s in specs if s.policy.prices and s.timezone == timezone]
        of_reports = Counter(named).most_common(1)[0][0] if named else _all_day(1.0)
        self._prices = declared.prices if declared and declared.prices else of_reports

    def remarks(self) -> tuple[str, ...]:
        """Return who has prices of its own that the night does not have."""
        night = (self._prices, self._timezone)
        others = [s for s in self._specs if s.policy.prices]
        names = [s.name for s in others if (s.policy.prices, s.timezone) != night]
        if not names:
            return ()
        return (f"planned with the prices of the night, not with their own: {', '.join(names)}",)

    def cluster(self, day: date, reports: list[NightReport], now: float) -> NightCluster:
        """The cluster from the start of a day until after all reports; of a night that has begun
        from now on."""
        zone = parse_zone(self._timezone)
        last = max(max(one.deadline, one.arrivals.complete_at) for one in reports)
        days = (datetime.fromtimestamp(last, zone).date() - day).days + 1 + _AFTER_DAYS

        def curve(hours: tuple[Hours, ...], what: str) -> StepCurve:
            return daily_curve(hours, day, days, zone, what)

        blackouts = self._declared.blackouts if self._declared else ()
        spans = [
            span
            for number in range(days)
            for one in blackouts
            for span in one.on(day + timedelta(days=number), zone)
        ]
        ceiling, prices = curve(self._ceiling, "the ceiling"), curve(self._prices, "the price")
        is_over = now >= max(one.deadline for one in reports)
        start = prices.start if is_over else max(now, prices.start)
        return NightCluster(
            ceiling=ceiling.between(start, prices.end),
            prices=prices.between(start, prices.end),
            blackouts=joined_blackouts((max(a, start), b) for a, b in spans if b > start),
        )


def _all_day(value: float) -> tuple[Hours, ...]:
    return (Hours(start="00:00", end="24:00", value=value),)


def cluster_name(store: Store, given: str) -> str:
    """The name of a cluster: what was given, or that of the only one of the store. Raises
    :class:`StoreError` where neither is one."""
    known = store.folders(CLUSTERS_FOLDER)
    if given or len(known) == 1:
        return given or known[0]
    raise StoreError(
        f"the store has {len(known)} clusters{': ' if known else ''}{', '.join(known)}",
        hint="Name one of them: forerun schedule show NAME, or forerun schedule --cluster NAME."
        if known
        else "A cluster is known once a report with cluster= has opened a day.",
    )
