"""A small report with real Parquet deliveries, and commits as the Spark job would make them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.include.days.handle import Day
from forerun.include.reports.spec import ClockTime, ReportSpec, RunPolicy, RunTime, SourceSpec
from forerun.include.runs.prepare import PreparedRun, open_generation, prepare_run
from forerun.include.state import expire
from forerun.include.state.commits import commit_run, describe_partition
from forerun.include.state.layout import RESULT_FAMILY
from forerun.include.state.records import (
    ArtifactPartition,
    CheckRecord,
    Manifest,
    RunCommit,
    RunMetrics,
    decode,
)
from forerun.include.stores import Store, open_store
from forerun.planner.contract import ArtifactOutput, ColumnSpec, ResultOutput
from forerun.planner.request import Settings

DAY = dt.date(2026, 3, 1)
NOW = dt.datetime(2026, 3, 2, 1, 0, tzinfo=dt.UTC)
COLUMNS = (ColumnSpec(name="k", type="BIGINT"), ColumnSpec(name="v", type="BIGINT"))
EARLY = Settings(temporal="early", buckets=2)


def table(*rows: tuple[int, int]) -> pa.Table:
    return pa.table(
        {"k": pa.array([r[0] for r in rows], pa.int64()),
         "v": pa.array([r[1] for r in rows], pa.int64())}
    )  # fmt: skip


def later(monkeypatch: pytest.MonkeyPatch, **much: float) -> None:
    """Let clean-up find that the store's clock has moved on by so much."""
    clock, ahead = expire.store_clock, dt.timedelta(**much).total_seconds()
    monkeypatch.setattr(expire, "store_clock", lambda store: clock(store) + ahead)


@dataclass
class DayCase:
    """Deliveries go into ``sources/orders``; ``store`` is a URI."""

    folder: Path
    store_uri: str
    runs: int = 2
    results_at: tuple[int, ...] = ()
    problem: str = "pdw"
    measure_batch_after: int = 0
    sink: dict[str, object] = field(default_factory=dict)

    @property
    def orders(self) -> Path:
        return self.folder / "sources" / "orders"

    @property
    def store(self) -> Store:
        return open_store(self.store_uri)

    @property
    def spec(self) -> ReportSpec:
        policy = RunPolicy(
            runs=tuple(RunTime(at=f"{12 + 4 * i}:00", weight=0.25 + i) for i in range(self.runs)),
            results_at=self.results_at,
            problem=self.problem,
            measure_batch_after=self.measure_batch_after,
        )
        orders = SourceSpec(
            name="orders", path=str(self.orders), columns=COLUMNS, complete_when=ClockTime()
        )
        return ReportSpec(
            name="totals",
            sources=(orders,),
            policy=policy,
            sql="SELECT k, sum(v) AS total FROM orders GROUP BY k",
            **self.sink,
        )

    def deliver(self, name: str, *rows: tuple[int, int]) -> Path:
        self.orders.mkdir(parents=True, exist_ok=True)
        path = self.orders / f"{name}.parquet"
        pq.write_table(table(*rows), path)
        return path

    def open(self, trigger: str = "first") -> str:
        opened = open_generation(self.store_uri, self.spec, DAY, trigger=trigger, now=NOW)
        return opened.at.generation

    def day(self, generation: str, spec: ReportSpec | None = None) -> Day:
        return Day.of(self.store_uri, spec or self.spec, DAY, generation)

    def prepare(self, generation: str, run: int) -> PreparedRun:
        return prepare_run(self.day(generation), run, now=NOW, settings=EARLY)

    def manifest(self, prepared: PreparedRun) -> Manifest:
        key = prepared.at.manifest(prepared.run)
        return decode(Manifest, self.store.get(key), key)

    def commit(
        self,
        prepared: PreparedRun,
        attempt: str = "a1",
        checks: tuple[CheckRecord, ...] = (),
        metrics: RunMetrics | None = None,
    ) -> RunCommit:
        """Commit a prepared run with one file per artifact of its plan."""
        if prepared.result is None:
            raise ValueError("the run was not planned")
        made = [
            self._write(prepared, attempt, stage.output)
            for stage in prepared.result.plan.run.stages
        ]
        results = [part for part in made if part.family == RESULT_FAMILY]
        commit = RunCommit(
            run=prepared.run,
            base=self.manifest(prepared).own_base,
            attempt=attempt,
            plan=prepared.plan_key,
            committed_at=NOW.isoformat(),
            artifacts=tuple(part for part in made if part.family != RESULT_FAMILY),
            result=results[0] if results else None,
            checks=checks,
            metrics=metrics or RunMetrics(),
        )
        return commit_run(self.store, prepared.at, commit)

    def _write(
        self, prepared: PreparedRun, attempt: str, output: ArtifactOutput | ResultOutput
    ) -> ArtifactPartition:
        family = output.family if isinstance(output, ArtifactOutput) else RESULT_FAMILY
        buckets = 2 if family != RESULT_FAMILY else 0
        folder = prepared.at.artifact(family, prepared.run, attempt)
        sink = pa.BufferOutputStream()
        pq.write_table(table((1, prepared.run)), sink)
        self.store.put(f"{folder}/part-0_00001.c000.parquet", sink.getvalue().to_pybytes())
        return describe_partition(
            self.store, family=family, run=prepared.run, attempt=attempt, folder=folder,
            rows=1, columns=COLUMNS, key=("k",) if buckets else (), buckets=buckets,
        )  # fmt: skip
