"""``forerun assess``: which of many reports would gain by early work, and how much."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from forerun import console
from forerun.cli.options import CheckedDay, takes_day
from forerun.past.past_reports import Past, PastReport, read_past_reports
from forerun.planner import api
from forerun.planner.cost.constants import MICRO
from forerun.planner.errors import ForerunError, RequestError
from forerun.planner.explain.choice import in_units
from forerun.planner.request import PlanRequest, TimePoint
from forerun.planner.sql.syntax.statement import shape_of, without_schemas
from forerun.simulation.planning import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessed:
    """A report and what a day of it costs by estimate, in CPU seconds times their price: as batch,
    and as planned. ``final``: the part of its batch that is left for the final run. ``kept``: bytes
    between runs. ``decided``: ``batch``, ``own-batch``, or the method that gave the plan.
    ``error``: why the report cannot be planned; the rest is 0 then. ``measured``: what its batch
    took, where event logs say; then the estimate is only of the share that a plan saves."""

    report: str
    batch: float = 0.0
    planned: float = 0.0
    final: float = 1.0
    kept: int = 0
    decided: str = ""
    error: str = ""
    measured: PastReport | None = None

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
    return _ranked(_assessed(name, request_of) for name in names)


def _ranked(found: Iterable[Assessed]) -> tuple[Assessed, ...]:
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


def as_measured(one: Assessed, past: PastReport, weight: float) -> Assessed:
    """The report with what its batch took in place of what that was estimated at, at the price of
    the final run; a plan saves the same share of it."""
    batch = past.cpu_s * weight
    planned = batch * (1 - one.share)
    return replace(one, batch=batch, planned=planned, measured=past)


def most_saved(past: PastReport, points: Sequence[TimePoint]) -> float:
    """The most that early work can save of a past report, whatever it computes: as if all its CPU
    grew with the rows, and each row cost its share at the price of the first run that can see it.
    """
    seen, saved = 0.0, 0.0
    for point in points:
        saved += (point.arrived - seen) * (points[-1].weight - point.weight)
        seen = point.arrived
    return past.cpu_s * max(0.0, saved)


def assumptions(points: Iterable[TimePoint], growing: Iterable[str]) -> Iterator[str]:
    """Yield the assumptions of the figures, a sentence each."""
    runs = ", ".join(f"{p.arrived:.0%} of the day at price {p.weight:g}" for p in points)
    yield f"runs: {runs} (--arrived, --weights)"
    yield f"tables that grow during the day: {', '.join(sorted(growing)) or 'none'} (--changing)"
    yield "rows of all tables arrive evenly mixed, and are only added"
    yield "sizes are those of the files' footers, costs those of Spark as Forerun prices it"
    yield "each report runs alone: reports of a group share applications and gain more"


_OF_LOGS = (
    "of event logs: CPU seconds of executors, of a day in the middle; days and hours are by UTC",
    "statements are the same if they differ in values only; what they take goes by the median day",
    "a report that was measured saves the share of it that its plan saves of its estimate",
    "at most: as if all CPU grew with the rows, and a row cost the price of the first run it is in",
)


@takes_day(reports=None, tables=Path())
def assess_command(
    day: CheckedDay,
    event_logs: Annotated[
        list[Path] | None,
        typer.Option(
            "--event-logs",
            metavar="LOGS",
            help="Event logs of Spark, or a folder of them: what came on several days is assessed, "
            "by what it took. May be given several times.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All figures as JSON.")] = False,
) -> int:
    """Rank reports by what early work is expected to save, and say what that rests on.

    Reads the text of each report, or of all in a folder, and the sizes of the tables; plans each
    report alone, and runs nothing. With event logs, reports are also what Spark applications have
    run day after day, and batch is what it took. Where a log has no text, or the tables are not
    below --tables, only the most that can be saved is said.
    """
    if not day.reports and not event_logs:
        raise RequestError(
            "there is nothing to assess",
            hint="Give files with the SQL of reports, or --event-logs with logs of Spark.",
        )
    past = read_past_reports(event_logs) if event_logs else None
    growing: set[str] = set()
    found, unplanned = _assess_all(day, past, growing)
    said = [*assumptions(day.points, growing), *(_OF_LOGS if past else ())]
    if as_json:
        record: dict[str, object] = {"reports": [_as_json(one) for one in found]}
        if past is not None:
            record["logs"] = {k: v for k, v in asdict(past).items() if k != "reports"}
            record["measured_only"] = [
                {
                    **_measured(one),
                    "at_most_weighted_cpu_s": most_saved(one, day.points),
                    "why": why,
                }
                for one, why in unplanned
            ]
        console.say_json({**record, "assumptions": said})
    else:
        console.say("\n".join(_lines(found, past, unplanned, day.points)))
        console.say("\n".join(("assumed:", *(f"  {sentence}" for sentence in said))))
    return 0


Unplanned = list[tuple[PastReport, str]]
"""Past reports of which nothing but the most that can be saved is known, each with the reason."""


def _assess_all(
    day: CheckedDay, past: Past | None, growing: set[str]
) -> tuple[tuple[Assessed, ...], Unplanned]:
    """All reports ranked: those that are given, and those of the logs that can be planned. Whoever
    is both is one. ``growing`` gets the tables that grow."""
    by_name = {report.name: report for report in day.reports}
    given = {shape_of(report.sql): report.name for report in day.reports}
    measured: dict[str, PastReport] = {}
    unplanned: Unplanned = []
    for recurring in past.reports if past else ():
        if not recurring.sql:
            unplanned.append((recurring, "no SQL text in the log"))
            continue
        name = given.get(shape_of(recurring.sql), recurring.name)
        by_name.setdefault(name, Report(name, without_schemas(recurring.sql)))
        measured[name] = recurring

    def request_of(name: str) -> PlanRequest:
        (request,) = replace(day, reports=(by_name[name],)).requests("auto")
        growing.update(source.name for source in request.sources if source.changing)
        return request

    found = []
    for one in assess(by_name, request_of):
        past_report = measured.get(one.report)
        if past_report is None:
            found.append(one)
        elif one.error:
            unplanned.append((past_report, one.error.splitlines()[0]))
        else:
            found.append(as_measured(one, past_report, day.points[-1].weight))
    unplanned.sort(key=lambda pair: (-pair[0].cpu_s, pair[0].name))
    return _ranked(found), unplanned


_BY = {"auto": "early work", "own-batch": "batch in stages of our own", "batch": "nothing: batch"}
"""How the ways to save are called; the others are single methods."""


def _lines(
    found: tuple[Assessed, ...],
    past: Past | None,
    unplanned: Unplanned,
    points: Sequence[TimePoint],
) -> Iterator[str]:
    if past is not None:
        yield from _of_logs(past)
    if found:
        yield from _ranking(found)
    if unplanned:
        width = max(5, *(len(one.name) for one, _ in unplanned))
        yield "not planned; what was measured, and the most that early work can save of it:"
        yield f"{'query':<{width}}  at most  CPU s  reading  days  start  what it is"
        for one, why in unplanned:
            reads = ", ".join(table.rpartition("/")[2] for table, _ in one.tables)
            yield (
                f"{one.name:<{width}}  {most_saved(one, points):>7.1f}  {one.cpu_s:>5.1f}  "
                f"{one.reading:>7.0%}  {len(one.days):>4}  {one.start}  {one.called}; reads {reads}"
                f"; {why}"
            )


def _of_logs(past: Past) -> Iterator[str]:
    unended = f" ({past.unended} did not end)" if past.unended else ""
    yield (
        f"event logs: {past.applications} applications{unended}; {len(past.reports)} statements "
        f"came on several days, {past.once} on one only"
    )
    if past.damaged:
        yield f"  {past.damaged} damaged lines were left out"
    yield from (f"  {why}" for why in past.unread)


def _ranking(found: tuple[Assessed, ...]) -> Iterator[str]:
    width = max(6, *(len(one.report) for one in found))
    yield f"{'report':<{width}}  saves  CPU s  of batch  final run     kept  by"
    for one in found:
        if one.error:
            yield f"{one.report:<{width}}  cannot be planned: {one.error}"
            continue
        past = one.measured
        seen = f"; measured on {len(past.days)} days, {past.start}: {past.called}" if past else ""
        yield (
            f"{one.report:<{width}}  {one.share:>5.0%}  {one.saving:>5.0f}  {one.batch:>8.0f}  "
            f"{one.final:>9.0%}  {in_units(one.kept):>7}  {_BY.get(one.decided, one.decided)}{seen}"
        )
    planned = [one for one in found if not one.error]
    batch, saving = sum(one.batch for one in planned), sum(one.saving for one in planned)
    share = saving / batch if batch else 0.0
    yield f"together {saving:,.0f} of {batch:,.0f} weighted CPU s a day: {share:.0%} (estimates)"


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
        "measured": _measured(one.measured) if one.measured else None,
    }


def _measured(past: PastReport) -> dict[str, object]:
    return {**asdict(past), "days": [day.isoformat() for day in past.days]}
