"""An engine that cannot use buckets keeps nothing by a key."""

from __future__ import annotations

from dataclasses import replace

from forerun.planner import api
from forerun.planner.algebra.types import BIGINT
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint
from tests.planner.starts import OPEN

SOURCES = tuple(
    Source(
        name=name,
        columns=(SourceColumn(name="k", type=BIGINT), SourceColumn(name="v", type=BIGINT)),
        changing=True,
        rows=10_000_000,
        bytes=160_000_000,
    )
    for name in ("t", "u")
)
SQL = "SELECT t.k, sum(t.v + u.v) AS s FROM t JOIN u ON t.k = u.k GROUP BY t.k"


def keys(*, buckets: bool) -> set[tuple[str, ...]]:
    points = (TimePoint(weight=0.1, arrived=0.8), TimePoint(weight=1.0))
    settings = Settings(prices=replace(OPEN, buckets=buckets), temporal="early")
    asked = PlanRequest(report="r", sql=SQL, sources=SOURCES, points=points, settings=settings)
    return {family.key for family in api.plan(asked).plan.families}


def test_without_buckets_nothing_is_kept_by_a_key() -> None:
    assert any(keys(buckets=True))
    assert keys(buckets=False) == {()}
