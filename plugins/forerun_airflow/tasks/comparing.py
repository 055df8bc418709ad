"""After a report in shadow is published: is it what the job of today has made?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowSkipException

from forerun.airflow.day import explained, utc_now
from forerun.airflow.retries import RepeatableOperator
from forerun.airflow.tasks.units import alone, units_of
from forerun.airflow.watching.alerting import raise_ticket
from forerun.airflow.watching.notify import Notify
from forerun.airflow.watching.telling import tell_compared
from forerun.include.reports.spec import ReportSpec

if TYPE_CHECKING:
    from forerun.include.state.shadow_day import ShadowDay


class CompareShadow(RepeatableOperator):
    """Compares the day, and earlier ones that could not be compared, with the rows of the other
    job, and keeps what came of it. A day that differs raises a ticket and fails nothing: readers
    have the other job's rows. So does the day with which enough days are equal. Returns the verdict
    by day."""

    ui_color = "#f3eef7"

    def __init__(self, *, spec: ReportSpec, day_task: str, notify: Notify, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.day_task = day_task
        self.notify = notify

    def execute(self, context: Any) -> dict[str, str]:
        from forerun.include.days.shadow_days import shadow_standing
        from forerun.include.verify.shadow import compare_days

        found: list[ShadowDay] = []
        with explained():
            units = units_of(alone(self.spec, self.spec.runs, self.day_task), context)
            unit = units[0]
            day, shadow = unit.day, unit.spec.shadow
            if unit.opened.dry_run or shadow is None:
                raise AirflowSkipException("there is nothing to compare")
            before = shadow_standing(day.store, self.spec.name, shadow)
            for one in units:
                found += compare_days(one.day, shadow, utc_now())
            standing = shadow_standing(day.store, self.spec.name, shadow)
        if not {record.day for record in found} & {one.opened.day for one in units}:
            raise AirflowSkipException("the day is not published")
        for record in found:
            self.log.info("%s: %s%s", record.day, record.verdict, record.why and f": {record.why}")
            for text in record.differences:
                self.log.warning("%s: %s", record.day, text)
            tell_compared(day, record, standing)
            if record.verdict == "different":
                what = f"in shadow, the rows of {record.day} are not those of the other job"
                raise_ticket(self.spec, record.day, self.notify, what)
        self.log.info("shadow: %s", standing.text)
        if standing.enough and not before.enough:
            raise_ticket(
                self.spec, units[-1].opened.day, self.notify, f"in shadow, {standing.text}"
            )
        return {record.day: record.verdict for record in found}
