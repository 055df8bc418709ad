"""From a report spec to tasks. Reads nothing but the report's SQL file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal

from airflow.sdk import (
    DAG,
    Asset,
    BaseOperator,
    CronTriggerTimetable,
    Param,
    TaskGroup,
    TriggerRule,
    chain,
)

from forerun_airflow.day import MODES
from forerun_airflow.publish import CheckResult, PublishReport
from forerun_airflow.submit import SubmitRun
from forerun_airflow.tasks import OpenDay, PlanRun
from forerun_airflow.wait import WaitForRun
from include.report import AssetEvent, ReportSpec, SpecError

REPORTS = Path(__file__).resolve().parents[2] / "include" / "reports"

BeforeRun = Callable[[int], BaseOperator]


def read_sql(spec: ReportSpec) -> ReportSpec:
    """The spec with its SQL text. A relative ``sql_file`` lies in ``include/reports``.

    Raises :class:`include.report.SpecError` when the file cannot be read or is empty.
    """
    if not spec.sql_file:
        return spec
    path = REPORTS / spec.sql_file
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            f"report {spec.name}: its SQL file cannot be read: {error}",
            hint=f"sql_file is an absolute path, or relative to {REPORTS.name}/.",
        ) from None
    return spec.with_sql(text)


def report_asset(name: str) -> Asset:
    """What a published report updates; schedule downstream DAGs on it."""
    return Asset(name=f"forerun_report_{name}", uri=f"forerun://report/{name}")


def early_asset(name: str) -> Asset:
    """What an early result of a report updates: another asset, for who waits for the report must
    not take a part of the day for it."""
    return Asset(name=f"forerun_early_{name}", uri=f"forerun://report/{name}/early")


def add_report_tasks(
    spec: ReportSpec,
    *,
    conn_id: str = "spark_default",
    spark_conf: dict[str, str] | None = None,
    engine: Literal["spark", "sail"] = "spark",
    before_run: BeforeRun | None = None,
    poll: float = 30.0,
) -> None:
    """Add the tasks of a report to the DAG or task group that is open.

    They are ``open_day``, per run ``wait``, ``plan`` and ``run``, then ``check`` and ``publish``,
    which an early run that gives a result has, too. The last is the only leaf, so it alone decides
    about the DAG run. ``conn_id`` names the Spark connection, ``spark_conf`` adds to the
    configuration of every run, ``engine`` ``sail`` is the small engine for tests, ``before_run``
    makes a task that comes before the wait of run i (the demo lets data arrive there), ``poll`` is
    the number of seconds between looks for complete sources.
    """
    opened = OpenDay(task_id="open_day", spec=spec)
    before: BaseOperator = opened
    for run in range(1, spec.runs + 1):
        with TaskGroup(group_id=f"run_{run}"):
            wait = WaitForRun(
                task_id="wait",
                spec=spec,
                run=run,
                day_task=opened.task_id,
                poll=poll,
                # An early run that failed, or was skipped, never holds up a later one.
                trigger_rule=TriggerRule.ALL_DONE,
                inlets=_asset_inlets(spec) if run == spec.runs else [],
            )
            plan = PlanRun(task_id="plan", spec=spec, run=run, day_task=opened.task_id)
            submit = SubmitRun(
                task_id="run",
                spec=spec,
                day_task=opened.task_id,
                plan_task=plan.task_id,
                run=run,
                conn_id=conn_id,
                engine=engine,
                spark_conf=spark_conf,
            )
            steps: list[BaseOperator] = [wait, plan, submit]
            if run in spec.policy.early_results:
                steps += _publishing(spec, run, opened, wait)
            chain(*steps)
        chain(before, *([before_run(run)] if before_run else []), wait)
        # Also after an early result: were its tasks leaves, one that fails would fail the DAG run.
        before = steps[-1]
    chain(before, *_publishing(spec, spec.runs, opened, wait))


def _publishing(
    spec: ReportSpec, run: int, opened: BaseOperator, wait: BaseOperator
) -> list[BaseOperator]:
    """The tasks after a run that gives the result."""
    final = run == spec.runs
    check = CheckResult(
        task_id="check",
        spec=spec,
        day_task=opened.task_id,
        run=run,
        # A run that was committed already is skipped, and its result is checked again.
        trigger_rule=TriggerRule.NONE_FAILED,
    )
    publish = PublishReport(
        task_id="publish",
        spec=spec,
        day_task=opened.task_id,
        wait_task=wait.task_id,
        run=run,
        outlets=[report_asset(spec.name) if final else early_asset(spec.name)],
    )
    return [check, publish]


def _asset_inlets(spec: ReportSpec) -> list[Asset]:
    rules = (source.complete_when for source in spec.sources)
    return [Asset(name=r.uri, uri=r.uri) for r in rules if isinstance(r, AssetEvent)]


class ProgressiveTaskGroup(TaskGroup):
    """The tasks of a report as a group inside a DAG of one's own.

    ``options`` are those of :func:`add_report_tasks`. The DAG should have the params that
    :func:`report_params` makes; without them the defaults hold.
    """

    def __init__(self, spec: ReportSpec, *, group_id: str | None = None, **options: Any) -> None:
        super().__init__(group_id=group_id or spec.name)
        with self:
            add_report_tasks(read_sql(spec), **options)


def report_params(mode: str = "auto", report_date: date | None = None) -> dict[str, Param]:
    """The fields of the trigger form, with what they are filled in with."""
    return {
        "report_date": Param(
            report_date.isoformat() if report_date else None,
            type=["null", "string"],
            format="date",
            title="Report date",
            description_md="The day to report on. Empty: the day of the run.",
        ),
        "mode": Param(
            mode,
            enum=list(MODES),
            title="Mode",
            description_md="**auto**: early runs that are worth it, at their times. "
            "**progressive**: all that can be done early, in every run, late or not, whatever it "
            "costs. **batch**: one run with the plain query.",
        ),
        "dry_run": Param(
            False,
            type="boolean",
            title="Dry run",
            description_md="Plan the first run and store the plan; compute and publish nothing.",
        ),
    }


def progressive_dag(
    spec: ReportSpec,
    *,
    start_date: datetime,
    dag_id: str | None = None,
    schedule: Any = "daily",
    mode: str = "auto",
    report_date: date | None = None,
    default_args: dict[str, Any] | None = None,
    tags: tuple[str, ...] = (),
    **options: Any,
) -> DAG:
    """A DAG that runs ``spec`` every day.

    Its DAG run of a day is created when the day starts (in the report's time zone), so that early
    runs can happen; it lasts until the report is out, so several days overlap. ``schedule`` is any
    Airflow schedule, None for by hand only; ``mode`` and ``report_date`` fill in the trigger form
    (a date there holds for scheduled runs too). ``options`` are those of :func:`add_report_tasks`.
    """
    spec = read_sql(spec)
    timetable = CronTriggerTimetable("0 0 * * *", timezone=spec.timezone)
    with DAG(
        dag_id=dag_id or spec.name,
        schedule=timetable if schedule == "daily" else schedule,
        start_date=start_date,
        catchup=False,
        max_active_runs=3,
        params=report_params(mode, report_date),
        default_args={"owner": spec.owner, **(default_args or {})},
        description=spec.description or f"Progressive report {spec.name}",
        doc_md=_document(spec),
        tags=["forerun", *tags],
    ) as dag:
        add_report_tasks(spec, **options)
    return dag


def _document(spec: ReportSpec) -> str:
    """The DAG's page. The digest makes an edited report a new version of the DAG."""
    gives = {*spec.policy.early_results, spec.runs}
    runs = "\n".join(
        f"| {i} | {run.at} | {run.weight:g} | {'yes' if i in gives else ''} |"
        for i, run in enumerate(spec.policy.runs, start=1)
    )
    return (
        f"{spec.description}\n\nDue at {spec.deadline} ({spec.timezone}).\n\n"
        f"| run | at | weight | publishes |\n|---|---|---|---|\n{runs}\n\n"
        f"```sql\n{spec.sql.strip()}\n```\n\nspec {spec.digest}"
    )
