"""Days over tables of PostgreSQL that are written while the day runs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forerun.include.reports.spec import ReportSpec
from forerun.planner.contract import ColumnSpec
from tests.include.sources.test_database_tables import table
from tests.oracles.values import Row
from tests.postgresql_server import Database
from tests.spark.lake import ENGINES
from tests.spark.places import (
    FIRST,
    RETURNS,
    SALES,
    Place,
    check_repaired,
    found_repair,
    published,
)
from tests.spark.test_topic_days import OUTER, SOLD_ONLY

ID = ColumnSpec(name="id", type="BIGINT")


@dataclass
class DatabasePlace(Place):
    """Sales and returns are tables of a database, whose changes slots may tell."""

    database: Any = None
    change: str = "append_only"
    slots: bool = False

    def __post_init__(self) -> None:
        key = ", id bigserial PRIMARY KEY"
        self.tables = {
            "sales": table(self.database, f"o bigint, cat text, price bigint{key}"),
            "returns": table(self.database, f"o bigint, cost bigint{key}"),
        }
        for each in self.tables.values() if self.slots else ():
            self.database.do(
                f"SELECT pg_create_logical_replication_slot('{each}', 'test_decoding')"
            )

    def spec(self, name: str, sql: str) -> ReportSpec:
        for each, there in self.tables.items():
            more = {"slot": there, "key": ("id",)} if self.slots else {}
            columns = (*{"sales": SALES, "returns": RETURNS}[each], ID)
            self.changes[f"{name}.{each}"] = {
                "format": "postgresql", "change": self.change, "columns": columns, **more
            }  # fmt: skip
        return super().spec(name, sql)

    def close(self) -> None:
        """Give the slots back, of which a server has not many."""
        for each in self.tables.values() if self.slots else ():
            self.database.do(f"SELECT pg_drop_replication_slot('{each}')")

    def delivery(self, table: str) -> str:
        return f"postgresql://warehouse/public.{self.tables[table]}"

    def write(
        self, number: int, table: str, columns: Sequence[ColumnSpec], rows: Sequence[Row]
    ) -> None:
        with closing(self.database.session()) as session:
            names, places = ", ".join(c.name for c in columns), ", ".join(["%s"] * len(columns))
            text = f"INSERT INTO {self.tables[table]} ({names}) VALUES ({places})"
            session.cursor().executemany(text, rows)

    def held(self) -> None:
        """What the tables hold now is what the plain query reads."""
        for name, there in self.tables.items():
            with closing(self.database.session()) as session, session.cursor() as cursor:
                cursor.execute(f"SELECT * FROM {there}")
                self.delivered[name] = [row[:-1] for row in cursor.fetchall()]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("change", ["append_only", "changelog"])
def test_a_day_over_tables_is_that_of_the_plain_query(
    change: str, engine: str, warehouse: Database, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = DatabasePlace(
        tmp_path, request.getfixturevalue(engine), database=warehouse, change=change
    )
    at = place.open("sold", FIRST)
    place.deliver(1, [(1, "a", 5), (2, "b", 7), (2, "b", 7), (3, "c", 1)], [(1, 10), (3, 4)])
    place.run(at, FIRST, 1, method="progressive")
    place.deliver(2, [(4, "a", 6), (2, "b", 7)], [(2, 3), (4, 9)])
    if change == "changelog":
        sales = place.tables["sales"]
        warehouse.do(
            f"UPDATE {sales} SET price = 8 WHERE o = 1", f"DELETE FROM {sales} WHERE o = 3"
        )
    place.held()
    commit = place.run(at, FIRST, 2, method="progressive")
    place.check(commit, FIRST)
    assert commit.metrics.state_rows_read


def test_a_published_day_is_repaired_when_its_rows_change(
    sail: Any, warehouse: Database, tmp_path: Path
) -> None:
    place = DatabasePlace(tmp_path, sail, database=warehouse, change="changelog")
    published(place)
    warehouse.do(f"UPDATE {place.tables['sales']} SET price = price + 1 WHERE o = 2")
    place.deliver(3, [(1, "a", 100), (5, "e", 4)], [(5, 1)])
    place.held()
    check_repaired(place, found_repair(place))


@pytest.mark.parametrize("seed", range(4))
def test_generated_days_of_tables(
    seed: int, sail: Any, warehouse: Database, tmp_path: Path
) -> None:
    a_day(seed, sail, warehouse, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(4, 504, 25))
def test_many_generated_days_of_tables(
    first: int, sail: Any, warehouse: Database, tmp_path: Path
) -> None:
    for seed in range(first, first + 25):
        a_day(seed, sail, warehouse, tmp_path / str(seed))


def a_day(seed: int, sail: Any, warehouse: Database, folder: Path) -> None:
    """Play a day, whatever is written, updated and deleted between the runs."""
    chance = random.Random(seed)
    place = DatabasePlace(folder, sail, database=warehouse, change="changelog", slots=seed % 2 == 1)
    runs = chance.choice([2, 3])
    place.arrived = (0.6, 0.9, 1.0)[3 - runs :]
    sql = chance.choice([FIRST, OUTER, SOLD_ONLY])
    at = place.open("sold", sql)
    for run in range(1, runs + 1):
        for _ in range(chance.randrange(1, 4)):
            o, name = chance.randrange(6), chance.choice(list(place.tables))
            number = "price" if name == "sales" else "cost"
            change = chance.choice(["insert", "insert", "update", "move", "delete"])
            if change == "insert":
                row = (o, chance.choice("abc"), chance.randrange(-2, 9))
                place.deliver(run, [row] * chance.randrange(3), [(o, chance.randrange(9))])
            else:
                text = {"update": f"UPDATE {{}} SET {number} = {number} + 1 WHERE o = {o}",
                        "move": f"UPDATE {{}} SET o = (o + 1) % 6 WHERE o = {o}",
                        "delete": f"DELETE FROM {{}} WHERE o = {o}"}[change]  # fmt: skip
                warehouse.do(text.format(place.tables[name]))
        place.deliver(run, [(1, "a", 5), (2, "b", 6)], [(1, 1)])
        place.held()
        method = chance.choice(["progressive", "progressive", "batch", "auto"])
        planned = place.plan(at, sql, run, method=method)
        if not planned.skip_reason:
            commit = place.do(planned)
    place.check(commit, sql, least=0)
    place.close()
