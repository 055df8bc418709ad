"""Days of a report over a rolling range of lakehouse and database tables equal the plain query, and
go on from each other."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog

from forerun.spark_jobs.engines.sail import SailEngine
from tests.kafka_broker import Broker
from tests.postgresql_server import Database
from tests.properties.cases import Case, QueryCase, Select
from tests.properties.engines import PlainSailEngine
from tests.properties.sessions import sail_session
from tests.properties.test_aggregate_days import table
from tests.spark.rolling_tables import (
    DatabaseTables,
    DeltaTables,
    IcebergTables,
    RollingPlace,
    RollingTables,
    Topics,
)

TEXTS = {
    "sums": "SELECT g, count(*) AS c, sum(n) AS s, sum(k) AS k FROM t0 GROUP BY g",
    "extremes": "SELECT g, max(n) AS most, min(x) AS least, count(*) AS c FROM t0 GROUP BY g",
    "joined": "SELECT c.g, max(a.n + c.n) AS most, sum(a.k) AS s FROM t0 a JOIN still c "
    "ON a.k = c.k GROUP BY c.g",
}
PLACES = ["delta by partition", "delta by column", "iceberg by partition", "iceberg by column"]


def played(
    place: RollingPlace, text: str, seed: int, folder: Path, sail: SailEngine
) -> Counter[str]:
    """Nine days; every third row of days has tables of which rows may go, every fourth one is of
    the month to date."""
    rng = random.Random(f"{text}-{seed}")
    still = replace(table(rng, takes_back=False), changing=False)
    tables = {"t0": replace(table(rng, takes_back=False), said=10**8), "still": still}
    query = QueryCase((Select(("1",), "t0"),), outer=TEXTS[text])
    days = RollingTables(
        Case(f"{text}-{seed}", tables, query, 1 + seed % 2, early=True), folder, sail,
        PlainSailEngine(sail_session()), seed=seed, count=9, corrected=0.4, of_few_values=True,
        length=5, place=place, change="changelog" if seed % 3 == 2 else "append_only",
        to_date=seed % 4 == 1,
    )  # fmt: skip
    try:
        return days.check()
    except Exception as error:
        raise AssertionError(f"{text}, {seed}: {error}") from error


def in_a_lake(
    where: str, seed: int, folder: Path, catalog: Catalog, sail: SailEngine, *texts: str
) -> Counter[str]:
    partitioned, found = where.endswith("by partition"), Counter[str]()
    for text in texts or TEXTS:
        place: RollingPlace = DeltaTables(f"{folder}/{text}/lake", partitioned)
        if where.startswith("iceberg"):
            place = IcebergTables(catalog, f"{text}{seed}", partitioned)
        found += played(place, text, seed, folder / text, sail)
    return found


@pytest.mark.parametrize(("where", "seed"), [("delta by column", 7), ("iceberg by partition", 3)])
def test_days_over_a_range_of_a_lakehouse_table(
    where: str, seed: int, tmp_path: Path, sail: SailEngine, catalog: Catalog
) -> None:
    found = in_a_lake(where, seed, tmp_path, catalog, sail, "joined")
    assert found["reads what is inherited"] >= 3
    assert found["by pane"] >= 3


def test_days_over_a_range_of_a_table_whose_rows_go(
    tmp_path: Path, sail: SailEngine, catalog: Catalog
) -> None:
    found = in_a_lake("delta by column", 5, tmp_path, catalog, sail, "sums")
    assert found["reads what is inherited"] >= 3


@pytest.mark.slow
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("start", range(10, 50, 8))
def test_many_days_over_a_range_of_a_lakehouse_table(
    where: str, start: int, tmp_path: Path, sail: SailEngine, catalog: Catalog
) -> None:
    found = Counter[str]()
    for seed in range(start, start + 8):
        found += in_a_lake(where, seed, tmp_path / str(seed), catalog, sail)
    assert found["by pane"] >= 8


def in_a_database(
    seed: int, folder: Path, database: Database, sail: SailEngine, *texts: str
) -> Counter[str]:
    """Every second seed slots tell what has changed."""
    found = Counter[str]()
    for text in texts or TEXTS:
        place = DatabaseTables(database, f"{text}_{seed}", slots=seed % 2 == 1)
        try:
            found += played(place, text, seed, folder / text, sail)
        finally:
            place.close()
    return found


def test_days_over_a_range_of_a_database_table(
    tmp_path: Path, sail: SailEngine, warehouse: Database
) -> None:
    found = in_a_database(7, tmp_path, warehouse, sail, "joined")
    assert found["reads what is inherited"] >= 3
    assert found["by pane"] >= 3


@pytest.mark.slow
@pytest.mark.parametrize("start", range(10, 50, 8))
def test_many_days_over_a_range_of_a_database_table(
    start: int, tmp_path: Path, sail: SailEngine, warehouse: Database
) -> None:
    found = Counter[str]()
    for seed in range(start, start + 8):
        found += in_a_database(seed, tmp_path / str(seed), warehouse, sail)
    assert found["by pane"] >= 8


def test_days_over_a_range_of_a_topic(tmp_path: Path, sail: SailEngine, shop: Broker) -> None:
    found = played(Topics(shop), "extremes", 0, tmp_path, sail)
    assert found["reads what is inherited"] >= 2
    assert found["by pane"] >= 2
