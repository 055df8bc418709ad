"""The engines that check cases: Sail, Spark, and the row interpreter without any engine."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa

from planner.algebra.types import parse_type
from planner.request import Source, SourceColumn
from planner.sql.frontend import read_query
from tests.oracles.interpreter import Inputs, SourceData, evaluate
from tests.oracles.values import Row

_ARROW = {
    "BIGINT": pa.int64(), "INT": pa.int32(), "SMALLINT": pa.int16(), "TINYINT": pa.int8(),
    "STRING": pa.string(), "DOUBLE": pa.float64(), "FLOAT": pa.float32(), "DATE": pa.date32(),
    "BOOLEAN": pa.bool_(), "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"), "BINARY": pa.binary(),
}  # fmt: skip


def arrow_type(text: str) -> pa.DataType:
    type_ = parse_type(text)
    if type_.name == "DECIMAL":
        return pa.decimal128(type_.precision, type_.scale)
    return _ARROW[type_.name]


def _plain(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


class SessionEngine:
    """A Spark session, of Spark itself or of Sail."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._bound: dict[str, tuple[Any, int]] = {}

    def bind(self, name: str, columns: tuple[tuple[str, str], ...], rows: list[Row]) -> None:
        state = (columns, tuple(map(repr, rows)))
        if self._bound.get(name) == state:
            return
        self._frame(columns, rows).createOrReplaceTempView(name)
        self._bound[name] = state

    def _frame(self, columns: tuple[tuple[str, str], ...], rows: list[Row]) -> Any:
        if not rows:  # Spark Connect refuses an Arrow table without rows
            nulls = ", ".join(f"CAST(NULL AS {type_}) AS `{name}`" for name, type_ in columns)
            return self._session.sql(f"SELECT {nulls} WHERE false")
        schema = pa.schema([(n, arrow_type(t)) for n, t in columns])
        arrays = [
            pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)
        ]
        return self._session.createDataFrame(pa.Table.from_arrays(arrays, schema=schema))

    def query(self, sql: str) -> list[Row]:
        table = self._session.sql(sql).toArrow()
        if any(pa.types.is_timestamp(field.type) for field in table.schema):
            columns = [[_plain(v) for v in column.to_pylist()] for column in table.columns]
        else:
            columns = [column.to_pylist() for column in table.columns]
        return list(zip(*columns, strict=True)) if columns else []


class InterpreterEngine:
    """No engine: the SQL is read back into algebra and evaluated row by row."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}
        self._data: dict[str, SourceData] = {}

    def bind(self, name: str, columns: tuple[tuple[str, str], ...], rows: list[Row]) -> None:
        self._sources[name] = Source(
            name=name,
            columns=tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in columns),
        )
        self._data[name] = SourceData(tuple(n for n, _ in columns), rows)

    def query(self, sql: str) -> list[Row]:
        query = read_query(sql, self._sources.values())
        return evaluate(query.relation, Inputs(self._data))
