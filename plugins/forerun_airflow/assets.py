"""The Airflow assets of reports: what publishing updates, and what other reports wait for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from airflow.sdk import Asset

from forerun.include.reports.asset_keys import report_key, warning_key
from forerun.include.reports.spec import ReportSpec

ASSET_POLL = timedelta(minutes=1)
"""Events of assets can be asked for by a worker only, not by the triggerer: a wait for one looks
so often."""


def report_asset(report: str, *, early: bool = False) -> Asset:
    """The asset that a published report updates; with ``early``, the one of its early results.
    Schedule downstream DAGs on it."""
    key = report_key(report, early=early)
    return Asset(name=key.name, uri=key.uri)


def warning_asset(report: str) -> Asset:
    """The asset that is updated when a day of a report is predicted to miss its deadline: before
    it does. Its event has the whole alert. Schedule a DAG on it that tells somebody."""
    key = warning_key(report)
    return Asset(name=key.name, uri=key.uri)


def awaited_assets(spec: ReportSpec, run: int) -> dict[str, Asset]:
    """The assets that the wait before a run looks for, by URI."""
    return {rule.uri: Asset(name=rule.name, uri=rule.uri) for rule in spec.awaits(run)}


def days_published(
    spec: ReportSpec, run: int, inlet_events: Any
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return for which days the assets that a run awaits had an event, and what was missing by the
    newest of each.

    ``inlet_events`` is Airflow's, of a task that has the assets as inlets.
    """
    newest: dict[str, dict[str, tuple[str, ...]]] = {}
    for uri, asset in awaited_assets(spec, run).items():
        for event in inlet_events[asset]:  # oldest first
            extra = event.extra or {}
            for said in extra.get("days") or [extra]:  # those of a backfill, else the one
                if day := said.get("day"):
                    newest.setdefault(uri, {})[str(day)] = _what_was_missing(said)
    return newest


def _what_was_missing(extra: dict[str, Any]) -> tuple[str, ...]:
    """Return sentences of what an event says was not complete, in whatever shape it says so."""
    missing = extra.get("incomplete") or ()
    if isinstance(missing, str) or not isinstance(missing, Iterable):
        missing = (missing,)
    said = [
        ": ".join(map(str, one)) if isinstance(one, list | tuple) else str(one) for one in missing
    ]
    return (*said, "it is an early result") if extra.get("early") else tuple(said)
