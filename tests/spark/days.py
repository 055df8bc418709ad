"""A small day by hand: source files, pins, manifests and plans, without planner or day module."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from forerun.include.reports.expectations import Expectation
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.layout import Generation, pin_key
from forerun.include.state.records import (
    ArtifactPartition,
    Manifest,
    ManifestSource,
    Pin,
    PinnedFile,
    RunCommit,
    encode,
)
from forerun.include.stores.opening import open_store
from forerun.include.stores.store import Store
from forerun.planner.algebra.nested import element_type, struct_fields
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import DataType, parse_type
from forerun.planner.contract import (
    CONTRACT_VERSION,
    ArtifactOutput,
    ColumnSpec,
    Family,
    FamilyInput,
    Plan,
    ResultOutput,
    Run,
    SourceInput,
    SourceTable,
    Stage,
    encode_plan,
)
from forerun.planner.contract.plan_v1 import WEIGHT_COLUMN
from forerun.spark_jobs.engine import Engine
from forerun.spark_jobs.executor import execute
from tests.oracles.values import Row
from tests.properties.nested_rows import as_tuples

Sale = tuple[int | None, str | None, int]
SALES = (
    ColumnSpec(name="id", type="BIGINT"),
    ColumnSpec(name="shop", type="STRING"),
    ColumnSpec(name="amount", type="DECIMAL(10,2)"),
)
RETURNS = (ColumnSpec(name="sale", type="BIGINT"), ColumnSpec(name="reason", type="STRING"))
ROWS = Family(
    id="f_rows",
    kind="shuffle",
    fingerprint="rows",
    title="sales by id",
    columns=SALES,
    key=("id",),
    buckets=4,
)
SUMS = Family(
    id="f_sums",
    kind="state",
    fingerprint="sums",
    title="sums by shop",
    columns=(
        ColumnSpec(name="shop", type="STRING"),
        ColumnSpec(name="total", type="DECIMAL(20,2)"),
        ColumnSpec(name="n", type="BIGINT"),
    ),
    key=("shop",),
    buckets=2,
)
QUERY = "SELECT shop, sum(amount) AS total, count(*) AS n FROM sales GROUP BY shop"


def save_rows(run: int) -> Stage:
    """The delivery, distributed by id."""
    return Stage(
        id="save-rows",
        title="keep sales by id",
        sql="SELECT `id`, `shop`, `amount` FROM `sales__delta`",
        inputs=(SourceInput(view="sales__delta", source="sales", version="delta"),),
        output=ArtifactOutput(family="f_rows"),
    )


def save_sums(run: int) -> Stage:
    """Partial sums of this run's partition of the saved rows."""
    return Stage(
        id="save-sums",
        title="partial sums",
        sql=(
            "SELECT `shop`, CAST(sum(`amount`) AS DECIMAL(20,2)) AS `total`, count(*) AS `n` "
            f"FROM `f_rows` WHERE `__run` = {run} GROUP BY `shop`"
        ),
        inputs=(FamilyInput(family="f_rows"),),
        output=ArtifactOutput(family="f_sums"),
    )


def publish(run: int) -> Stage:
    """The result from the sums of all runs."""
    return Stage(
        id="publish",
        title="the report",
        sql=(
            "SELECT `shop`, CAST(sum(`total`) AS DECIMAL(20,2)) AS `t`, sum(`n`) AS `c` "
            f"FROM `f_sums` WHERE `__run` <= {run} GROUP BY `shop` ORDER BY `shop`"
        ),
        inputs=(FamilyInput(family="f_sums"),),
        output=ResultOutput(columns=("shop", "total", "n"), ordered=True),
    )


@dataclass
class Day:
    """Builds a day in a folder. Deliveries are lists of (id, shop, cents); of a ``changelog`` they
    come once each, and :meth:`take_back` delivers what goes."""

    folder: Path
    store_uri: str = ""
    change: str = "append_only"
    files: list[PinnedFile] = field(default_factory=list)
    pinned: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = open_store(self.store_uri or str(self.folder / "my store"))
        self.at = Generation("shops", "2026-01-01", "1")

    def take_back(self, rows: list[Sale]) -> Path:
        """One more Parquet file, of sales that go."""
        return self.deliver(rows, weight=-1)

    def deliver(self, rows: list[Sale], weight: int = 1) -> Path:
        """One more Parquet file of sales; returns its path."""
        columns = {
            "id": pa.array([r[0] for r in rows], pa.int64()),
            "shop": pa.array([r[1] for r in rows], pa.string()),
            "amount": pa.array([_cents(r[2]) for r in rows], pa.decimal128(10, 2)),
        }
        if self.change == "changelog":
            columns[WEIGHT_COLUMN] = pa.array([weight] * len(rows), pa.int64())
        table = pa.table(columns)
        path = self.folder / "in" / f"part [{len(self.files)}].parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(table, path)
        self.files.append(pinned(path, len(rows)))
        return path

    def plan_run(
        self,
        run: int,
        stages: tuple[Stage, ...],
        *,
        base: int | None = None,
        final: bool = False,
        families: tuple[Family, ...] = (ROWS, SUMS),
        checks: tuple[Expectation, ...] = (),
        source_checks: tuple[Expectation, ...] = (),
        method: str = "incremental",
        attempt: str = "p1",
        unchanged: tuple[str, ...] = (),
    ) -> str:
        """Pin, write manifest and plan of a run; returns the plan's key."""
        base = run - 1 if base is None else base
        pin = Pin(
            source="sales-1", name="sales", day=self.at.day, number=run,
            path=str(self.folder / "in"), format="parquet",
            pinned_at="2026-01-01T00:00:00+00:00", files=tuple(self.files),
        )  # fmt: skip
        key = pin_key("sales-1", self.at.day, run)
        self.store.put_if_absent(key, encode(pin))
        self.pinned[run] = key
        source = ManifestSource(
            name="sales", pin=key, base_pin=self.pinned.get(base, ""), columns=SALES,
            changing=True, change=self.change, expectations=source_checks,
        )  # fmt: skip
        manifest = Manifest(
            report=self.at.report, day=self.at.day, generation=self.at.generation, run=run,
            base=base, final=final, created_at="2026-01-01T00:00:00+00:00", sources=(source,),
            expectations=checks,
        )  # fmt: skip
        self.store.put_if_absent(self.at.manifest(run), encode(manifest))
        runs = tuple(
            Run(
                index=i,
                weight=1.0,
                opened=True,
                base=base,
                stages=stages if i == run else (),
                unchanged=unchanged if i == run else (),
            )
            for i in range(1, run + 1)
        )
        plan = Plan(
            version=CONTRACT_VERSION, report=self.at.report, sql=QUERY, method=method,
            current=run, sources=(SourceTable(name="sales", columns=SALES, changing=True),),
            families=families, runs=runs,
            session=(("spark.sql.ansi.enabled", "true"), ("spark.sql.session.timeZone", "UTC")),
            estimated_cost=0, batch_cost=0,
        )  # fmt: skip
        self.store.put(self.at.plan(run, attempt), encode_plan(plan))
        self.plan = plan
        return self.at.plan(run, attempt)

    def do(self, engine: Engine, attempt: str = "a1", **kwargs: object) -> RunCommit:
        """Execute the run that was planned last."""
        key = self.at.plan(self.plan.current, "p1")
        stored = StoredPlan(self.store, self.at, key, self.plan)
        return execute(engine, stored, attempt, **kwargs)

    def rows(self, commit: RunCommit) -> list[Row]:
        """The result's rows, in the order in which its files give them."""
        assert commit.result is not None
        return rows_of(self.store, commit.result)


def rows_of(store: Store, partition: ArtifactPartition) -> list[Row]:
    """The rows of a committed folder, in the order in which its files give them."""
    rows: list[Row] = []
    types = [parse_type(column.type) for column in partition.columns]
    for file in partition.files:
        data = pa.BufferReader(store.get(f"{partition.folder}/{file.name}"))
        found = pq.ParquetFile(data).read().columns
        values = [[as_tuples(value) for value in column.to_pylist()] for column in found]
        columns = [
            [_with_lengths(value, type_) for value in column]
            if "INTERVAL" in type_.name
            else column
            for column, type_ in zip(values, types, strict=True)
        ]
        rows += zip(*columns, strict=True)
    return rows


def _with_lengths(value: Any, type_: DataType) -> Any:
    """A value with lengths of time, which Spark writes into files as whole numbers."""
    if value is None:
        return None
    if kind_of(type_) == "r":
        pairs = zip(value, struct_fields(type_), strict=True)
        return tuple(_with_lengths(one, inner) for one, (_, inner) in pairs)
    if kind_of(type_) == "a":
        return tuple(_with_lengths(one, element_type(type_)) for one in value)
    return timedelta(microseconds=value) if kind_of(type_) == "w" else value


def pinned(path: Path, rows: int) -> PinnedFile:
    """A file as pinning records it."""
    found = path.stat()
    return PinnedFile(
        uri=f"file://{path}", size=found.st_size, identity=str(found.st_mtime_ns), rows=rows
    )


def _cents(value: int) -> object:
    from decimal import Decimal

    return Decimal(value) / 100


def expected(deliveries: list[list[Sale]]) -> list[Row]:
    """What the report must be, NULL shop first."""
    totals: dict[str | None, list[int]] = {}
    for rows in deliveries:
        for _, shop, cents in rows:
            entry = totals.setdefault(shop, [0, 0])
            entry[0] += cents
            entry[1] += 1
    ordered = sorted(totals, key=lambda shop: (shop is not None, shop or ""))
    return [(shop, _cents(totals[shop][0]), totals[shop][1]) for shop in ordered]
