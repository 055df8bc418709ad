"""After a run that gives the result: the expectations decide, then the pointer moves."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from forerun.airflow.day import explained, utc_now
from forerun.airflow.retries import RepeatableOperator
from forerun.airflow.tasks.backfilling import publish_each
from forerun.airflow.tasks.repairing import compare_repair, refuse_unread
from forerun.airflow.tasks.units import Unit, alone, units_of
from forerun.airflow.watching.telling import tell_published, telling_of_publication
from forerun.include.reports.spec import ReportSpec


class CheckResult(RepeatableOperator):
    """Reads the outcome of all expectations of the day up to run ``run``. A critical one that does
    not hold fails the task for good, with the expectation, what was observed and sample rows;
    nothing is published then, unless somebody has said so, with a reason, from the day's page. A
    warning is logged. Returns the warnings.

    After an early run these are the expectations on deliveries: those of the result are meant for
    the whole day."""

    ui_color = "#f3eef7"

    def __init__(self, *, spec: ReportSpec, day_task: str, run: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.day_task = day_task
        self.run = run

    def execute(self, context: Any) -> list[str]:
        from forerun.include.days.instructions import read_told
        from forerun.include.runs.prepare import read_findings

        with explained():
            units = units_of(alone(self.spec, self.run, self.day_task), context)
            if units[0].opened.dry_run:
                raise AirflowSkipException("a dry run has no result")
            several = units[0].duty.several
            _skip_without_result(units[0])
            if several:  # what publishes them names those that have no result
                units = [one for one in units if one.day.commit(one.run) is not None]
            findings = [found for one in units for found in read_findings(one.day, one.run)]
            for one in units:
                if one.duty.confirms:
                    compare_repair(one.day, one.run)
        warnings = [finding.text for finding in findings if finding.severity == "warning"]
        for text in warnings:
            self.log.warning("expectation does not hold (warning): %s", text)
        critical = [finding.text for finding in findings if finding.severity == "critical"]
        if several:  # each is published by itself, and that refuses what is broken
            for text in critical:
                self.log.error("critical expectation does not hold: %s", text)
        elif critical and (told := read_told(units[0].day.store, units[0].day.at).publish_anyway):
            for text in critical:
                self.log.warning("critical expectation does not hold: %s", text)
            self.log.warning("published all the same: %s: %s", told.text, told.reason)
        elif critical:
            raise AirflowFailException(
                f"{len(critical)} critical expectation(s) do not hold; nothing is published\n"
                + "\n".join(critical)
            )
        return warnings


def _skip_without_result(unit: Unit) -> None:
    """An early run may have been skipped; the final one must be there."""
    if not unit.is_final and unit.day.commit(unit.run) is None:
        raise AirflowSkipException(f"run {unit.run} was skipped: there is no early result")


class PublishReport(RepeatableOperator):
    """Moves the report's pointer to the result of run ``run``, at once and for good.

    The asset event carries the day, the version, its rows, what was not complete, and critical
    expectations that did not hold of what somebody has published all the same. An early
    result says instead how much had arrived; it is skipped where readers have a later one.
    """

    ui_color = "#f3eef7"

    def __init__(self, *, spec: ReportSpec, day_task: str, run: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.day_task = day_task
        self.run = run

    def execute(self, context: Any) -> dict[str, object]:
        with explained():
            units = units_of(alone(self.spec, self.run, self.day_task), context)
        several = units[0].duty.several
        record = publish_each(units, self._publish) if several else self._publish(units[0])
        for asset in self.outlets:
            context["outlet_events"][asset].extra = record
        return record

    def _publish(self, unit: Unit) -> dict[str, object]:
        from forerun.include.runs.prepare import OvertakenError, publish_result

        day = unit.day
        with explained():
            if unit.duty.confirms:
                refuse_unread(day)
            with telling_of_publication(day, unit.run):
                try:
                    pointer = publish_result(day, now=utc_now(), run=unit.run)
                except OvertakenError as error:
                    raise AirflowSkipException(error.message) from None
        for source, what in pointer.incomplete:
            self.log.warning("published although not complete: %s: %s", source, what)
        record: dict[str, object] = {
            "day": unit.opened.day,
            "version": pointer.version,
            "folder": pointer.folder,
            "rows": pointer.rows,
        }
        if pointer.early:
            so_far = {"as_of": pointer.as_of, "fraction": pointer.fraction}
            record |= {"early": True, "run": pointer.run, **so_far}
            record["arrived"] = dict(pointer.arrived)
        else:
            record["incomplete"] = [list(pair) for pair in pointer.incomplete]
        if pointer.overruled is not None:
            record["overruled"] = asdict(pointer.overruled)
            self.log.warning("%s", pointer.overruled.text)
        self.log.info("published %s rows at %s", pointer.rows, pointer.folder)
        tell_published(day, pointer)
        return record
