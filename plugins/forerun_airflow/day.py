"""Which day a DAG run is about, and how it is to be run.

A scheduled run is created when its day starts: its logical date is the day's midnight. A run that
was triggered by hand has no logical date (and then no ``ds`` either), so the form's report date
decides, else the day in which the run was created. All tasks of a DAG run read the answer of the
first one, so that a day does not change under a run that goes past midnight.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from include.machine.wall_clock import utc_now as utc_now  # noqa: PLC0414 - the tasks' clock
from include.reports.clock import parse_day
from include.reports.spec import ReportSpec
from planner.errors import ForerunError, RequestError

if TYPE_CHECKING:
    from include.days.handle import Day

MODES = ("auto", "replay", "progressive", "batch")
OPEN_DAY = "open_day"
"""The name of the task that opens a report's day, after the name of the report's task group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDay:
    """What the first task decided.

    ``mode``: ``auto`` (early work where it pays, at its time; early runs that would be late are
    skipped), ``replay`` (early work where it pays, late or not: to try a day that is over),
    ``progressive`` (all that can be done early, in every run, late or not), ``single``
    (straight to the final run) or ``batch`` (that, with the user's own text).
    ``dry_run``: the generation is only the one that would be opened, see :meth:`of`.
    """

    day: str
    generation: str
    mode: str
    dry_run: bool

    @property
    def date(self) -> date:
        return parse_day(self.day)

    def of(self, spec: ReportSpec) -> Day:
        """The handle of the day, in the report's store; in a dry run nothing that is done with it
        gets there."""
        from include.days.handle import Day

        day = Day.of(store_uri(spec), spec, self.date, self.generation)
        return day.imagined() if self.dry_run else day


def store_uri(spec: ReportSpec) -> str:
    """Return the URI of the report's store: the spec's, else the environment's default."""
    from include.state.opening import default_store

    return spec.store or default_store()


def report_date(context: Any, spec: ReportSpec) -> date:
    """The day that a DAG run is about, in the report's time zone."""
    if named := (context.get("params") or {}).get("report_date"):
        return parse_day(str(named))
    run = context["dag_run"]
    moment = run.logical_date or run.run_after
    return date(*moment.astimezone(spec.zone).timetuple()[:3])


def choose_mode(asked: str, run_type: str, spec: ReportSpec, day: date, now: datetime) -> str:
    """Choose how to run the day. ``auto`` goes straight to the final run where all early runs would
    come too late: in a backfill, and when the final run's time has passed."""
    if asked not in MODES:
        raise RequestError(f"mode {asked!r} is unknown", hint=f"Use one of {', '.join(MODES)}.")
    if asked != "auto":
        return asked
    late = now >= spec.points(day)[-1]
    return "single" if run_type == "backfill" or late else "auto"


def final_task_of(day_task: str, spec: ReportSpec) -> str:
    """The id of the task that submits the final run of a report, by that of the one that opens its
    day: both begin with the report's task group."""
    return f"{day_task.removesuffix(OPEN_DAY)}run_{spec.runs}.run"


def trigger_of(context: Any) -> str:
    """Return what one opening of a day is known by. It is new for every try of the first task, so
    for every clear, and for the same date run again by hand."""
    run = context["dag_run"]
    return f"{run.dag_id}/{run.run_id}/{context['ti'].id}"


def opened_day(context: Any, task_id: str) -> OpenedDay:
    """Return what the first task of the DAG run decided. Fails for good when there was none."""
    record = context["ti"].xcom_pull(task_ids=task_id)
    if not record:
        raise AirflowFailException(f"the day was not opened: see the task {task_id}")
    return OpenedDay(**record)


def as_xcom(day: OpenedDay) -> dict[str, object]:
    return asdict(day)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turn an error the user can act on into a task failure without a long traceback.

    A store that does not answer is worth a retry; anything else fails the same way again.
    """
    try:
        yield
    except ForerunError as error:
        kind = AirflowException if error.code == "store-down" else AirflowFailException
        raise kind(f"[{error.code}] {error}") from None
