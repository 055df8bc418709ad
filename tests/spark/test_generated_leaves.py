"""Arrays of structs on Spark: stages of our own make the same rows of them, and read the fields
that are read of what is exploded, and no others."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from forerun.planner.algebra.types import parse_type
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql
from forerun.planner.tvr.signed import ColumnIds

pytestmark = pytest.mark.spark
ITEMS = "ARRAY<STRUCT<a:INT,b:BIGINT,c:STRUCT<x:INT,y:STRING>,tags:MAP<STRING,INT>,wide:STRING>>"
TABLE = Source(
    name="orders",
    columns=(
        SourceColumn(name="k", type=parse_type("INT")),
        SourceColumn(name="items", type=parse_type(ITEMS)),
        SourceColumn(name="box", type=parse_type(f"STRUCT<items:{ITEMS},n:INT>")),
    ),
)
_ONE = "named_struct('a', {}, 'b', {}, 'c', {}, 'tags', map('t', {}), 'wide', 'w')"
_ELEMENTS = (
    _ONE.format(1, 2, "named_struct('x', 3, 'y', 'u')", 5),
    _ONE.format("NULL", 2, "NULL", "NULL"),
    _ONE.format(1, "NULL", "named_struct('x', NULL, 'y', 'v')", 7),
    "NULL",
)
_ARRAYS = ("NULL", "array()", *(f"array({', '.join(_ELEMENTS[:n])})" for n in (1, 3, 4)))
_ROWS = " UNION ALL ".join(
    f"SELECT {k} AS k, CAST({a} AS {ITEMS}) AS items, "
    f"named_struct('items', CAST({a} AS {ITEMS}), 'n', {k}) AS box"
    for k, a in enumerate(_ARRAYS)
)
READ = {
    "SELECT e.a, sum(e.b) AS b FROM orders LATERAL VIEW explode(items) x AS e GROUP BY e.a":
        "items:array<struct<a:int,b:bigint>>",
    "SELECT k, e.c.y, e.a FROM orders LATERAL VIEW OUTER explode(items) x AS e":
        "k:int,items:array<struct<a:int,c:struct<y:string>>>",
    "SELECT k, e.c.x FROM orders LATERAL VIEW explode(items) x AS e WHERE e.c.y = 'u'":
        "k:int,items:array<struct<c:struct<x:int,y:string>>>",
    "SELECT k, p, e.c.x FROM orders LATERAL VIEW OUTER posexplode(items) x AS p, e":
        "k:int,items:array<struct<c:struct<x:int>>>",
    "SELECT k, p, e.c.x, e.a FROM orders LATERAL VIEW OUTER posexplode(items) x AS p, e":
        "k:int,items:array<struct<a:int,c:struct<x:int>>>",
    "SELECT e.a, sum(e.b) AS b FROM orders LATERAL VIEW posexplode(items) x AS p, e WHERE p > 0 "
    "GROUP BY e.a":
        "items:array<struct<a:int,b:bigint>>",
    "SELECT k, e.tags['t'] AS t, e.a FROM orders LATERAL VIEW explode(items) x AS e":
        "k:int,items:array<struct<a:int,tags:map<string,int>>>",
    "SELECT k, a, c.y FROM orders LATERAL VIEW OUTER inline(items) x AS a, b, c, t, w":
        "k:int,items:array<struct<a:int,c:struct<y:string>>>",
    "SELECT k, count(*) AS n FROM orders LATERAL VIEW explode(items) x AS e GROUP BY k":
        "k:int,items:array<struct<a:int>>",
    "SELECT k, e.b, e.a FROM orders LATERAL VIEW explode(box.items) x AS e WHERE box.n > 0":
        "k:int,box:struct<items:array<struct<a:int,b:bigint>>,n:int>",
    "SELECT o.k, s.e.a, s.e.b FROM orders o JOIN (SELECT k, e FROM orders LATERAL VIEW "
    "explode(items) x AS e) s ON s.e.a = o.k":
        "items:array<struct<a:int,b:bigint>>",
}  # fmt: skip


@pytest.fixture(scope="module")
def session(spark, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = str(tmp_path_factory.mktemp("nested") / "orders")
    spark.session.sql(_ROWS).coalesce(1).write.parquet(folder)
    spark.session.read.parquet(folder).createOrReplaceTempView("orders")
    yield spark.session
    spark.session.catalog.dropTempView("orders")


@pytest.mark.parametrize("sql", READ)
def test_the_same_rows_of_the_fields_that_are_read(session: Any, sql: str) -> None:
    query = read_query(sql, (TABLE,))
    form = normalize(query.relation, (TABLE,), ColumnIds(query.last_id))
    found = session.sql(to_sql(form, names=query.names))
    wanted = session.sql(sql)
    assert found.dtypes == wanted.dtypes
    assert Counter(map(str, found.collect())) == Counter(map(str, wanted.collect()))
    plan = found._jdf.queryExecution().executedPlan().toString()
    assert READ[sql] in re.findall(r"ReadSchema: struct<(.*)>", plan)
