"""Joins of many to many are estimated at more than a stored document may say: still a plan."""

from __future__ import annotations

from forerun.planner.algebra.types import BIGINT
from forerun.planner.api import plan
from forerun.planner.contract import decode_plan, encode_plan
from forerun.planner.contract.plan_v1 import LARGEST
from forerun.planner.request import PlanRequest, Source, SourceColumn, TimePoint

SQL = """
SELECT a.n, count(*) AS many
FROM t a JOIN t b ON a.k = b.k JOIN t c ON b.k = c.k JOIN t d ON c.n <> d.n
GROUP BY a.n
"""


def test_an_estimate_beyond_all_bounds_is_stated_as_the_bound():
    columns = tuple(SourceColumn(name=name, type=BIGINT) for name in ("k", "n"))
    source = Source(name="t", columns=columns, rows=10**11, bytes=10**13, changing=True)
    points = (TimePoint(weight=0.3, arrived=0.5), TimePoint(weight=1.0))
    found = plan(PlanRequest(report="r", sql=SQL, sources=(source,), points=points)).plan
    assert found.batch_cost == LARGEST
    assert decode_plan(encode_plan(found)) == found
