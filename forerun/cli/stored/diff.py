"""``forerun diff``: two days of a report side by side, and what is not alike."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from forerun import console
from forerun.cli.stored.options import (
    DayArgument,
    JsonOption,
    ReportArgument,
    StoreOption,
    read_day,
    store_at,
)
from forerun.include.oncall.day.standing import plan_sentence
from forerun.include.oncall.day.view import DayView, read_day_view
from forerun.include.oncall.night.rows import cost_of

_FAR = 1.5
"""Figures that differ by this factor are marked."""
Figure = str | int | float | None


def diff_command(
    report: ReportArgument,
    one: DayArgument,
    other: DayArgument,
    store: StoreOption = "",
    as_json: JsonOption = False,
) -> int:
    """Show what was different between two days: sources, plan, runs, costs, the result.

    For the question why today took longer than yesterday. Figures that are half as much again, or
    more, are marked with a star.
    """
    opened = store_at(store)
    views = [read_day_view(opened, read_day(opened, report, day)) for day in (one, other)]
    left, right = (dict(_figures(view)) for view in views)
    names = [*left, *(name for name in right if name not in left)]
    if as_json:
        console.say_json({name: [left.get(name), right.get(name)] for name in names})
        return 0
    table = Table(box=None, pad_edge=False)
    for name in ("", one, other):
        table.add_column(name, overflow="fold")
    for name in names:
        pair = left.get(name), right.get(name)
        mark = " *" if _differ(*pair) else ""
        table.add_row(f"{name}{mark}", *map(_shown, pair))
    console.output().print(table)
    return 0


def _figures(view: DayView) -> Iterator[tuple[str, Figure]]:
    records = view.records
    yield "plan", plan_sentence(records.plan)
    yield "SQL and settings", records.spec.digest
    for source in view.arrivals:
        yield f"rows of {source.source}", source.seen[-1][1] if source.seen else None
    for run in view.runs:
        name = "final run" if run.final else f"run {run.index}"
        yield f"{name}: state", run.state
        if run.commit is not None:
            metrics = run.commit.metrics
            yield f"{name}: source rows read", metrics.source_rows_read
            yield f"{name}: kept rows read", metrics.state_rows_read
            yield f"{name}: process CPU s", metrics.process_cpu_s
            yield f"{name}: wall s", metrics.wall_s
    cost = cost_of(records)
    yield "estimated, of batch", cost.share
    yield "spent, weighted CPU s", cost.spent_s
    yield "failed checks", sum(len(check.failed) for check in view.checks)
    published = records.published
    yield "rows published", published.rows if published else None
    yield "published at", published.published_at if published else None


def _differ(left: Figure, right: Figure) -> bool:
    if isinstance(left, int | float) and isinstance(right, int | float):
        small, large = sorted((abs(left), abs(right)))
        return large > _FAR * small
    return left != right and not (isinstance(left, str) and "T" in left and ":" in left)


def _shown(figure: Figure) -> str:
    if figure is None:
        return "-"
    if isinstance(figure, float):
        return f"{figure:,.2f}"
    return f"{figure:,}" if isinstance(figure, int) else figure
