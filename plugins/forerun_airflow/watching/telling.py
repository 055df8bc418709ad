"""Tells logs, metrics and lineage what happens to a report's day. Nothing here fails a task.

Metrics go where the deployment sends Airflow's own: StatsD or OpenTelemetry, by ``[metrics]`` of
its configuration.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowSkipException
from airflow.sdk.observability import stats

from forerun.airflow.day import utc_now
from forerun.airflow.watching import openlineage
from forerun.airflow.watching.notify import Notify
from forerun.include.telemetry.events import Event, Part, line
from forerun.include.telemetry.metrics import MetricSample, samples

if TYPE_CHECKING:
    from forerun.include.days.handle import Day
    from forerun.include.days.shadow_days import ShadowStanding
    from forerun.include.runs.prepare import PreparedRun
    from forerun.include.state.pointers import Pointer
    from forerun.include.state.shadow_day import ShadowDay
    from forerun.include.telemetry.events import Planned, RunEnded
    from forerun.planner.result import PlanResult

_LOG = logging.getLogger("forerun.events")


def begin() -> None:
    """Let metrics go where Airflow's configuration says, in a process that is no task of Airflow:
    for tasks Airflow itself does that."""
    with harmless():
        from airflow.sdk.observability.metrics import stats_utils

        legacy = conf.getboolean("metrics", "legacy_names_on")
        stats.initialize(factory=stats_utils.get_stats_factory(), export_legacy_names=legacy)


def tell(event: Event) -> None:
    """Write the line of an event into the log, and send its samples."""
    _LOG.info("%s", line(event))
    for sample in samples(event):
        _send(sample)


@contextlib.contextmanager
def harmless() -> Iterator[None]:
    """Whatever goes wrong in telling is a warning: the report is what counts."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - of the store, of a metrics client, of our own
        _LOG.warning("not told to logs and metrics: %s: %s", type(error).__name__, error)


def tell_planned(day: Day, prepared: PreparedRun) -> None:
    """Tell the decision of a plan."""
    with harmless():
        from forerun.include.telemetry.read_events import planned

        if prepared.result is None or (event := planned(day, prepared)) is None:
            return
        tell(event)
        if event.submit:
            _send_start(day, event, prepared.result)


def _send_start(day: Day, event: Planned, result: PlanResult) -> None:
    def make(namespace: str) -> object:
        from forerun.airflow.watching import openlineage_events
        from forerun.include.telemetry.lineage import report_lineage

        made_of = report_lineage(day, result)
        return openlineage_events.planned(day, event, made_of, namespace=namespace, now=utc_now())

    openlineage.send(make)


@contextlib.contextmanager
def telling_of_publication(day: Day, run: int) -> Iterator[None]:
    """Tell lineage that publishing begins, and that it fails if it does."""
    with harmless():
        _send_publishing(day, run)
    try:
        yield
    except AirflowSkipException:
        raise
    except Exception as error:
        with harmless():
            _send_publishing(day, run, error=f"{type(error).__name__}: {error}")
        raise


def tell_published(day: Day, pointer: Pointer) -> None:
    """Tell what was published."""
    with harmless():
        from forerun.include.telemetry.read_events import published

        tell(published(day, pointer))
        _send_publishing(day, pointer.run, pointer)


def tell_compared(day: Day, record: ShadowDay, standing: ShadowStanding) -> None:
    """Tell how a day of a report in shadow compares."""
    with harmless():
        from forerun.include.telemetry.read_events import compared

        tell(compared(day, record, standing))


def _send_publishing(day: Day, run: int, pointer: Pointer | None = None, error: str = "") -> None:
    def make(namespace: str) -> object:
        from forerun.airflow.watching.openlineage_events import publishing

        now = utc_now()
        return publishing(day, run, namespace=namespace, now=now, pointer=pointer, error=error)

    openlineage.send(make)


def tell_skipped(day: Day, run: int, why: str) -> None:
    """Tell that a run is left out."""
    with harmless():
        from forerun.include.telemetry.read_events import skipped

        tell(skipped(day, run, why))


@contextlib.contextmanager
def telling_how_runs_end(
    runs: Callable[[], Sequence[tuple[Day, int, Part]]], notify: Notify = ""
) -> Iterator[None]:
    """Tell how the runs end whose application is submitted inside of this; ``runs`` says which they
    are. Those that were committed before were told then. The author of a report whose text Spark
    reads otherwise than the planner gets a ticket, by ``notify``, too."""
    left: list[tuple[Day, int, Part]] = []
    with harmless():
        left = [(day, run, part) for day, run, part in runs() if day.commit(run) is None]
    error = ""
    try:
        yield
    except Exception as failure:
        error = str(failure)
        raise
    finally:
        with harmless():
            from forerun.include.telemetry.read_events import run_ended

            for day, run, part in left:
                event = run_ended(day, run, part, error)
                tell(event)
                _send_end(day, event)
                _tell_misread(day, run, notify)


def _tell_misread(day: Day, run: int, notify: Notify) -> None:
    from forerun.airflow.watching.alerting import raise_ticket
    from forerun.include.runs.misread import verdict_on_run

    verdict = verdict_on_run(day.store, day.at, run)
    if verdict is not None and verdict.outcome == "differs":
        raise_ticket(day.spec, day.at.day, notify, verdict.sentence)


def _send_end(day: Day, event: RunEnded) -> None:
    def make(namespace: str) -> object:
        from forerun.airflow.watching.openlineage_events import ended

        return ended(day, event, namespace=namespace, now=utc_now())

    openlineage.send(make)


def _send(sample: MetricSample) -> None:
    name, tags = sample.metric.name, dict(sample.tags)
    if sample.metric.kind == "counter":
        stats.incr(name, round(sample.value), tags=tags)
    elif sample.metric.kind == "gauge":
        stats.gauge(name, sample.value, tags=tags)
    else:
        stats.timing(name, timedelta(seconds=sample.value), tags=tags)
