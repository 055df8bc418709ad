"""Preparing the runs of a report group at a time point: pinned one by one, planned together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from forerun.include.runs.prepare import AskedRun, PreparedRun, store_plan
from forerun.planner.errors import ForerunError
from forerun.planner.report_group import GroupPlan, Member, plan_group
from forerun.planner.result import PlanResult

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRun:
    """A run of a member of a group that is to be prepared. ``ask`` pins its sources and says what
    is asked of the planner (:func:`forerun.include.runs.prepare.ask_for_run`); ``points`` are the
    group's time points of the report's runs, numbered from 1."""

    points: tuple[int, ...]
    ask: Callable[[], AskedRun | PreparedRun]


@dataclass(frozen=True, slots=True)
class PreparedGroup:
    """The members of a group at a time point, in their order: each one's prepared run, or why it
    has none. ``plan`` is what the planner said of all together, None if none was planned.
    ``planning_s``: seconds that planning took, without pinning, statistics and storing."""

    runs: tuple[PreparedRun | ForerunError, ...]
    plan: GroupPlan | None
    planning_s: float

    @property
    def submitted(self) -> tuple[PreparedRun, ...]:
        """The runs with something to do: they make one application."""
        prepared = (run for run in self.runs if isinstance(run, PreparedRun))
        return tuple(run for run in prepared if not run.skip_reason)

    @property
    def tiny(self) -> bool:
        """Return whether the application has next to no data to read."""
        return all(run.tiny for run in self.submitted)


def prepare_group(members: Sequence[MemberRun]) -> PreparedGroup:
    """Pin and ask one by one, plan together, store every plan.

    A member that cannot be pinned, planned or stored gets its error in place of a run; no other
    report hears of it.
    """
    asked = [_or_error(member.ask) for member in members]
    open_ = [(m, a) for m, a in zip(members, asked, strict=True) if isinstance(a, AskedRun)]
    started = time.perf_counter()
    together = plan_group([Member(request=a.request, points=m.points) for m, a in open_])
    planning_s = time.perf_counter() - started
    results = iter(together.results)
    return PreparedGroup(
        tuple(
            _stored(one, next(results), planning_s) if isinstance(one, AskedRun) else one
            for one in asked
        ),
        together if open_ else None,
        planning_s,
    )


def _stored(
    asked: AskedRun, result: PlanResult | ForerunError, planning_s: float
) -> PreparedRun | ForerunError:
    if isinstance(result, ForerunError):
        return result
    return _or_error(lambda: store_plan(asked, result, planning_s=planning_s))


def _or_error(do: Callable[[], _T]) -> _T | ForerunError:
    try:
        return do()
    except ForerunError as error:
        return error
