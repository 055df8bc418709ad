"""A stream as a relation (E1): a topic joined with a table, whose messages go during the day."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forerun.include.days.handle import Day
from forerun.include.reports.spec import AfterRows, ReportSpec, RunPolicy, RunTime
from forerun.include.sources.unread import SourceChangedError
from forerun.include.stores.opening import open_store
from forerun.include.times.early_start import EarlyStart
from forerun.planner.contract import ColumnSpec
from tests.include.sources.test_topics import BEGIN, topic
from tests.kafka_broker import Broker
from tests.oracles.values import Row
from tests.spark.lake import ENGINES
from tests.spark.places import FIRST, NOW, Place, check_repaired, found_repair, published

OUTER = """
SELECT s.o, max(s.price) AS most, count(*) AS n, count(r.cost) AS costs
FROM sales s LEFT JOIN returns r ON s.o = r.o WHERE s.price > 1 GROUP BY s.o
"""
SOLD_ONLY = "SELECT cat, min(price) AS least, avg(price) AS mean FROM sales GROUP BY cat"


@dataclass
class TopicPlace(Place):
    """Sales are messages of a topic with two partitions; returns are files."""

    broker: Any = None

    def __post_init__(self) -> None:
        self.topic = topic(self.broker, partitions=2)
        self.sent = [0, 0]

    def spec(self, name: str, sql: str) -> ReportSpec:
        self.changes[f"{name}.sales"] = {"format": "kafka"}
        return super().spec(name, sql)

    def delivery(self, table: str) -> str:
        return f"kafka://shop/{self.topic}" if table == "sales" else super().delivery(table)

    def write(
        self, number: int, table: str, columns: Sequence[ColumnSpec], rows: Sequence[Row]
    ) -> None:
        if table != "sales":
            super().write(number, table, columns, rows)
            return
        for partition in range(2):
            values = [
                {c.name: value for c, value in zip(columns, row, strict=True) if value is not None}
                for row in rows[partition::2]
            ]
            self.broker.send(self.topic, *values, at=BEGIN + number, partition=partition)
            self.sent[partition] += len(values)

    def forget(self) -> None:
        """Do what retention does: all messages that there are go."""
        for partition, sent in enumerate(self.sent):
            self.broker.delete_before(self.topic, sent, partition)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_topic_whose_early_offsets_go_at_noon_gives_what_batch_gives(
    engine: str, shop: Broker, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = TopicPlace(tmp_path, request.getfixturevalue(engine), broker=shop)
    at = place.open("sold", FIRST)
    place.deliver(1, [(1, "a", 5), (2, "b", 7), (3, "c", 1)], [(1, 10), (3, 4)])
    place.run(at, FIRST, 1, method="progressive")
    place.forget()
    place.deliver(2, [(4, "a", 6), (2, "b", 8)], [(2, 3), (4, 9)])
    commit = place.run(at, FIRST, 2, method="progressive")
    place.check(commit, FIRST)
    assert commit.metrics.state_rows_read
    place.forget()  # batch reads the copies, too: in the topic there is nothing any more
    anew = place.open("sold", FIRST, "anew")
    assert place.plan(anew, FIRST, 1, method="batch").skip_reason
    place.check(place.run(anew, FIRST, 2, method="batch"), FIRST)


def test_a_topic_that_lost_messages_before_the_first_run_plans_nothing(
    sail: Any, shop: Broker, tmp_path: Path
) -> None:
    place = TopicPlace(tmp_path, sail, broker=shop)
    place.deliver(1, [(1, "a", 5), (2, "b", 7), (3, "c", 1)], [(1, 10)])
    place.broker.delete_before(place.topic, 1, 0)
    with pytest.raises(SourceChangedError):
        place.plan(place.open("sold", FIRST), FIRST, 1)


def test_a_published_day_is_repaired_when_messages_come_late(
    sail: Any, shop: Broker, tmp_path: Path
) -> None:
    place = TopicPlace(tmp_path, sail, broker=shop)
    published(place)
    place.forget()
    place.deliver(3, [(1, "a", 100), (5, "e", 4)], [(5, 1)])
    check_repaired(place, found_repair(place))


def test_a_run_starts_once_so_many_messages_have_come(
    sail: Any, shop: Broker, tmp_path: Path
) -> None:
    place = TopicPlace(tmp_path, sail, broker=shop)
    when = AfterRows(source="sales", rows=3)
    runs = (RunTime(at="10:00"), RunTime(at="14:00", when=when), RunTime(at="24:00"))
    place.changes["sold"] = {"policy": RunPolicy(runs=runs)}
    place.arrived = (0.5, 0.9, 1.0)
    at = place.open("sold", FIRST)
    place.deliver(1, [(1, "a", 5), (2, "b", 7), (3, "c", 1), (4, "d", 2)], [(1, 10)])
    place.run(at, FIRST, 1, method="progressive")
    place.forget()
    start = EarlyStart(Day(open_store(place.uri), place.spec("sold", FIRST), at), 2)
    assert start.why(NOW) == ""
    place.deliver(2, [(1, "a", 5), (2, "b", 7)], [])
    assert start.why(NOW) == ""
    place.deliver(3, [(1, "a", 5)], [])
    assert start.why(NOW) == "3 new rows of sales"


@pytest.mark.parametrize("seed", range(3))
def test_generated_days_of_a_topic(seed: int, sail: Any, shop: Broker, tmp_path: Path) -> None:
    a_day(seed, sail, shop, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(3, 503, 25))
def test_many_generated_days_of_a_topic(
    first: int, sail: Any, shop: Broker, tmp_path: Path
) -> None:
    for seed in range(first, first + 25):
        a_day(seed, sail, shop, tmp_path / str(seed))


def a_day(seed: int, sail: Any, shop: Broker, folder: Path) -> None:
    """Play a day, whatever comes when, and whatever has been read goes."""
    chance = random.Random(seed)
    place = TopicPlace(folder, sail, broker=shop)
    runs = chance.choice([2, 3])
    place.arrived = (0.6, 0.9, 1.0)[3 - runs :]
    sql = chance.choice([FIRST, OUTER, SOLD_ONLY])
    at = place.open("sold", sql)
    for run in range(1, runs + 1):
        for part in range(chance.randrange(3)):
            sales = [
                (chance.choice([None, *range(8)]), chance.choice("abc"), chance.randrange(-2, 9))
                for _ in range(chance.randrange(12))
            ]
            returns = [
                (chance.randrange(8), chance.randrange(9)) for _ in range(chance.randrange(5))
            ]
            place.deliver(10 * run + part, sales, returns)
        place.deliver(10 * run + 9, [(1, "a", 5), (2, "b", 6)], [(1, 1)])
        method = chance.choice(["progressive", "progressive", "batch", "auto"])
        planned = place.plan(at, sql, run, method=method)
        if not planned.skip_reason:
            commit = place.do(planned)
        if chance.random() < 0.7:
            place.forget()
    place.check(commit, sql, least=1)
