"""Generated days of a report over a rolling range, one after another: each goes on from what the
day before has kept, through the whole path of a run.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from unittest import mock

from forerun.include.days.handle import Day
from forerun.include.engines import ENGINES
from forerun.include.reports.spec import ReportSpec, SourceSpec, Trailing
from forerun.include.runs import day_request
from forerun.include.runs import prepare as days
from forerun.include.runs.prepare import publish_result
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.inherited import read_inherited
from forerun.planner.contract import FamilyInput, SourceInput, Stage
from forerun.planner.cost.prices import SPARK
from forerun.planner.request import Settings, TimePoint
from forerun.spark_jobs.executor import execute
from tests.oracles.values import Row
from tests.properties.cases import TableCase
from tests.properties.execute import RefusedError, check_rows, effort
from tests.spark.days import rows_of
from tests.spark.repaired_days import changed_rows, new_rows, rows_of_file
from tests.spark.stored_days import DAY, StoredDay, pretended, write_rows

MOST_IN_A_ROW = 5


@dataclass(frozen=True)
class RollingDays(StoredDay):
    """One case, whose growing tables have rows of each day in a folder of its own. ``forced``: what
    is inherited is read wherever it can be, else where that is cheaper. ``corrected``: how likely a
    file of an earlier day is changed. ``of_few_values``: so the tables are, many rows as they are
    said to have. ``length``: the days of the range. ``daily``: the growing tables of which each day
    has other rows, and nothing of the days before."""

    seed: int = 0
    count: int = 7
    forced: bool = True
    corrected: float = 0.4
    of_few_values: bool = False
    length: int = 4
    daily: frozenset[str] = frozenset()

    def check(self) -> Counter[str]:  # type: ignore[override]
        """Run the days; each result is that of the plain query over the range as it is then.
        Returns how often what happened."""
        rng, found = random.Random(f"rolling-{self.seed}"), Counter[str]()
        store_uri = str(self.folder / "store")
        for name, table in self.case.tables.items():
            if not table.changing:
                folder = self.folder / "in" / name
                folder.mkdir(parents=True)
                write_rows(folder / "all.parquet", table, tuple(table.rows(1)))
        for number in range(self.count):
            day = DAY + dt.timedelta(days=number)
            found += self._day(store_uri, day, rng)
        return found

    def _day(self, store_uri: str, day: dt.date, rng: random.Random) -> Counter[str]:
        found: Counter[str] = Counter()
        spec = self.spec()
        days.open_generation(store_uri, spec, day, trigger="first", now=_now(day))
        handle = Day.of(store_uri, spec, day, "1")
        if rng.random() < self.corrected:
            found[self._correct(day, rng)] += 1
        for run in range(1, self.case.runs + 1):
            self._bring(day, run, rng)
            commit = None
            lost = self._lost(handle, run)
            found["some is lost"] += bool(lost)
            prepared = self._prepared(handle, run, lost)
            if not prepared.skip_reason:
                plan = StoredPlan.read(prepared.plan_uri)
                commit = execute(self.engine_of(prepared), plan, f"a{run}")
                found[f"on {commit.metrics.engine}"] += 1
                inherited = read_inherited(handle.store, handle.at)
                families = {one.id for one in inherited.families}
                read = {
                    item.family
                    for stage in plan.plan.run.stages
                    for item in stage.inputs
                    if isinstance(item, FamilyInput)
                }
                found["reads what is inherited"] += bool(read & families)
                found["by pane"] += bool(_by_pane(plan.plan.run.stages) and read & families)
        assert commit is not None
        self._check_rows(handle, commit.result)
        inherited = read_inherited(handle.store, handle.at)
        found[f"{inherited.days} in a row"] += 1
        publish_result(handle, now=_now(day))
        return found

    def _check_rows(self, handle: Day, result) -> None:
        for name, table in self.case.tables.items():
            self.plain.bind(name, table.columns, self._there(name, table, handle.date))
        try:
            expected = self.plain.query(self.case.query.ordered)
        except Exception as error:
            raise RefusedError(str(error)) from error
        check_rows(self.case, expected, rows_of(handle.store, result))

    def _lost(self, handle: Day, run: int) -> tuple[str, ...]:
        """Now and then, some of what is inherited cannot be read any more."""
        known = sorted(one.id for one in read_inherited(handle.store, handle.at).families)
        rng = random.Random(f"lost-{self.seed}-{handle.at.day}-{run}")
        if not known or rng.random() > 0.1:
            return ()
        return tuple(rng.sample(known, rng.randint(1, len(known))))

    def _prepared(self, handle: Day, run: int, lost: tuple[str, ...]) -> days.PreparedRun:
        runs = self.case.runs
        there = 1.0 - 1.0 / self.length
        points = tuple(
            TimePoint(weight=0.25 + (at - 1) / runs, arrived=there + at / runs / self.length)
            for at in range(1, runs + 1)
        )
        early = "early" if self.forced else "cost"
        known = ENGINES[self.engine.name].prices
        prices = replace(SPARK, buckets=self.engine.has_buckets, flaws=known.flaws)
        settings = Settings(temporal=early, buckets=2, prices=prices, **effort(self.case))
        settings = replace(settings, rules_off=self.case.off)
        said = {name: table.said for name, table in self.case.tables.items()}
        as_said = partial(pretended, said=said, of_few_values=self.of_few_values)
        with mock.patch.object(day_request, "to_source", as_said):
            return days.prepare_run(
                handle, run, now=_now(handle.date), method="progressive", points=points,
                settings=settings, lost=lost,
            )  # fmt: skip

    def _bring(self, day: dt.date, run: int, rng: random.Random) -> None:
        for name, table in self.case.tables.items():
            if table.changing and rng.random() < 0.9:
                rows = tuple(new_rows(rng, table, rng.randint(0, 4)))
                self._write(self._folder(name, day) / f"{run}.parquet", table, rows)

    def _correct(self, day: dt.date, rng: random.Random) -> str:
        """Change a file of a day of the range that is over; return how."""
        growing = [
            name
            for name, table in self.case.tables.items()
            if table.changing and name not in self.daily
        ]
        name, back = rng.choice(growing), rng.randint(1, self.length - 1)
        folder = self._folder(name, day - dt.timedelta(days=back))
        files = sorted(folder.glob("*.parquet")) if folder.exists() else []
        how = rng.choice(("new", "changed", "vanished")) if files else "new"
        table = self.case.tables[name]
        if how == "new":
            late = folder / f"late-{rng.randrange(10**6)}.parquet"
            self._write(late, table, tuple(new_rows(rng, table, 2)))
        elif how == "vanished":
            rng.choice(files).unlink()
        else:
            chosen = rng.choice(files)
            rows = changed_rows(rng, table, chosen)
            chosen.unlink()
            self._write(chosen, table, rows)
        return how

    def _write(self, path: Path, table: TableCase, rows: tuple[Row, ...]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_rows(path, table, rows)

    def _there(self, name: str, table: TableCase, day: dt.date) -> list[Row]:
        if not table.changing:
            return table.rows(1)
        length = 1 if name in self.daily else self.length
        folders = [self._folder(name, day - dt.timedelta(days=back)) for back in range(length)]
        files = sorted(path for folder in folders for path in folder.glob("*.parquet"))
        return [row for path in files for row in rows_of_file(path)]

    def _folder(self, name: str, day: dt.date) -> Path:
        return self.folder / "in" / name / day.isoformat()

    def spec(self) -> ReportSpec:
        """Return the report."""
        return self._spec(self.case.runs)

    def _spec(self, runs: int) -> ReportSpec:
        spec = super()._spec(runs)
        return replace(spec, policy=replace(spec.policy, inherit_days=MOST_IN_A_ROW))

    def _source(self, name: str, table: TableCase) -> SourceSpec:
        source = super()._source(name, table)
        if not table.changing:
            return source
        over = None if name in self.daily else Trailing(days_back=self.length)
        return replace(source, path=f"{source.path}/{{ds}}", over=over)


def _by_pane(stages: tuple[Stage, ...]) -> bool:
    given = (item for stage in stages for item in stage.inputs)
    return any(isinstance(item, SourceInput) and item.by_pane for item in given)


def _now(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day + dt.timedelta(days=1), dt.time(1), dt.UTC)
