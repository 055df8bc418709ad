"""The alerts: a day that will miss its deadline, said before it does; one that has missed it; and,
for working hours, an early run that failed.

Pure but for :func:`look_at`. A warning comes while batch can still be run from the start, if the
forecast is right: it is the last instant at which something can be done.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from forerun.include.oncall.catalogue import known_reports, newest_spec
from forerun.include.oncall.day.records import DayRecords, read_day_records
from forerun.include.oncall.day.standing import Standing, standing, waits_for
from forerun.include.oncall.remedies import remedies
from forerun.include.reports.asset_keys import report_key
from forerun.include.reports.spec import AssetEvent, ReportSpec
from forerun.include.sources.completeness import find_missing
from forerun.include.state.failure import Failure
from forerun.include.state.layout import results_folder
from forerun.include.state.pointers import Pointer, read_published
from forerun.include.stores.store import StoreReader
from forerun.include.times.safe_start import AROUND_S

Kind = Literal["warning", "missed", "ticket"]
"""``warning``: the deadline will be missed unless somebody acts; ``missed``: it has been. Both wake
somebody. ``ticket``: something to look at in working hours."""

_SELDOM = timedelta(minutes=5)
"""Until so long before the time of the final run little changes: looks may be so far apart."""
_SOON = timedelta(minutes=5)
"""A final run that may start is planned within this time, if Airflow is alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A message to whoever is on call, complete in itself. ``minutes_left`` counts to the deadline,
    and is negative after it; ``what`` is wrong, in a sentence; ``impact``: what readers have
    meanwhile, and which reports wait; ``last_good``: the newest whole version; ``to_do``: what
    helps, the first thing first; ``page``: the address of the day's page."""

    kind: Kind
    report: str
    day: str
    owner: str
    deadline: str
    minutes_left: int
    what: str
    impact: str
    last_good: str
    to_do: tuple[str, ...]
    page: str

    @property
    def text(self) -> str:
        """All of it, to be read on a telephone."""
        left = f"{self.minutes_left} min left" if self.minutes_left >= 0 else "deadline passed"
        return "\n".join(
            (
                f"{self.kind.upper()}: {self.report} of {self.day}, due {self.deadline}, {left}",
                f"What: {self.what}",
                f"Impact: {self.impact}",
                f"Last good version: {self.last_good}",
                *(f"To do: {one}" for one in self.to_do),
                f"Page: {self.page}",
                f"Owner: {self.owner}",
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A day as its watch sees it at an instant. ``wrong`` says why it will miss its deadline, empty
    while it will not; ``over``: it is published whole; ``again_at``: when time alone may change
    that."""

    records: DayRecords
    standing: Standing
    missing: tuple[str, ...]
    wrong: str
    over: bool
    again_at: datetime


def watch(records: DayRecords, now: datetime, missing: tuple[str, ...] = ()) -> Watched:
    """Look at a day at ``now``; ``missing`` is that of :class:`Watched`."""
    found, last = standing(records, now, missing), _last_chance(records)
    published = records.published
    over = bool(published and not published.early and published.generation == records.at.number)
    looks = (last, records.safe.at, records.points[-1], records.deadline)
    return Watched(
        records=records,
        standing=found,
        missing=missing,
        wrong="" if over else _wrong(records, found, last, now, missing),
        over=over,
        again_at=min((at for at in looks if at > now), default=now),
    )


def next_look(watched: Watched, now: datetime, poll_s: float) -> float:
    """Seconds until the next look: ``poll_s``, or longer while the final run is far."""
    if now >= watched.records.points[-1] - _SELDOM:
        return poll_s
    return max(poll_s, min(watched.again_at - now, _SELDOM).total_seconds())


def _last_chance(records: DayRecords) -> datetime:
    """Until when batch can be begun and published in time; without a forecast the latest safe
    start."""
    if records.batch_wall_s is None:
        return records.safe.at
    return records.deadline - timedelta(seconds=records.batch_wall_s + AROUND_S)


def _wrong(
    records: DayRecords,
    found: Standing,
    last: datetime,
    now: datetime,
    missing: tuple[str, ...],
) -> str:
    """Return why the deadline will be missed, empty while it will not."""
    if found.state in ("failed", "blocked", "missed", "at risk"):
        return found.what
    if records.final is not None:
        return ""
    begun = [one.stored_at for one in records.plans_of_final]
    if begun:
        late = now >= last and now > begun[-1] + timedelta(seconds=records.safe.wall_s)
        return "the final run takes longer than forecast; batch can just be in time" if late else ""
    ends_by_itself = not missing or records.spec.on_incomplete == "publish_with_warning"
    due, limit = records.points[-1], min(last, records.safe.at)
    if ends_by_itself:  # a while to begin in, but none of the time that batch takes
        due, limit = due + _SOON, min(last, limit + _SOON)
    if now < max(due, limit):
        return ""
    said = waits_for(missing) if missing else "nothing has planned the final run"
    return f"the latest safe start has passed; {said}"


def read_watched(store: StoreReader, report: str, day: str, now: datetime) -> Watched | None:
    """Look at a day in the store; None if it was never opened. Raises
    :class:`forerun.include.stores.store.StoreError` and
    :class:`forerun.planner.errors.ContractError`."""
    records = read_day_records(store, report, day)
    if records is None:
        return None
    missing = () if records.final else find_missing(records.spec, records.date, now)
    return watch(records, now, tuple(each.text for each in missing))


def alert_of(
    store: StoreReader, watched: Watched, now: datetime, *, kind: Kind, page: str, what: str = ""
) -> Alert:
    """The alert about a day; ``what`` where the day itself does not say what is wrong."""
    records = watched.records
    spec = records.spec
    left = (records.deadline - now).total_seconds() / 60
    return Alert(
        kind=kind,
        report=spec.name,
        day=records.at.day,
        owner=spec.owner,
        deadline=f"{records.deadline.astimezone(spec.zone):%Y-%m-%d %H:%M} {spec.timezone}",
        minutes_left=int(left // 1),
        what=what or watched.wrong or watched.standing.what,
        impact=_impact(store, records),
        last_good=_last_good(store, spec.name, records.date),
        to_do=_to_do(watched, now),
        page=page,
    )


def unopened_alert(
    spec: ReportSpec, day: date, failure: Failure, now: datetime, page: str
) -> Alert:
    """Return the alert about a day that could not be opened; the store is not asked, since it may
    be what has failed."""
    deadline = spec.deadline_on(day)
    return Alert(
        kind="warning",
        report=spec.name,
        day=day.isoformat(),
        owner=spec.owner,
        deadline=f"{deadline.astimezone(spec.zone):%Y-%m-%d %H:%M} {spec.timezone}",
        minutes_left=int((deadline - now).total_seconds() // 60),
        what=f"the day could not be opened: {failure.what}",
        impact="nothing of this day is computed until it is opened",
        last_good="look at the report's page",
        to_do=remedies(failure, was_batch=True),
        page=page,
    )


def _impact(store: StoreReader, records: DayRecords) -> str:
    published = records.published
    if published is None:
        have = "readers have nothing of this day"
    elif published.early:
        have = f"readers have an early result over {published.fraction:.0%} of the day"
    else:
        have = f"readers have version {published.version} of an earlier attempt at the day"
    waiting = _waiting_reports(store, records.spec.name)
    return f"{have}; {', '.join(waiting)} wait for it" if waiting else have


def _waiting_reports(store: StoreReader, report: str) -> tuple[str, ...]:
    """The reports of the store of which a source waits for this one."""
    uri = report_key(report).uri
    found = []
    for known in known_reports(store):
        spec = newest_spec(store, known.name)
        rules = [source.complete_when for source in spec.sources] if spec else []
        if any(isinstance(rule, AssetEvent) and rule.uri == uri for rule in rules):
            found.append(known.name)
    return tuple(found)


def _last_good(store: StoreReader, report: str, before: date) -> str:
    """The newest whole version of an earlier day."""
    days = store.folders(results_folder(report, before.isoformat()).rpartition("/")[0])
    for day in sorted((one for one in days if one < before.isoformat()), reverse=True):
        pointer: Pointer | None = read_published(store, report, day).pointer
        if pointer is not None and not pointer.early:
            marked = ", not complete" if pointer.incomplete else ""
            return f"{day}, version {pointer.version}{marked}, published {pointer.published_at}"
    return "none"


def _to_do(watched: Watched, now: datetime) -> tuple[str, ...]:
    records = watched.records
    if records.fatal is not None:
        planned = records.plan
        was_batch = planned is not None and planned.method == "batch"
        return remedies(records.fatal, was_batch=was_batch)
    if watched.standing.state == "blocked":
        return (
            "put right the data that breaks a critical expectation, then clear the DAG run",
            "or publish all the same, with a reason that readers are told, from the page",
        )
    if records.final is not None:
        return ("look at the tasks check and publish",)
    done = [f"deliver: {text}" for text in watched.missing]
    if records.batch_wall_s is None:
        return (*done, "run batch now, from the page")
    at = now + timedelta(seconds=records.batch_wall_s + AROUND_S)
    clock = f"{at.astimezone(records.spec.zone):%H:%M}"
    side = "in time" if at <= records.deadline else "late: tell the readers"
    without = ", without what is missing" if watched.missing else ""
    return (*done, f"run batch now{without}, from the page: published at {clock}, {side}")
