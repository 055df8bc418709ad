"""After the final run: the expectations decide, then the pointer moves."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from forerun_airflow.day import explained, opened_day, store_uri, utc_now
from include.report import ReportSpec


class CheckResult(BaseOperator):
    """Reads the outcome of all expectations of the day. A critical one that does not hold fails
    the task for good, with the expectation, what was observed and sample rows; nothing is
    published then. A warning is logged. Returns the warnings."""

    ui_color = "#f3eef7"

    def __init__(self, *, spec: ReportSpec, day_task: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.day_task = day_task

    def execute(self, context: Any) -> list[str]:
        from include.day import read_findings

        opened = opened_day(context, self.day_task)
        if opened.dry_run:
            raise AirflowSkipException("a dry run has no result")
        with explained():
            findings = read_findings(
                store_uri(self.spec), self.spec, opened.date, opened.generation
            )
        warnings = [finding.text for finding in findings if finding.severity == "warning"]
        for text in warnings:
            self.log.warning("expectation does not hold (warning): %s", text)
        critical = [finding.text for finding in findings if finding.severity == "critical"]
        if critical:
            raise AirflowFailException(
                f"{len(critical)} critical expectation(s) do not hold; nothing is published\n"
                + "\n".join(critical)
            )
        return warnings


class PublishReport(BaseOperator):
    """Moves the report's pointer to this result, at once and for good.

    The asset event carries the day, the version, its rows, and what was not complete.
    """

    ui_color = "#f3eef7"

    def __init__(self, *, spec: ReportSpec, day_task: str, wait_task: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.day_task = day_task
        self.wait_task = wait_task
        self.result_uri = ""

    def execute(self, context: Any) -> dict[str, object]:
        from include.day import publish_result

        opened = opened_day(context, self.day_task)
        with explained():
            pointer = publish_result(
                store_uri(self.spec), self.spec, opened.date, opened.generation, now=utc_now()
            )
        missing = context["ti"].xcom_pull(task_ids=self.wait_task) or []
        for text in missing:
            self.log.warning("published although not complete: %s", text)
        self.result_uri = pointer.folder
        record: dict[str, object] = {
            "day": opened.day,
            "version": pointer.version,
            "folder": pointer.folder,
            "rows": pointer.rows,
            "incomplete": list(missing),
        }
        for asset in self.outlets:
            context["outlet_events"][asset].extra = record
        self.log.info("published %s rows at %s", pointer.rows, pointer.folder)
        return record
