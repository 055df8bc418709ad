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
    Steps,
    comparing,
    of_the_dag,
    opening,
    publishing,
    raise_tickets,
    watching,
)
from forerun.airflow.authoring.dag_file import dag_file, read_sql
from forerun.airflow.authoring.form import report_params
from forerun.airflow.authoring.options import sort_options
from forerun.airflow.authoring.schedules import AS_REPORT
from forerun.airflow.day import OPEN_DAY
from forerun.airflow.tasks.units import Seat, Step, alone
from forerun.airflow.watching.failing import keep_failures
from forerun.airflow.watching.notify import Notify
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
    notify: Notify = "",
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
    steps = Steps(conn_id, engine, spark_conf, cluster, poll, backfill_pool, notify)
    # Apart from what else is the report's: task groups must not depend on each other in a circle,
    # or Airflow's UI cannot show the DAG.
    with TaskGroup(group_id="open_days", prefix_group_id=False):
        given: dict[str, Any] = {"group": group.name, "cluster": cluster, "engine": engine}
        given["notify"] = notify
        days = {
            one.spec.name: opening(one.spec, f"{one.spec.name}.{OPEN_DAY}", **given)
            for one in group.members
        }
    own = {one.spec.name: TaskGroup(group_id=one.spec.name) for one in group.members}
    before: list[BaseOperator] = list(days.values())
    for point in range(1, len(group.times) + 1):
        step = step_at(group, point, {name: task.task_id for name, task in days.items()})
        with TaskGroup(group_id=f"at_{point}"):
            tasks = steps.tasks(step, _awaited(group, point))
        if before_point is not None:
            arriving = before_point(point)
            before >> arriving
            before = [arriving]
        before >> tasks[0]
        last = {member.spec.name: member.last for member in group.members}
        early = [
            (seat.spec, seat.run, seat.day_task)
            for seat in step.seats
            if last[seat.spec.name] != point
        ]
        raise_tickets(tasks, early, notify)
        before = [tasks[-1]]
        for member in group.members:
            name = member.spec.name
            _of_report(member, point, tasks[-1], days[name], own[name], steps, notify)
    for member in group.members if watch else ():
        with own[member.spec.name]:
            watching(member.spec, days[member.spec.name], notify)


def step_at(group: ReportGroup, point: int, day_tasks: Mapping[str, str]) -> Step:
    """Return what is done at a time point of a group. ``day_tasks``: the task that opens the day of
    each report, by its name."""

    def seats(points: Callable[[GroupMember], int | None]) -> tuple[Seat, ...]:
        return tuple(
            Seat(spec=one.spec, run=run, day_task=day_tasks[one.spec.name], points=one.points)
            for one in group.members
            if (run := points(one)) is not None
        )

    return Step(
        name=group.name,
        label=f"at-{point}",
        seats=seats(lambda one: one.run_at(point)),
        patience_s=group.patience_s,
        after=seats(lambda one: one.run_after(point)),
    )


def _awaited(group: ReportGroup, point: int) -> dict[str, Asset]:
    """The assets that the runs of a time point wait for, by URI."""
    runs = [(one.spec, run) for one in group.members if (run := one.run_at(point)) is not None]
    return {uri: asset for spec, run in runs for uri, asset in awaited_assets(spec, run).items()}


def _of_report(
    member: GroupMember,
    point: int,
    done: BaseOperator,
    opened: BaseOperator,
    own: TaskGroup,
    steps: Steps,
    notify: Notify,
) -> None:
    """Add what a report does after a time point: what the group has not done of its final run, and
    publishing its result, if it has one by then."""
    spec, run = member.spec, member.run_at(point)
    if point == member.last:
        with own:
            with TaskGroup(group_id=f"run_{spec.runs}"):
                step = alone(spec, spec.runs, opened.task_id)
                tasks = steps.tasks(step, awaited_assets(spec, spec.runs))
            keep_failures(tasks, spec, spec.runs, opened.task_id)
            last = [*publishing(spec, spec.runs, opened), *comparing(spec, opened, notify)]
            done >> tasks[0]
            chain(tasks[-1], *last)
    elif run in spec.policy.early_results:
        with own, TaskGroup(group_id=f"run_{run}"):
            published = publishing(spec, run, opened, trigger_rule=TriggerRule.ALL_DONE)
        chain(done, *published)


def group_dag(
    group: ReportGroup,
    *,
    start_date: datetime,
    dag_id: str | None = None,
    schedule: Any = AS_REPORT,
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
    form = report_params(mode, report_date, reports=[one.name for one in group.reports])
    arguments = of_the_dag(group.reports, found, schedule, form, about)
    with DAG(dag_id=dag_id or group.name, start_date=start_date, **arguments) as dag:
        dag.fileloc = dag_file()
        add_group_tasks(group, **found.forerun)
    dag.params.update(form)  # last: each task copies what is there, once for each of its classes
    return dag
