"""Days over what other reports publish while the day runs: early results, then the whole."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from forerun.include.reports.spec import ReportSpec, WhenPublished
from forerun.include.sources.unread import SourceChangedError
from forerun.include.stores.opening import open_store
from forerun.planner.contract import ColumnSpec
from tests.include.sources.published_results import publish
from tests.oracles.values import Row
from tests.spark.lake import ENGINES
from tests.spark.places import (
    DAY,
    FIRST,
    RETURNS,
    SALES,
    Place,
    check_repaired,
    found_repair,
    published,
)
from tests.spark.test_topic_days import OUTER, SOLD_ONLY

COLUMNS = {"sales": SALES, "returns": RETURNS}
KINDS = {"BIGINT": pa.int64(), "STRING": pa.string()}


@dataclass
class ReportPlace(Place):
    """Sales and returns are results of two other reports of the same store."""

    change: str = "append_only"
    versions: dict[str, int] = field(default_factory=dict)

    def spec(self, name: str, sql: str) -> ReportSpec:
        for each in COLUMNS:
            self.changes.setdefault(f"{name}.{each}", {}).update(
                format="report", change=self.change, complete_when=WhenPublished()
            )
        self.changes[name] = {**self.changes.get(name, {}), "store": self.uri}
        return super().spec(name, sql)

    def delivery(self, table: str) -> str:
        return f"forerun://report/{table}/{{ds}}"

    def write(
        self, number: int, table: str, columns: Sequence[ColumnSpec], rows: Sequence[Row]
    ) -> None:
        held = [*self.delivered.get(table, ()), *rows]
        self.show(table, held, early=number < len(self.arrived))

    def show(self, table: str, rows: Sequence[Row], *, early: bool = True) -> None:
        """Publish these rows as the newest version of a report's day."""
        schema = pa.schema([(c.name, KINDS[c.type]) for c in COLUMNS[table]])
        values = [[row[i] for row in rows] for i in range(len(schema))]
        found = pa.table(values, schema=schema)
        half = len(rows) // 2
        self.versions[table] = self.versions.get(table, 0) + 1
        publish(
            open_store(self.uri), table, DAY, self.versions[table],
            found.slice(0, half), found.slice(half), early=early,
        )  # fmt: skip

    def finish(self) -> None:
        """Publish the whole day of both."""
        for each in COLUMNS:
            self.show(each, self.delivered.get(each, []), early=False)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("change", ["append_only", "changelog"])
def test_a_day_over_results_is_that_of_the_plain_query(
    change: str, engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = ReportPlace(tmp_path, request.getfixturevalue(engine), change=change)
    at = place.open("sold", FIRST)
    place.deliver(1, [(1, "a", 5), (2, "b", 7), (2, "b", 7), (3, "c", 1)], [(1, 10), (3, 4)])
    place.run(at, FIRST, 1, method="progressive")
    place.deliver(2, [(4, "a", 6), (2, "b", 7)], [(2, 3), (4, 9)])
    if change == "changelog":
        place.delivered["sales"] = [(1, "a", 8), *place.delivered["sales"][1:-1]]
    place.finish()
    commit = place.run(at, FIRST, 2, method="progressive")
    place.check(commit, FIRST)
    assert commit.metrics.state_rows_read


def test_a_published_day_is_repaired_when_the_report_that_it_reads_is(
    sail: Any, tmp_path: Path
) -> None:
    place = ReportPlace(tmp_path, sail, change="changelog")
    published(place, format="report")
    place.finish()
    place.delivered["sales"] = [(1, "a", 100), *place.delivered["sales"][1:], (5, "e", 4)]
    place.delivered["returns"].append((5, 1))
    place.finish()
    check_repaired(place, found_repair(place))


def test_a_result_that_is_less_than_it_was_is_not_taken_for_the_whole(
    sail: Any, tmp_path: Path
) -> None:
    place = ReportPlace(tmp_path, sail)
    place.arrived = (1.0,)
    at = place.open("sold", FIRST)
    place.deliver(1, [(1, "a", 5)], [(1, 10)])
    place.show("returns", place.delivered["returns"], early=True)
    with pytest.raises(SourceChangedError, match=r"returns: not the whole day.*whole just before"):
        place.plan(at, FIRST, 1)
    known = (("returns", "it is late"),)
    place.check(place.do(place.plan(at, FIRST, 1, incomplete=known)), FIRST, least=1)


@pytest.mark.parametrize("seed", range(3))
def test_generated_days_of_results(seed: int, sail: Any, tmp_path: Path) -> None:
    a_day(seed, sail, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(3, 503, 25))
def test_many_generated_days_of_results(first: int, sail: Any, tmp_path: Path) -> None:
    for seed in range(first, first + 25):
        a_day(seed, sail, tmp_path / str(seed))


def a_day(seed: int, sail: Any, folder: Path) -> None:
    """Play a day in which the reports that are read publish whatever they like between its runs."""
    chance = random.Random(seed)
    change = chance.choice(["append_only", "changelog", "changelog"])
    place = ReportPlace(folder, sail, change=change)
    runs = chance.choice([2, 3])
    place.arrived = (0.6, 0.9, 1.0)[3 - runs :]
    sql = chance.choice([FIRST, OUTER, SOLD_ONLY])
    at = place.open("sold", sql)
    for run in range(1, runs + 1):
        for table in COLUMNS:
            held = place.delivered.setdefault(table, [])
            if change == "changelog":
                held[:] = [row for row in held if chance.random() < 0.7]
            for _ in range(chance.randrange(5)):
                o, number = chance.randrange(6), chance.randrange(-2, 9)
                held.append((o, chance.choice("abc"), number) if table == "sales" else (o, number))
            if run == runs or chance.random() < 0.7:
                place.show(table, held, early=run < runs)
        method = chance.choice(["progressive", "progressive", "batch", "auto"])
        planned = place.plan(at, sql, run, method=method)
        commit = None if planned.skip_reason else place.do(planned)
    assert commit is not None
    place.check(commit, sql, least=0)
