"""What is kept in many tasks and files is charged for them, and is kept in as few as fit."""

from __future__ import annotations

import pytest

from forerun.planner import api
from forerun.planner.algebra.types import BIGINT
from forerun.planner.contract.plan_v1 import ArtifactOutput, Plan
from forerun.planner.cost.constants import BUCKET_BYTES, LEAST_BUCKETS, MOST_BUCKETS
from forerun.planner.cost.operators import Size, bucket_count, read, write
from forerun.planner.cost.prices import SPARK
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint
from tests.planner.starts import OPEN

SQL = "SELECT t.k, sum(t.v + u.v) AS s FROM t JOIN u ON t.k = u.k GROUP BY t.k"


def day(rows: int) -> Plan:
    columns = (SourceColumn(name="k", type=BIGINT), SourceColumn(name="v", type=BIGINT))
    sources = tuple(
        Source(name=name, columns=columns, changing=True, rows=rows, bytes=16 * rows)
        for name in ("t", "u")
    )
    points = (TimePoint(weight=0.1, arrived=0.8), TimePoint(weight=1.0))
    settings = Settings(prices=OPEN, temporal="early")
    asked = PlanRequest(report="r", sql=SQL, sources=sources, points=points, settings=settings)
    return api.plan(asked).plan


def charged(plan: Plan) -> list[tuple[int, float]]:
    """Of each stage of the first run that keeps rows by a key, their buckets, and the tasks that it
    is charged for. It reads sources alone."""
    found = []
    for stage in plan.runs[0].stages:
        if isinstance(stage.output, ArtifactOutput):
            family = plan.family(stage.output.family)
            if family.buckets and not any(hasattr(given, "family") for given in stage.inputs):
                found.append((family.buckets, dict(stage.work).get("task", 0.0)))
    return found


def test_a_large_family_is_charged_for_each_bucket_beyond_the_first_few() -> None:
    stages = charged(day(100_000_000))
    assert stages
    for buckets, tasks in stages:
        assert buckets > LEAST_BUCKETS
        assert tasks == buckets - LEAST_BUCKETS


def test_a_small_family_is_not() -> None:
    assert set(charged(day(100_000))) == {(LEAST_BUCKETS, 0.0)}


@pytest.mark.parametrize("rows", [0, 1, 10**6, 5 * 10**7, 3 * 10**8, 5 * 10**9])
def test_buckets_are_as_few_as_fit_a_task(rows: int) -> None:
    size = Size(rows, 16.0)
    buckets = bucket_count(size)
    assert buckets & (buckets - 1) == 0
    assert size.bytes <= buckets * BUCKET_BYTES
    assert buckets == LEAST_BUCKETS or size.bytes > buckets / 2 * BUCKET_BYTES


def test_there_are_never_more_than_a_store_can_bear() -> None:
    assert bucket_count(Size(1e15, 16.0)) == MOST_BUCKETS


def test_each_bucket_costs_a_task_and_a_file_of_each_partition() -> None:
    size = Size(1000.0, 8.0)
    more = 16 - LEAST_BUCKETS
    written = write(size, SPARK, 16) - write(size, SPARK)
    assert written == pytest.approx(more * (SPARK.task + SPARK.file_write))
    opened = read(size, SPARK, 16, 3) - read(size, SPARK)
    assert opened == pytest.approx(more * (SPARK.task + 3 * SPARK.file_read))
