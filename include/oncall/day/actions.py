"""The actions that whoever is on call can tell a day: what each would bring, or why it is refused
now.

Pure: what the store and Airflow hold is read before. Sentences are for the page on which an action
is confirmed; figures in them are estimates and forecasts, and are said to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from forerun.include.days.instructions import Kind, Told
from forerun.include.oncall.airflow_condition import Halt
from forerun.include.oncall.day.records import DayRecords
from forerun.include.times.safe_start import AROUND_S, remaining_cost
from forerun.planner.cost.constants import MICRO

BUSY = frozenset({"queued", "scheduled", "running", "restarting", "up_for_reschedule"})
_ENDED = frozenset({"success", "failed", "upstream_failed", "skipped", "up_for_retry", "removed"})
OVER = frozenset({"success", "failed"})
"""States of Airflow: of a task that is at work, of one that has been tried, of a whole DAG run."""

TITLES: dict[Kind, str] = {
    "batch": "Run batch now",
    "skip-early": "Skip the early runs",
    "replan": "Plan again",
    "publish-anyway": "Publish all the same",
    "repair": "Prepare the repair",
    "publish": "Publish the repair",
}
OF_A_DAY: tuple[Kind, ...] = ("batch", "skip-early", "replan", "publish-anyway")
"""What can be told a day that is under way, or blocked."""
WITH_REASON: frozenset[Kind] = frozenset({"publish-anyway"})
"""What is told with a reason, which readers of the result see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DagRunState:
    """The state of the DAG run that has opened a day, as Airflow has it: its state, the state of
    each of its tasks by id ("" for a task that nothing has begun), and why Airflow begins none of
    them (``halt``), None if it does."""

    state: str
    tasks: Mapping[str, str]
    halt: Halt | None = None

    def any_in(self, task_ids: Iterable[str], states: frozenset[str]) -> str:
        """The first of some tasks that is in one of some states, empty if none is."""
        return next((one for one in task_ids if self.tasks.get(one, "") in states), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something that can be told a day. ``does`` says in sentences what will happen; ``refused``,
    where it is not empty, why it cannot be told now. ``clears``: the tasks that Airflow has to
    begin again for it, none where those that wait take notice by themselves."""

    kind: Kind
    does: tuple[str, ...] = ()
    refused: str = ""
    clears: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return TITLES[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that decides about the actions of a day: its records, what its sources lack, its DAG
    run (None if Airflow does not know it), and the time."""

    records: DayRecords
    missing: tuple[str, ...]
    dag_run: DagRunState | None
    now: datetime

    @property
    def told(self) -> Told:
        return self.records.told

    @property
    def prefix(self) -> str:
        opened_by = self.records.record.opened_by
        return opened_by.prefix if opened_by else ""

    @property
    def grouped(self) -> bool:
        """Return whether the report runs in a report group."""
        opened_by = self.records.record.opened_by
        return bool(opened_by and opened_by.group)

    @property
    def in_time(self) -> bool:
        """Return whether early runs keep to their times: one whose successor is due is left out."""
        opened_by = self.records.record.opened_by
        return opened_by is None or opened_by.mode == "auto"

    @property
    def done(self) -> int:
        """The last run that is committed, 0 for none."""
        return self.records.chain[-1].run if self.records.chain else 0

    @property
    def early_left(self) -> tuple[int, ...]:
        """The early runs that may still begin."""
        points = self.records.points
        return tuple(
            run
            for run in range(self.done + 1, self.records.spec.runs)
            if not self.in_time or self.now < points[run]
        )

    def tasks_of(self, run: int) -> tuple[str, ...]:
        """The ids of the tasks of a run, in their order; those of the report's own end if it is the
        final run."""
        names = [f"{self.prefix}run_{run}.{name}" for name in ("wait", "plan", "run")]
        final = run == self.records.spec.runs
        end = self.prefix if final else f"{self.prefix}run_{run}."
        known = self.dag_run.tasks if self.dag_run else {}
        return tuple(one for one in (*names, f"{end}check", f"{end}publish") if one in known)

    def planning_of(self, run: int) -> tuple[str, ...]:
        """The ids of the tasks that plan a run and do what comes after, in their order. Of an early
        run of a group they are those of the time point: a report has its k-th run at the k-th."""
        if not self.grouped or run == self.records.spec.runs:
            return self.tasks_of(run)[1:]
        names = (f"at_{run}.plan", f"at_{run}.run")
        ends = (f"{self.prefix}run_{run}.{name}" for name in ("check", "publish"))
        known = self.dag_run.tasks if self.dag_run else {}
        return tuple(one for one in (*names, *ends) if one in known)


def actions_of(situation: Situation) -> tuple[Action, ...]:
    """Return the actions of a day, each with what it brings or with why it is refused."""
    if refused := _over(situation):
        return tuple(Action(kind=kind, refused=refused) for kind in OF_A_DAY)
    if situation.records.is_blocked:
        return (_publish_anyway(situation),)
    return _batch(situation), _skip_early(situation), _replan(situation)


def _over(situation: Situation) -> str:
    """Return why nothing can be told the day any more, empty if something can."""
    records, opened_by = situation.records, situation.records.record.opened_by
    clear = "To compute the day again, clear its whole DAG run in Airflow: that opens it anew."
    published = records.published
    if published and records.is_published:
        repair = "If its sources were corrected since, its page leads to what a repair takes."
        return f"The day is published, version {published.version}. {clear} {repair}"
    if records.is_blocked and records.final is None:
        return (
            "A critical expectation does not hold of what an early run has read. Put the data "
            f"right. {clear} What else does not hold is known once the final run has ended."
        )
    if records.final is not None and not records.is_blocked:
        return f"The final run is committed; what is left is to check and publish. {clear}"
    if situation.dag_run is None and opened_by:
        return (
            f"Airflow knows no DAG run {opened_by.run_id} of DAG {opened_by.dag_id}: nothing would "
            "carry it out. Put the DAG back, or trigger it for this report date."
        )
    return ""


def _publish_anyway(situation: Situation) -> Action:
    """A day of which a critical expectation did not hold goes out with a reason, or not at all."""
    records, run = situation.records, situation.dag_run
    kind: Kind = "publish-anyway"
    tasks = tuple(
        one
        for one in situation.tasks_of(records.spec.runs)
        if one.rpartition(".")[2] in ("check", "publish")
    )
    if run is not None and (busy := run.any_in(tasks, BUSY)):
        return _busy(kind, busy, run)
    does = (
        *held_up(run),
        f"Not published so far: {'; '.join(records.broken)}.",
        _TO_READERS,
        _OTHERWISE,
    )
    begun = run is not None and bool(run.any_in(tasks, _ENDED))
    return Action(kind=kind, does=does, clears=tasks if begun else ())


_TO_READERS = (
    "The result is published at once, with your reason: readers find it beside the result, in the "
    "asset's event and by forerun result, with your name and what did not hold."
)
_OTHERWISE = (
    "Otherwise put the data right, and clear the whole DAG run in Airflow: that opens the day anew."
)


def _batch(situation: Situation) -> Action:
    records, run = situation.records, situation.dag_run
    spec, told = records.spec, situation.told.batch
    final = situation.tasks_of(spec.runs)
    begun = "" if run is None else run.any_in(final, _ENDED)
    over = run is not None and run.state in OVER
    if run is None or not final:
        return Action(kind="batch", refused="The DAG run has no task of the final run.")
    if busy := run.any_in(final, BUSY):
        return _busy("batch", busy, run)
    if situation.grouped and not over and not begun and situation.now < records.points[-1]:
        return Action(
            kind="batch",
            refused="Its report group works at its time points, the last of this report at "
            f"{_clock(records, records.points[-1])}; until then the early runs can be skipped.",
        )
    if told and not begun and not over:
        return _already("batch", told.text)
    does = [*held_up(situation.dag_run), *_left_out(situation)]
    at_work = run.any_in((one for k in situation.early_left for one in situation.tasks_of(k)), BUSY)
    when = f"as soon as {at_work} has ended" if at_work else "at once"
    does.append(f"The final run starts {when}, with the report's own text{_batch_cost(situation)}.")
    does += _finish(situation, situation.now)
    if situation.missing:
        does.append(
            "It does not wait for what is missing, and what comes later is not in the result. It "
            f"is published as not complete: {'; '.join(situation.missing)}."
        )
    else:
        does.append("What comes after it has started is not in the result.")
    return Action(kind="batch", does=tuple(does), clears=final if begun or over else ())


def _skip_early(situation: Situation) -> Action:
    records, run = situation.records, situation.dag_run
    kind: Kind = "skip-early"
    opened_by = records.record.opened_by
    if opened_by and opened_by.mode in ("single", "batch"):
        refused = f"The day was opened in mode {opened_by.mode}: it has no early runs."
        return Action(kind=kind, refused=refused)
    if told := situation.told.skips_early:
        return _already(kind, told.text)
    if not situation.early_left:
        return Action(kind=kind, refused="No early run is left.")
    if run is not None and run.state in OVER:
        return Action(kind=kind, refused=f"The DAG run has ended: {run.state}.")
    does = [*held_up(situation.dag_run), *_left_out(situation)]
    start = max(situation.now, records.points[-1])
    does.append(
        f"The final run starts at {_clock(records, records.points[-1])} as planned, and does all "
        f"that is left: as much as batch at most{_batch_cost(situation)}."
    )
    return Action(kind=kind, does=(*does, *_finish(situation, start)))


def _replan(situation: Situation) -> Action:
    records, run = situation.records, situation.dag_run
    planned = records.plans[-1].run if records.plans else 0
    kind: Kind = "replan"
    if planned <= situation.done:
        following = situation.done + 1
        at = records.points[following - 1]
        when = (
            f"its time comes, at {_clock(records, at)}" if at > situation.now else "its wait ends"
        )
        name = _name(records, following)
        refused = f"{name} is planned when {when}, with all that is known by then."
        return Action(kind=kind, refused=refused)
    final = planned == records.spec.runs
    tasks = situation.planning_of(planned)
    if not tasks:
        return Action(kind=kind, refused="The DAG run has no task that plans this run.")
    if run is not None and (busy := run.any_in(tasks, BUSY)):
        return _busy(kind, busy, run)
    if not final and planned not in situation.early_left:
        refused = f"The time of {_name(records, planned + 1, small=True)} has come, which does it."
        return Action(kind=kind, refused=refused)
    if not final and (told := situation.told.skips_early):
        return Action(kind=kind, refused=f"Early runs are skipped: {told.text}.")
    again = (
        f"{_name(records, planned)} is planned again, over the same files, with all that is "
        "committed and known now, and is submitted if the new plan gives it work."
    )
    others = "The reports of its group are planned with it; what they have committed stays."
    does = (
        *held_up(situation.dag_run),
        again,
        *([others] if situation.grouped and not final else []),
        f"The plan of {_clock(records, records.plans[-1].stored_at)} is kept, and not followed.",
    )
    return Action(kind=kind, does=does, clears=tasks)


def _busy(kind: Kind, task: str, run: DagRunState) -> Action:
    if run.halt is not None and run.tasks[task] != "running":
        why = f"{task} cannot begin: {run.halt.what}. {run.halt.to_do} It goes on by itself then."
    else:
        why = f"{task} is at work. Let it end, or mark it as failed in Airflow first."
    return Action(kind=kind, refused=why)


def _already(kind: Kind, text: str) -> Action:
    return Action(kind=kind, refused=f"That is under way: {text}.")


def held_up(run: DagRunState | None) -> list[str]:
    """Return the sentence to show where Airflow begins no task of the DAG run; an empty list where
    it does."""
    if run is None or run.halt is None:
        return []
    what, to_do = run.halt.what, run.halt.to_do
    return [f"{what[0].upper()}{what[1:]}. Nothing of this happens before that is over. {to_do}"]


def _left_out(situation: Situation) -> list[str]:
    records, left = situation.records, situation.early_left
    if not left or situation.told.skips_early:
        return []
    runs = ", ".join(f"{k} ({_clock(records, records.points[k - 1])})" for k in left)
    return [f"Early runs that have not begun are skipped: {runs}."]


def _batch_cost(situation: Situation) -> str:
    """Return the end of a sentence: the estimated cost of batch beside that of what the plan has
    left."""
    plan = situation.records.plan
    if plan is None:
        return ", of which nothing is known yet"
    left = remaining_cost(plan, situation.done)
    return (
        f", by estimate {plan.batch_run_cost / MICRO:,.1f} CPU s where the newest plan has "
        f"{left:,.1f} left to do"
    )


def _finish(situation: Situation, start: datetime) -> list[str]:
    """Return when batch that starts at an instant would be published."""
    records, wall = situation.records, situation.records.batch_wall_s
    if wall is None:
        return ["When it is published cannot be forecast: nothing is planned yet."]
    at = start + timedelta(seconds=wall + AROUND_S)
    minutes = (records.deadline - at).total_seconds() / 60
    side = "before" if minutes >= 0 else "AFTER"
    left = f"{abs(minutes):,.0f} min {side} the deadline"
    return [f"Forecast: published at {_clock(records, at)}, {left}."]


def _name(records: DayRecords, run: int, *, small: bool = False) -> str:
    if run == records.spec.runs:
        return "the final run" if small else "The final run"
    return f"run {run}" if small else f"Run {run}"


def _clock(records: DayRecords, moment: datetime) -> str:
    """A time on the report's own clock, with its date where that is not the report's."""
    local = moment.astimezone(records.spec.zone)
    return f"{local:%H:%M}" if local.date() == records.date else f"{local:%Y-%m-%d %H:%M}"
