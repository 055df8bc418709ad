"""TPC-DS before Spark's analyzer: our types are Spark's, and it takes what we print.

The texts and tables are fetched. Analysis only, nothing is executed: the days themselves run in
``tests/e2e/test_simulate_tpcds.py``.
"""

from __future__ import annotations

from typing import Any

import pytest

from forerun.planner.algebra.types import parse_type
from forerun.planner.request import Source
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql
from forerun.planner.tvr.signed import ColumnIds
from forerun.simulation.planning import sources
from forerun.simulation.tables import find_tables
from tests.benchmarks import tpcds

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def given(spark: Any) -> tuple[Source, ...]:
    """The tables as sources, and as views of the session."""
    folder = tpcds.tables(0.01)
    tables = find_tables(folder)
    for name in tables:
        spark.session.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    return sources(tables.values(), tpcds.FACTS)


@pytest.fixture(scope="module")
def queries() -> dict[str, str]:
    return tpcds.queries()


@pytest.mark.parametrize("name", tpcds.NAMES)
def test_types(name: str, given: tuple[Source, ...], queries: dict[str, str], spark: Any) -> None:
    query = read_query(queries[name], given)
    normal = normalize(query.relation, given, ColumnIds(query.last_id))
    types = [parse_type(f.dataType.simpleString()) for f in spark.session.sql(queries[name]).schema]
    known = [
        (ours.type, theirs)
        for ours, theirs in zip(query.relation.columns, types, strict=True)
        if ours.type.is_known
    ]
    assert [ours for ours, _ in known] == [theirs for _, theirs in known]
    assert len(known) >= len(types) - 1
    for relation in (query.relation, normal):
        printed = spark.session.sql(to_sql(relation, names=query.names)).schema
        assert [parse_type(f.dataType.simpleString()) for f in printed] == types
