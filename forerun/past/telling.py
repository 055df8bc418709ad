"""Tells what the command line does to a report's day, as the tasks of Airflow tell it.

It goes where Airflow's configuration says, and lines of events into ``events.log`` of the folder
that ``FORERUN_HOME`` names. Where no ``AIRFLOW_HOME`` is set there is no Airflow to go by, and
nothing is told.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib.util import find_spec
from types import ModuleType

from forerun.include.days.handle import Day
from forerun.include.machine.jvm import home_folder
from forerun.include.runs.prepare import PreparedRun
from forerun.include.state.pointers import Pointer
from forerun.include.telemetry.events import Part


def tell_planned(day: Day, prepared: PreparedRun) -> None:
    """Tell the decision of a plan."""
    if tasks := _of_tasks():
        tasks.tell_planned(day, prepared)


def telling_how_runs_end(
    runs: Callable[[], Sequence[tuple[Day, int, Part]]],
) -> AbstractContextManager[None]:
    """Tell how the runs end whose application runs inside of this."""
    tasks = _of_tasks()
    return tasks.telling_how_runs_end(runs) if tasks else nullcontext()


def told_publication(day: Day, run: int, publish: Callable[[], Pointer]) -> Pointer:
    """Publish, and tell what was published or why nothing was."""
    if not (tasks := _of_tasks()):
        return publish()
    with tasks.telling_of_publication(day, run):
        pointer = publish()
    tasks.tell_published(day, pointer)
    return pointer


@cache
def _of_tasks() -> ModuleType | None:
    """Return the module by which tasks tell of events, or None; Airflow is imported only where it
    is configured."""
    if "AIRFLOW_HOME" not in os.environ or find_spec("airflow") is None:
        return None
    from forerun.airflow.watching import telling

    telling.begin()
    log = logging.getLogger("forerun.events")
    home_folder().mkdir(parents=True, exist_ok=True)
    lines = logging.FileHandler(home_folder() / "events.log")
    lines.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    return telling
