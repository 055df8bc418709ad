"""Spark still has the faults that are named, and a query that falls into one is run as text."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.types import parse_type
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.spark_faults import SPARK_FAULTS, faults_of

TABLES = {"q": {"k": "bigint", "at": "int", "n": "int"}, "p": {"k": "int", "at": "int"}}
SOURCES = tuple(
    Source(
        name=name,
        columns=tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in columns.items()),
    )
    for name, columns in TABLES.items()
)
LOOKUP = "SELECT q.k, q.at, (SELECT p.at FROM p WHERE {on} {cut}) AS v FROM q"
CUT = "ORDER BY p.at DESC LIMIT 1"
WRONG = (
    LOOKUP.format(on="p.k = q.k AND p.at <= q.at", cut=CUT),
    LOOKUP.format(on="p.k = q.k", cut=CUT),
    LOOKUP.format(on="q.k = p.k AND p.at <= q.at", cut="LIMIT 1"),
)
RIGHT = (
    LOOKUP.format(on="p.k = q.n AND p.at <= q.at", cut=CUT),
    LOOKUP.format(on="p.at <= q.at", cut=CUT),
    LOOKUP.format(on="p.k = q.k AND p.at <= q.at", cut="").replace("p.at FROM", "max(p.at) FROM"),
    "SELECT k, row_number() OVER (PARTITION BY k ORDER BY at) AS r FROM q WHERE n = k",
)


@pytest.mark.parametrize("sql", WRONG)
def test_a_query_that_falls_into_it_is_only_text(sql):
    query = read_query(sql, SOURCES)
    assert [one.code for one in faults_of(query.relation, "4.1.4")] == ["limited-lookup-with-cast"]
    assert faults_of(query.relation, "9.9") == ()
    assert any("Spark's own rows are wrong" in why for why in query.only_text)


@pytest.mark.parametrize("sql", RIGHT)
def test_others_are_planned(sql):
    assert read_query(sql, SOURCES).only_text == ()


@pytest.mark.spark
def test_spark_still_has_it(spark):
    session = spark.session.newSession()
    assert session.version.startswith(SPARK_FAULTS[0].versions)
    rows = [(k, at) for k in range(20) for at in range(0, 10, 2)]
    values = ", ".join(f"({k}L, {at + 1}, {k})" for k, at in rows)
    session.sql(f"CREATE TEMP VIEW q AS SELECT * FROM VALUES {values} AS q(k, at, n)")
    values = ", ".join(f"({k}, {at})" for k, at in rows)
    session.sql(f"CREATE TEMP VIEW p AS SELECT * FROM VALUES {values} AS p(k, at)")
    for sql in WRONG:
        assert any(row.v is None for row in session.sql(sql).collect()), sql
    assert all(row.v is not None for row in session.sql(RIGHT[0]).collect())
