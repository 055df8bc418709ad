"""The user's own text is priced by what Spark knows of it, and by its default of 200 partitions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner import api
from forerun.planner.algebra.types import BIGINT
from forerun.planner.cost.constants import (
    PARTITION_BYTES,
    SPLIT_BYTES,
    STAGE_PARTITIONS,
    TEXT_PARTITIONS,
)
from forerun.planner.cost.operators import Size, exchange, more_blocks
from forerun.planner.cost.prices import SPARK
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint
from forerun.spark_jobs.engines.spark import few_partitions

MORE = TEXT_PARTITIONS - STAGE_PARTITIONS


@pytest.mark.parametrize(
    ("size", "keys", "blocks"),
    [
        (Size(1e6, 24), 1e6, 2 * MORE),
        (Size(100, 24), 1e6, 2 * (50 - STAGE_PARTITIONS)),  # a block has a row, at least
        (Size(1e6, 24), 10, 2 * (10 - STAGE_PARTITIONS)),
        (Size(1e6, 24), STAGE_PARTITIONS, 0),
        (Size(10 * SPLIT_BYTES / 24, 24), 1e6, 10 * (TEXT_PARTITIONS - 20)),
        (Size(TEXT_PARTITIONS * PARTITION_BYTES / 24, 24), 1e9, 0),  # stages have as many
    ],
)
def test_a_text_has_a_block_for_each_task_and_partition_with_rows(
    size: Size, keys: float, blocks: float
) -> None:
    assert more_blocks(size, keys) == pytest.approx(blocks)
    more = exchange(size, SPARK.of_text(), keys) - exchange(size, SPARK, keys)
    assert more == pytest.approx(blocks * SPARK.block)


def test_stages_have_the_partitions_that_they_are_priced_by() -> None:
    assert few_partitions(0, 2) == STAGE_PARTITIONS
    assert few_partitions(16 * PARTITION_BYTES - 1, 2) == 16
    assert few_partitions(TEXT_PARTITIONS * PARTITION_BYTES, 2) == TEXT_PARTITIONS


def source(name: str, rows: int) -> Source:
    columns = tuple(SourceColumn(name=n, type=BIGINT) for n in ("k", "n"))
    return Source(name=name, columns=columns, rows=rows, bytes=16 * rows)


SMALL, LARGE = 20_000, 50_000_000
TABLE = "SELECT many.k, b.n FROM many JOIN few b ON many.k = b.k"
GROUPED = (
    "SELECT many.k, b.n FROM many JOIN (SELECT k, max(n) AS n FROM others GROUP BY k HAVING "
    "max(n) = 7) b ON many.k = b.k"
)


def work(sql: str, **settings: object) -> dict[str, float]:
    asked = PlanRequest(
        report="r",
        sql=sql,
        sources=(source("many", LARGE), source("few", SMALL), source("others", 3_000_000)),
        points=(TimePoint(weight=1.0),),
        method="batch",
        settings=replace(Settings(), **settings),
    )
    (stage,) = api.plan(asked).plan.run.stages
    return dict(stage.work)


def test_a_small_table_is_sent_and_a_small_grouping_is_not_known_to_be_small() -> None:
    assert "exchange_row" not in work(TABLE)
    assert work(GROUPED)["exchange_row"] > LARGE
    assert "join_row" not in work(GROUPED) or work(GROUPED)["join_row"] < LARGE  # known by then


def test_own_batch_counts_it_and_moves_it_as_a_text_does_if_it_may_not() -> None:
    assert work(GROUPED, own_batch="always")["exchange_row"] < LARGE
    uncounted = work(GROUPED, own_batch="always", small_sides=False)
    assert uncounted["exchange_row"] > LARGE
    assert "block" in work(GROUPED)
    assert "block" not in uncounted


def test_an_engine_that_plans_by_more_than_files_is_not_priced_so() -> None:
    prices = replace(SPARK, plans_by_files=False)
    assert prices.of_text() == prices.from_sources() == prices
    assert work(GROUPED, prices=prices)["exchange_row"] < LARGE
