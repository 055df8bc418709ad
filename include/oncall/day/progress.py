"""What Airflow does for a day right now, in sentences: whoever has pressed a button sees what that
began."""

from __future__ import annotations

from collections.abc import Mapping

from forerun.include.oncall.day.actions import DagRunState

_SAYS = {
    "running": "at work",
    "restarting": "at work",
    "queued": "to begin",
    "scheduled": "to begin",
    "deferred": "waiting",
    "up_for_reschedule": "waiting",
    "up_for_retry": "failed, to be tried again",
    "failed": "failed",
    "upstream_failed": "not begun, for what failed before them",
}
"""States of Airflow's tasks, most telling first, as a person says them."""
_ENDED = ("success", "skipped", "removed")


def progress_of(run: DagRunState) -> tuple[str, ...]:
    """Return what the tasks of a DAG run do, a phrase for each state that any is in."""
    by_saying: dict[str, list[str]] = {says: [] for says in _SAYS.values()}
    for task, state in _by_place(run.tasks):
        if state in _SAYS:
            by_saying[_SAYS[state]].append(task)
    found = [f"{says}: {', '.join(tasks)}" for says, tasks in by_saying.items() if tasks]
    ended = sum(state in _ENDED for state in run.tasks.values())
    return (*found, f"{ended} of {len(run.tasks)} tasks have ended well or were skipped")


def _by_place(tasks: Mapping[str, str]) -> list[tuple[str, str]]:
    """The tasks in an order that does not change from look to look."""
    return sorted(tasks.items())
