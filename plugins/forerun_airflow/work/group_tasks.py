"""The tasks of a report group at a time point: one wait, one plan, one application for all.

No task here decides about a report. What a group does for a report is found again by the report's
own tasks, which do what is missing: a member that fails, is late or is cleared is done alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import filterfalse
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from forerun.airflow.assets import days_published
from forerun.airflow.day import (
    OpenedDay,
    explained,
    final_task_of,
    store_uri,
    utc_now,
)
from forerun.airflow.retries import RepeatableOperator, retries_of
from forerun.airflow.watching.telling import skipping, tell_planned, telling_how_runs_end
from forerun.airflow.work.cores import WantedCores, joined, run_request
from forerun.airflow.work.submit import SubmitApplication
from forerun.airflow.work.tasks import DRY_RUN, METHODS, explanation, settings_on
from forerun.include.reports.cluster import Cluster
from forerun.include.reports.group import GroupMember, ReportGroup
from forerun.include.state.store import StoreDownError

if TYPE_CHECKING:
    from forerun.include.days.handle import Day
    from forerun.include.runs.prepare import AskedRun, PreparedRun
    from forerun.include.runs.prepare_group import MemberRun, PreparedGroup
    from forerun.include.telemetry.events import Part

_SKIPS_EARLY = ("single", "batch")
Missing = dict[str, list[tuple[str, str]]]
"""By report: sources that are not complete, each with what is missing."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A member whose day is open, and the day's run at the time point."""

    member: GroupMember
    day: OpenedDay
    run: int

    @property
    def is_final(self) -> bool:
        return self.run == self.day.as_opened(self.member.spec).runs

    @property
    def points(self) -> tuple[int, ...]:
        """The group's time point of each of the day's runs; of those at times that the group no
        longer has, numbers below 1."""
        spec, day = self.member.spec, self.day
        now = {day.run_of(spec, run): point for run, point in enumerate(self.member.points, 1)}
        runs = day.as_opened(spec).runs
        return tuple(now.get(run, run - runs) for run in range(1, runs + 1))

    @property
    def handle(self) -> Day:
        """The member's day in its store."""
        return self.day.of(self.member.spec)


class _AtPoint(RepeatableOperator):
    """What the tasks of a time point have in common. ``day_tasks``: the task that has opened the
    day of each report, by its name."""

    def __init__(
        self, *, group: ReportGroup, point: int, day_tasks: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.group = group
        self.point = point
        self.day_tasks = dict(day_tasks)

    def opened(self, context: Any) -> list[_Opened]:
        """The members that have a run here and whose day is open. Skips where there is none."""
        found = list(self._opened(context))
        if not found:
            raise AirflowSkipException("the day of no report with work here is open")
        return found

    def wanted(self, opened: list[_Opened]) -> list[_Opened]:
        """Those of the opened members that nobody has told to leave this run out. Skips where there
        is none."""
        found = list(filterfalse(_is_left_out, opened))
        if not found:
            raise AirflowSkipException("every report with work here was told to leave it out")
        return found

    def _opened(self, context: Any) -> Iterator[_Opened]:
        for member in self.group.members:
            run = member.run_at(self.point)
            record = context["ti"].xcom_pull(task_ids=self.day_tasks[member.spec.name])
            if run is None or not record:
                continue
            day = OpenedDay(**record)
            if (number := day.run_of(member.spec, run)) is not None:
                yield _Opened(member, day, number)


def _is_left_out(one: _Opened) -> bool:
    """Whether people have told a member not to begin an early run, or to run batch by itself."""
    from forerun.include.days.instructions import read_told

    day = one.day.of(one.member.spec)
    told = read_told(day.store, day.at)
    return bool(told.batch if one.is_final else told.skips_early)


class WaitForPoint(_AtPoint):
    """Ends when the runs at a time point may start; skips one that nobody wants.

    Where final runs are due, it waits for their sources for as long as the group has patience, but
    not beyond the latest safe start of one that is complete, and goes on with those that are.
    Returns these, each with what was accepted as missing.
    """

    ui_color = "#e8eef7"

    def __init__(self, *, poll: float = 30.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.poll = poll

    def execute(self, context: Any) -> Missing:
        return self._wait(context)

    def resume(self, context: Any, event: Any = None) -> Missing:  # noqa: ARG002
        """After a wake-up call: whatever the event says, look again."""
        return self._wait(context)

    def _wait(self, context: Any) -> Missing:
        opened = self.opened(context)
        with explained():
            try:
                return self._look(context, opened)
            except StoreDownError as error:
                self.log.warning("looking again in %.0f s: %s", self.poll, error)
        self._defer_until(utc_now() + timedelta(seconds=self.poll))
        return {}

    def _look(self, context: Any, opened: list[_Opened]) -> Missing:
        first, now = opened[0].day, utc_now()
        moments = self.group.moments(first.date)
        if first.dry_run:
            if self.point != 1:
                raise AirflowSkipException("a dry run plans the first time point only")
            return {}
        opened = self.wanted(opened)
        finals = [one for one in opened if one.is_final]
        if not finals:
            self._skip_early(opened, now, moments)
        if now < moments[self.point - 1]:
            self.log.info("time point %d is at %s", self.point, moments[self.point - 1])
            self._defer_until(moments[self.point - 1])
        return self._complete(context, finals, now)

    def _skip_early(
        self, opened: list[_Opened], now: datetime, moments: tuple[datetime, ...]
    ) -> None:
        mode, why = opened[0].day.mode, ""
        if mode in _SKIPS_EARLY:
            why = f"the day goes straight to the final runs ({mode})"
        elif mode == "auto" and now >= moments[self.point]:
            why = "the next time point has come already"
        if why:
            raise skipping([(one.handle, one.run) for one in opened], why)

    def _complete(self, context: Any, finals: list[_Opened], now: datetime) -> Missing:
        from forerun.include.sources.completeness import find_missing

        ready: Missing = {}
        for one in finals:
            spec, day = one.member.spec, one.day
            events = days_published(spec, spec.runs, context["inlet_events"], day.day)
            missing = find_missing(spec, day.date, now, events=events)
            said = "; ".join(each.text for each in missing)
            if all(each.accepted for each in missing):
                ready[spec.name] = [(each.source, each.what) for each in missing]
            else:
                self.log.info("%s is not complete: %s", spec.name, said)
        late = [one.member.spec.name for one in finals if one.member.spec.name not in ready]
        if late:
            safe = [self._safe_start(one) for one in finals if one.member.spec.name in ready]
            until = min([self.group.until(finals[0].day.date, self.point), *safe])
            if now < until:
                self._defer_until(min(until, now + timedelta(seconds=self.poll)))
            self.log.warning("left to themselves, because late: %s", ", ".join(late))
        return ready

    def _safe_start(self, one: _Opened) -> datetime:
        from forerun.include.times.safe_start import read_safe_start

        spec = one.member.spec
        own = final_task_of(self.day_tasks[spec.name], spec)
        return read_safe_start(one.day.of(spec), retries_of(self, own)).at

    def _defer_until(self, moment: datetime) -> None:
        self.defer(trigger=DateTimeTrigger(moment=moment), method_name="resume")


class PlanPoint(_AtPoint):
    """Pins and plans the runs of all members at a time point together, and stores the plans.

    Returns what the run task needs: the URIs of the plans with work, whether they read next to
    nothing, and until when it may be tried again. What cannot be planned is in the log: it is for
    the report's own tasks to say.
    """

    ui_color = "#eef3ea"

    def __init__(self, *, wait_task: str, engine: str = "spark", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.wait_task = wait_task
        self.engine = engine

    def execute(self, context: Any) -> dict[str, object]:
        from forerun.include.runs.prepare_group import prepare_group
        from forerun.planner.errors import ForerunError

        ready = context["ti"].xcom_pull(task_ids=self.wait_task) or {}
        with explained():
            opened = [
                one
                for one in self.wanted(self.opened(context))
                if not one.is_final or one.member.spec.name in ready or one.day.dry_run
            ]
            prepared = prepare_group([_asking(one, self.engine, ready) for one in opened])
            down = [run for run in prepared.runs if isinstance(run, StoreDownError)]
            if down and len(down) == len(opened):
                raise down[0]  # it is nobody's own trouble, and may be over in a minute
        for one, run in zip(opened, prepared.runs, strict=True):
            if isinstance(run, ForerunError):
                self.log.error("%s is left to itself: %s", one.member.spec.name, run)
            else:
                self.log.info("%s: %s %s", one.member.spec.name, run.plan_uri, run.skip_reason)
                if not one.day.dry_run:
                    tell_planned(one.handle, run)
        if prepared.plan is not None:
            share = prepared.plan.cost / prepared.plan.batch if prepared.plan.batch else 1.0
            self.log.info(
                "applications at time points %s, %.2f of batch in one application by estimate",
                ", ".join(map(str, prepared.plan.opened)),
                share,
            )
        plans = [run.plan_uri for run in prepared.submitted]
        why = "" if plans else "the plan gives this time point nothing to do"
        if opened and opened[0].day.dry_run:
            why = DRY_RUN
            self._explain(prepared)
        return {
            "plans": plans,
            "tiny": prepared.tiny,
            "submit": not why,
            "why": why,
            "until": self._until(opened),
        }

    def _explain(self, prepared: PreparedGroup) -> None:
        from forerun.planner.errors import ForerunError

        for run in prepared.runs:
            if not isinstance(run, ForerunError) and run.result:
                self.log.info("the plan of the dry run:\n%s", explanation(run.result))

    def _until(self, opened: list[_Opened]) -> str:
        """The instant from which early runs that have failed are not tried again: that would hold
        up the next time point, which reads the same data anyway. Empty if there is none."""
        if not opened or opened[0].day.mode != "auto" or any(one.is_final for one in opened):
            return ""
        return self.group.moments(opened[0].day.date)[self.point].isoformat()


def _asking(one: _Opened, engine: str, ready: Missing) -> MemberRun:
    from forerun.include.runs.prepare_group import MemberRun

    incomplete = [(source, what) for source, what in ready.get(one.member.spec.name, [])]
    return MemberRun(points=one.points, ask=partial(_ask, one, engine, incomplete))


def _ask(one: _Opened, engine: str, incomplete: list[tuple[str, str]]) -> AskedRun | PreparedRun:
    from forerun.include.runs.prepare import ask_for_run

    return ask_for_run(
        one.day.of(one.member.spec),
        one.run,
        method=METHODS.get(one.day.mode, "auto"),
        now=utc_now(),
        settings=settings_on(engine),
        incomplete=incomplete,
    )


class SubmitPoint(SubmitApplication):
    """Submits one application with the runs of all members at a time point; skips where there is
    nothing to do. It fails if one of the runs does: the others are committed, and are not done
    again when it is retried."""

    def __init__(
        self,
        *,
        group: ReportGroup,
        point: int,
        plan_task: str,
        day_tasks: Mapping[str, str],
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.group = group
        self.point = point
        self.plan_task = plan_task
        self.day_tasks = dict(day_tasks)

    def execute(self, context: Any) -> None:
        planned = context["ti"].xcom_pull(task_ids=self.plan_task)
        if not planned:
            raise AirflowFailException(f"time point {self.point} was not planned")
        if not planned["submit"]:
            raise AirflowSkipException(planned["why"])
        until = planned["until"]
        again = context["ti"].try_number > 1
        if again and until and utc_now() >= datetime.fromisoformat(until):
            raise AirflowFailException("not tried again: the next time point has come")
        store = store_uri(self.group.reports[0])
        if self.cluster is not None:
            with explained():
                wanted = self._wanted(context, self.cluster, planned["plans"], until)
                self.take_cores(store, wanted)
        try:
            self.make_ready(store, tiny=bool(planned["tiny"]))
            self.name = f"forerun-{context['ti'].dag_id}-at-{self.point}"
            with telling_how_runs_end(lambda: [self._run_of(plan) for plan in planned["plans"]]):
                self.submit(context, planned["plans"])
        finally:
            self.give_back_cores()

    def _wanted(
        self, context: Any, cluster: Cluster, plans: Sequence[str], until: str
    ) -> WantedCores:
        """What the application asks for, for the reports that it has plans of."""
        finals = {
            one.spec.name: final_task_of(self.day_tasks[one.spec.name], one.spec)
            for one in self.group.members
        }
        requests = []
        for plan in plans:
            day, run, _ = self._run_of(plan)
            retries = retries_of(self, finals[day.spec.name])
            requests.append(run_request(day, run, context, retries, cluster))
        return WantedCores(
            request=joined(self.group.name, requests),
            until=datetime.fromisoformat(until) if until else None,
        )

    def _run_of(self, plan_uri: str) -> tuple[Day, int, Part]:
        """The day and the run that a stored plan is of, and which part of the day the run is."""
        from forerun.include.days.handle import Day
        from forerun.include.runs.stored_plan import StoredPlan

        stored = StoredPlan.read(plan_uri)
        specs = {spec.name: spec for spec in self.group.reports}
        day, run = Day(stored.store, specs[stored.at.report], stored.at), stored.plan.current
        return day, run, "early" if run < len(stored.plan.runs) else "final"
