"""``forerun assess``: which of many reports would gain by early work, and how much."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from forerun import console
from forerun.options import Day, takes_day
from planner import api
from planner.cost.constants import MICRO
from planner.errors import ForerunError
from planner.explain.choice import in_units
from planner.request import PlanRequest, TimePoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessed:
    """A report and what a day of it costs by estimate, in CPU seconds times their price: as batch,
    and as planned. ``final``: the part of its batch that is left for the final run. ``kept``: bytes
    between runs. ``decided``: ``batch``, ``own-batch``, or the method that gave the plan.
    ``error``: why the report cannot be planned; the rest is 0 then."""

    report: str
    batch: float = 0.0
    planned: float = 0.0
    final: float = 1.0
    kept: int = 0
    decided: str = ""
    error: str = ""

    @property
    def saving(self) -> float:
        return self.batch - self.planned

    @property
    def share(self) -> float:
        """The saving as a part of what batch costs."""
        return self.saving / self.batch if self.batch else 0.0


def assess(names: Iterable[str], request_of: Callable[[str], PlanRequest]) -> tuple[Assessed, ...]:
    """Plan each report alone and rank them, the largest saving first; those that cannot be planned
    come last, with the reason."""
    found = [_assessed(name, request_of) for name in names]
    return tuple(sorted(found, key=lambda one: (bool(one.error), -one.saving, one.report)))


def _assessed(name: str, request_of: Callable[[str], PlanRequest]) -> Assessed:
    try:
        result = api.plan(request_of(name))
    except ForerunError as error:
        return Assessed(report=name, error=error.message)
    plan, chosen, batch = result.plan, result.decision.chosen, result.decision.batch
    return Assessed(
        report=name,
        batch=plan.batch_cost / MICRO,
        planned=plan.estimated_cost / MICRO,
        final=chosen.by_run[-1] / max(1, batch.by_run[-1]),
        kept=max(chosen.held, default=0),
        decided=result.decided,
    )


def assumptions(points: Iterable[TimePoint], growing: Iterable[str]) -> Iterator[str]:
    """What the figures rest on, a sentence each."""
    runs = ", ".join(f"{p.arrived:.0%} of the day at price {p.weight:g}" for p in points)
    yield f"runs: {runs} (--arrived, --weights)"
    yield f"tables that grow during the day: {', '.join(sorted(growing)) or 'none'} (--changing)"
    yield "rows of all tables arrive evenly mixed, and are only added"
    yield "sizes are those of the files' footers, costs those of Spark as Forerun prices it"
    yield "each report runs alone: reports of a group share applications and gain more"


@takes_day
def assess_command(
    day: Day,
    as_json: Annotated[bool, typer.Option("--json", help="All figures as JSON.")] = False,
) -> int:
    """Rank reports by what early work is expected to save, and say what that rests on.

    Reads the text of each report, or of all in a folder, and the sizes of the tables; plans each
    report alone, and runs nothing.
    """
    growing: set[str] = set()
    by_name = {report.name: report for report in day.reports}

    def request_of(name: str) -> PlanRequest:
        (request,) = replace(day, reports=(by_name[name],)).requests("auto")
        growing.update(source.name for source in request.sources if source.changing)
        return request

    found = assess(by_name, request_of)
    said = list(assumptions(day.points, growing))
    if as_json:
        console.say_json({"reports": [_as_json(one) for one in found], "assumptions": said})
    else:
        console.say("\n".join(_lines(found, said)))
    return 0


_BY = {"auto": "early work", "own-batch": "batch in stages of our own", "batch": "nothing: batch"}
"""How the ways to save are called; the others are single methods."""


def _lines(found: tuple[Assessed, ...], said: list[str]) -> Iterator[str]:
    width = max(6, *(len(one.report) for one in found))
    yield f"{'report':<{width}}  saves  CPU s  of batch  final run     kept  by"
    for one in found:
        if one.error:
            yield f"{one.report:<{width}}  cannot be planned: {one.error}"
            continue
        yield (
            f"{one.report:<{width}}  {one.share:>5.0%}  {one.saving:>5.0f}  {one.batch:>8.0f}  "
            f"{one.final:>9.0%}  {in_units(one.kept):>7}  {_BY.get(one.decided, one.decided)}"
        )
    planned = [one for one in found if not one.error]
    batch, saving = sum(one.batch for one in planned), sum(one.saving for one in planned)
    share = saving / batch if batch else 0.0
    yield f"together {saving:,.0f} of {batch:,.0f} weighted CPU s a day: {share:.0%} (estimates)"
    yield "assumed:"
    yield from (f"  {sentence}" for sentence in said)


def _as_json(one: Assessed) -> dict[str, object]:
    return {
        "report": one.report,
        "batch_weighted_cpu_s": one.batch,
        "planned_weighted_cpu_s": one.planned,
        "saving_weighted_cpu_s": one.saving,
        "saving_share": one.share,
        "final_run_of_batch": one.final,
        "kept_bytes": one.kept,
        "decided": one.decided,
        "error": one.error or None,
    }
