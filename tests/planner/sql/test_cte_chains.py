"""Chains of CTEs of which each reads the one before several times: read in time linear in their
text, and planned or refused by name.
"""

from __future__ import annotations

import time

import pytest

from forerun.planner.algebra.types import BIGINT
from forerun.planner.api import plan
from forerun.planner.errors import TooLargeError
from forerun.planner.request import PlanRequest, Source, SourceColumn, TimePoint
from forerun.planner.sql.frontend import read_query

T = Source(
    name="t",
    columns=(SourceColumn(name="k", type=BIGINT), SourceColumn(name="v", type=BIGINT)),
    changing=True,
    rows=1_000_000,
    bytes=10**8,
)
STEPS = {
    "union": "SELECT k, v FROM {0} UNION ALL SELECT k, v + 1 FROM {0}",
    "join": "SELECT a.k, b.v FROM {0} a JOIN {0} b ON a.k = b.k",
    "in": "SELECT k, v FROM {0} WHERE k IN (SELECT k FROM {0})",
    "scalar": "SELECT k, (SELECT max(v) FROM {0}) AS v FROM {0}",
    "thrice": "SELECT k, v FROM {0} WHERE EXISTS (SELECT 1 FROM {0} x, {0} y WHERE x.k = y.v)",
    "grouped": "SELECT a.k, sum(b.v) AS v FROM {0} a JOIN {0} b ON a.k = b.k GROUP BY a.k",
}


def chain(step: str, levels: int) -> str:
    steps = ", ".join(f"c{n} AS ({STEPS[step].format(f'c{n - 1}')})" for n in range(1, levels + 1))
    return f"WITH c0 AS (SELECT k, v FROM t), {steps} SELECT k, v FROM c{levels}"


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("levels", [12, 25, 40, 150])
def test_a_chain_that_stands_for_too_much_is_refused_at_once(step, levels):
    started = time.process_time()
    with pytest.raises(TooLargeError, match="tables"):
        read_query(chain(step, levels), [T])
    assert time.process_time() - started < 5


@pytest.mark.parametrize("step", STEPS)
def test_a_chain_of_a_few_levels_is_planned(step):
    points = (TimePoint(weight=0.3, arrived=0.5), TimePoint(weight=1.0))
    found = plan(PlanRequest(report="r", sql=chain(step, 4), sources=(T,), points=points))
    assert found.plan.runs[-1].stages


def test_a_flat_text_may_read_a_cte_however_often():
    arms = " UNION ALL ".join(["SELECT k FROM c"] * 2000)
    assert read_query(f"WITH c AS (SELECT k FROM t) {arms}", [T]).names == ("k",)


def test_a_long_chain_that_reads_each_once_is_read():
    steps = ", ".join(f"c{n} AS (SELECT k, v FROM c{n - 1} WHERE v > {n})" for n in range(1, 41))
    assert read_query(f"WITH c0 AS (SELECT k, v FROM t), {steps} SELECT k FROM c40", [T]).names


def test_an_unused_chain_costs_nothing():
    text = chain("join", 8).replace("SELECT k, v FROM c8", "SELECT k FROM t")
    assert read_query(text, [T]).names == ("k",)
