"""Generated days of a report over a rolling range of tables that have the rows of all days: those
of Delta and Iceberg, partitioned by day or not, and of PostgreSQL. They go on from each other,
whatever is appended, deleted, rewritten and compacted meanwhile.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol
from zoneinfo import ZoneInfo

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import Catalog
from pyiceberg.transforms import DayTransform

from forerun.include.reports.spec import Monthly, SourceSpec, Trailing
from forerun.planner.contract import ColumnSpec
from tests.include.sources.test_topics import topic
from tests.kafka_broker import Broker
from tests.oracles.values import Row
from tests.postgresql_server import Database
from tests.properties.cases import TableCase
from tests.properties.engines import arrow_type
from tests.spark.deletion_vectors import delete_by_vector, rows_of
from tests.spark.repaired_days import new_rows
from tests.spark.rolling_days import RollingDays
from tests.spark.test_delta import VECTORS
from tests.spark.test_iceberg import compact, mark

AT = "at"
TOKYO = "Asia/Tokyo"


class RollingPlace(Protocol):
    """Where the tables are. Each has one column more than the case has, which tells the day."""

    zone: str

    @property
    def declared(self) -> dict[str, Any]:
        """What the source of a table says beside its columns, except for its path."""
        ...

    def path(self, name: str) -> str: ...

    def create(self, name: str, schema: pa.Schema) -> None: ...

    def append(self, name: str, rows: pa.Table) -> None: ...

    def rows(self, name: str) -> list[dict[str, Any]]: ...

    def delete(self, name: str, day: dt.date, k: int) -> None:
        """Delete the rows of a day with this ``k``."""
        ...

    def update(self, name: str, day: dt.date, k: int) -> None:
        """Give the rows of a day with this ``k`` another ``n``, and some of them another day."""
        ...

    def compact(self, name: str) -> None: ...


@dataclass(frozen=True)
class DeltaTables:
    """Tables of Delta, by the folder that they lie in; ``partitioned`` by the day, or told apart by
    the column alone."""

    folder: str
    partitioned: bool
    zone: str = "UTC"

    @property
    def declared(self) -> dict[str, Any]:
        return {"format": "delta"} | ({} if self.partitioned else {"day_by": AT})

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}" + f"/{AT}={{ds}}" * self.partitioned

    def create(self, name: str, schema: pa.Schema) -> None:
        by = [AT] if self.partitioned else None
        write_deltalake(
            f"{self.folder}/{name}", schema.empty_table(), partition_by=by, configuration=VECTORS
        )

    def append(self, name: str, rows: pa.Table) -> None:
        write_deltalake(f"{self.folder}/{name}", rows, mode="append")

    def rows(self, name: str) -> list[dict[str, Any]]:
        return list(rows_of(f"{self.folder}/{name}"))

    def delete(self, name: str, day: dt.date, k: int) -> None:
        if k % 2:
            path = f"{self.folder}/{name}"
            # A partition column is not among the columns of a file: it goes from all days then.
            delete_by_vector(
                path, lambda row: (row.get(AT, day), row["k"]) == (day, k), inline=k == 1
            )
        else:
            self._table(name).delete(f"{AT} = '{day}' AND k = {k}")

    def update(self, name: str, day: dt.date, k: int) -> None:
        later = "'" + str(day + dt.timedelta(days=1)) + "'"
        self._table(name).update(
            predicate=f"{AT} = '{day}' AND k = {k}",
            updates={"n": "7", AT: f"CASE WHEN b THEN CAST({later} AS DATE) ELSE {AT} END"},
        )

    def compact(self, name: str) -> None:
        self._table(name).optimize.compact()

    def _table(self, name: str) -> DeltaTable:
        return DeltaTable(f"{self.folder}/{name}")


@dataclass(frozen=True)
class IcebergTables:
    """Tables of Iceberg, whose names end with ``mark``; ``partitioned`` by the day of a time, which
    is hidden, in UTC, or told apart by the day of that time in another zone."""

    catalog: Catalog
    mark: str
    partitioned: bool

    @property
    def zone(self) -> str:
        return "UTC" if self.partitioned else TOKYO

    @property
    def declared(self) -> dict[str, Any]:
        apart = {} if self.partitioned else {"day_by": AT, "timezone": self.zone}
        return {"format": "iceberg"} | apart

    def path(self, name: str) -> str:
        place = self._table(name).location().removeprefix("file://")
        return place + f"/{AT}_day={{ds}}" * self.partitioned

    def create(self, name: str, schema: pa.Schema) -> None:
        made = self.catalog.create_table(f"shop.{name}_{self.mark}", schema=schema)
        if self.partitioned:
            with made.update_spec() as spec:
                spec.add_field(AT, DayTransform(), f"{AT}_day")

    def append(self, name: str, rows: pa.Table) -> None:
        self._table(name).append(rows)

    def rows(self, name: str) -> list[dict[str, Any]]:
        return list(self._table(name).scan().to_arrow().to_pylist())

    def delete(self, name: str, day: dt.date, k: int) -> None:
        first, after = self._instants(day)
        if k % 2:
            mark(self._table(name), lambda row: first <= row[AT] < after and row["k"] == k)
        else:
            self._table(name).delete(self._of_day(day, k))

    def update(self, name: str, day: dt.date, k: int) -> None:
        table, (first, after) = self._table(name), self._instants(day)
        rows = [
            row | {"n": 7, AT: after if row["b"] else row[AT]}
            for row in self.rows(name)
            if first <= row[AT] < after and row["k"] == k
        ]
        if rows:
            there = table.scan().to_arrow().schema
            table.overwrite(pa.Table.from_pylist(rows, schema=there), self._of_day(day, k))

    def compact(self, name: str) -> None:
        compact(self._table(name))

    def _instants(self, day: dt.date) -> tuple[dt.datetime, dt.datetime]:
        return _begin(day, self.zone), _begin(day + dt.timedelta(days=1), self.zone)

    def _of_day(self, day: dt.date, k: int) -> str:
        first, after = self._instants(day)
        return f"{AT} >= '{first.isoformat()}' AND {AT} < '{after.isoformat()}' AND k = {k}"

    def _table(self, name: str) -> Any:
        return self.catalog.load_table(f"shop.{name}_{self.mark}")


@dataclass(frozen=True)
class DatabaseTables:
    """Tables of PostgreSQL, whose names end with ``mark``; ``slots`` may tell their changes."""

    database: Database
    mark: str
    slots: bool
    zone: str = TOKYO
    made: set[str] = field(default_factory=set)

    @property
    def declared(self) -> dict[str, Any]:
        return {"format": "postgresql", "day_by": AT, "timezone": self.zone}

    def path(self, name: str) -> str:
        return f"postgresql://warehouse/public.{self._name(name)}"

    def create(self, name: str, schema: pa.Schema) -> None:
        there, kinds = self._name(name), {pa.string(): "text", pa.bool_(): "boolean"}
        kinds |= {pa.float64(): "double precision", pa.timestamp("us", "UTC"): "timestamptz"}
        kinds |= {pa.int32(): "integer", pa.int64(): "bigint"}
        columns = ", ".join(f"{one.name} {kinds[one.type]}" for one in schema)
        self.database.do(f"CREATE TABLE {there} ({columns}, id bigserial PRIMARY KEY)")
        if self.slots:
            self.database.do(
                f"SELECT pg_create_logical_replication_slot('{there}', 'test_decoding')"
            )
            self.made.add(there)

    def append(self, name: str, rows: pa.Table) -> None:
        there = self._name(name)
        names, marks = ", ".join(rows.column_names), ", ".join(["%s"] * rows.num_columns)
        with closing(self.database.session()) as session:
            session.cursor().executemany(
                f"INSERT INTO {there} ({names}) VALUES ({marks})",
                [tuple(row.values()) for row in rows.to_pylist()],
            )

    def rows(self, name: str) -> list[dict[str, Any]]:
        with closing(self.database.session()) as session, session.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {self._name(name)}")
            names = [column.name for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def delete(self, name: str, day: dt.date, k: int) -> None:
        self.database.do(f"DELETE FROM {self._name(name)} WHERE {self._of_day(day, k)}")

    def update(self, name: str, day: dt.date, k: int) -> None:
        moved = f"{AT} = CASE WHEN b THEN {AT} + INTERVAL '1 day' ELSE {AT} END"
        where = self._of_day(day, k)
        self.database.do(f"UPDATE {self._name(name)} SET n = 7, {moved} WHERE {where}")

    def compact(self, name: str) -> None:
        self.database.do(f"VACUUM FULL {self._name(name)}")

    def _of_day(self, day: dt.date, k: int) -> str:
        return f"({AT} AT TIME ZONE '{self.zone}')::date = '{day}' AND k = {k}"

    def close(self) -> None:
        """Give the slots back, of which a server has not many."""
        for there in self.made:
            self.database.do(f"SELECT pg_drop_replication_slot('{there}')")

    def _name(self, name: str) -> str:
        return f"{name}_{self.mark}"


@dataclass(frozen=True)
class Topics:
    """Topics of two partitions, to which messages come in the order of days, and stay."""

    broker: Broker
    zone: str = "UTC"
    names: dict[str, str] = field(default_factory=dict)
    sent: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def declared(self) -> dict[str, Any]:
        return {"format": "kafka"}

    def path(self, name: str) -> str:
        return f"kafka://shop/{self.names[name]}"

    def create(self, name: str, schema: pa.Schema) -> None:
        self.names[name], self.sent[name] = topic(self.broker, partitions=2), []

    def append(self, name: str, rows: pa.Table) -> None:
        for number, row in enumerate(rows.to_pylist()):
            at = row[AT].timestamp()
            value = {column: each for column, each in row.items() if column != AT}
            self.broker.send(self.names[name], value, at=at, partition=number % 2)
            self.sent[name].append(row)

    def rows(self, name: str) -> list[dict[str, Any]]:
        return self.sent[name]

    def delete(self, name: str, day: dt.date, k: int) -> None:
        pass

    update = delete

    def compact(self, name: str) -> None:
        pass


@dataclass(frozen=True)
class RollingTables(RollingDays):
    """One case, whose growing tables are in a place. ``to_date``: the range is the month to date,
    of which no day leaves."""

    place: RollingPlace = field(kw_only=True)
    to_date: bool = False
    change: Literal["append_only", "changelog"] = "append_only"

    def check(self) -> Counter[str]:  # type: ignore[override]
        for name, table in self.case.tables.items():
            if table.changing:
                self.place.create(name, self._schema(table))
        return super().check()

    def _bring(self, day: dt.date, run: int, rng: random.Random) -> None:
        for name, table in self.case.tables.items():
            if not table.changing:
                continue
            if run == 1 and rng.random() < 0.3 and self.place.rows(name):
                self.place.compact(name)
            count = rng.randint(0, 4) if rng.random() < 0.9 else 0
            rows = [(row, day) for row in new_rows(rng, table, count)]
            # Late ones, or of days that are still to come, in the same commit.
            if rng.random() < 0.3 and not isinstance(self.place, Topics):
                late = day - dt.timedelta(days=rng.randint(-2, self.length + 1))
                rows += [(row, late) for row in new_rows(rng, table, 1)]
            self._append(name, table, rows, rng)

    def _append(
        self, name: str, table: TableCase, rows: Sequence[tuple[Row, dt.date]], rng: random.Random
    ) -> None:
        values = [[row[i] for row, _ in rows] for i in range(len(table.columns))]
        times = [self._time(day, rng) for _, day in rows]
        self.place.append(name, pa.table([*values, times], schema=self._schema(table)))

    def _schema(self, table: TableCase) -> pa.Schema:
        kind = pa.date32() if isinstance(self.place, DeltaTables) else pa.timestamp("us", "UTC")
        kinds = [(column, arrow_type(type_)) for column, type_ in table.columns]
        return pa.schema([*kinds, (AT, kind)])

    def _time(self, day: dt.date, rng: random.Random) -> dt.date:
        if isinstance(self.place, DeltaTables):
            return day
        second = rng.choice((0, 1, 3600 * 8, 3600 * 9, 3600 * 24 - 1))
        return _begin(day, self.place.zone) + dt.timedelta(seconds=second)

    def _correct(self, day: dt.date, rng: random.Random) -> str:
        growing = [
            name for name, table in self.case.tables.items()
            if table.changing and name not in self.daily and self.place.rows(name)
        ]  # fmt: skip
        if not growing or isinstance(self.place, Topics):
            return "nothing to correct"
        name, back = rng.choice(growing), rng.randint(1, self.length - 1)
        at = day - dt.timedelta(days=back)
        if rng.random() < 0.5:
            table = self.case.tables[name]
            self._append(name, table, [(row, at) for row in new_rows(rng, table, 2)], rng)
            return "new"
        before = sorted(map(repr, self.place.rows(name)))
        rng.choice((self.place.delete, self.place.update))(name, at, rng.randrange(6))
        return "changed" if sorted(map(repr, self.place.rows(name))) != before else "unchanged"

    def _there(self, name: str, table: TableCase, day: dt.date) -> list[Row]:
        if not table.changing:
            return table.rows(1)
        length = 1 if name in self.daily else day.day if self.to_date else self.length
        days = {day - dt.timedelta(days=back) for back in range(length)}
        return [
            tuple(row[column] for column, _ in table.columns)
            for row in self.place.rows(name)
            if self._day_of(row[AT]) in days
        ]

    def _day_of(self, value: dt.date) -> dt.date:
        if isinstance(value, dt.datetime):
            return value.astimezone(ZoneInfo(self.place.zone)).date()
        return value

    def _source(self, name: str, table: TableCase) -> SourceSpec:
        source = super()._source(name, table)
        if not table.changing:
            return source
        more = {**self.place.declared, "change": self.change}
        kind = "DATE" if isinstance(self.place, DeltaTables) else "TIMESTAMP"
        columns = source.columns
        if "day_by" in more:
            columns = (*columns, ColumnSpec(name=AT, type=kind))
        elif not isinstance(self.place, Topics):
            more["extra_columns"] = "ignore"
        if isinstance(self.place, IcebergTables):
            more["catalog"] = f"lake.shop.{name}_{self.place.mark}"
        if isinstance(self.place, DatabaseTables) and self.place.slots:
            columns = (*columns, ColumnSpec(name="id", type="BIGINT"))
            more |= {"slot": f"{name}_{self.place.mark}", "key": ("id",)}
        ranged = Monthly() if self.to_date else Trailing(days_back=self.length)
        over = None if name in self.daily else ranged
        path = self.place.path(name)
        return replace(source, path=path, columns=columns, over=over, **more)


def _begin(day: dt.date, zone: str) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), ZoneInfo(zone)).astimezone(dt.UTC)
