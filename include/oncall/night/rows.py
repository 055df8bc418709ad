"""The night: a row for each report and day, worst first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from forerun.include.days.shadow_days import ShadowStanding
from forerun.include.oncall.airflow_condition import AirflowCondition, Halt, Notice
from forerun.include.oncall.catalogue import KnownReport
from forerun.include.oncall.day.records import DayRecords
from forerun.include.oncall.day.standing import (
    SEVERITIES,
    Severity,
    Standing,
    plan_sentence,
    standing,
)
from forerun.planner.cost.constants import MICRO

_ORDER = tuple(SEVERITIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of a day, in CPU seconds times weights. ``estimated_s`` is that of the newest plan,
    beside ``batch_s``, which is an estimate too; ``spent_s`` is measured by whole processes, over
    the ``measured`` runs that are committed."""

    estimated_s: float
    batch_s: float
    spent_s: float
    measured: int

    @property
    def share(self) -> float | None:
        """The estimate as a share of batch, None without a plan."""
        return self.estimated_s / self.batch_s if self.batch_s else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NightRow:
    """A report on a day, as a line of the night. ``missing`` says what its sources lack,
    ``looked_at`` when they were looked at; None where that was not needed. ``broken`` says why the
    day cannot be read; then nothing else is known of it. ``shadow`` is there of a report in shadow.
    ``halt`` is why Airflow begins no task of its DAG, None if it does or was not asked.
    """

    report: KnownReport
    day: str
    group: str
    records: DayRecords | None
    standing: Standing | None
    missing: tuple[str, ...] = ()
    looked_at: datetime | None = None
    broken: str = ""
    shadow: ShadowStanding | None = None
    halt: Halt | None = None

    def under(self, condition: AirflowCondition) -> NightRow:
        """Return the row as it is with Airflow in some condition."""
        halt = condition.halt_of(self.report.dag_id)
        if halt is None or self.records is None:
            return replace(self, halt=halt)
        found = standing(self.records, condition.now, self.missing, halt)
        return replace(self, halt=halt, standing=found)

    @property
    def is_over(self) -> bool:
        """Return whether nothing is to be done about the day any more: it is published whole."""
        return self.records is not None and self.records.is_published

    @property
    def severity(self) -> Severity:
        """Return how urgently the day needs whoever is on call; a day that cannot be read is
        "bad"."""
        return self.standing.severity if self.standing else "bad"

    @property
    def date_text(self) -> str:
        """Return the report date for people: with the first day of the period, if it has one."""
        return self.records.spec.date_text(self.records.date) if self.records else self.day

    @property
    def plan_sentence(self) -> str:
        return plan_sentence(self.records.plan) if self.records else ""

    @property
    def cost(self) -> Cost | None:
        return cost_of(self.records) if self.records else None

    @property
    def failed_checks(self) -> tuple[int, int]:
        """Return how many critical expectations, and how many warnings, did not hold."""
        chain = self.records.chain if self.records else ()
        checks = [check for commit in chain for check in commit.checks]
        return sum(c.critical for c in checks), sum(c.warnings for c in checks)

    @property
    def rank(self) -> tuple[int, float]:
        """The place in the night: the worst state first, then the least margin."""
        if self.standing is None:
            return (-1, 0.0)
        finish = self.standing.finish
        margin = finish.margin_s if finish and self.standing.deadline_counts else float("inf")
        return _ORDER.index(self.standing.state), margin


@dataclass(frozen=True, slots=True)
class NightGroup:
    """The rows of a report group on a day; of a report that is in none, its row alone."""

    name: str
    day: str
    rows: tuple[NightRow, ...]


def notices(condition: AirflowCondition, rows: Iterable[NightRow]) -> tuple[Notice, ...]:
    """Return what a page with these rows says of Airflow at its head."""
    shown = list(rows)
    left = [row.report.dag_id for row in shown if not row.is_over]
    return tuple(condition.notices(left, {row.report.dag_id for row in shown}))


def with_unopened(
    rows: Iterable[NightRow], condition: AirflowCondition, dags: Collection[str] | None = None
) -> tuple[NightRow, ...]:
    """Return the rows, and one for each day that only Airflow knows of, if its DAG is one of
    ``dags``; None takes all."""
    shown = tuple(rows)
    known = {(row.report.name, row.day) for row in shown}
    return shown + tuple(
        unopened_row(KnownReport(one.report, one.dag_id), one.day, one.what, one.hint)
        for one in condition.unopened
        if (one.report, one.day) not in known and (dags is None or one.dag_id in dags)
    )


def unopened_row(report: KnownReport, day: str, what: str, hint: str) -> NightRow:
    """The row of a day that could not be opened, by what failed and what to do about it."""
    to_do = f"\n  hint: {hint}" if hint else ""
    return NightRow(
        report=report,
        day=day,
        group="",
        records=None,
        standing=None,
        broken=f"could not be opened: {what}{to_do}",
    )


def make_row(
    report: KnownReport,
    records: DayRecords,
    now: datetime,
    missing: Sequence[str] = (),
    looked_at: datetime | None = None,
    shadow: ShadowStanding | None = None,
) -> NightRow:
    """The row of a day that could be read."""
    opened_by = records.record.opened_by
    return NightRow(
        report=report,
        day=records.at.day,
        group=opened_by.group if opened_by else "",
        records=records,
        standing=standing(records, now, missing),
        missing=tuple(missing),
        looked_at=looked_at,
        shadow=shadow,
    )


def grouped(rows: Iterable[NightRow]) -> tuple[NightGroup, ...]:
    """The rows by report group and day, each group where its worst row belongs."""
    found: dict[tuple[str, str, str], list[NightRow]] = {}
    for row in sorted(rows, key=lambda row: (row.rank, row.report.name, row.day)):
        own = "" if row.group else row.report.name
        found.setdefault((row.group, own, row.day), []).append(row)
    return tuple(NightGroup(name, day, tuple(rows)) for (name, _, day), rows in found.items())


def cost_of(records: DayRecords) -> Cost:
    """Return the estimated cost of a day, that of its batch, and what it has cost so far."""
    plan, weights = records.plan, records.weights
    spent = [
        weights[min(commit.run, len(weights)) - 1]  # the day may have been edited meanwhile
        * max(commit.metrics.process_cpu_s, commit.metrics.executor_cpu_s)
        for commit in records.chain
        if commit.metrics.process_cpu_s
    ]
    return Cost(
        estimated_s=plan.estimated_cost / MICRO if plan else 0.0,
        batch_s=plan.batch_cost / MICRO if plan else 0.0,
        spent_s=sum(spent),
        measured=len(spent),
    )
