"""The parts of a simulated day: deliveries on disk, and reports whose runs find them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

import pyarrow.parquet as pq

from forerun.include.days.handle import Day
from forerun.include.machine.jvm import is_local, is_s3
from forerun.include.reports.parameters import Parameter
from forerun.include.reports.spec import ClockTime, ReportSpec, RunPolicy, RunTime, SourceSpec
from forerun.include.runs.prepare import open_generation
from forerun.include.stores.opening import open_store
from forerun.planner.request import PDW, Method, Problem, Settings, TimePoint, ivm
from forerun.simulation.declared import NOTHING_DECLARED, Declared
from forerun.simulation.deliveries import Correlation, Splitter
from forerun.simulation.plain import PlainQuery
from forerun.simulation.planning import report_name
from forerun.simulation.tables import Table

DEFAULT_DAY = date(2026, 1, 1)
_OF_A_DAY_S = 24 * 3600

Say = Callable[[str], None]
Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """The day to simulate. ``work`` holds the deliveries and logs, ``store`` the state. The method
    ``progressive`` opens every run, whether it repays its fixed cost or not."""

    name: str
    sql: str
    tables: Mapping[str, Table]
    changing: frozenset[str]
    points: tuple[TimePoint, ...]
    correlations: Sequence[Correlation]
    seed: int
    work: Path
    store: str
    incoming: Path | None = None
    """Deliveries that were split before (``<table>/run-<i>.parquet``), to be used again."""
    arriving: str = ""
    """Where the sources' files appear, see :func:`shared_place`; else a folder in ``work``."""
    method: Method = "auto"
    problem: Problem = PDW
    settings: Settings = field(default_factory=Settings)
    sample: int | None = None
    """Rows that are drawn of each source, as :attr:`SourceSpec.sample`."""
    declared: Declared = NOTHING_DECLARED
    """Rows come in a declared order; see :class:`Splitter`."""
    changelogs: frozenset[str] = frozenset()
    """Tables whose deliveries also take rows back, see :mod:`forerun.simulation.updates`."""
    day: date | None = None
    """The report date; without one the query may not ask for it."""
    parameters: tuple[Parameter, ...] = ()
    """Named parameters of the query beside those of the day."""
    early_engine: Literal["", "sail"] = ""
    """The engine of early runs, as :attr:`RunPolicy.early_engine`."""
    own_batch: bool = False
    """Also run batch in stages of our own: what rewriting saves without any early work. What the
    day itself was is not run again."""


def shared_place(store: str, master: str, name: str) -> str:
    """Return where sources lie that every machine of a cluster has to read: in the store, if it is
    on S3. Empty for a master on this machine, and for a store that only folders in common would
    reach."""
    if is_local(master) or not is_s3(store):
        return ""
    return f"{store.rstrip('/')}/deliveries/{name}"


def write_deliveries(
    what: Simulation, used: Sequence[str], advance: Advance
) -> dict[str, tuple[int, ...]]:
    """Split the changing tables, link the static ones; rows there at each run, by table."""
    fractions = tuple(point.arrived for point in what.points)
    splitter = Splitter(
        what.tables,
        fractions,
        what.seed,
        what.correlations,
        what.changelogs,
        dict(what.declared.orders),
    )
    rows: dict[str, tuple[int, ...]] = {}
    for name in used:
        table = what.tables[name]
        if not what.arriving:
            Path(_source_path(what, name)).mkdir(parents=True)
        if name in what.changing:
            counts = _deliveries_of(what, splitter, name, advance)
            total = 0
            rows[name] = tuple(total := total + count for count in counts)
        else:
            for number, path in enumerate(table.files):
                _appear(what, name, path, f"{number:05d}.parquet")
            rows[name] = (table.rows,) * len(what.points)
            advance(table.rows)
    return rows


def _deliveries_of(
    what: Simulation, splitter: Splitter, name: str, advance: Advance
) -> tuple[int, ...]:
    """Split a table, or link what was split before; the rows of each delivery."""
    folder = what.work / "incoming" / name
    if what.incoming is None:
        return splitter.write(name, folder, advance)
    folder.mkdir(parents=True)
    counts = []
    for run in range(1, len(what.points) + 1):
        path = what.incoming / name / f"run-{run}.parquet"
        if not path.exists():
            counts.append(0)
            continue
        _link(path, folder / path.name)
        counts.append(pq.ParquetFile(path).metadata.num_rows)
    advance(sum(counts))
    return tuple(counts)


def _source_path(what: Simulation, name: str) -> str:
    return f"{what.arriving or what.work / 'sources'}/{name}"


def _appear(what: Simulation, table: str, path: Path, name: str) -> None:
    """A file is among those of a source from now on, at once and whole."""
    if what.arriving:
        open_store(_source_path(what, table)).put(name, path.read_bytes())
    else:
        _link(path, Path(_source_path(what, table), name))


def _link(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:
        target.symlink_to(path.resolve())


def arrive(what: Simulation, run: int) -> None:
    """Let what was split off for a run appear among its source's files, each file at once."""
    for path in sorted((what.work / "incoming").glob(f"*/run-{run}.parquet")):
        _appear(what, path.parent.name, path, path.name)


def spec_of(what: Simulation, used: Sequence[str]) -> ReportSpec:
    """The day as a report. Its runs are at the times at which, if rows came evenly over the day,
    the wanted fractions would be there: so the forecast by the clock is right."""
    return ReportSpec(
        name=report_name(what.name),
        sql=what.sql,
        sources=tuple(
            SourceSpec(
                name=name,
                path=_source_path(what, name),
                columns=what.tables[name].columns,
                change="changelog" if name in what.changelogs else "append_only",
                arrival="growing" if name in what.changing else "static",
                complete_when=ClockTime() if name in what.changing else None,
                allow_empty=True,
                sample=what.sample,
                ordered_by=dict(what.declared.orders).get(name, ""),
                key=dict(what.declared.keys).get(name, ()),
                foreign_keys=what.declared.foreign_keys_of(name, used),
            )
            for name in used
        ),
        policy=_policy(what),
        deadline="48:00",
        store=what.store,
        parameters=what.parameters,
    )


def _policy(what: Simulation) -> RunPolicy:
    runs = tuple(
        RunTime(at=at, weight=point.weight)
        for at, point in zip(_times(what.points), what.points, strict=True)
    )
    if what.problem == ivm(len(runs)):
        return RunPolicy(runs=runs, problem="ivm", early_engine=what.early_engine)
    results = what.problem.results_at
    return RunPolicy(runs=runs, results_at=results, early_engine=what.early_engine)


def _times(points: Sequence[TimePoint]) -> list[str]:
    """A clock time for each fraction, each at least a second after the one before."""
    seconds: list[int] = []
    for point in points:
        at = round(point.arrived * _OF_A_DAY_S)
        seconds.append(max(at, seconds[-1] + 1) if seconds else at)
    return [f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in seconds]


def open_day(what: Simulation, plain: PlainQuery) -> Day:
    now, trigger = plain.spec.points(plain.day)[0], uuid.uuid4().hex
    return open_generation(what.store, plain.spec, plain.day, trigger=trigger, now=now)
