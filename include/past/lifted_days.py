"""Several days of a report by one query: which days and sources that is right for, what it costs
against the days one by one, and the documents that a run is told it by.

A source is *daily* if its days have no file in common, and the same on every day if they have all
files in common: then it is read once. Anything in between, such as a table that each day adds to,
is left to the days.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from forerun.include.runs.prepare import TINY_BYTES, AskedRun, PreparedRun, stored
from forerun.include.sources.statistics import to_source
from forerun.include.state.records import Pin, PinnedFile
from forerun.planner.api import plan
from forerun.planner.contract import Plan, Stage
from forerun.planner.contract.lifted_v1 import LIFTED_VERSION, LiftedQuery, encode_lifted
from forerun.planner.contract.plan_v1 import Parameter, stated
from forerun.planner.errors import LiftError, NotLifted
from forerun.planner.request import Days, PlanRequest, Source, TimePoint
from forerun.planner.result import PlanResult


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftedDays:
    """Days that one query computes.

    ``query`` is the plan of that query and ``daily`` its sources that differ by day. ``largest`` is
    how the largest day was planned as batch. Where that is the report's text, each day gets a copy
    with its own parameters and its ``shares`` of the cost. Costs are in millionths of a CPU second
    with the start of an application.
    """

    asked: tuple[AskedRun, ...]
    query: Plan
    daily: tuple[str, ...]
    largest: PlanResult
    shares: tuple[float, ...]
    start: int

    @property
    def cost(self) -> int:
        """Return the estimated cost of the query."""
        return self.query.run.estimated_cost

    @property
    def alone(self) -> tuple[int, ...]:
        """Return what each day would cost in an application of its own."""
        work = self.largest.plan.run.estimated_cost - self.start
        return tuple(self.start + stated(work * share) for share in self.shares)

    @property
    def tiny(self) -> bool:
        """Return whether all days together read so little that the fixed cost of the JVM
        decides."""
        files = {file.uri: file.size for one in self.asked for file in _files(one)}
        return sum(files.values()) < TINY_BYTES


def lift_days(asked: Sequence[AskedRun]) -> LiftedDays:
    """Plan one query for several days of a report, whose runs are pinned and go on from nothing.

    Raises :class:`forerun.planner.errors.LiftError` where it would not be right, or not be cheaper
    by estimate than the days one by one in an application that they share.
    """
    first = asked[0]
    daily = _daily(asked)
    sizes = [sum(file.size for file in _files(one)) for one in asked]
    most = max(range(len(asked)), key=lambda place: sizes[place])
    alone, settings = replace(asked[most].request, method="batch"), first.request.settings
    text = plan(replace(alone, settings=replace(settings, own_batch="never")))
    _refuse_other_parameters(asked, text.plan.run.stages[0].parameters)
    request = PlanRequest(
        report=first.request.report,
        sql=first.request.sql,
        sources=tuple(
            _over_all_days(asked, source) if source.name in daily else source
            for source in first.request.sources
        ),
        points=(TimePoint(weight=1.0),),
        parameters=first.request.parameters,
        settings=settings,
        days=Days(count=len(asked), daily=daily),
    )
    found = LiftedDays(
        asked=tuple(asked),
        query=plan(request).plan,
        daily=daily,
        largest=plan(alone) if settings.own_batch == "always" else text,
        shares=tuple(size / max(1, sizes[most]) for size in sizes),
        start=round(settings.prices.run_start),
    )
    together = sum(found.alone) - found.start * (len(asked) - 1)
    if found.cost >= together:
        raise LiftError(NotLifted.COST, "the days one by one are cheaper by estimate")
    return found


def store_lifted(days: LiftedDays) -> tuple[list[PreparedRun], str]:
    """Store a plan for each day and the query that computes them all; return the prepared runs in
    the order of the days, and the URI of the query."""
    prepared = []
    for asked, share in zip(days.asked, days.shares, strict=True):
        if days.largest.plan.method == "batch":
            own = replace(days.largest, plan=_plan_of_day(days.largest.plan, asked, share))
        else:  # stages of our own may rely on the bounds of the very files that they read
            own = plan(replace(asked.request, method="batch"))
        prepared.append(replace(stored(asked, own.plan), result=own))
    first = days.asked[0].day
    query = LiftedQuery(
        version=LIFTED_VERSION,
        plan=days.query,
        daily=days.daily,
        days=tuple(one.plan_key for one in prepared),
    )
    key = first.at.lifted(uuid.uuid4().hex[:12])
    first.store.put(key, encode_lifted(query))
    return [replace(one, tiny=days.tiny) for one in prepared], f"{first.store.root}/{key}"


def _files(asked: AskedRun) -> list[PinnedFile]:
    return [file for pin in asked.pins.values() for file in pin.files]


def _daily(asked: Sequence[AskedRun]) -> tuple[str, ...]:
    """The names of the sources that differ by day. Raises :class:`forerun.planner.errors.LiftError`
    for one whose days have some files in common and others not, and for one that takes rows
    back."""
    daily = []
    for source in asked[0].day.spec.sources:
        if source.change == "changelog":
            raise LiftError(NotLifted.CHANGELOG, f"source {source.name} takes rows back")
        pins = [one.pins[source.name] for one in asked]
        if all(pin.files == pins[0].files for pin in pins):
            continue
        uses = Counter(file.uri for pin in pins for file in pin.files)
        if max(uses.values()) > 1:
            raise LiftError(NotLifted.OVERLAP, f"days of source {source.name} have files in common")
        daily.append(source.name)
    return tuple(daily)


def _over_all_days(asked: Sequence[AskedRun], known: Source) -> Source:
    """A daily source with the rows and statistics of all days."""
    (spec,) = (source for source in asked[0].day.spec.sources if source.name == known.name)
    pins: list[Pin] = [one.pins[known.name] for one in asked]
    return to_source(spec, replace(pins[0], files=tuple(f for p in pins for f in p.files)), 1.0)


def _refuse_other_parameters(asked: Sequence[AskedRun], used: Sequence[Parameter]) -> None:
    """Raise if a parameter that the text uses has another value on another day."""
    names = {parameter.name for parameter in used}
    for one in asked:
        if differing := [
            p.name for p in one.request.parameters if p.name in names and p not in used
        ]:
            raise LiftError(
                NotLifted.PARAMETER, f"the parameter {differing[0]} has another value on each day"
            )


def _plan_of_day(largest: Plan, asked: AskedRun, share: float) -> Plan:
    """The plan of a day as batch: the same text over its own pins, with its part of the estimate.
    (Its parameters are those of the largest day, or this would not have come so far.)"""

    def part(cost: int) -> int:
        return stated(cost * share)

    current = asked.request.current
    stages: tuple[Stage, ...] = tuple(
        replace(
            stage,
            estimated_rows=part(stage.estimated_rows),
            estimated_cost=part(stage.estimated_cost),
        )
        for stage in largest.run.stages
    )
    runs = tuple(
        replace(run, stages=stages, estimated_cost=part(run.estimated_cost))
        if run.index == current
        else run
        for run in largest.runs
    )
    return replace(
        largest,
        runs=runs,
        estimated_cost=part(largest.estimated_cost),
        batch_cost=part(largest.batch_cost),
    )
