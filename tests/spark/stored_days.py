"""Generated days through the whole path of a run: files, pins, manifests, plans, executor, commits.

Everything is what production uses, but the statistics: with those of a dozen rows nothing would be
kept in buckets, so each source claims to be large, as in :mod:`tests.properties.execute`.
"""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.include.days.handle import Day
from forerun.include.engines import ENGINES
from forerun.include.reports.spark.session import Session
from forerun.include.reports.spec import ClockTime, ReportSpec, RunPolicy, RunTime, SourceSpec
from forerun.include.runs import day_request
from forerun.include.runs import prepare as days
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.sources.statistics import to_source
from forerun.include.state.commits import read_chain
from forerun.include.state.layout import Generation
from forerun.include.state.records import Pin, RunCommit
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import Store
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract import ColumnSpec
from forerun.planner.cost.prices import SPARK, Prices
from forerun.planner.request import Settings, Source, TimePoint
from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.executor import execute
from tests.oracles.values import Row
from tests.properties.cases import Case, TableCase
from tests.properties.engines import PlainSailEngine, PlainSparkEngine, arrow_type
from tests.properties.execute import Outcome, RefusedError, check_rows, effort
from tests.properties.kept import check_kept
from tests.properties.nested_rows import for_arrow
from tests.spark.days import rows_of

DAY = dt.date(2026, 3, 1)
NOW = dt.datetime(2026, 3, 2, 1, 0, tzinfo=dt.UTC)
ROWS, BYTES = 1_000_000, 100_000_000


@dataclass(frozen=True)
class StoredDay:
    """One case. ``lost``: the early run that is never executed, as after a failure (0: none).

    ``plain`` evaluates the user's own text, over tables of its own. ``early``: the engine of early
    runs, where it is asked for by the report.
    """

    case: Case
    folder: Path
    engine: Engine
    plain: PlainSailEngine | PlainSparkEngine
    lost: int = 0
    report: str = "generated"
    early: Engine | None = None

    def check(self) -> Outcome:
        """Run the day; each run's result, if it were the last, is that of the plain query; and what
        each run keeps is the oracle's version of it."""
        case, store_uri = self.case, str(self.folder / "store")
        self._open(store_uri)
        kept = rows = states = 0
        for run in range(1, case.runs + 1):
            self._deliver(run)
            with self.plain.in_zone(case.time_zone):
                expected = self._expected(run)
            if run < case.runs:
                self._check_as_the_last(run, expected)
                if run == self.lost:
                    continue
            prepared, commit = self._do(store_uri, run, case.runs)
            if commit is None:
                continue
            store = open_store(store_uri)
            partitions = self._partitions(store, prepared.at, run)
            if case.time_zone == "UTC":  # the only one that the oracle knows
                judged = check_kept(case, prepared.result, partitions)
                rows, states = rows + judged[0], states + judged[1]
            kept += len(commit.artifacts) if run < case.runs else 0
        check_rows(case, expected, rows_of(store, commit.result))
        return Outcome(kept, prepared.result.plan.method != "incremental", rows, states)

    def _open(self, store_uri: str) -> None:
        opened = days.open_generation(
            store_uri, self._spec(self.case.runs), DAY, trigger="first", now=NOW
        )
        assert opened.at.generation == "1"

    def _check_as_the_last(self, run: int, expected: list[Row]) -> None:
        """The same day, had it ended here: in a copy of the store."""
        copy = str(self.folder / f"as-if-{run}")
        shutil.copytree(self.folder / "store", copy)
        _, commit = self._do(copy, run, run)
        check_rows(self.case, expected, rows_of(open_store(copy), commit.result))

    def _do(self, store_uri: str, run: int, runs: int) -> tuple[days.PreparedRun, RunCommit | None]:
        """Plan a run of a day of ``runs`` and execute it, if there is something to do."""
        points = tuple(
            TimePoint(
                weight=0.25 + (at - 1) / runs,
                arrived=at / runs,
                by_source=tuple((name, 1.0) for name, whole in self.case.complete if at >= whole),
            )
            for at in range(1, runs + 1)
        )
        early = "early" if self.case.early else "cost"
        settings = Settings(temporal=early, buckets=2, prices=self.prices, **effort(self.case))
        said = {name: table.said for name, table in self.case.tables.items()}
        with mock.patch.object(day_request, "to_source", partial(pretended, said=said)):
            prepared = days.prepare_run(
                Day.of(store_uri, self._spec(runs), DAY, "1"), run,
                now=NOW, method="progressive", points=points, settings=settings,
            )  # fmt: skip
        if prepared.skip_reason:
            return prepared, None
        commit = execute(self.engine_of(prepared), StoredPlan.read(prepared.plan_uri), f"a{run}")
        assert commit.attempt == f"a{run}"
        return prepared, commit

    @property
    def prices(self) -> Prices:
        """Those of Spark, and what stages have to be written around on the engine that runs them,
        which is said of an engine alone (:mod:`forerun.planner.cost.flaws`)."""
        return replace(SPARK, flaws=ENGINES[self.engine.name].prices.flaws)

    def engine_of(self, prepared: days.PreparedRun) -> Engine:
        """The engine that a run was planned for."""
        return self.early if prepared.engine and self.early is not None else self.engine

    def _partitions(
        self, store: Store, at: Generation, run: int
    ) -> dict[str, list[tuple[int, Row]]]:
        held: dict[str, list[tuple[int, Row]]] = {}
        for commit in read_chain(store, at, tip=run):
            for artifact in commit.artifacts:
                stamped = [(commit.run, row) for row in rows_of(store, artifact)]
                held.setdefault(artifact.family, []).extend(stamped)
        return held

    def _expected(self, run: int) -> list[Row]:
        for name, table in self.case.tables.items():
            self.plain.bind(name, table.columns, table.rows(run))
        try:
            return self.plain.query(self.case.query.ordered)
        except Exception as error:
            raise RefusedError(str(error)) from error

    # -- what the report is made of --------------------------------------------------------------

    def _spec(self, runs: int) -> ReportSpec:
        times = tuple(RunTime(at=f"{i:02d}:00", weight=1.0) for i in range(1, runs + 1))
        return ReportSpec(
            name=self.report,
            sources=tuple(self._source(name, t) for name, t in self.case.tables.items()),
            policy=RunPolicy(runs=times, early_engine="sail" if self.early else ""),
            sql=self.case.query.sql,
            session=Session(time_zone=self.case.time_zone),
        )

    def _source(self, name: str, table: TableCase) -> SourceSpec:
        return SourceSpec(
            name=name,
            path=str(self.folder / "in" / name),
            columns=tuple(
                ColumnSpec(name=n, type=parse_type(type_).sql) for n, type_ in table.columns
            ),
            change="changelog" if table.withdrawn else "append_only",
            arrival="growing" if table.changing else "static",
            complete_when=ClockTime() if table.changing else None,
            allow_empty=True,
            ordered_by=table.ordered_by,
        )

    def _deliver(self, run: int) -> None:
        """The files of one run: one, or two for more than four rows; for no rows at random an empty
        file or none."""
        for name, table in self.case.tables.items():
            if run > len(table.deliveries):
                continue
            rows = _signed(table, run) if table.withdrawn else table.deliveries[run - 1]
            folder = self.folder / "in" / name
            folder.mkdir(parents=True, exist_ok=True)
            cuts = (rows[:3], rows[3:]) if len(rows) > 4 else (rows,)
            for number, part in enumerate(cuts):
                if part or (len(self.case.query.sql) + run) % 2:
                    write_rows(folder / f"{run}-{number}.parquet", table, part)


def write_rows(path: Path, table: TableCase, rows: tuple[Row, ...]) -> None:
    """Without statistics of doubles: Arrow leaves NaN out of them, and Spark believes them and
    skips files in which ``x = NaN`` or ``x <> 0`` holds."""
    schema = pa.schema([(name, arrow_type(type_)) for name, type_ in _in_file(table)])
    types = [parse_type(type_) for _, type_ in _in_file(table)]
    arrays = [
        pa.array([for_arrow(row[i], type_) for row in rows], field.type)
        for i, (field, type_) in enumerate(zip(schema, types, strict=True))
    ]
    counted = [field.name for field in schema if not pa.types.is_floating(field.type)]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path, write_statistics=counted)


def _in_file(table: TableCase) -> tuple[tuple[str, str], ...]:
    return (*table.columns, ("__w", "BIGINT")) if table.withdrawn else table.columns


def _signed(table: TableCase, run: int) -> tuple[Row, ...]:
    """The rows of a delivery with how often they come; a file of it may take back a row of
    another, or one that an earlier delivery brought."""
    return tuple(table.delta(run - 1, run))


def pretended(
    source: SourceSpec,
    pin: Pin,
    arrived: float,
    said: Mapping[str, int] | None = None,
    *,
    of_few_values: bool = False,
) -> Source:
    """A large source that turns out larger from pin to pin; of as many rows as are ``said``. What
    its files say of its columns stays true of those ``of_few_values``."""
    much = pin.number**2 * (said or {}).get(source.name, ROWS)
    found = to_source(source, pin, arrived)
    stats = found.stats if of_few_values else ()
    return replace(found, rows=much, bytes=BYTES // ROWS * much, stats=stats)
