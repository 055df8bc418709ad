"""The options that an author gives beside the report: of the DAG, of its tasks, and of Forerun.

Everything that Airflow's DAG and operators take is handed on to them. What would break the way in
which the tasks of a day work together is refused, with the reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

from airflow.sdk import DAG, BaseOperator, TaskGroup

from forerun.include.reports.spec import ReportSpec, SpecError

_REFUSED: dict[str, str] = {
    "trigger_rule": "an early run that fails must not hold up the runs after it, and publishing "
    "must wait for the checks: the tasks have the rules that this needs",
    "inlets": "they follow from the sources of the report",
    "outlets": "they follow from the report; add a task of your own after publish for others",
    "task_id": "tasks are named by what they do",
    "dag": "the tasks belong to this DAG",
    "task_group": "the tasks belong to this group",
}
_NOT_TRUE: dict[str, str] = {
    "depends_on_past": "an early run that failed yesterday would hold up every day after it",
    "wait_for_downstream": "an early run that failed yesterday would hold up every day after it",
    "fail_fast": "an early run that fails would end the day, and the report would not come",
}
_NOT_FALSE: dict[str, str] = {
    "do_xcom_push": "the tasks of a day tell each other by XCom which day it is and what is planned"
}

ABOUT: dict[str, str] = {
    "start_date": "The first day that has a DAG run.",
    "dag_id": "The name of the DAG; that of the report or the group by default.",
    "schedule": "Any schedule of Airflow that begins a DAG run for each day or period of the "
    "report; `report` is the start of each in the report's time zone, None only by hand.",
    "mode": "The mode that the trigger form is filled in with; `auto` decides by cost.",
    "report_date": "The day that the trigger form is filled in with; it holds for scheduled runs "
    "too, but not for those of a backfill.",
    "conn_id": "The Spark connection; with the engine `connect` one of type `spark_connect`.",
    "spark_conf": "Additions to the Spark configuration of every run; no secret may be in it.",
    "engine": "The engine that runs the stages: `spark`, `connect` for a Spark Connect server "
    "that is there already, or `sail` for tests.",
    "before_run": "A function from the number of a run to a task that comes before its wait.",
    "before_point": "A function from the number of a time point to a task that comes before its "
    "wait.",
    "poll": "Seconds between looks for complete sources, cores and instructions.",
    "notify": "The dotted path of a function that is called with an `Alert` where somebody has to "
    "know, or a notifier of Airflow; workers import it, and for `deadline_alerts` the triggerer.",
    "watch": "Whether a task watches the deadline, and warns before it is missed.",
    "cluster": "The cluster whose cores the runs share; each waits for cores of it.",
    "backfill_pool": "The pool that runs take in place of `pool` when a day is backfilled.",
}
"""Forerun's own options of `progressive_dag` and `group_dag`, as docs/reference/fields.md says."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options by who takes them: the DAG or the group, every task, Forerun."""

    holder: dict[str, Any] = field(default_factory=dict)
    tasks: dict[str, Any] = field(default_factory=dict)
    forerun: dict[str, Any] = field(default_factory=dict)


def sort_options(
    options: Mapping[str, Any], *, holder: type[DAG | TaskGroup], own: Callable[..., Any]
) -> Options:
    """Sort what an author has given. What both a DAG and its tasks take is the DAG's; it can be
    given to the tasks by ``default_args``. ``own`` is the function whose options are Forerun's.

    Raises :class:`SpecError` for an option that would break the report, or that nobody takes.
    """
    refuse_broken(options)
    found = Options()
    takers = (
        (_named(own), found.forerun),
        (_named(holder), found.holder),
        (_named(BaseOperator), found.tasks),
    )
    for name, value in options.items():
        into = next((into for names, into in takers if name in names), None)
        if into is None:
            raise _unknown(name, {known for names, _ in takers for known in names})
        into[name] = value
    return found


def refuse_broken(options: Mapping[str, Any]) -> None:
    """Raise :class:`SpecError` for an option that would break how the tasks work together."""
    for name, value in options.items():
        why = _REFUSED.get(name)
        why = why or (_NOT_TRUE.get(name) if value else None)
        why = why or (_NOT_FALSE.get(name) if not value else None)
        if why:
            raise SpecError(
                f"the option {name}={value!r} would break the report: {why}",
                hint=f"Leave out {name}. Tasks of your own may have it, in the same DAG.",
            )


def check_timeout(spec: ReportSpec, timeout: object) -> None:
    """Raise :class:`SpecError` for a ``dagrun_timeout`` that ends a day before the report is due.

    The DAG run begins when the day does, and lasts until the report is out.
    """
    _, most_s = spec.due_after_s
    needed = timedelta(seconds=most_s)
    if isinstance(timeout, timedelta) and timeout < needed:
        raise SpecError(
            f"the option dagrun_timeout={timeout} would end the day before the deadline of "
            f"{spec.name}, which is {needed} after its start",
            hint=f"Give at least {needed}, and time for retries and late sources.",
        )


def _named(taker: Callable[..., Any]) -> Collection[str]:
    return {
        name
        for name, parameter in inspect.signature(taker).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        or parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    }


def _unknown(name: str, known: Collection[str]) -> SpecError:
    near = get_close_matches(name, sorted(known), n=1)
    return SpecError(
        f"nobody takes the option {name}: it is none of Airflow's DAG, of its tasks or of Forerun",
        hint=f"Do you mean {near[0]}?"
        if near
        else "docs/reference/fields.md says which there are.",
    )
