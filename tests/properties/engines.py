"""The engines that check cases: Sail, Spark, and the row interpreter without any engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from unittest import mock

import pyarrow as pa
from pyspark.sql.connect import proto
from pyspark.sql.pandas.types import to_arrow_schema

from forerun.include.engines import SAIL
from forerun.planner.algebra.nested import element_type, map_types, struct_fields
from forerun.planner.algebra.relational import Relation, Scan, StateRead, Version, walk
from forerun.planner.algebra.type_kinds import is_nested, kind_of
from forerun.planner.algebra.types import parse_type
from forerun.planner.cost.prices import SPARK
from forerun.planner.request import TIME_ZONE, Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing import printer
from forerun.planner.stages import build, small_sides
from tests.oracles.interpreter import FamilyData, Inputs, SourceData, evaluate
from tests.oracles.values import NotInterpretedError, Row
from tests.properties.nested_rows import as_text, as_tuples, for_arrow

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
    match kind_of(type_):
        case "a":
            return pa.list_(arrow_type(element_type(type_).sql))
        case "p":
            return pa.map_(*(arrow_type(one.sql) for one in map_types(type_)))
        case "r":
            return pa.struct([(name, arrow_type(one.sql)) for name, one in struct_fields(type_)])
    return _ARROW[type_.name]


def _values(columns: tuple[tuple[str, str], ...], rows: list[Row]) -> str:
    """The rows as SQL text with exact types."""
    types = [parse_type(type_) for _, type_ in columns]
    lines = (
        ", ".join(as_text(value, type_) for value, type_ in zip(row, types, strict=True))
        for row in rows
    )
    names = ", ".join(f"`{name}`" for name, _ in columns)
    return f"SELECT * FROM VALUES ({'), ('.join(lines)}) AS v({names})"


def _in_utc(zone: str) -> AbstractContextManager[None]:
    """What an engine does for a day whose session has this time zone, if it knows no clock but
    that of UTC. (Sail does not know which zone instants of a stream are shown in.)"""
    if zone != "UTC":
        raise NotInterpretedError(f"the clock of {zone}")
    return nullcontext()


class PlainSparkEngine:
    """A session of Spark itself; tables are bound as VALUES, which it reads without a job."""

    prices = SPARK

    def __init__(self, session: Any) -> None:
        self._session = session
        self._bound: dict[str, tuple[Any, int]] = {}

    def bind(self, name: str, columns: tuple[tuple[str, str], ...], rows: list[Row]) -> None:
        state = (columns, tuple(map(repr, rows)))
        if self._bound.get(name) == state:
            return
        text = _values(columns, rows) if rows else _no_rows(columns)
        self._session.sql(text).createOrReplaceTempView(name)
        self._bound[name] = state

    def query(self, sql: str) -> list[Row]:
        return _rows(self._session.sql(sql).toArrow())

    @contextmanager
    def in_zone(self, zone: str) -> Iterator[None]:
        """Have the session the clock of this time zone, and afterwards that of before."""
        before = self._session.conf.get(TIME_ZONE)
        self._session.conf.set(TIME_ZONE, zone)
        try:
            yield
        finally:
            self._session.conf.set(TIME_ZONE, before)


class PlainSailEngine:
    """A session of Sail, over Spark Connect.

    A query brings the tables that it names with it, in one message: to make each a view first is a
    message for each, and was an eighth of the time of a generated day.
    """

    prices = replace(SPARK, flaws=SAIL.flaws)

    def __init__(self, session: Any) -> None:
        self._client = session.client
        self._bound: dict[str, tuple[tuple[tuple[str, str], ...], list[Row]]] = {}

    def bind(self, name: str, columns: tuple[tuple[str, str], ...], rows: list[Row]) -> None:
        self._bound[name] = (columns, rows)

    def query(self, sql: str) -> list[Row]:
        plan = self._plan(sql)
        try:
            return _rows(self._fetched(plan))
        except AssertionError:
            # Very seldom, Sail answers without a single batch, not even an empty one; asked again,
            # it does not.
            return _rows(self._fetched(plan))

    def in_zone(self, zone: str) -> AbstractContextManager[None]:
        return _in_utc(zone)

    def _plan(self, sql: str) -> proto.Plan:
        plan = proto.Plan()
        with_tables = plan.root.with_relations
        with_tables.root.sql.query = sql
        with_tables.root.common.plan_id = 0
        for number, (name, (columns, rows)) in enumerate(self._bound.items()):
            if name not in sql:
                continue
            named = with_tables.references.add()
            named.common.plan_id = 2 * number + 1
            named.subquery_alias.alias = name
            table = named.subquery_alias.input
            table.common.plan_id = 2 * number + 2
            if rows:
                table.local_relation.data = _streamed(columns, rows)
            else:  # a stream without rows has no batch, which Spark Connect refuses
                table.sql.query = _no_rows(columns)
        return plan

    def _fetched(self, plan: proto.Plan) -> pa.Table:
        """``toArrow`` asks for the relation, its schema and its rows one after the other; the rows
        alone, which bring their schema, are had in half the time."""
        table, schema, _ = self._client.to_table(plan, {})
        return table.cast(to_arrow_schema(schema))


def _no_rows(columns: tuple[tuple[str, str], ...]) -> str:
    nulls = ", ".join(f"CAST(NULL AS {type_}) AS `{name}`" for name, type_ in columns)
    return f"SELECT {nulls} WHERE false"


def _streamed(columns: tuple[tuple[str, str], ...], rows: list[Row]) -> bytes:
    """The rows as a stream of Arrow's messages."""
    schema = pa.schema([(name, arrow_type(type_)) for name, type_ in columns])
    arrays = []
    for values, field, (_, text) in zip(zip(*rows, strict=True), schema, columns, strict=True):
        type_ = parse_type(text)
        if is_nested(type_):
            values = [for_arrow(value, type_) for value in values]
        arrays.append(pa.array(values, field.type))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        stream.write_batch(pa.record_batch(arrays, schema=schema))
    return bytes(sink.getvalue())


def _rows(table: pa.Table) -> list[Row]:
    if any(pa.types.is_timestamp(f.type) or pa.types.is_nested(f.type) for f in table.schema):
        columns = [[as_tuples(value) for value in column.to_pylist()] for column in table.columns]
    else:
        columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else []


class InterpreterEngine:
    """No engine: relations are evaluated row by row, stages as the algebra they were printed from.

    ``recording`` notes which relation a stage's text came of; other text (the user's own) is read
    by the SQL front end.
    """

    prices = SPARK

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}
        self._tables: dict[str, tuple[tuple[str, ...], list[Row]]] = {}
        self._printed: dict[str, tuple[Relation, int]] = {}

    def in_zone(self, zone: str) -> AbstractContextManager[None]:
        return _in_utc(zone)

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
