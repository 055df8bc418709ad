"""Let data arrive between the time points of a day that is over: a DAG for the demo only."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import Any

from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowSkipException

from forerun.airflow.authoring.group_dag import BeforePoint, group_dag
from forerun.airflow.day import explained, opened_day
from forerun.demo.reports import DAY, PAST_DAYS
from forerun.include.reports.group import ReportGroup


class DeliverDemoData(BaseOperator):
    """Copies what is staged for a time point to where the reports' sources look."""

    ui_color = "#fbf6dd"

    def __init__(self, *, group: ReportGroup, point: int, day_task: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.group = group
        self.point = point
        self.day_task = day_task

    def execute(self, context: Any) -> int:
        from forerun.demo.reports import deliver

        tables = {source.name for spec in self.group.reports for source in spec.sources}
        last = self.point == len(self.group.times)
        opened = opened_day(context, self.day_task)
        if opened.dry_run and self.point > 1:
            raise AirflowSkipException("a dry run plans the first time point only")
        with explained():
            count = deliver(tuple(sorted(tables)), opened.date, self.point, last=last)
        self.log.info("%d files arrived", count)
        return count


def demo_dag(group: ReportGroup) -> DAG:
    """The DAG ``demo_<group>``: daily until the day that the demo has data of, which is over. So it
    runs by hand, on that day, or as a backfill of the days before.

    Left to itself, Forerun would go straight to the final runs of a day that is over. So its mode
    is ``replay`` unless the trigger form says otherwise.
    """
    return group_dag(
        group,
        dag_id=f"demo_{group.name}",
        start_date=datetime.combine(PAST_DAYS[0], time(), UTC),
        end_date=datetime.combine(DAY, time(), UTC),
        mode="replay",
        report_date=DAY,
        before_point=demo_arrivals(group),
        tags=("demo",),
    )


def demo_arrivals(group: ReportGroup) -> BeforePoint:
    """Return the ``before_point`` of :func:`forerun.airflow.group_dag`: an ``arrive_<i>`` per time
    point."""

    def before_point(point: int) -> BaseOperator:
        return DeliverDemoData(
            task_id=f"arrive_{point}",
            group=group,
            point=point,
            day_task=f"{group.reports[0].name}.open_day",
            trigger_rule="all_done",
        )

    return before_point
