"""Which reports name a cluster, and when they want cores: a small record of each in the store.

A report puts its own when a day of it is opened and whenever its times are decided, and takes it
away when it names another cluster, or none. Others plan around it. It is a plan and never a truth:
who has cores is said by leases alone (:mod:`forerun.include.times.leases`). So a record that cannot
be read is passed over, and made anew by its report.
"""

from __future__ import annotations

import logging
from datetime import date, timedelta

from forerun.include.days.handle import Day
from forerun.include.days.ledger import read_history
from forerun.include.days.run_times import own_times
from forerun.include.reports.run_policy import Retries
from forerun.include.state.cluster_report import ClusterReport, WantedDay, WantedRun
from forerun.include.state.layout import CLUSTERS_FOLDER, ClusterKeys
from forerun.include.state.records import decode, encode
from forerun.include.stores.backoff import Backoff
from forerun.include.stores.store import Store, StoreReader, Tagged
from forerun.include.times.safe_start import safe_start
from forerun.include.times.wall_forecast import NEWEST, WallForecast, usual_run_s
from forerun.planner.errors import ContractError

_LOG = logging.getLogger(__name__)

RECENT = timedelta(days=7)
"""A report whose newest day is older than this is in no night: a weekly one still is."""

_FORGOTTEN = timedelta(days=40)
"""A record that nobody has put for so long is deleted: that of a monthly report is kept."""


def reports_of(store: StoreReader, cluster: str, day: date) -> tuple[ClusterReport, ...]:
    """The reports that name a cluster and have run within the week before a day, by name."""
    found = []
    for file in store.list(ClusterKeys(cluster).reports):
        record = _decoded(store.find(file.key), file.key)
        # Days are compared as text: what is no day in a record of another must not stop this one.
        if record is not None and record.newest >= (day - RECENT).isoformat():
            found.append(record)
    return tuple(found)


def own_wanted(day: Day, retries: Retries) -> WantedDay:
    """When a day wants cores that runs at the report's own times, by what past runs took; runs that
    past days mostly did without want none. ``retries`` are those of the final run's task."""
    spec = day.spec
    history = read_history(day.store, spec.name, NEWEST * spec.runs)
    forecast, _ = WallForecast(history, spec.policy).of(None)
    seconds = [usual_run_s(history, run) for run in range(1, spec.runs)]
    pairs = zip(own_times(day).instants, [*seconds, forecast or 0.0], strict=True)
    return WantedDay(
        day=day.at.day,
        generation=day.at.generation,
        latest_start=safe_start(spec, day.date, None, history, retries).at.timestamp(),
        runs=tuple(
            WantedRun(run=run, at=at.timestamp(), seconds=took)
            for run, (at, took) in enumerate(pairs, 1)
            if took > 0
        ),
    )


def no_wanted(day: Day) -> WantedDay:
    """What a day says whose runs begin as soon as they can: that it names the cluster, no more."""
    due = day.spec.deadline_on(day.date).timestamp()
    return WantedDay(day=day.at.day, generation=day.at.generation, latest_start=due, runs=())


def put_wanted(day: Day, cluster: str, wanted: WantedDay, application: str = "") -> bool:
    """Say when a day wants cores of a cluster; of an ``application`` of several reports by the name
    of their group. False if that was said so already."""
    spec, store = day.spec, day.store
    key = ClusterKeys(cluster).report(spec.name)
    own = ClusterReport(
        report=spec.name,
        owner=spec.owner,
        application=application or spec.name,
        cores=spec.policy.cores,
        days=(),
    )
    backoff = Backoff(key)
    while True:
        found = store.find(key)
        before = _decoded(found, key)
        data = encode(own.with_days([*(before.days if before else ()), wanted]))
        if found is None:
            won = store.put_if_absent(key, data)
        elif found.data == data:
            return False
        else:
            won = store.put_if_match(key, data, found.tag)
        if won:
            _forget(store, cluster, key)
            return True
        backoff.wait()


def leave_clusters(store: Store, report: str, but: str = "") -> tuple[str, ...]:
    """A report names no cluster any more ``but`` the one of this name; the names of those that it
    has left."""
    left = []
    for name in store.folders(CLUSTERS_FOLDER):
        key = ClusterKeys(name).report(report)
        if name != but and store.stat(key) is not None:
            store.delete(key)
            left.append(name)
    return tuple(left)


def _forget(store: Store, cluster: str, own: str) -> None:
    """Delete what nobody has put for long, by the store's clock as the record just put tells it."""
    listed = store.list(ClusterKeys(cluster).reports)
    now = max((file.modified for file in listed if file.key == own), default=0.0)
    for file in listed:
        if file.modified < now - _FORGOTTEN.total_seconds():
            store.delete(file.key)


def _decoded(found: Tagged | None, key: str) -> ClusterReport | None:
    try:
        return decode(ClusterReport, found.data, key) if found else None
    except ContractError as error:
        _LOG.warning("passed over, until its report says again when it wants cores: %s", error)
        return None
