"""For the demo only: tasks that let data arrive between the runs of a day that is over."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowSkipException

from forerun_airflow.builder import BeforeRun
from forerun_airflow.day import explained, opened_day
from include.report import ReportSpec


class DeliverDemoData(BaseOperator):
    """Copies what is staged for run ``run`` to where the report's sources look."""

    ui_color = "#fbf6dd"

    def __init__(self, *, spec: ReportSpec, run: int, day_task: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.run = run
        self.day_task = day_task

    def execute(self, context: Any) -> int:
        from include.demo import deliver

        tables = tuple(source.name for source in self.spec.sources)
        last = self.run == self.spec.runs
        opened = opened_day(context, self.day_task)
        if opened.dry_run and self.run > 1:
            raise AirflowSkipException("a dry run plans the first run only")
        with explained():
            count = deliver(self.spec.name, tables, opened.date, self.run, last=last)
        self.log.info("%d files arrived", count)
        return count


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
