"""Which columns of sources a result is made of, worked out by hand for each construct."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.relational import StateRead, Version
from forerun.planner.algebra.types import BIGINT, Column, ColumnId
from forerun.planner.props.lineage import lineage
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query


def source(name: str, *columns: str) -> Source:
    return Source(
        name=name, columns=tuple(SourceColumn(name=c, type=BIGINT) for c in columns), rows=1
    )


SOURCES = [source("t", "k", "a", "b"), source("u", "k", "c")]


def told(sql: str) -> tuple[dict[str, str], str]:
    """The origins of each column, and of the rows, in short."""
    query = read_query(sql, SOURCES)
    found = lineage(query.relation)

    def short(origins) -> str:
        return " ".join(f"{o.source}.{o.column}:{o.influence.value}" for o in sorted(origins))

    columns = zip(query.names, query.relation.columns, strict=True)
    return {name: short(found.columns[c.id]) for name, c in columns}, short(found.rows)


@pytest.mark.parametrize(
    ("sql", "columns", "rows"),
    [
        (
            "SELECT a, a + b AS s, 1 AS one FROM t WHERE k > 2",
            {"a": "t.a:identity", "s": "t.a:transformation t.b:transformation", "one": ""},
            "t.k:filter",
        ),
        (
            "SELECT k, sum(a + b) + 1 AS s, count(*) AS n FROM t GROUP BY k",
            {"k": "t.k:identity", "s": "t.a:aggregation t.b:aggregation", "n": ""},
            "t.k:group_by",
        ),
        (
            "SELECT CASE WHEN b > 1 THEN a ELSE 0 END AS x FROM t",
            {"x": "t.a:transformation t.b:conditional"},
            "",
        ),
        (
            "SELECT sum(a) FILTER (WHERE b > 1) AS s FROM t",
            {"s": "t.a:aggregation t.b:conditional"},
            "",
        ),
        ("SELECT t.a, c FROM t JOIN u ON t.k = u.k",
         {"a": "t.a:identity", "c": "u.c:identity"}, "t.k:join u.k:join"),
        ("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND c = 3)",
         {"a": "t.a:identity"}, "t.k:join u.c:filter u.k:join"),
        ("SELECT a FROM t UNION ALL SELECT c FROM u",
         {"a": "t.a:identity u.c:identity"}, ""),
        ("SELECT a FROM t ORDER BY b LIMIT 3", {"a": "t.a:identity"}, "t.b:sort"),
        (
            "SELECT sum(a) OVER (PARTITION BY k ORDER BY b) AS w FROM t",
            {"w": "t.a:aggregation t.b:window t.k:window"},
            "",
        ),
        ("WITH x AS (SELECT k, max(a) AS m FROM t GROUP BY k) SELECT m * 2 AS d FROM x",
         {"d": "t.a:aggregation"}, "t.k:group_by"),
    ],
)  # fmt: skip
def test_of_each_construct(sql, columns, rows):
    assert told(sql) == (columns, rows)


@pytest.mark.parametrize("word", ["EXCEPT", "INTERSECT"])
def test_set_operations_compare_all_columns(word):
    columns, rows = told(f"SELECT a FROM t {word} SELECT c FROM u")
    assert "t.a:identity" in columns["a"]
    assert {"t.a:filter", "u.c:filter"} <= set(rows.split())


def test_in_as_a_value_is_decided_by_the_other_side():
    columns, _ = told("SELECT a IN (SELECT c FROM u WHERE k > 1) AS there FROM t")
    found = set(columns["there"].split())
    assert {"u.c:conditional", "u.k:filter"} <= found
    assert {one.split(":")[0] for one in found} == {"t.a", "u.c", "u.k"}


def test_what_is_kept_has_no_lineage_of_its_own():
    read = StateRead("f", (Column(ColumnId(1), "x", BIGINT),), ("x",), Version.NEW)
    with pytest.raises(ValueError, match="does not read f"):
        lineage(read)
