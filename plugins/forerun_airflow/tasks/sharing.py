"""Tells the cluster of a report when its runs want cores, so that others can plan around them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from forerun.airflow.day import OpenedDay
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.run_policy import Retries
from forerun.planner.errors import ForerunError

if TYPE_CHECKING:
    from forerun.include.days.handle import Day


def say_wanted(
    day: Day,
    opened: OpenedDay,
    cluster: Cluster | None,
    group: str,
    retries: Retries,
    log: logging.Logger,
) -> None:
    """Say in the store that a report names a cluster, and when the day that was just opened runs;
    and of all others that it does not name them. Others only plan by it, so what goes wrong here is
    a warning in the log."""
    from forerun.include.times.cluster_reports import (
        leave_clusters,
        no_wanted,
        own_wanted,
        put_wanted,
    )

    try:
        for left in leave_clusters(day.store, day.spec.name, cluster.name if cluster else ""):
            log.info("the report is on cluster %s no more", left)
        if cluster is not None:
            # In any other mode runs begin as soon as they can, and ask for cores then.
            waits = opened.duty.moves
            wanted = own_wanted(day, retries) if waits else no_wanted(day)
            put_wanted(day, cluster.name, wanted, group)
    except ForerunError as error:
        log.warning("others on the cluster cannot plan around this day: %s", error)
