"""Preparing the runs of an application: pinned one by one, those of a group planned together."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from forerun.include.runs.early_engine import DEARER, why_not_as_early
from forerun.include.runs.prepare import AskedRun, PreparedRun, planned, store_plan
from forerun.planner.errors import ForerunError
from forerun.planner.report_group import GroupPlan, Member, plan_group
from forerun.planner.result import PlanResult

_T = TypeVar("_T")
_Member = tuple[AskedRun, tuple[int, ...]]
"""A run of a report of a group, and the group's time points of the report's runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedUnit:
    """A run of a day that is to be prepared. ``ask`` pins its sources and says what is asked of the
    planner (:func:`forerun.include.runs.prepare.ask_for_run`). ``points``: of a report of a group,
    the group's time points of the report's runs, numbered from 1; none of a report by itself."""

    ask: Callable[[], AskedRun | PreparedRun]
    points: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedUnits:
    """The runs for the applications of a time point, one of each engine, in the order in which they
    were asked for: each one prepared, or why it is not. ``plan`` is what the planner said of a
    group's together, None if it was asked of none. ``planning_s``: seconds that planning all of
    them took, without pinning, statistics and storing."""

    runs: tuple[PreparedRun | ForerunError, ...]
    plan: GroupPlan | None
    planning_s: float

    @property
    def submitted(self) -> tuple[PreparedRun, ...]:
        """The runs with something to do: they make one application of each engine."""
        prepared = (run for run in self.runs if isinstance(run, PreparedRun))
        return tuple(run for run in prepared if not run.skip_reason)

    @property
    def by_engine(self) -> Mapping[str, tuple[PreparedRun, ...]]:
        """The same runs by the engine that they are planned for, where it is not the day's, which
        is ""."""
        engines = dict.fromkeys(run.engine for run in self.submitted)
        return {
            engine: tuple(run for run in self.submitted if run.engine == engine)
            for engine in engines
        }

    @property
    def tiny(self) -> bool:
        """Return whether the application has next to no data to read."""
        return all(run.tiny for run in self.submitted)


def prepare_units(units: Sequence[AskedUnit]) -> PreparedUnits:
    """Pin and ask one by one, plan what belongs to a group together, store every plan.

    A unit that cannot be pinned, planned or stored gets its error in place of a run; no other
    hears of it.
    """
    asked = [_or_error(unit.ask) for unit in units]
    members = [
        (one, unit.points)
        for unit, one in zip(units, asked, strict=True)
        if isinstance(one, AskedRun) and unit.points
    ]
    started = time.perf_counter()
    members, together = _planned_together(members) if members else (members, None)
    planning_s = time.perf_counter() - started
    results = iter(zip(members, together.results, strict=True) if together else ())
    runs: list[PreparedRun | ForerunError] = []
    for unit, one in zip(units, asked, strict=True):
        if not isinstance(one, AskedRun):
            runs.append(one)
        elif unit.points:
            (planned_as, _), result = next(results)
            runs.append(_stored(planned_as, result, planning_s))
        else:
            runs.append(_or_error(partial(planned, one)))
    alone = (run for run, unit in zip(runs, units, strict=True) if not unit.points)
    planning_s += sum(run.planning_s for run in alone if isinstance(run, PreparedRun))
    return PreparedUnits(tuple(runs), together, planning_s)


def _planned_together(asked: list[_Member]) -> tuple[list[_Member], GroupPlan]:
    """Plan the reports of a group, early runs for the engine that each names for them: where that
    may do them, and where the group is not cheaper without."""
    found = _group_of(asked)
    fitting = [
        (one.on_one_engine(why), points) if (why := _why_not_early(one, result)) else (one, points)
        for (one, points), result in zip(asked, found.results, strict=True)
    ]
    if fitting != asked:
        found = _group_of(fitting)
    if not any(one.early.does(one.request) for one, _ in fitting):
        return fitting, found
    own = [(one.on_one_engine(DEARER) if one.early.engine else one, p) for one, p in fitting]
    alone = _group_of(own)
    return (own, alone) if alone.cost < found.cost else (fitting, found)


def _why_not_early(asked: AskedRun, result: PlanResult | ForerunError) -> str:
    if isinstance(result, ForerunError) or not asked.early.does(asked.request):
        return ""
    return why_not_as_early(asked.early, asked.day, result)


def _group_of(asked: Sequence[_Member]) -> GroupPlan:
    return plan_group(
        [
            Member(request=one.request, points=(*_earlier_days(one), *points))
            for one, points in asked
        ]
    )


def _earlier_days(asked: AskedRun) -> tuple[int, ...]:
    """The time point of the earlier days that a request goes on from, which is none of a group."""
    return (0,) if asked.request.runs_before else ()


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
