"""Looks for a day on which a report's result is not that of batch, and makes it small.

A day is drawn by a seed: small tables (:mod:`forerun.simulation.invented`), how many runs there are
and what has come by each, a method, which sources take rows back. It is simulated as ``forerun
simulate`` does, and compared with the plain query. Where the plain query itself fails, the day has
to fail as well. Where the small engine's plain query differs, a third engine is asked
(:mod:`forerun.simulation.second_opinion`).
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.planner.contract.plan_v1 import ReliedForeignKey
from forerun.planner.errors import ForerunError
from forerun.planner.request import Method, TimePoint
from forerun.simulation import second_opinion
from forerun.simulation.accounts import DayAccount
from forerun.simulation.day import simulate
from forerun.simulation.declared import Declared
from forerun.simulation.deliveries import Correlation
from forerun.simulation.invented import RealTable, invent, rows_at, write_tables
from forerun.simulation.running import Runner, scratch_folder
from forerun.simulation.simulated_day import Simulation
from forerun.simulation.tables import find_tables

Kind = Literal["equal", "both fail", "differs", "fails alone", "not covered", "batch is wrong"]
BAD: frozenset[Kind] = frozenset({"differs", "fails alone"})
_METHODS: tuple[Method, ...] = ("progressive", "progressive", "progressive", "auto", "batch")
_LIMITS = 0.25
_TRIES = 120
"""So many smaller days are tried for one that is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzedDay:
    """A day as it was drawn, or made smaller."""

    seed: int
    tables: Mapping[str, pa.Table]
    arrived: tuple[float, ...]
    weights: tuple[float, ...]
    method: Method
    changelogs: frozenset[str]

    @property
    def rows(self) -> int:
        return sum(table.num_rows for table in self.tables.values())


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a day; ``text`` says how it differs, or which error there was."""

    kind: Kind
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuzz:
    """A report to look at: its text, the real tables, and what is declared of them.

    ``changing`` tables grow during the day, ``changelogs`` are those of them that may take rows
    back, ``foreign_keys`` hold on every day that is drawn.
    """

    name: str
    sql: str
    real: Mapping[str, RealTable]
    changing: frozenset[str]
    changelogs: frozenset[str]
    foreign_keys: tuple[ReliedForeignKey, ...]
    folder: Path

    def draw(self, seed: int) -> FuzzedDay:
        """Return the day of a seed: always the same one."""
        rng = random.Random(seed)
        runs = rng.randint(1, 4)
        # Two equal fractions make an empty delivery.
        early = sorted(rng.choice((0.0, 0.2, 0.5, 0.5, 0.8, 1.0)) for _ in range(runs - 1))
        return FuzzedDay(
            seed=seed,
            tables=invent(
                self.real, rng, limits=rng.random() < _LIMITS, foreign_keys=self.foreign_keys
            ),
            arrived=(*early, 1.0),
            weights=(*sorted(rng.choice((0.1, 0.25, 0.5)) for _ in early), 1.0),
            method=rng.choice(_METHODS),
            changelogs=frozenset(name for name in sorted(self.changelogs) if rng.random() < 0.5),
        )

    def judge(self, day: FuzzedDay, runner: Runner) -> Verdict:
        """Simulate a day and say what became of it."""
        work = scratch_folder(self.folder, f"seed-{day.seed}")
        try:
            write_tables(day.tables, work / "tables")
            return self._judge(day, runner, work)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _judge(self, day: FuzzedDay, runner: Runner, work: Path) -> Verdict:
        what = self._simulation(day, work)
        try:
            account = simulate(what, runner, _quiet, _quiet)
        except ForerunError as error:
            alone = replace(what, work=work / "batch", store=str(work / "batch-store"))
            try:
                simulate(replace(alone, method="batch"), runner, _quiet, _quiet)
            except ForerunError:
                return Verdict("both fail", str(error))
            return Verdict("fails alone", f"[{error.code}] {error}")
        if account.equal:
            return Verdict("equal")
        text = "\n".join(account.differences)
        if account.not_covered:
            return Verdict("not covered", "; ".join(gap["reason"] for gap in account.not_covered))
        if runner.engine.gaps and second_opinion.agrees(self.sql, day.tables, _result(account)):
            said = f"{runner.engine.about}: its batch is wrong, DuckDB gives what the day gave"
            return Verdict("batch is wrong", f"{said}\n{text}")
        return Verdict("differs", text)

    def _simulation(self, day: FuzzedDay, work: Path) -> Simulation:
        (work / "batch").mkdir()
        return Simulation(
            name=self.name,
            sql=self.sql,
            tables=find_tables(work / "tables"),
            changing=self.changing,
            points=tuple(
                TimePoint(weight=weight, arrived=share)
                for weight, share in zip(day.weights, day.arrived, strict=True)
            ),
            correlations=self._with_parents,
            seed=day.seed,
            work=work,
            store=str(work / "store"),
            method=day.method,
            declared=Declared(foreign_keys=self.foreign_keys),
            changelogs=day.changelogs,
        )

    @property
    def _with_parents(self) -> tuple[Correlation, ...]:
        """A row arrives with the row that its foreign key names, which is declared of it."""
        return tuple(
            Correlation(one.source, one.key.columns[0], one.key.parent, one.key.parent_columns[0])
            for one in self.foreign_keys
            if {one.source, one.key.parent} <= self.changing
        )

    def shrink(self, day: FuzzedDay, runner: Runner, told: Callable[[str], None]) -> FuzzedDay:
        """Return the smallest day found that is wrong as well: fewer runs, then fewer rows."""
        tries, smaller = 0, True
        while smaller and tries < _TRIES:
            smaller = False
            for candidate in _smaller(day):
                tries += 1
                if tries > _TRIES:
                    break
                if self.judge(candidate, runner).kind in BAD:
                    day, smaller = candidate, True
                    told(f"{day.rows} rows in {len(day.arrived)} runs are wrong as well")
                    break
        return day

    def keep(self, day: FuzzedDay, folder: Path) -> Path:
        """Write a day as tables, a report and a script that simulates it; return the script."""
        write_tables(day.tables, folder / "tables")
        (folder / "report.sql").write_text(self.sql, encoding="utf-8")
        options = [
            "--tables tables",
            f"--changing {','.join(sorted(self.changing & set(day.tables)))}",
            f"--arrived {','.join(f'{share:g}' for share in day.arrived)}",
            f"--weights {','.join(f'{weight:g}' for weight in day.weights)}",
            f"--method {day.method}",
            f"--seed {day.seed}",
        ]
        if day.changelogs:
            options.append(f"--changelog {','.join(sorted(day.changelogs))}")
        script = folder / "again.sh"
        lines = " \\\n  ".join(["forerun simulate report.sql", *options, '"$@"'])
        head = "#!/bin/sh\n# With --engine sail it takes a second; --engine spark is the truth.\n"
        script.write_text(f'{head}cd "$(dirname "$0")" || exit\n{lines}\n', encoding="utf-8")
        script.chmod(0o755)
        return script


def _result(account: DayAccount) -> pa.Table:
    """The rows that a day has published, on this machine."""
    folder = Path(account.result.removeprefix("file://"))
    files = sorted(folder.glob("*.parquet"))
    return pa.concat_tables(pq.read_table(file) for file in files) if files else pa.table({})


def _smaller(day: FuzzedDay) -> Iterator[FuzzedDay]:
    for place in range(len(day.arrived) - 1):
        yield replace(
            day,
            arrived=day.arrived[:place] + day.arrived[place + 1 :],
            weights=day.weights[:place] + day.weights[place + 1 :],
        )
    for name in sorted(day.changelogs):
        yield replace(day, changelogs=day.changelogs - {name})
    for name, table in day.tables.items():
        size, step = table.num_rows, table.num_rows
        while step:
            for start in range(0, size, step):
                kept = [i for i in range(size) if not start <= i < start + step]
                yield replace(day, tables={**day.tables, name: rows_at(table, kept)})
            step //= 2


def _quiet(_told: object) -> None:
    """Of one day among thousands no step is told."""
