"""Which day a DAG run is about, and how it is to be run.

A scheduled run is created when its day starts: its logical date is the day's midnight. A run that
was triggered by hand has no logical date (and then no ``ds`` either), so the form's report date
decides, else the day in which the run was created. All tasks of a DAG run read the answer of the
first one, so that a day does not change under a run that goes past midnight.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal

from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
)

from forerun.include.machine.wall_clock import utc_now as utc_now  # noqa: PLC0414 - the tasks' clock
from forerun.include.reports.run_policy import Choose
from forerun.include.reports.spec import ReportSpec, RunTime
from forerun.include.reports.values.clock import parse_day, parse_time
from forerun.include.state.layout import Generation
from forerun.planner.errors import ForerunError, RequestError

if TYPE_CHECKING:
    from forerun.include.days.handle import Day

MODES = ("auto", "replay", "progressive", "batch")
REPAIR = "repair"
"""The mode of a DAG run that repairs a published day; never a report's own."""
BACKFILL = "backfill"
"""The mode of a DAG run that computes several days that are over; never a report's own."""
LEFT_OUT = "left_out"
"""The field of the answer of a task that opens no day, which says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """The duty of the tasks of a DAG run: all in which one mode differs from another.

    ``method``: how runs are planned. ``early``: which early runs are done: those ``in time``, at
    their times as these move, and never once the next run is due; ``all``, late or not; or
    ``none``. ``is_over``: the days are over and were looked at when they were opened, so the tasks
    of the final run do all, and wait for nothing. ``confirms``: publishing waits until somebody
    has read which rows differ.
    """

    method: Literal["auto", "progressive", "batch"] = "auto"
    early: Literal["in time", "all", "none"] = "all"
    is_over: bool = False
    confirms: bool = False

    @property
    def moves(self) -> bool:
        """True if the times of runs may be others than the report's own."""
        return self.early == "in time"

    @property
    def several(self) -> bool:
        """True if there may be several days, of which none holds up another."""
        return self.is_over and not self.confirms


def tonight() -> Duty:
    """Return the duty for a day that goes on: each run at its time, early ones where they pay."""
    return Duty(early="in time")


def replay(method: Literal["auto", "progressive"] = "auto") -> Duty:
    """Return the duty for a day as it would have been, one run after the other."""
    return Duty(method=method)


def straight(method: Literal["auto", "batch"] = "auto") -> Duty:
    """Return the duty for a day that goes straight to its final run."""
    return Duty(method=method, early="none")


def repair() -> Duty:
    """Return the duty for bringing a published day up to its sources."""
    return Duty(early="none", is_over=True, confirms=True)


def past_days() -> Duty:
    """Return the duty for computing days that are over."""
    return Duty(early="none", is_over=True)


DUTIES: Mapping[str, Duty] = {
    "auto": tonight(),
    "replay": replay(),
    "progressive": replay("progressive"),
    "single": straight(),
    "batch": straight("batch"),
    REPAIR: repair(),
    BACKFILL: past_days(),
}
"""The duty of each mode that a day can be opened in."""
OPEN_DAY = "open_day"
"""The name of the task that opens a report's day, after the name of the report's task group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDay:
    """The decision of the first task.

    ``mode``: ``auto`` (early work where it pays, at its time; early runs that would be late are
    skipped), ``replay`` (early work where it pays, late or not: to try a day that is over),
    ``progressive`` (all that can be done early, in every run, late or not), ``single``
    (straight to the final run), ``batch`` (that, with the user's own text), ``repair`` or
    ``backfill``.
    ``dry_run``: the generation is only the one that would be opened, see :meth:`of`.
    ``runs``: of a report of a group, the clock times of its runs with their weights as of when the
    day was opened. Reports that join or leave the group give it other runs, and the numbers under
    which a day has committed runs must not change their meaning. Empty outside of groups.
    ``repair``: of a repair the number of its one run, which the tasks of the final run do; else 0.
    ``days``: of a backfill its days, each with its generation, which the tasks of the final run do;
    ``day`` and ``generation`` are the first.
    """

    day: str
    generation: str
    mode: str
    dry_run: bool
    runs: tuple[tuple[str, float], ...] = ()
    repair: int = 0
    days: tuple[tuple[str, str], ...] = ()

    @property
    def date(self) -> date:
        return parse_day(self.day)

    @property
    def duty(self) -> Duty:
        """The duty of the mode that the day was opened in."""
        return DUTIES[self.mode]

    def each(self) -> tuple[OpenedDay, ...]:
        """The days of a backfill one by one; else only this one."""
        days = (replace(self, day=day, generation=at, days=()) for day, at in self.days)
        return tuple(days) or (self,)

    def of(self, spec: ReportSpec) -> Day:
        """The handle of the day, in the report's store; in a dry run nothing that is done with it
        gets there."""
        from forerun.include.days.handle import Day

        day = Day.of(store_uri(spec), self.as_opened(spec), self.date, self.generation)
        return day.imagined() if self.dry_run else day

    def as_opened(self, spec: ReportSpec) -> ReportSpec:
        """The report as it is now, with the runs that its day was opened with; of a repair the
        report as it was when the day was computed."""
        if self.repair:
            from forerun.include.days.generations import spec_of
            from forerun.include.stores.opening import open_store

            at = Generation(spec.name, self.day, self.generation)
            return spec_of(open_store(store_uri(spec)), at)
        if not self.runs or self._seconds == _seconds(run.at for run in spec.policy.runs):
            return spec
        now = {parse_time(run.at, "a run").seconds: run.when for run in spec.policy.runs[:-1]}
        runs = tuple(
            RunTime(at=at, weight=weight, when=now.get(parse_time(at, "a run").seconds))
            for at, weight in self.runs
        )
        numbers = (self.run_of(spec, run) for run in spec.policy.results_at)
        results = tuple(number for number in numbers if number is not None)
        choose = Choose(at_most=len(runs)) if spec.policy.choose and len(runs) > 1 else None
        policy = replace(spec.policy, runs=runs, results_at=results, choose=choose)
        return replace(spec, policy=policy)

    def run_of(self, spec: ReportSpec, run: int) -> int | None:
        """The number that a run of the report, as it is now, has in this day: of the final run that
        of the day's, of an early one that of the day's run at the same time. None if the day has
        none then. A repair is done in place of the final run, and so are the days of a
        backfill."""
        if self.days:
            return run if run == spec.runs else None
        if self.repair:
            return self.repair if run == spec.runs and not self.dry_run else None
        if not self.runs:
            return run
        if run == spec.runs:
            return len(self.runs)
        at = parse_time(spec.policy.runs[run - 1].at, "a run").seconds
        early = self._seconds[:-1]
        return early.index(at) + 1 if at in early else None

    @property
    def _seconds(self) -> list[int]:
        return _seconds(at for at, _ in self.runs)


def _seconds(times: Iterable[str]) -> list[int]:
    return [parse_time(at, "a run").seconds for at in times]


def store_uri(spec: ReportSpec) -> str:
    """Return the URI of the report's store: the spec's, else the environment's default."""
    from forerun.include.stores.opening import default_store

    return spec.store or default_store()


def report_date(context: Any, spec: ReportSpec) -> date:
    """The day that a DAG run is about, in the report's time zone; of a report with a period the
    last day of the one that has it. The days of a backfill are its own, whatever the form is filled
    in with."""
    run = context["dag_run"]
    named = (context.get("params") or {}).get("report_date")
    if named and run.run_type != "backfill":
        return spec.bounds(parse_day(str(named)))[1]
    moment = run.logical_date or run.run_after
    return spec.bounds(date(*moment.astimezone(spec.zone).timetuple()[:3]))[1]


def choose_mode(asked: str, run_type: str, spec: ReportSpec, day: date, now: datetime) -> str:
    """Choose how to run the day. ``auto`` goes straight to the final run where all early runs would
    come too late: in a backfill, and when the final run's time has passed."""
    known = (*MODES, REPAIR, BACKFILL)
    if asked not in known:
        raise RequestError(f"mode {asked!r} is unknown", hint=f"Use one of {', '.join(known)}.")
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


def read_opened(record: Mapping[str, Any] | None) -> OpenedDay | None:
    """Return what the task that opens a day has answered; None where it has opened none."""
    return None if not record or LEFT_OUT in record else OpenedDay(**record)


def opened_day(context: Any, task_id: str) -> OpenedDay:
    """Return what the first task of the DAG run decided. Fails for good when there was no answer,
    and skips where it has opened no day."""
    record = context["ti"].xcom_pull(task_ids=task_id)
    opened = read_opened(record)
    if opened is None:
        if record:
            raise AirflowSkipException(record[LEFT_OUT])
        raise AirflowFailException(f"the day was not opened: see the task {task_id}")
    return opened


class NothingToDoError(RequestError):
    """A day of which a DAG run has nothing to do: of a group, the other reports go on."""


def as_xcom(day: OpenedDay) -> dict[str, object]:
    often_empty = ("runs", "repair", "days")
    return {name: value for name, value in asdict(day).items() if name not in often_empty or value}


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
