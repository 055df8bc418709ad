"""Generated days that are published and corrected afterwards: files come, change and go, and the
day is repaired through the whole path of a run.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from unittest import mock

import pyarrow.parquet as pq

from forerun.include.days.handle import Day
from forerun.include.engines import ENGINES
from forerun.include.past.repair import Repair, begin_repair, find_repair
from forerun.include.reports.spec import ReportSpec
from forerun.include.runs import day_request
from forerun.include.runs.exact_engines import settings_on
from forerun.include.runs.prepare import publish_result
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.stores.opening import open_store
from forerun.planner.request import Settings
from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.executor import execute
from tests.oracles.values import Row
from tests.properties.cases import TableCase
from tests.properties.execute import RefusedError, check_rows, effort
from tests.spark.days import rows_of
from tests.spark.stored_days import DAY, NOW, StoredDay, pretended, write_rows


@dataclass(frozen=True)
class RepairedDay(StoredDay):
    """One case. ``keep_copies``: files that are replaced or taken away still lie in another folder.
    ``forced``: state is gone on from wherever it can be, else where that is cheaper.
    ``repaired_by``: the engine that repairs what the other one has made, None for the same one."""

    seed: int = 0
    keep_copies: bool = True
    forced: bool = True
    repaired_by: Engine | None = None

    def check(self) -> Counter[str]:
        """Run and publish the day, then correct and repair it twice; each time the published result
        is that of the plain query. Returns how often what happened."""
        store_uri, rng = str(self.folder / "store"), random.Random(f"repair-{self.seed}")
        self._open(store_uri)
        for run in range(1, self.case.runs + 1):
            self._deliver(run)
            self._do(store_uri, run, self.case.runs)
        publish_result(Day.of(store_uri, self._spec(self.case.runs), DAY, "1"), now=NOW)
        found: Counter[str] = Counter()
        for number in (1, 2):
            found[self._correct(rng, number)] += 1
            repair = self._repair(store_uri)
            if repair is not None:
                found["delta" if repair.best.is_delta else "anew"] += 1
                base = repair.best.base
                found["from the final run"] += base is not None and base.run == self.case.runs
                kinds = {one.kind for one in repair.corrections or ()}
                found.update(f"{kind} by delta" for kind in kinds if repair.best.is_delta)
        return found

    def _spec(self, runs: int) -> ReportSpec:
        """Every other day expects to be repaired, so that its final run may leave state."""
        spec = super()._spec(runs)
        return replace(spec, policy=replace(spec.policy, expected_repairs=float(self.seed % 2)))

    def _repair(self, store_uri: str) -> Repair | None:
        """Repair the day; None if nothing of it has changed."""
        expected = self._expected_now()
        store, spec = open_store(store_uri), self._spec(self.case.runs)
        settings = Settings(
            temporal="early" if self.forced else "cost",
            buckets=2,
            prices=replace(self.prices, buckets=self.engine.has_buckets),
            **effort(self.case),
        )
        if self.repaired_by is not None:
            known = ENGINES[self.repaired_by.name]
            settings = replace(settings_on(known), temporal=settings.temporal, tries=settings.tries)
        with mock.patch.object(day_request, "to_source", pretended):
            repair = find_repair(
                store,
                spec,
                DAY,
                now=NOW,
                copies=(str(self.folder / "old"),) if self.keep_copies else (),
                settings=settings,
            )
        if not repair.is_needed:
            return None
        if self.forced and len(repair.plans) > 1:
            repair = replace(repair, plans=tuple(w for w in repair.plans if w.is_delta))
        prepared = begin_repair(repair, now=NOW)
        commit = execute(self.repaired_by or self.engine, StoredPlan.read(prepared.plan_uri), "r1")
        pointer = publish_result(replace(repair.day, at=prepared.at), now=NOW, run=repair.run)
        assert pointer.generation == prepared.at.number
        check_rows(self.case, expected, rows_of(store, commit.result))
        return repair

    def _correct(self, rng: random.Random, number: int) -> str:
        """Change files of one table; return how."""
        name = rng.choice(sorted(self.case.tables))
        table, folder = self.case.tables[name], self.folder / "in" / name
        files = sorted(folder.glob("*.parquet")) if folder.exists() else []
        files = [path for path in files if pq.ParquetFile(path).metadata.num_rows]
        how = rng.choice(("new", "changed", "vanished")) if files else "new"
        if table.withdrawn:
            how = "new"  # of a changelog, a correction is one more file
        folder.mkdir(parents=True, exist_ok=True)
        if how == "new":
            write_rows(folder / f"late-{number}.parquet", table, self._late(rng, table, name))
            return f"{how} changelog" if table.withdrawn else how
        chosen = rng.choice(files)
        old = self.folder / "old" / name
        old.mkdir(parents=True, exist_ok=True)
        rows = changed_rows(rng, table, chosen)
        chosen.rename(old / f"{number}-{chosen.name}")
        if how == "changed":
            write_rows(chosen, table, rows)
        return how

    def _late(self, rng: random.Random, table: TableCase, name: str) -> tuple[Row, ...]:
        """Rows that come late; those of a changelog take some back that are there."""
        rows = new_rows(rng, table, rng.randint(1, 3))
        if not table.withdrawn:
            return tuple(rows)
        there = self._there(name, table)
        gone = rng.sample(there, min(len(there), rng.randint(0, 2)))
        return (*((*row, 1) for row in rows), *((*row, -1) for row in gone))

    def _there(self, name: str, table: TableCase) -> list[Row]:
        """What the files of a table hold, once weights are added up."""
        rows = [
            row
            for path in sorted((self.folder / "in" / name).glob("*.parquet"))
            for row in rows_of_file(path)
        ]
        if not table.withdrawn:
            return rows
        held: list[Row] = []
        for row in sorted(rows, key=lambda row: -row[-1]):
            held += [row[:-1]] * max(0, row[-1])
            for _ in range(-row[-1]):
                held.pop(next(i for i, one in enumerate(held) if repr(one) == repr(row[:-1])))
        return held

    def _expected_now(self) -> list[Row]:
        for name, table in self.case.tables.items():
            self.plain.bind(name, table.columns, self._there(name, table))
        try:
            return self.plain.query(self.case.query.ordered)
        except Exception as error:
            raise RefusedError(str(error)) from error


_SOME_ROW: Row = (1, "a", 1, Decimal("1.10"), 1.5, date(2024, 1, 30))


def changed_rows(rng: random.Random, table: TableCase, path: Path) -> tuple[Row, ...]:
    """What a file may be written again with: most of its rows, and some others."""
    kept = [row for row in rows_of_file(path) if rng.random() < 0.7]
    return (*kept, *new_rows(rng, table, rng.randint(0, 2)))


def new_rows(rng: random.Random, table: TableCase, count: int) -> list[Row]:
    """Rows like those of the table, some of them with another key or number."""
    known = [row for part in table.deliveries for row in part] or [_SOME_ROW]
    rows = [list(rng.choice(known)) for _ in range(count)]
    for row in rows:
        if rng.random() < 0.7:
            row[0], row[2] = rng.randrange(6), rng.randint(-2, 6)
    return [tuple(row) for row in rows]


def rows_of_file(path: Path) -> list[Row]:
    columns = [column.to_pylist() for column in pq.ParquetFile(path).read().columns]
    return list(zip(*columns, strict=True))
