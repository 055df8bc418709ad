"""A day on a terminal: what each run read, kept and cost, beside batch, and whether it is equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table as Grid

from forerun import console
from forerun.planner.explain.reasons import reason_text
from forerun.simulation.accounts import DayAccount, RunAccount, decided_alone
from forerun.simulation.group_account import GroupAccount


def show_day(day: DayAccount) -> None:
    """A day as a table on stdout, with the verdict below it."""
    grid = _grid(f"{day.report} on {day.engine}")
    early = any(run.early_result for run in day.runs)
    if early:
        grid.add_column("early result", justify="right")
    _add_runs(grid, day.runs, day.engine, early=early)
    _add_batch(grid, "batch", day.runs[-1].weight, day.batch)
    console.output().print(grid)
    console.say("\n".join(_verdict(day)))


def show_group(group: GroupAccount) -> None:
    """The day of a report group: a table of all its reports together, and a line on each."""
    grid = _grid(f"{group.group}: {len(group.reports)} reports on {group.engine}")
    _add_runs(grid, group.runs, group.engine)
    last = group.runs[-1].weight
    _add_batch(grid, f"{len(group.reports)} x batch", last, group.batch)
    _add_batch(grid, "batch in one", last, group.batch_together)
    console.output().print(grid)
    console.say("\n".join(_group_verdict(group)))


def _group_verdict(group: GroupAccount) -> Iterator[str]:
    for day in group.reports:
        own = [run.index for run in day.runs if not run.skipped]
        how = f"runs {', '.join(map(str, own))}" if len(own) > 1 else "one run at the end"
        equal = "equal to batch" if day.equal else "DIFFERS from batch"
        share = f", weighted cost {day.weighted_ratio:.2f} of batch" if day.weighted_ratio else ""
        yield f"{day.report}: {equal}, {day.rows:,} rows, {how}{share}"
        yield from _early_verdicts(day)
        yield from (f"  {text}" for text in (*day.differences, *day.notes))
    for what, executors, processes in (
        (f"{len(group.reports)} batch applications", group.weighted_ratio, group.process_ratio),
        (
            "one application with all batch queries",
            group.weighted_ratio_to_together,
            group.process_ratio_to_together,
        ),
    ):
        if executors is not None and processes:
            yield f"weighted cost {executors:.2f} of {what}, {processes:.2f} by whole processes"


def _grid(title: str) -> Grid:
    grid = Grid(title=title, title_justify="left")
    for name in ("run", "weight", "arrived", "source rows", "kept rows", "kept bytes"):
        grid.add_column(name, justify="left" if name == "run" else "right")
    for name in ("executor CPU s", "process CPU s", "wall s"):
        grid.add_column(name, justify="right")
    return grid


def _add_runs(grid: Grid, runs: Sequence[RunAccount], engine: str, *, early: bool = False) -> None:
    """Add the runs of a day on an engine; those of another one say which."""
    for run in runs:
        other = f", {run.engine}" if run.engine not in ("", engine) else ""
        head = (f"{run.index}{other}", f"{run.weight:g}", f"{run.arrived:.0%}")
        if run.skipped:
            grid.add_row(*head, "not opened")
            continue
        grid.add_row(
            *head,
            f"{run.rows_read:,}",
            f"{run.state_rows_read:,}",
            f"{run.state_bytes:,}",
            *_times(run),
            *((_early_result(run),) if early else ()),
        )


def _add_batch(grid: Grid, name: str, weight: float, run: RunAccount) -> None:
    grid.add_row(name, f"{weight:g}", "100%", f"{run.rows_read:,}", "", "", *_times(run))


def _times(run: RunAccount) -> tuple[str, str, str]:
    return f"{run.cpu_s:.2f}", f"{run.process_cpu_s:.2f}", f"{run.wall_s:.2f}"


def _early_result(run: RunAccount) -> str:
    if run.early_result is None:
        return ""
    return f"{run.early_result.rows:,} rows, {'equal' if run.early_result.equal else 'DIFFERS'}"


def _early_verdicts(day: DayAccount) -> Iterator[str]:
    for run in day.runs:
        early = run.early_result
        if early is not None and not early.equal:
            yield f"the early result of run {run.index} DIFFERS from batch:"
        if early is not None:
            yield from (f"  {text}" for text in (*early.differences, *early.notes))


def _verdict(day: DayAccount) -> Iterator[str]:
    yield from _early_verdicts(day)
    if day.equal or not day.differences:  # else it is the early results that differ
        yield f"equal to batch: {day.rows:,} rows in {day.result}"
    else:
        yield f"DIFFERS from batch: {day.rows:,} rows in {day.result}"
    yield from (f"  {text}" for text in (*day.differences, *day.notes))
    if day.not_covered:
        yield "this comparison does not cover what Sail itself gets wrong; use --engine spark:"
        yield from (f"  {one['reason']}" for one in day.not_covered)
    if decided_alone(day.runs) == "batch":
        yield (
            "the plan is batch, one run at the end: there is nothing to compare. Early work pays "
            "on more data (forerun plan --as-if 1000x says from which size on)"
        )
    elif day.weighted_ratio is not None and day.final_ratio is not None:
        whole = f" ({day.process_ratio:.2f} by whole processes)" if day.process_ratio else ""
        yield (
            f"weighted cost {day.weighted_ratio:.2f} of batch{whole}, "
            f"final run {day.final_ratio:.2f} of batch"
        )
    for reason, operators in day.waiting:
        yield f"waits for the final run: {', '.join(operators)} ({reason_text(reason)})"
