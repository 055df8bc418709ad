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


SKETCHES = (
    "SELECT g, hll_sketch_estimate(hll_sketch_agg(n, 10)) AS a, "
    "theta_sketch_estimate(theta_sketch_agg(k)) AS b, theta_sketch_agg(n, 14) AS c, "
    "hll_sketch_estimate(hll_sketch_agg(n) FILTER (WHERE b)) AS d, "
    "kll_sketch_get_quantile_bigint(kll_sketch_agg_bigint(k), 0.5) AS e, "
    "kll_sketch_get_n_double(kll_sketch_agg_double(x, 100)) AS f, "
    "bitmap_construct_agg(bitmap_bit_position(k)) AS h, "
    "array_sort(approx_top_k(n, 100)) AS i, count(*) AS j FROM t0 GROUP BY g"
)
OF_SKETCHES = (
    "SELECT hll_sketch_estimate(hll_union_agg(a)) AS a, "
    "theta_sketch_estimate(theta_union_agg(b)) AS b, "
    "kll_sketch_get_quantile_bigint(kll_merge_agg_bigint(c), 0.9) AS c, bitmap_or_agg(d) AS d "
    "FROM (SELECT g, hll_sketch_agg(n) AS a, theta_sketch_agg(n) AS b, "
    "kll_sketch_agg_bigint(n) AS c, bitmap_construct_agg(bitmap_bit_position(k)) AS d "
    "FROM t0 GROUP BY g) q"
)


@pytest.mark.parametrize("sql", [SKETCHES, OF_SKETCHES, QUERIES["places"]])
def test_sketches_of_runs_are_merged_on_spark(sql: str, spark: Any) -> None:
    """Of the few values of a day each sketch is exact, whatever parts it is merged of."""
    tables = {"t0": table(random.Random("sketches"), takes_back=False)}
    query = QueryCase((Select(("1",), "t0"),), outer=sql)
    case = Case("sketches", tables, query, RUNS, early=True)
    assert run_case(case, PlainSparkEngine(spark.session)).kept > 0
