"""Preparing the runs of an application: pinned one by one, those of a group planned together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from forerun.include.runs.prepare import AskedRun, PreparedRun, planned, store_plan
from forerun.planner.errors import ForerunError
from forerun.planner.report_group import GroupPlan, Member, plan_group
from forerun.planner.result import PlanResult

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedUnit:
    """A run of a day that is to be prepared. ``ask`` pins its sources and says what is asked of the
    planner (:func:`forerun.include.runs.prepare.ask_for_run`). ``points``: of a report of a group,
    the group's time points of the report's runs, numbered from 1; none of a report by itself."""

    ask: Callable[[], AskedRun | PreparedRun]
    points: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedUnits:
    """The runs for an application, in the order in which they were asked for: each one prepared, or
    why it is not. ``plan`` is what the planner said of a group's together, None if it was asked of
    none. ``planning_s``: seconds that planning all of them took, without pinning, statistics and
    storing."""

    runs: tuple[PreparedRun | ForerunError, ...]
    plan: GroupPlan | None
    planning_s: float

    @property
    def submitted(self) -> tuple[PreparedRun, ...]:
        """The runs with something to do: they make one application."""
        prepared = (run for run in self.runs if isinstance(run, PreparedRun))
        return tuple(run for run in prepared if not run.skip_reason)

    @property
    def early_engine(self) -> str:
        """Return the name of the engine that all of them are planned for, where it is another one
        than that of the day; "" where they have none in common."""
        engines = {run.engine for run in self.submitted}
        return engines.pop() if len(engines) == 1 else ""

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
    of_group = [
        Member(request=a.request, points=(*_earlier_days(a), *u.points))
        for u, a in zip(units, asked, strict=True)
        if isinstance(a, AskedRun) and u.points
    ]
    started = time.perf_counter()
    together = plan_group(of_group) if of_group else None
    planning_s = time.perf_counter() - started
    results = iter(together.results if together else ())
    runs: list[PreparedRun | ForerunError] = []
    for unit, one in zip(units, asked, strict=True):
        if not isinstance(one, AskedRun):
            runs.append(one)
        elif unit.points:
            runs.append(_stored(one, next(results), planning_s))
        else:
            runs.append(_or_error(partial(planned, one)))
    alone = (run for run, unit in zip(runs, units, strict=True) if not unit.points)
    planning_s += sum(run.planning_s for run in alone if isinstance(run, PreparedRun))
    return PreparedUnits(tuple(runs), together, planning_s)


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
