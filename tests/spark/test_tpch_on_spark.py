"""The 22 TPC-H queries as days of three runs in one session of Spark: what ``auto`` plans gives the
batch result. As applications of their own, six of them are in ``tests/e2e/test_simulate_spark.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.oracles.bags import compare_bags
from tests.selection import need_all
from tests.tpch.days import TpchDay, generate
from tests.tpch.test_days import QUERIES, has_early_work

pytestmark = [pytest.mark.spark, pytest.mark.slow]
EARLY: set[str] = set()


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    return generate(tmp_path_factory.mktemp("tpch"))


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_auto_equals_batch(path: Path, tables: Mapping[str, pa.Table], spark: Any) -> None:
    sql = path.read_text().strip().rstrip(";")
    day = TpchDay(spark.session, tables, sql, "cost")
    final, rows = day.run()
    compare_bags(day.batch(), rows, magnitude=1e4)
    if has_early_work(final):
        EARLY.add(path.stem)


def test_most_queries_work_early(request: pytest.FixtureRequest) -> None:
    """Runs after the days above, whose findings it counts."""
    need_all(request, test_auto_equals_batch, len(QUERIES))
    assert len(EARLY) >= 12, sorted(EARLY)
