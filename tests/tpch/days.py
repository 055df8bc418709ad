"""A day of TPC-H: generated tables cut into three deliveries, run from the contract on Sail."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.contract.plan_v1 import ArtifactOutput, FamilyInput, Plan, SourceInput
from forerun.planner.request import (
    Committed,
    Method,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from tests.oracles.values import Row
from tests.planner.starts import OPEN
from tests.properties.engines import arrow_type

SCALE = "0.01"
ARRIVED = (0.58, 0.79, 1.0)
WEIGHTS = (0.25, 0.3, 1.0)
PRETENDED = 1000
"""Statistics are those of a day this many times as large: at scale 0.01 nothing pays off early."""

_DELIVERED_BY = {"orders": "o_orderkey", "lineitem": "l_orderkey", "customer": "c_custkey"}
Temporal = Literal["cost", "early"]


def generate(folder: Path) -> dict[str, pa.Table]:
    """All eight tables, by the generator from the package index."""
    tool = Path(sys.executable).with_name("tpchgen-cli")
    arguments = ["parquet", "-s", SCALE, f"--output-dir={folder}"]
    subprocess.run([str(tool), *arguments], check=True, capture_output=True)
    return {path.stem: _plain(pq.read_table(path)) for path in sorted(folder.glob("*.parquet"))}


def _plain(table: pa.Table) -> pa.Table:
    """Plain strings, as Spark reads them."""
    views = (pa.types.is_string_view, pa.types.is_large_string)
    schema = pa.schema(
        [(f.name, pa.string() if any(v(f.type) for v in views) else f.type) for f in table.schema]
    )
    return table.cast(schema)


def arrived(tables: Mapping[str, pa.Table], run: int) -> dict[str, pa.Table]:
    """What is there at a run: lines with their orders; a key's place in the day is a hash of it."""
    there = {}
    for name, table in tables.items():
        key = _DELIVERED_BY.get(name)
        if key is None:
            there[name] = table
            continue
        place = pc.bit_wise_and(pc.multiply(table[key].cast(pa.int64()), 2_654_435_761), 1023)
        there[name] = table.filter(pc.less(place, int(1024 * ARRIVED[run - 1])))
    return there


def _type_of(field_: pa.Field) -> str:
    if pa.types.is_decimal(field_.type):
        return f"DECIMAL({field_.type.precision},{field_.type.scale})"
    names = {"int64": "BIGINT", "int32": "INT", "string": "STRING", "date32[day]": "DATE"}
    return names[str(field_.type)]


def source(name: str, table: pa.Table) -> Source:
    return Source(
        name=name,
        columns=tuple(
            SourceColumn(name=f.name, type=parse_type(_type_of(f))) for f in table.schema
        ),
        changing=name in _DELIVERED_BY,
        rows=table.num_rows * PRETENDED,
        bytes=table.nbytes * PRETENDED,
    )


@dataclass
class TpchDay:
    """The state of one query's day."""

    session: Any
    tables: Mapping[str, pa.Table]
    sql: str
    temporal: Temporal
    method: Method = "auto"
    committed: list[Committed] = field(default_factory=list)
    partitions: dict[str, list[tuple[int, pa.Table]]] = field(default_factory=dict)

    def run(self) -> tuple[Plan, list[Row]]:
        """All runs; the final plan and the published rows."""
        for index in range(1, len(ARRIVED) + 1):
            current = plan(self._request(index)).plan
            result = self._run(current)
            if current.run.opened and index < len(ARRIVED):
                written = [
                    current.family(s.output.family)
                    for s in current.run.stages
                    if isinstance(s.output, ArtifactOutput)
                ]
                self.committed.append(Committed(index=index, families=tuple(written)))
        if result is None:
            raise AssertionError("the final run publishes nothing")
        return current, result

    def batch(self) -> list[Row]:
        for name, table in self.tables.items():
            self._bind(name, table)
        return self._rows(self.sql)

    def _request(self, index: int) -> PlanRequest:
        pairs = zip(WEIGHTS, ARRIVED, strict=True)
        return PlanRequest(
            report="tpch",
            sql=self.sql,
            sources=tuple(source(name, table) for name, table in self.tables.items()),
            points=tuple(TimePoint(weight=w, arrived=a) for w, a in pairs),
            current=index,
            committed=tuple(self.committed),
            method=self.method,
            settings=Settings(temporal=self.temporal, prices=OPEN),
        )

    def _run(self, current: Plan) -> list[Row] | None:
        result = None
        for stage in current.run.stages:
            for given in stage.inputs:
                self._bind_input(given, current)
            for side in stage.small_sides:
                self.session.sql(side.sql).createOrReplaceTempView(side.view)
            if not isinstance(stage.output, ArtifactOutput):
                result = self._rows(stage.sql)
                continue
            family = current.family(stage.output.family)
            schema = pa.schema([(c.name, arrow_type(c.type)) for c in family.columns])
            rows = self.session.sql(stage.sql).toArrow().rename_columns(schema.names)
            rows = _in_types(rows, schema)
            self.partitions.setdefault(family.id, []).append((current.current, rows))
        return result

    def _bind_input(self, given: SourceInput | FamilyInput, current: Plan) -> None:
        if isinstance(given, FamilyInput):
            parts = [
                rows.append_column("__run", pa.array([run] * rows.num_rows, pa.int32()))
                for run, rows in self.partitions[given.family]
            ]
            self._bind(given.family, pa.concat_tables(parts))
            return
        table = arrived(self.tables, current.current)[given.source]
        if given.version == "delta":
            before = arrived(self.tables, self.committed[-1].index)[given.source]
            table = _difference(table, before, _DELIVERED_BY[given.source])
        self._bind(given.view, table)

    def _bind(self, name: str, table: pa.Table) -> None:
        frame = self.session.createDataFrame(table if table.num_rows else _one_row(table.schema))
        if table.num_rows == 0:  # Spark Connect refuses an Arrow table without rows
            frame = frame.where("false")
        frame.createOrReplaceTempView(name)

    def _rows(self, sql: str) -> list[Row]:
        columns = [column.to_pylist() for column in self.session.sql(sql).toArrow().columns]
        return list(zip(*columns, strict=True))


def _difference(table: pa.Table, before: pa.Table, key: str) -> pa.Table:
    """Rows of keys that were not there before (a key arrives whole)."""
    return table.filter(pc.invert(pc.is_in(table[key], value_set=before[key].combine_chunks())))


def _in_types(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """In the declared types: Sail gives some quotients of decimals more digits than Spark does."""
    columns = []
    for column, field_ in zip(rows.columns, schema, strict=True):
        if pa.types.is_decimal(field_.type) and column.type != field_.type:
            unit = Decimal(1).scaleb(-field_.type.scale)
            values = (None if v is None else v.quantize(unit) for v in column.to_pylist())
            columns.append(pa.array(list(values), field_.type))
        else:
            columns.append(column.cast(field_.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _one_row(schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays([pa.nulls(1, f.type) for f in schema], schema=schema)
