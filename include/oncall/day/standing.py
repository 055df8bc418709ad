"""The standing of a day at an instant: what is done, when it will be, and whether that is in time.

Pure: what was read and the time are arguments. A task that has failed for good leaves its error in
the store. One that never began, since its DAG is paused or nothing schedules it, leaves nothing:
whoever can ask Airflow says so (``halt``), else the clock alone says that a deadline has passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from forerun.include.oncall.airflow_condition import Halt
from forerun.include.oncall.day.records import DayRecords
from forerun.include.oncall.spans import span_text
from forerun.include.state.pointers import Pointer
from forerun.include.times.safe_start import AROUND_S
from forerun.planner.contract import Plan

State = Literal[
    "failed",
    "missed",
    "blocked",
    "halted",
    "at risk",
    "late",
    "overruled",
    "incomplete",
    "waits",
    "overdue",
    "working",
    "early result",
    "ahead",
    "published",
]
Severity = Literal["bad", "warn", "calm", "good"]

SEVERITIES: dict[State, Severity] = {
    "failed": "bad",
    "missed": "bad",
    "blocked": "bad",
    "halted": "bad",
    "at risk": "bad",
    "late": "warn",
    "overruled": "warn",
    "incomplete": "warn",
    "waits": "warn",
    "overdue": "warn",
    "working": "calm",
    "early result": "calm",
    "ahead": "calm",
    "published": "good",
}
"""What a state asks of who is on call: ``bad`` to act, ``warn`` to look, the others nothing."""

_SOON = timedelta(minutes=15)
"""A final run that is due and complete is planned within this time, if Airflow is alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The instant at which the day is published: by forecast, or in fact (``done``). ``why`` says
    what the forecast rests on; ``margin_s`` are the seconds from then to the deadline, negative
    when it is missed."""

    at: datetime
    done: bool
    margin_s: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A day at an instant. ``what`` says the state in a sentence. ``finish`` is None where nothing
    forecasts it, or somebody has to act first. ``deadline_counts`` is false for a day that was
    opened after its deadline: a replay or a backfill is not late. ``halt`` is what holds the day up
    in Airflow, None if nothing is known to."""

    state: State
    what: str
    finish: Finish | None
    deadline_counts: bool
    halt: Halt | None = None

    @property
    def severity(self) -> Severity:
        return SEVERITIES[self.state]


def standing(
    day: DayRecords, now: datetime, missing: Sequence[str] = (), halt: Halt | None = None
) -> Standing:
    """Return where a day stands at ``now``; ``missing`` says what its sources lack, a sentence
    each, and ``halt`` why Airflow begins none of its tasks, None if it does or nobody has asked."""
    counts = day.started_at < day.deadline
    if day.is_published or (halt is not None and halt.waiting_only and day.plans_of_final):
        halt = None
    finish = None if halt else _finish(day, now, missing)
    in_time = finish if counts else None
    state, what = _state(day, now, in_time, missing, counts, halt)
    return Standing(state=state, what=what, finish=finish, deadline_counts=counts, halt=halt)


def _state(
    day: DayRecords,
    now: datetime,
    finish: Finish | None,
    missing: Sequence[str],
    counts: bool,
    halt: Halt | None,
) -> tuple[State, str]:
    """The state and what to say of it. ``finish`` is None where the deadline does not count
    (``counts``), or nothing forecasts when the day is published."""
    published, final = day.published, day.final
    if published is not None and day.is_published:
        return _published(finish, published)
    if day.is_blocked:
        return "blocked", _blocked(day.broken)
    if failure := day.fatal:
        return "failed", failure.what
    if counts and now > day.deadline:
        doing = halt.what if halt else _doing(day, now, missing)
        return "missed", f"the deadline has passed; {doing}"
    if halt is not None:
        return "halted", halt.what
    if finish is not None and finish.margin_s < 0:
        return "at risk", f"forecast {span_text(-finish.margin_s)} after the deadline"
    if counts and finish is None and now > day.safe.at and not day.plans_of_final:
        return "at risk", f"the latest safe start has passed; {_doing(day, now, missing)}"
    if final is None and missing and now >= day.points[-1]:
        return "waits", f"waits for {_sources(len(missing))}"
    if _working(day) or final is not None:
        return "working", _doing(day, now, missing)
    if now >= day.points[-1] + _SOON:
        since = span_text((now - day.points[-1]).total_seconds())
        return "overdue", f"the final run is due for {since}, and nothing has planned it"
    if published is not None and published.early:
        return "early result", f"early result of run {published.run}; {_doing(day, now, missing)}"
    return "ahead", _doing(day, now, missing)


def _published(finish: Finish | None, pointer: Pointer) -> tuple[State, str]:
    if pointer.overruled is not None:
        return "overruled", pointer.overruled.text
    if pointer.incomplete:
        return "incomplete", f"published with {_sources(len(pointer.incomplete))} not complete"
    if finish is not None and finish.margin_s < 0:
        return "late", f"published {span_text(-finish.margin_s)} after the deadline"
    return "published", "published"


def _blocked(broken: Sequence[str]) -> str:
    """Return which critical expectation did not hold, with its rows, and how many others."""
    count = f"{len(broken)} critical expectation{'' if len(broken) == 1 else 's'}"
    more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    return f"{count} did not hold, nothing is published: {broken[0]}{more}"


def _working(day: DayRecords) -> int:
    """The run that is planned with work to do and not committed; 0 if there is none."""
    planned, done = day.plan, day.chain[-1].run if day.chain else 0
    has_work = planned is not None and planned.run.opened and bool(planned.run.stages)
    return planned.current if planned is not None and has_work and planned.current > done else 0


def _doing(day: DayRecords, now: datetime, missing: Sequence[str]) -> str:
    """Return what the day is doing, as far as the store can tell."""
    if day.final is not None:
        return "the final run is committed, its result is checked and published"
    if run := _working(day):
        return f"run {run} is planned, and not committed yet"
    told = day.told.batch
    if told is not None and not day.plans_of_final:
        return f"batch is to begin, as {told.by} has said"
    ahead = [i for i, point in enumerate(day.points, start=1) if point > now]
    if ahead and day.told.skips_early:
        ahead = [day.spec.runs]
    if ahead:
        name = "the final run" if ahead[0] == day.spec.runs else f"run {ahead[0]}"
        return f"next is {name}"
    return waits_for(missing) if missing else "the final run is due"


def waits_for(missing: Sequence[str]) -> str:
    """Return what a day waits for, by what its sources lack."""
    return f"waits for {'; '.join(missing)}"


def _finish(day: DayRecords, now: datetime, missing: Sequence[str]) -> Finish | None:
    """Return when the day is published. By forecast: when its final run can start, plus its wall
    time."""
    deadline, published = day.deadline, day.published
    if published and day.is_published:
        at = datetime.fromisoformat(published.published_at)
        margin = (deadline - at).total_seconds()
        return Finish(at=at, done=True, margin_s=margin, why="published")
    if day.is_blocked or day.fatal:
        return None
    safe, around = day.safe, timedelta(seconds=AROUND_S)
    if day.final is not None:
        at, why = now + around, "committed: what is left is to check and publish"
    elif day.told.batch and not day.plans_of_final:
        if day.batch_wall_s is None:
            return None
        at = now + timedelta(seconds=day.batch_wall_s) + around
        why = f"batch, at once: {day.batch_wall_s:.0f} s by forecast"
    elif not safe.wall_s:
        return None
    else:
        planned = [one.stored_at for one in day.plans_of_final]
        start = planned[-1] if planned else max(now, day.points[-1])
        at = max(now, start + timedelta(seconds=safe.wall_s)) + around
        late = bool(missing) and not planned and now >= day.points[-1]
        why = f"if all were complete now: {safe.why}" if late else safe.why
    return Finish(at=at, done=False, margin_s=(deadline - at).total_seconds(), why=why)


def plan_sentence(plan: Plan | None) -> str:
    """Return a sentence that says what a plan does."""
    if plan is None:
        return "Nothing is planned yet."
    share = plan.estimated_cost / plan.batch_cost if plan.batch_cost else 1.0
    opened = [run.index for run in plan.runs if run.opened]
    early = [str(index) for index in opened if index != len(plan.runs)]
    if plan.method == "own-batch":
        return f"One run at the end, in stages of our own: {share:.2f} of the text as written."
    if plan.method == "batch" or not early:
        why = f": {plan.batch_because}" if plan.batch_because else ""
        return f"One run at the end with the report's own text{why}."
    runs = f"run{'' if len(early) == 1 else 's'} {', '.join(early)}"
    kept = f"{len(plan.kept)} table{'' if len(plan.kept) == 1 else 's'}"
    return f"Early work in {runs} keeps {kept} for the final run: {share:.2f} of batch."


def _sources(count: int) -> str:
    return f"{count} source{'' if count == 1 else 's'}"
