"""``forerun simulate``: a day in, figures out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rich.table import Table as Grid

from forerun import console
from forerun.accounts import DayAccount, RunAccount
from forerun.deliveries import Correlation, parse_correlation
from forerun.options import Day
from forerun.planning import read_day_tables
from forerun.running import open_runner, scratch_folder
from forerun.simulate import Advance, Say, Simulation, report_name, simulate
from forerun.tables import list_tables
from include.machine.jvm import home_folder
from planner.errors import ForerunError, RequestError
from planner.explain.reasons import reason_text
from planner.request import Method

DIFFERS = 1


class EngineChoice(NamedTuple):
    """Which engine runs the day; ``master`` is where Spark does."""

    name: str
    master: str


def run(
    day: Day,
    method: Method,
    *,
    correlate: Sequence[str],
    seed: int,
    store: str | None,
    engine: EngineChoice,
    json_file: Path | None,
    changelog: str | None,
) -> int:
    """Simulate a day, show it, and return the exit code. ``correlate`` says which rows arrive with
    which, ``seed`` when rows come, ``store`` where the state lies (a scratch folder if None),
    ``changelog`` which of the changing tables have updates, too."""
    if json_file is not None:
        _check_writable(json_file)
    tables, changing = read_day_tables(day.tables, day.report.sql, day.changing)
    correlations = _of_tables_read(correlate, set(tables), day.tables)
    name = report_name(day.report.name)
    work = scratch_folder(home_folder() / "simulations", name)
    what = Simulation(
        name=name,
        sql=day.report.sql,
        tables=tables,
        changing=changing,
        points=day.points,
        correlations=correlations,
        seed=seed,
        work=work,
        store=_absolute(store) if store else str(work / "store"),
        method=method,
        settings=day.settings,
        problem=day.problem,
        sample=day.sample,
        day=day.report_date,
        parameters=day.own_parameters,
        changelogs=_changelogs(changelog, changing),
    )
    total = sum(table.rows for table in tables.values())
    with (
        _bars(total, 3 + len(day.points) + len(day.problem.results_at)) as (say, advance),
        open_runner(engine.name, work / "logs", engine.master) as runner,
    ):
        done = simulate(what, runner, say, advance)
    _show(done, json_file)
    return 0 if done.equal else DIFFERS


def _of_tables_read(texts: Sequence[str], read: set[str], folder: Path) -> list[Correlation]:
    """The correlations between tables that the query reads. One with a table that lies in the
    folder and is not read has no meaning here and is left out, so that a script may name the same
    ones for every query; one that names no table at all is kept, to be refused."""
    there = set(list_tables(folder))
    return [
        one
        for one in map(parse_correlation, texts)
        if not {one.child, one.parent} <= there or {one.child, one.parent} <= read
    ]


def _absolute(store: str) -> str:
    """A store as a report may name it: a folder that was given from here, from the root."""
    return store if ":" in store else str(Path(store).absolute())


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


def _changelogs(named: str | None, changing: frozenset[str]) -> frozenset[str]:
    """The tables whose rows are updated during the day; they must be among those that grow."""
    names = frozenset(part.strip() for part in (named or "").split(",") if part.strip())
    if unknown := sorted(names - changing):
        raise RequestError(
            f"--changelog names {unknown[0]}, which does not change during the day",
            hint=f"Those that do are {', '.join(sorted(changing)) or 'none'}: see --changing.",
        )
    return names


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
    if day.not_covered:
        yield "this comparison does not cover what Sail itself gets wrong; use --engine spark:"
        yield from (f"  {one['reason']}" for one in day.not_covered)
    if day.weighted_ratio is not None and day.final_ratio is not None:
        whole = f" ({day.process_ratio:.2f} by whole processes)" if day.process_ratio else ""
        yield (
            f"weighted cost {day.weighted_ratio:.2f} of batch{whole}, "
            f"final run {day.final_ratio:.2f} of batch"
        )
    for reason, operators in day.waiting:
        yield f"waits for the final run: {', '.join(operators)} ({reason_text(reason)})"
