"""Turn a report group into a DAG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from airflow.sdk import (
    DAG,
    Asset,
    BaseOperator,
    TaskGroup,
    TriggerRule,
    chain,
)

from forerun.airflow.assets import awaited_assets
from forerun.airflow.authoring.dag import (
    comparing,
    finishing,
    of_the_dag,
    publishing,
    raise_tickets,
    refuse_defaults,
    watching,
)
from forerun.airflow.authoring.dag_file import dag_file, read_sql
from forerun.airflow.authoring.form import report_params
from forerun.airflow.authoring.options import sort_options
from forerun.airflow.day import OPEN_DAY
from forerun.airflow.watching.failing import keep_failures
from forerun.airflow.work.group_tasks import PlanPoint, SubmitPoint, WaitForPoint
from forerun.airflow.work.tasks import OpenDay
from forerun.include.reports.cluster import Cluster, under_cluster
from forerun.include.reports.group import GroupMember, ReportGroup

BeforePoint = Callable[[int], BaseOperator]


def add_group_tasks(  # noqa: PLR0913 - the options of an author
    group: ReportGroup,
    *,
    conn_id: str = "spark_default",
    spark_conf: dict[str, str] | None = None,
    engine: str = "spark",
    before_point: BeforePoint | None = None,
    poll: float = 30.0,
    notify: str = "",
    watch: bool = True,
    cluster: Cluster | None = None,
    backfill_pool: str = "",
) -> None:
    """Add the tasks of a group to the DAG that is open.

    They are an ``open_day`` for each report; per time point ``wait``,
    ``plan`` and ``run`` for all reports; and for each report, in a task group of its name, its
    final ``wait``, ``plan`` and ``run``, which do what the group has not done for it, then
    ``check`` and ``publish``. An early result has a ``check`` and a ``publish``, too. The options
    are those of :func:`forerun.airflow.authoring.dag.add_report_tasks`; ``before_point`` makes a
    task that comes before the wait of a time point.
    """
    group = replace(group, reports=tuple(under_cluster(one, cluster) for one in group.reports))
    submitting: dict[str, Any] = {"conn_id": conn_id, "engine": engine, "spark_conf": spark_conf}
    submitting |= {"cluster": cluster, "poll": poll, "backfill_pool": backfill_pool}
    # Apart from what else is the report's: task groups must not depend on each other in a circle,
    # or Airflow's UI cannot show the DAG.
    with TaskGroup(group_id="open_days", prefix_group_id=False):
        days = {one.spec.name: _open_day(one, group.name, cluster) for one in group.members}
    for member in group.members:
        opened = days[member.spec.name]
        keep_failures([opened], member.spec, 0, opened.task_id, notify)
    own = {one.spec.name: TaskGroup(group_id=one.spec.name) for one in group.members}
    day_tasks = {name: task.task_id for name, task in days.items()}
    before: list[BaseOperator] = list(days.values())
    for point in range(1, len(group.times) + 1):
        steps = _at_point(group, point, day_tasks, submitting, poll)
        if before_point is not None:
            arriving = before_point(point)
            before >> arriving
            before = [arriving]
        before >> steps[0]
        chain(*steps)
        early = [
            (member.spec, run, day_tasks[member.spec.name])
            for member in group.members
            if (run := member.run_at(point)) is not None and point != member.last
        ]
        raise_tickets(steps, early, notify)
        before = [steps[-1]]
        for member in group.members:
            name = member.spec.name
            _of_report(member, point, steps[-1], days[name], own[name], submitting, notify)
    for member in group.members if watch else ():
        with own[member.spec.name]:
            watching(member.spec, days[member.spec.name], notify)


def _open_day(member: GroupMember, group: str, cluster: Cluster | None) -> BaseOperator:
    opened = OpenDay(
        task_id=f"{member.spec.name}.{OPEN_DAY}",
        spec=member.spec,
        group=group,
        cluster=cluster,
        trigger_rule=TriggerRule.ALL_SUCCESS,
    )
    refuse_defaults(opened)
    return opened


def _at_point(
    group: ReportGroup,
    point: int,
    day_tasks: Mapping[str, str],
    submitting: Mapping[str, Any],
    poll: float,
) -> list[BaseOperator]:
    """The tasks of a time point, in order."""
    known: dict[str, Any] = {"group": group, "point": point}
    with TaskGroup(group_id=f"at_{point}"):
        wait = WaitForPoint(
            task_id="wait",
            **known,
            day_tasks=day_tasks,
            poll=poll,
            # Nothing that fails for one report, or at an earlier time, holds up the others.
            trigger_rule=TriggerRule.ALL_DONE,
            execution_timeout=None,
            inlets=_awaited(group, point),
        )
        plan = PlanPoint(
            task_id="plan",
            **known,
            day_tasks=day_tasks,
            wait_task=wait.task_id,
            engine=submitting["engine"],
            trigger_rule=TriggerRule.ALL_SUCCESS,
        )
        run = SubmitPoint(
            task_id="run",
            **known,
            **submitting,
            plan_task=plan.task_id,
            day_tasks=day_tasks,
            trigger_rule=TriggerRule.ALL_SUCCESS,
        )
    return [wait, plan, run]


def _awaited(group: ReportGroup, point: int) -> list[Asset]:
    """The assets that the final runs of a time point wait for, each once."""
    due = [member.spec for member in group.members if member.last == point]
    return list(
        {uri: a for spec in due for uri, a in awaited_assets(spec, spec.runs).items()}.values()
    )


def _of_report(
    member: GroupMember,
    point: int,
    done: BaseOperator,
    opened: BaseOperator,
    own: TaskGroup,
    submitting: Mapping[str, Any],
    notify: str,
) -> None:
    """Add what a report does after a time point: publish its result, if it has one by then."""
    run = member.run_at(point)
    if point == member.last:
        steps = finishing(member.spec, opened, own, submitting=submitting, poll=submitting["poll"])
        with own:
            chain(done, *steps, *comparing(member.spec, opened, notify))
    elif run in member.spec.policy.early_results:
        with own, TaskGroup(group_id=f"run_{run}"):
            steps = publishing(member.spec, run, opened, trigger_rule=TriggerRule.ALL_DONE)
        chain(done, *steps)


def group_dag(
    group: ReportGroup,
    *,
    start_date: datetime,
    dag_id: str | None = None,
    schedule: Any = "daily",
    mode: str = "auto",
    report_date: date | None = None,
    **options: Any,
) -> DAG:
    """A DAG that runs all reports of a group every day, as
    :func:`forerun.airflow.authoring.dag.progressive_dag` runs one. ``options`` are those of
    :func:`add_group_tasks`, of Airflow's ``DAG`` and of every operator.
    """
    group = replace(group, reports=tuple(map(read_sql, group.reports)))
    found = sort_options(options, holder=DAG, own=add_group_tasks)
    about = f"Report group {group.name}: {', '.join(one.name for one in group.reports)}"
    form = report_params(mode, report_date, repairs=False)
    arguments = of_the_dag(group.reports, found, schedule, form, about)
    with DAG(dag_id=dag_id or group.name, start_date=start_date, **arguments) as dag:
        dag.fileloc = dag_file()
        add_group_tasks(group, **found.forerun)
    dag.params.update(form)  # last: each task copies what is there, once for each of its classes
    return dag
