"""``forerun simulate``: options in, figures out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table as Grid

from forerun import console
from forerun.accounts import DayAccount, RunAccount
from forerun.deliveries import parse_correlation
from forerun.planning import changing_tables
from forerun.running import open_runner, scratch_folder
from forerun.simulate import Advance, Say, Simulation, report_name, simulate
from forerun.tables import find_tables
from planner.errors import ForerunError
from planner.explain.found import reason_text
from planner.request import PDW, Method, Problem, TimePoint

DIFFERS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command line of ``forerun simulate``, parsed."""

    report: Path
    sql: str
    tables: Path
    engine: str
    changing: str | None
    correlate: tuple[str, ...]
    points: tuple[TimePoint, ...]
    seed: int
    store: str | None
    json_file: Path | None
    master: str
    work: Path
    method: Method = "auto"
    rules_off: tuple[str, ...] = ()
    problem: Problem = PDW
    state_budget: str = ""
    sample: int = 0


def run(options: Options) -> int:
    """Simulate, show, and return the exit code."""
    if options.json_file is not None:
        _check_writable(options.json_file)
    tables = find_tables(options.tables)
    correlations = [parse_correlation(text) for text in options.correlate]
    changing = changing_tables(tables, options.changing)
    name = report_name(options.report.stem)
    work = scratch_folder(options.work, name)
    what = Simulation(
        name=name,
        sql=options.sql,
        tables=tables,
        changing=changing,
        points=options.points,
        correlations=correlations,
        seed=options.seed,
        work=work,
        store=options.store or str(work / "store"),
        method=options.method,
        rules_off=options.rules_off,
        problem=options.problem,
        state_budget=options.state_budget,
        sample=options.sample,
    )
    total = sum(table.rows for table in tables.values())
    with (
        _bars(total, 3 + len(options.points) + len(options.problem.results_at)) as (say, advance),
        open_runner(options.engine, work / "logs", options.master) as runner,
    ):
        day = simulate(what, runner, say, advance)
    _show(day, options.json_file)
    return 0 if day.equal else DIFFERS


@contextmanager
def _bars(rows: int, steps: int) -> Iterator[tuple[Say, Advance]]:
    with console.progress() as bars:
        step = bars.add_task("starting", total=steps)
        split = bars.add_task("rows split", total=rows)

        def say(text: str) -> None:
            bars.update(step, description=text, advance=1)

        def advance(count: int) -> None:
            bars.advance(split, count)

        yield say, advance
        bars.update(split, completed=rows)


def _check_writable(path: Path) -> None:
    """Before hours of work, not after them."""
    if str(path) != "-" and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise ForerunError(
            f"{path} cannot be written",
            code="json-file",
            hint="Give a file in a folder that exists, or - for stdout.",
        )


def _show(day: DayAccount, json_file: Path | None) -> None:
    if json_file is not None and str(json_file) == "-":
        console.say_json(day.as_json())
        return
    if json_file is not None:
        json_file.write_text(console.to_text(day.as_json()), encoding="utf-8")
    show_day(day)


def show_day(day: DayAccount) -> None:
    """A day as a table on stdout, with the verdict below it."""
    grid = Grid(title=f"{day.report} on {day.engine}", title_justify="left")
    for name in ("run", "weight", "arrived", "source rows", "kept rows", "kept bytes"):
        grid.add_column(name, justify="left" if name == "run" else "right")
    for name in ("executor CPU s", "process CPU s", "wall s"):
        grid.add_column(name, justify="right")
    early = any(run.early_result for run in day.runs)
    if early:
        grid.add_column("early result", justify="right")
    for run in day.runs:
        head = (str(run.index), f"{run.weight:g}", f"{run.arrived:.0%}")
        if run.skipped:
            grid.add_row(*head, "not opened")
            continue
        grid.add_row(
            *head,
            f"{run.rows_read:,}",
            f"{run.state_rows_read:,}",
            f"{run.state_bytes:,}",
            f"{run.cpu_s:.2f}",
            f"{run.process_cpu_s:.2f}",
            f"{run.wall_s:.2f}",
            *((_early_result(run),) if early else ()),
        )
    plain = day.batch
    grid.add_row(
        *("batch", f"{day.runs[-1].weight:g}", "100%", f"{plain.rows_read:,}", "", ""),
        f"{plain.cpu_s:.2f}",
        f"{plain.process_cpu_s:.2f}",
        f"{plain.wall_s:.2f}",
    )
    console.output().print(grid)
    console.say("\n".join(_verdict(day)))


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
    if day.weighted_ratio is not None and day.final_ratio is not None:
        whole = f" ({day.process_ratio:.2f} by whole processes)" if day.process_ratio else ""
        yield (
            f"weighted cost {day.weighted_ratio:.2f} of batch{whole}, "
            f"final run {day.final_ratio:.2f} of batch"
        )
    for reason, operators in day.waiting:
        yield f"waits for the final run: {', '.join(operators)} ({reason_text(reason)})"
