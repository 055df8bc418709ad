"""Cores of a cluster for the task that submits an application: waited for, held, given back."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowSkipException

from forerun.airflow.day import utc_now
from forerun.airflow.tasks.triggers import CoresTrigger
from forerun.include.reports.cluster import Cluster
from forerun.include.state.records import encode
from forerun.include.state.slots import SlotRequest
from forerun.include.stores.store import StoreDownError
from forerun.planner.errors import ContractError, ForerunError

if TYPE_CHECKING:
    from forerun.airflow.tasks.application import SubmitApplication
    from forerun.airflow.tasks.units import Unit
    from forerun.include.days.handle import Day
    from forerun.include.reports.run_policy import Retries
    from forerun.include.times.leases import Leases

_FORGIVEN = timedelta(days=1)
"""A day that is so much later than its deadline is computed when nobody else wants the cores."""
_RENEWALS = 5
"""So often a lease is renewed during its length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCores:
    """The cores that a task asks for. An early run gives up at ``until``, when the next one begins;
    ``unless`` is where the next thing that people tell the day to do will lie."""

    request: SlotRequest
    until: datetime | None = None
    unless: str = ""


class HeldCores:
    """Cores that a task holds, which it asked for at ``began`` by the monotonic clock. A thread
    renews them until :meth:`end`. If they go to somebody else, or cannot be renewed in time, the
    application is ended, and the task may be tried again."""

    def __init__(
        self, task: SubmitApplication, leases: Leases, request: SlotRequest, began: float
    ) -> None:
        self._task, self._leases, self._request, self._began = task, leases, request, began
        self._over = threading.Event()
        self._every = request.lease_s / _RENEWALS
        self._patience = request.patience_s
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Give the cores back; more than once is fine. If the store does not answer, they are free
        when the lease is over."""
        if self._over.is_set():
            return
        self._over.set()
        self._thread.join()
        try:
            self._leases.release(self._request)
        except ForerunError as error:
            self._task.log.warning("the cores are free when their lease is over: %s", error)

    def _renew(self) -> None:
        renewed = self._began
        while not self._over.wait(self._every):
            began = time.monotonic()
            try:
                if not self._leases.renew(self._request):
                    return self._lose("they were given to others: it was not heard of for too long")
                renewed = began
            except ForerunError as error:
                self._task.log.warning("the cores could not be renewed: %s", error)
            if time.monotonic() - renewed > self._patience:
                return self._lose("the store did not take the renewal of their lease")
        return None

    def _lose(self, why: str) -> None:
        self._task.log.error("the application ends, since its cores are lost: %s", why)
        self._task.end_application()


def take_cores(
    task: SubmitApplication, cluster: Cluster, store_root: str, wanted: WantedCores
) -> HeldCores | None:
    """The cores that a task wants, once they are its own; else it waits deferred. None for a final
    run that begins at its latest safe start although nobody can tell who holds cores."""
    from forerun.include.stores.opening import open_store
    from forerun.include.times.leases import BudgetSpentError, Leases

    leases, now, request = Leases(open_store(store_root), cluster), utc_now(), wanted.request
    if wanted.until is not None and now >= wanted.until:
        leases.forget(request)
        raise AirflowSkipException("no cores before the time of the next run, which does its work")
    try:
        began = time.monotonic()
        why = leases.take(request)
    except BudgetSpentError as error:
        leases.forget(request)
        raise AirflowSkipException(f"{error.message}; a later run does its work") from None
    except StoreDownError as error:
        why = error.message
    except ContractError as error:
        if request.is_urgent(now.timestamp()):
            task.log.warning("begins without a lease, for its deadline: %s", error)
            return None
        why = str(error)
    if why:
        task.log.info("waiting for %d cores of %s: %s", request.cores, cluster.name, why)
        _wait(task, cluster, store_root, wanted, now)
    task.log.info("has %d cores of %s", request.cores, cluster.name)
    return HeldCores(task, leases, request, began)


def _wait(
    task: SubmitApplication, cluster: Cluster, store_root: str, wanted: WantedCores, now: datetime
) -> None:
    until, latest = wanted.until or now + timedelta(days=1), wanted.request.latest_start
    if latest is not None and now.timestamp() < latest < until.timestamp():
        until = datetime.fromtimestamp(latest, now.tzinfo)  # it may be told something else then
    trigger = CoresTrigger(
        store=store_root,
        cluster=encode(cluster).decode(),
        wanted=encode(wanted.request).decode(),
        until=until.isoformat(),
        poll=min(task.poll, wanted.request.lease_s / 4),
        unless=wanted.unless,
    )
    task.defer(trigger=trigger, method_name="resume")


def run_request(
    day: Day,
    run: int,
    context: Any,
    retries: Retries,
    cluster: Cluster,
    *,
    at_once: bool = False,
) -> SlotRequest:
    """Return the request of a report's run for cores of ``cluster``. Its final run may begin as
    late as the newest forecast says; with ``at_once`` somebody has said that it should begin
    now."""
    from forerun.include.times.safe_start import read_run_seconds, read_safe_start

    now, due = utc_now(), day.spec.deadline_on(day.date)
    safe = read_safe_start(day, retries)
    latest: float | None = min(safe.at, now).timestamp() if at_once else safe.at.timestamp()
    if now > due + _FORGIVEN:
        latest = None
    return SlotRequest(
        token=f"try-{context['ti'].id}",
        report=day.at.report,
        owner=day.spec.owner,
        day=day.at.day,
        run=run,
        final=day.is_final(run),
        cores=day.spec.policy.cores,
        latest_start=latest,
        seconds=safe.wall_s,
        lease_s=cluster.lease_s,
        run_s=safe.wall_s if day.is_final(run) else read_run_seconds(day, run),
    )


def wanted_for(unit: Unit, context: Any, retries: Retries, cluster: Cluster) -> WantedCores:
    """Return what a unit asks for, by what its day was told."""
    from forerun.include.days.instructions import next_instruction, read_told

    day, run = unit.day, unit.run
    told = read_told(day.store, day.at)
    at_once = unit.is_final and bool(told.batch)
    return WantedCores(
        request=run_request(day, run, context, retries, cluster, at_once=at_once),
        unless=next_instruction(day.store, day.at, told),
    )


def joined(name: str, requests: list[SlotRequest]) -> SlotRequest:
    """Return the request of one application that does the runs of several reports: the cores of the
    one that needs most, for the sake of the one that is most urgent."""
    first = min(requests, key=lambda one: (not one.final, one.laxity(0.0)))
    starts = [one.latest_start for one in requests if one.latest_start is not None]
    return replace(
        first,
        report=name,
        final=any(one.final for one in requests),
        cores=max(one.cores for one in requests),
        latest_start=min(starts, default=None),
        seconds=sum(one.seconds for one in requests),
        run_s=sum(one.run_s for one in requests),
    )
