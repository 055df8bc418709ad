"""Days whose aggregates are merged from states of several columns, on Spark itself."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.properties.cases import Case, QueryCase, Select
from tests.properties.engines import PlainSparkEngine
from tests.properties.execute import run_case
from tests.properties.test_aggregate_days import QUERIES, RUNS, SPREADS, table

pytestmark = pytest.mark.spark

ALL = (
    f"SELECT g, {SPREADS.format('x')}, covar_samp(x, n) AS e, covar_pop(n, x) AS f, every(b) AS h, "
    "some(b) AS i, count_if(b) AS j, mean(x) AS m, bit_xor(n) AS o FROM t0 GROUP BY g"
)


LINES = (
    "SELECT g, regr_slope(x, n) AS a, regr_intercept(x, n) AS b, regr_r2(x, n) AS c, "
    "regr_sxx(n, x) AS d, regr_syy(n, x) AS e, regr_sxy(n, x) AS f, regr_count(x, n) AS h, "
    "regr_slope(x, 1) AS i, regr_r2(1, n) AS j FROM t0 GROUP BY g"
)


SLOW = [pytest.param(QUERIES[name], marks=pytest.mark.slow) for name in ("best", "correlation")]


@pytest.mark.parametrize("sql", [ALL, LINES, *SLOW])
def test_a_day_equals_batch_on_spark(sql: str, spark: Any) -> None:
    tables = {"t0": table(random.Random("spark"), takes_back=False)}
    query = QueryCase((Select(("1",), "t0"),), outer=sql)
    case = Case("aggregates", tables, query, RUNS, early=True)
    assert run_case(case, PlainSparkEngine(spark.session)).kept > 0
