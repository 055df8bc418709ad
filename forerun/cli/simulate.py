"""``forerun simulate``: a day in, figures out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from forerun import console
from forerun.cli.chosen import with_chosen_times
from forerun.cli.options import CheckedDay
from forerun.include.engines import own_engine
from forerun.include.machine.jvm import home_folder
from forerun.planner.errors import ForerunError, RequestError
from forerun.planner.request import Method
from forerun.simulation.day import simulate
from forerun.simulation.deliveries import Correlation, parse_correlation
from forerun.simulation.group import simulate_group
from forerun.simulation.planning import Report, read_day_tables, report_name
from forerun.simulation.running import open_runner, scratch_folder
from forerun.simulation.shown_day import show_day, show_group
from forerun.simulation.simulated_day import Advance, Say, Simulation, shared_place
from forerun.simulation.tables import list_tables

DIFFERS = 1


class EngineChoice(NamedTuple):
    """The engine that runs the day; ``master`` is where Spark does. ``early`` does the early runs
    that give no result."""

    name: str
    master: str
    early: Literal["same", "sail"] = "same"

    @property
    def of_early_runs(self) -> Literal["", "sail"]:
        """Return it as a run policy names it."""
        return "" if self.early == "same" else self.early


def run(
    day: CheckedDay,
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
    day = with_chosen_times(day, own_engine(engine.name).prices)
    tables, changing = read_day_tables(
        day.tables, [report.sql for report in day.reports], day.changing
    )
    name = report_name(day.report.name if not day.is_group else f"group_{day.report.name}")
    work = scratch_folder(home_folder() / "simulations", name)
    place = _absolute(store) if store else str(work / "store")
    what = Simulation(
        name=name,
        sql=day.report.sql,
        tables=tables,
        changing=changing,
        points=day.points,
        correlations=_of_tables_read(correlate, set(tables), day.tables),
        seed=seed,
        work=work,
        store=place,
        arriving=shared_place(place, engine.master, work.name),
        method=method,
        settings=day.settings,
        problem=day.problem,
        sample=day.sample,
        declared=day.declared,
        day=day.report_date,
        parameters=day.own_parameters,
        changelogs=_changelogs(changelog, changing),
        early_engine=engine.of_early_runs,
    )
    steps = 3 + len(day.points) + len(day.reports) * (1 + len(day.problem.results_at))
    with (
        _bars(sum(table.rows for table in tables.values()), steps) as (say, advance),
        open_runner(engine.name, work / "logs", engine.master) as runner,
    ):
        if day.is_group:
            reports = [Report(report_name(one.name), one.sql) for one in day.reports]
            group = simulate_group(what, reports, runner, say, advance)
        else:
            done = simulate(what, runner, say, advance)
    if day.is_group:
        _show(group.as_json(), json_file, partial(show_group, group))
        return 0 if group.equal else DIFFERS
    _show(done.as_json(), json_file, partial(show_day, done))
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
        bars.update(step, description="done", completed=steps)
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


def _show(record: dict[str, object], json_file: Path | None, show: Callable[[], None]) -> None:
    """Show a day, and write its figures where they are wanted."""
    if json_file is not None and str(json_file) == "-":
        console.say_json(record)
        return
    if json_file is not None:
        json_file.write_text(console.to_text(record), encoding="utf-8")
    show()
