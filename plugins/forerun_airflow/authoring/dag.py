"""Turn a report spec into tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from airflow.sdk import (
    DAG,
    Asset,
    BaseOperator,
    Param,
    TaskGroup,
    TriggerRule,
    chain,
)

from forerun.airflow.assets import awaited_assets, report_asset, warning_asset
from forerun.airflow.authoring.dag_file import dag_file, read_sql
from forerun.airflow.authoring.form import report_params
from forerun.airflow.authoring.options import (
    Options,
    check_timeout,
    refuse_broken,
    sort_options,
)
from forerun.airflow.authoring.schedules import AS_REPORT, timetable_of
from forerun.airflow.day import OPEN_DAY
from forerun.airflow.tasks.comparing import CompareShadow
from forerun.airflow.tasks.open import OpenDay
from forerun.airflow.tasks.plan import PlanUnits
from forerun.airflow.tasks.publish import CheckResult, PublishReport
from forerun.airflow.tasks.submit import SubmitUnits
from forerun.airflow.tasks.units import Step, alone
from forerun.airflow.tasks.wait import WaitForUnits
from forerun.airflow.watching.alerting import EarlyRunTicket
from forerun.airflow.watching.failing import keep_failures
from forerun.airflow.watching.notify import Notify, check_notify
from forerun.airflow.watching.watch import WatchDay
from forerun.include.reports.cluster import Cluster, under_cluster
from forerun.include.reports.sources.start_when import start_text
from forerun.include.reports.spec import ReportSpec, RunTime, SpecError

BeforeRun = Callable[[int], BaseOperator]


def add_report_tasks(  # noqa: PLR0913 - the options of an author
    spec: ReportSpec,
    *,
    conn_id: str = "spark_default",
    spark_conf: dict[str, str] | None = None,
    engine: str = "spark",
    before_run: BeforeRun | None = None,
    poll: float = 30.0,
    notify: Notify = "",
    watch: bool = True,
    cluster: Cluster | None = None,
    backfill_pool: str = "",
) -> None:
    """Add the tasks of a report to the DAG or task group that is open.

    They are ``open_day``, per run ``wait``, ``plan`` and ``run``, then ``check`` and ``publish``,
    which an early run that gives a result has, too; beside them ``watch``, which warns. ``publish``
    is the only leaf that is no teardown, so it alone decides about the DAG run.

    ``conn_id`` names the Spark connection, ``spark_conf`` adds to the configuration of every run
    (:mod:`forerun.include.reports.spark.spark_conf` says what it takes), ``engine`` is one of
    :data:`forerun.include.engines.ENGINES`: ``sail`` is for tests; of ``connect``, a Spark Connect
    server that is there already, ``conn_id`` names a connection of type ``spark_connect``.
    ``before_run`` makes a task that comes before the wait of run i (the demo lets data arrive
    there), ``poll`` is the number of seconds between looks for complete sources, ``notify`` the
    dotted path of a function that is called with an :class:`forerun.include.oncall.alerts.Alert`
    where somebody has to know, or a notifier of Airflow; with ``watch`` false nobody watches the
    deadline. ``cluster`` is what runs have to share: each waits for cores of it.
    ``backfill_pool`` is the pool that runs take in place of ``pool`` when a day is backfilled; for
    that Airflow needs the policy in :mod:`forerun.airflow_policy`.
    """
    spec = under_cluster(spec, cluster)
    opened = opening(spec, OPEN_DAY, cluster=cluster, engine=engine, notify=notify)
    steps = Steps(conn_id, engine, spark_conf, cluster, poll, backfill_pool, notify)
    before: BaseOperator = opened
    for run in range(1, spec.runs + 1):
        with TaskGroup(group_id=f"run_{run}"):
            tasks = steps.tasks(alone(spec, run, opened.task_id), awaited_assets(spec, run))
            # Also after an early result: were its tasks leaves, one that fails would fail the run.
            early = publishing(spec, run, opened) if run in spec.policy.early_results else []
            chain(tasks[-1], *early)
            ends = [*tasks, *early][-1]
        if run < spec.runs:
            raise_tickets(tasks, [(spec, run, opened.task_id)], notify)
        else:
            keep_failures(tasks, spec, run, opened.task_id)
        chain(before, *([before_run(run)] if before_run else []), tasks[0])
        before = ends
    chain(before, *publishing(spec, spec.runs, opened), *comparing(spec, opened, notify))
    if watch:
        watching(spec, opened, notify)


@dataclass(frozen=True, slots=True)
class Steps:
    """Makes the tasks of all steps of a DAG, with what they have in common as its author says."""

    conn_id: str
    engine: str
    spark_conf: dict[str, str] | None
    cluster: Cluster | None
    poll: float
    backfill_pool: str
    notify: Notify = ""

    def tasks(self, step: Step, awaited: Mapping[str, Asset]) -> list[BaseOperator]:
        """Add the tasks of a step, and return them in order. ``awaited``: the assets that its wait
        looks for."""
        wait = WaitForUnits(
            task_id="wait",
            step=step,
            poll=self.poll,
            cluster=self.cluster,
            # What fails for one report, or at an earlier time, never holds up a later step.
            trigger_rule=TriggerRule.ALL_DONE,
            # It lasts as long as the day does, whatever a task that works may take.
            execution_timeout=None,
            inlets=list(awaited.values()),
        )
        plan = PlanUnits(
            task_id="plan",
            step=step,
            wait_task=wait.task_id,
            engine=self.engine,
            trigger_rule=TriggerRule.ALL_SUCCESS,
        )
        submit = SubmitUnits(
            task_id="run",
            step=step,
            plan_task=plan.task_id,
            trigger_rule=TriggerRule.ALL_SUCCESS,
            conn_id=self.conn_id,
            engine=self.engine,
            spark_conf=self.spark_conf,
            cluster=self.cluster,
            poll=self.poll,
            notify=self.notify,
            backfill_pool=self.backfill_pool,
        )
        chain(wait, plan, submit)
        return [wait, plan, submit]


def opening(
    spec: ReportSpec,
    task_id: str,
    *,
    cluster: Cluster | None,
    engine: str,
    notify: Notify,
    group: str = "",
) -> BaseOperator:
    """Add the task that opens a report's day."""
    check_notify(notify)
    opened = OpenDay(
        task_id=task_id,
        spec=spec,
        group=group,
        cluster=cluster,
        engine=engine,
        trigger_rule=TriggerRule.ALL_SUCCESS,
    )
    refuse_defaults(opened)
    keep_failures([opened], spec, 0, opened.task_id, notify)
    return opened


def watching(spec: ReportSpec, opened: BaseOperator, notify: Notify) -> None:
    """Add the task that watches a report's day."""
    watch = WatchDay(
        task_id="watch",
        spec=spec,
        day_task=opened.task_id,
        notify=notify,
        execution_timeout=None,
        outlets=[warning_asset(spec.name)],
    )
    opened >> watch.as_teardown()


def raise_tickets(
    tasks: Iterable[BaseOperator], runs: Iterable[tuple[ReportSpec, int, str]], notify: Notify
) -> None:
    """Let tasks of early runs raise a ticket when they fail, beside what the author has named for
    that. ``runs`` has the reports whose runs they are, each with its run and the task that opens
    its day."""
    tickets = [EarlyRunTicket(spec, run, day_task, notify) for spec, run, day_task in runs]
    for task in tasks:
        task.on_failure_callback = [*task.on_failure_callback, *tickets]


def publishing(
    spec: ReportSpec,
    run: int,
    opened: BaseOperator,
    # A run that was committed already is skipped, and its result is checked again.
    trigger_rule: TriggerRule = TriggerRule.NONE_FAILED,
) -> list[BaseOperator]:
    """The tasks after a run that gives the result."""
    check = CheckResult(
        task_id="check",
        spec=spec,
        day_task=opened.task_id,
        run=run,
        trigger_rule=trigger_rule,
    )
    publish = PublishReport(
        task_id="publish",
        spec=spec,
        day_task=opened.task_id,
        run=run,
        outlets=[] if spec.shadow else [report_asset(spec.name, early=run < spec.runs)],
        trigger_rule=TriggerRule.ALL_SUCCESS,
    )
    if run == spec.runs:
        keep_failures([check, publish], spec, run, opened.task_id)
    return [check, publish]


def comparing(spec: ReportSpec, opened: BaseOperator, notify: Notify) -> list[BaseOperator]:
    """The task that compares a report in shadow, after it is published; none of any other. It
    decides nothing about the DAG run: readers have what the other job makes."""
    if spec.shadow is None:
        return []
    compare = CompareShadow(task_id="compare", spec=spec, day_task=opened.task_id, notify=notify)
    return [compare.as_teardown()]


def refuse_defaults(task: BaseOperator) -> None:
    """Refuse ``default_args`` of the DAG or the group, also of an author's own, that would break
    how the tasks work together."""
    for holder in (task.dag, task.task_group):
        if holder is not None:
            refuse_broken(holder.default_args)


class ProgressiveTaskGroup(TaskGroup):
    """The tasks of a report as a group inside a DAG of one's own.

    ``options`` are those of :func:`add_report_tasks`, of Airflow's ``TaskGroup``, and of every
    operator (such as ``pool`` or ``retries``). The DAG should have the params that
    :func:`report_params` makes; without them the defaults hold.
    """

    def __init__(self, spec: ReportSpec, *, group_id: str | None = None, **options: Any) -> None:
        found = sort_options(options, holder=TaskGroup, own=add_report_tasks)
        given = found.holder.pop("default_args", None) or {}
        defaults = {**given, **found.tasks}
        super().__init__(group_id=group_id or spec.name, default_args=defaults, **found.holder)
        with self:
            add_report_tasks(read_sql(spec), **found.forerun)


def progressive_dag(
    spec: ReportSpec,
    *,
    start_date: datetime,
    dag_id: str | None = None,
    schedule: Any = AS_REPORT,
    mode: str = "auto",
    report_date: date | None = None,
    **options: Any,
) -> DAG:
    """A DAG that runs ``spec`` every day, or once for each of its periods.

    Its DAG run of a day is created when the day starts (in the report's time zone), so that early
    runs can happen; it lasts until the report is out, so several days overlap. That of a period is
    created when the period starts. ``schedule`` is any Airflow schedule that does so
    (:mod:`forerun.airflow.authoring.schedules`), None for by hand only; ``mode`` and
    ``report_date`` fill in the trigger form (a date there holds for scheduled runs too, but not for
    those of a backfill).

    ``options`` are those of :func:`add_report_tasks`, of Airflow's ``DAG`` (such as
    ``max_active_runs``, ``catchup``, ``tags``, ``access_control``, ``on_failure_callback``), and of
    every operator (such as ``pool``, ``queue``, ``retries``). An option that the DAG and its tasks
    both take is the DAG's; ``default_args`` gives it to the tasks. Raises
    :class:`forerun.include.reports.spec.SpecError` for options that would break the report, or that
    nobody takes.
    """
    found = sort_options(options, holder=DAG, own=add_report_tasks)
    spec = under_cluster(read_sql(spec), found.forerun.get("cluster"))
    form = report_params(mode, report_date)
    about = spec.description or f"Progressive report {spec.name}"
    arguments = of_the_dag((spec,), found, schedule, form, about)
    with DAG(dag_id=dag_id or spec.name, start_date=start_date, **arguments) as dag:
        dag.fileloc = dag_file()
        add_report_tasks(spec, **found.forerun)
    dag.params.update(form)  # last: each task copies what is there, once for each of its classes
    return dag


def of_the_dag(
    specs: Sequence[ReportSpec],
    found: Options,
    schedule: Any,
    params: dict[str, Param],
    description: str,
) -> dict[str, Any]:
    """Return the arguments of the DAG of these reports: what the author gives, with defaults for
    the rest, but not the fields of the trigger form: they are ``params``, and come to those of the
    author."""
    timetable = timetable_of(specs[0], schedule)
    given = dict(found.holder)
    for spec in specs:
        check_timeout(spec, given.get("dagrun_timeout"))
    owners = dict.fromkeys(spec.owner for spec in specs)
    defaults = dict(given.pop("default_args", None) or {})
    own = {**(given.pop("params", None) or {}), **(defaults.pop("params", None) or {})}
    if taken := sorted(set(own) & set(params)):
        raise SpecError(
            f"the option params has {taken[0]}, which is a field of every report's trigger form",
            hint="Give it another name; mode and report_date are options of their own.",
        )
    tags = given.pop("tags", None) or ()
    if isinstance(tags, str):
        raise SpecError(f"the option tags is {tags!r}", hint=f"Write a list: [{tags!r}].")
    about = given.pop("doc_md", None)
    return {
        "catchup": False,
        "max_active_runs": 3,
        "schedule": timetable,
        "description": description,
        **given,
        "params": own,
        "default_args": {"owner": ", ".join(owners), **defaults, **found.tasks},
        "doc_md": "\n\n".join(filter(None, (about, *map(_document, specs)))),
        "tags": ["forerun", *tags],
    }


def _start_of(run: RunTime) -> str:
    return f"{start_text(run.when)}, at {run.at} at the latest" if run.when else run.at


def _document(spec: ReportSpec) -> str:
    """The DAG's page. The digest makes an edited report a new version of the DAG."""
    gives = {*spec.policy.early_results, spec.runs}
    runs = "\n".join(
        f"| {i} | {_start_of(run)} | {run.weight:g} | {'yes' if i in gives else ''} |"
        for i, run in enumerate(spec.policy.runs, start=1)
    )
    about = f"About {spec.period}; times are those of its last day.\n\n" if spec.period else ""
    chosen = "The times are chosen for each day; these are the report's own.\n\n"
    return (
        f"{spec.description}\n\n{about}Due at {spec.due_text} ({spec.timezone}).\n\n"
        f"{chosen if spec.policy.choose else ''}"
        f"| run | at | weight | publishes |\n|---|---|---|---|\n{runs}\n\n"
        f"```sql\n{spec.sql.strip()}\n```\n\nspec {spec.digest}"
    )
