"""For the demo only: a DAG that lets data arrive between the runs of a day that is over."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowSkipException

from forerun.demo.reports import DAY
from forerun_airflow.builder import BeforeRun, progressive_dag
from forerun_airflow.day import explained, opened_day
from include.reports.spec import ReportSpec


class DeliverDemoData(BaseOperator):
    """Copies what is staged for run ``run`` to where the report's sources look."""

    ui_color = "#fbf6dd"

    def __init__(self, *, spec: ReportSpec, run: int, day_task: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.run = run
        self.day_task = day_task

    def execute(self, context: Any) -> int:
        from forerun.demo.reports import deliver

        tables = tuple(source.name for source in self.spec.sources)
        last = self.run == self.spec.runs
        opened = opened_day(context, self.day_task)
        if opened.dry_run and self.run > 1:
            raise AirflowSkipException("a dry run plans the first run only")
        with explained():
            count = deliver(self.spec.name, tables, opened.date, self.run, last=last)
        self.log.info("%d files arrived", count)
        return count


def demo_dag(report: ReportSpec) -> DAG:
    """The DAG ``demo_<report>``: by hand only, on the day that the demo has data of.

    That day is over, and small: left to itself, Forerun would see no use in early runs. So its
    mode is ``progressive`` unless the trigger form says otherwise.
    """
    return progressive_dag(
        report,
        dag_id=f"demo_{report.name}",
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        schedule=None,
        mode="progressive",
        report_date=DAY,
        before_run=demo_arrivals(report),
        tags=("demo",),
    )


def demo_arrivals(spec: ReportSpec) -> BeforeRun:
    """For ``before_run`` of :func:`forerun_airflow.progressive_dag`: an ``arrive_<i>`` per run."""

    def before_run(run: int) -> BaseOperator:
        return DeliverDemoData(
            task_id=f"arrive_{run}",
            spec=spec,
            run=run,
            day_task="open_day",
            trigger_rule="all_done",
        )

    return before_run
