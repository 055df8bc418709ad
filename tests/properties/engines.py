"""The engines that check cases: Sail, Spark, and the row interpreter without any engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from unittest import mock

import pyarrow as pa

from planner.algebra.relational import Relation, Scan, StateRead, Version, walk
from planner.algebra.types import parse_type
from planner.request import Source, SourceColumn
from planner.sql import printer
from planner.sql.frontend import read_query
from planner.stages import build, small_sides
from tests.oracles.interpreter import FamilyData, Inputs, SourceData, evaluate
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


def _values(columns: tuple[tuple[str, str], ...], rows: list[Row]) -> str:
    """The rows as SQL text with exact types."""
    types = [type_ for _, type_ in columns]
    lines = (
        ", ".join(_text(value, type_) for value, type_ in zip(row, types, strict=True))
        for row in rows
    )
    names = ", ".join(f"`{name}`" for name, _ in columns)
    return f"SELECT * FROM VALUES ({'), ('.join(lines)}) AS v({names})"


def _text(value: Any, type_: str) -> str:
    text = "NULL" if value is None else "'" + str(value).replace("'", "\\'") + "'"
    return text if type_ == "STRING" and value is not None else f"CAST({text} AS {type_})"


class SessionEngine:
    """A Spark session, of Spark itself or of Sail."""

    def __init__(self, session: Any, *, literal: bool = False) -> None:
        """``literal`` binds tables as VALUES, which Spark reads without a job of its own."""
        self._session = session
        self._literal = literal
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
        if self._literal:
            return self._session.sql(_values(columns, rows))
        schema = pa.schema([(n, arrow_type(t)) for n, t in columns])
        arrays = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
        return self._session.createDataFrame(pa.Table.from_arrays(arrays, schema=schema))

    def query(self, sql: str) -> list[Row]:
        table = self._table(sql)
        if any(pa.types.is_timestamp(field.type) for field in table.schema):
            columns = [[_plain(v) for v in column.to_pylist()] for column in table.columns]
        else:
            columns = [column.to_pylist() for column in table.columns]
        return list(zip(*columns, strict=True)) if columns else []

    def _table(self, sql: str) -> pa.Table:
        try:
            return self._fetched(sql)
        except AssertionError:
            # Very seldom, Sail answers without a single batch, not even an empty one; asked again,
            # it does not.
            return self._fetched(sql)

    def _fetched(self, sql: str) -> pa.Table:
        """Spark Connect asks for the relation, its schema and its rows one after the other; the
        rows alone, which bring their schema, are had in half the time."""
        from pyspark.sql.connect.plan import SQL
        from pyspark.sql.connect.session import SparkSession as RemoteSession
        from pyspark.sql.pandas.types import to_arrow_schema

        if not isinstance(self._session, RemoteSession):
            return self._session.sql(sql).toArrow()
        client = self._session.client
        table, schema, _ = client.to_table(SQL(sql).to_proto(client), {})
        return table.cast(to_arrow_schema(schema))


class InterpreterEngine:
    """No engine: relations are evaluated row by row, stages as the algebra they were printed from.

    ``recording`` notes which relation a stage's text came of; other text (the user's own) is read
    by the SQL front end.
    """

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}
        self._tables: dict[str, tuple[tuple[str, ...], list[Row]]] = {}
        self._printed: dict[str, tuple[Relation, int]] = {}

    @contextmanager
    def recording(self) -> Iterator[None]:
        def to_sql(
            relation: Relation,
            *,
            run: int,
            names: tuple[str, ...],
            hints: Mapping[Relation, str],
        ) -> str:
            text = printer.to_sql(relation, run=run, names=names, hints=hints)
            self._printed[text] = (relation, run)
            return text

        with (
            mock.patch.object(build, "to_sql", to_sql),
            mock.patch.object(small_sides, "to_sql", to_sql),
        ):
            yield

    def bind(self, name: str, columns: tuple[tuple[str, str], ...], rows: list[Row]) -> None:
        self._sources[name] = Source(
            name=name,
            columns=tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in columns),
        )
        self._tables[name] = (tuple(n for n, _ in columns), rows)

    def query(self, sql: str) -> list[Row]:
        if sql in self._printed:
            relation, run = self._printed[sql]
            return evaluate(relation, self._inputs(relation, run))
        plain = [s for s in self._sources.values() if s.name in self._tables]
        relation = read_query(sql, plain).relation
        return evaluate(relation, self._inputs(relation, 1))

    def _inputs(self, relation: Relation, run: int) -> Inputs:
        sources, families = {}, {}
        versions: dict[str, set[Version]] = {}
        for node in walk(relation):
            if isinstance(node, Scan):
                versions.setdefault(node.source, set()).add(node.version)
            elif isinstance(node, StateRead):
                columns, rows = self._tables[node.family]
                held = [(row[-1], row[:-1]) for row in rows]
                families[node.family] = FamilyData(columns[:-1], held)
        for source, read in versions.items():
            sources[source] = self._source(source, read)
        return Inputs(sources, families, run)

    def _source(self, name: str, versions: set[Version]) -> SourceData:
        """A source as its views show it: all that is there, what came, or both."""
        whole = self._tables.get(name, ((), []))
        delta = self._tables.get(f"{name}__delta", ((), []))
        if versions == {Version.DELTA}:
            return SourceData(delta[0], [], delta[1])
        if Version.DELTA not in versions:
            return SourceData(whole[0], whole[1])
        if delta[0] != whole[0]:  # with weights, so what was there before does not matter
            return SourceData(delta[0], [], delta[1], [(*row, 1) for row in whole[1]])
        came = Counter(map(repr, delta[1]))
        before = []
        for row in whole[1]:
            if came[repr(row)] > 0:
                came[repr(row)] -= 1
            else:
                before.append(row)
        return SourceData(whole[0], before, delta[1])
