"""Algebra to SQL text: readable (goldens), exact constants, versions of families, shared nodes."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forerun.planner.algebra.relational import (
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    Sort,
    SortKey,
    StateRead,
    Values,
    Version,
)
from forerun.planner.algebra.scalar import TRUE, Call, Literal, Ref, equals
from forerun.planner.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    Column,
    ColumnId,
    DataType,
    decimal,
    parse_type,
)
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql
from forerun.planner.sql.printing.scalar_sql import literal_sql, string_literal
from tests.datadriven import Block, Case, cases, check
from tests.planner.sql import tables, tpch
from tests.properties.engines import PlainSailEngine
from tests.properties.sessions import sail_session

K, V, W = (Column(ColumnId(i), n, INT) for i, n in ((1, "k"), (2, "v"), (3, "w")))


@pytest.mark.parametrize("case", cases([Path(__file__).parent / "print.test"]))
def test_text(case: Case, accept: bool) -> None:
    def run(block: Block) -> str:
        if block.directive == "tpch":
            (path,) = [p for p in tpch.TEXTS if p.stem == block.input]
            query = read_query(path.read_text(), tpch.SOURCES)
        else:
            query = read_query(block.input, tables.SOURCES)
        return to_sql(query.relation, names=query.names)

    check(case, run, accept=accept)


@settings(max_examples=60, deadline=None)
@example("\x0000")
@example("\x0007\\101")
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12))
def test_strings_are_read_back_as_they_are(text: str) -> None:
    (row,) = PlainSailEngine(sail_session()).query(f"SELECT {string_literal(text)} AS x")
    assert row == (text,)


@pytest.mark.parametrize(
    ("literal", "type_", "value"),
    [
        (Literal("5", INT), "int", 5),
        (Literal("-2147483648", INT), "int", -(2**31)),
        (Literal("5", BIGINT), "bigint", 5),
        (Literal("-9223372036854775808", BIGINT), "bigint", -(2**63)),
        (Literal("3", DataType("SMALLINT")), "smallint", 3),
        (Literal("-3", DataType("TINYINT")), "tinyint", -3),
        (Literal("1.50", decimal(3, 2)), "decimal(3,2)", Decimal("1.50")),
        (Literal("1.50", decimal(10, 2)), "decimal(10,2)", Decimal("1.50")),
        (Literal("-0.06", decimal(2, 2)), "decimal(2,2)", Decimal("-0.06")),
        (Literal("7", decimal(1, 0)), "decimal(1,0)", Decimal("7")),
        (Literal("1e+20", DOUBLE), "double", 1e20),
        (Literal("-0.5", DOUBLE), "double", -0.5),
        (Literal("Infinity", DOUBLE), "double", float("inf")),
        (Literal("true", BOOLEAN), "boolean", True),
        (Literal(None, DATE), "date", None),
        (Literal(None, STRING), "string", None),
    ],
)
def test_constants_keep_value_and_type(
    literal: Literal, type_: str, value: object, sail: PlainSailEngine
) -> None:
    sql = f"SELECT {literal_sql(literal).text} AS x"
    assert sail.query(sql) == [(value,)]
    schema = sail_session().sql(sql).schema
    assert parse_type(schema[0].dataType.simpleString()) == parse_type(type_)


def test_a_negative_constant_is_no_comment() -> None:
    text = to_sql(Project(Scan("r", (K,)), ((V, Call("-", (Ref(K), Literal("-1", INT)), INT)),)))
    assert "- (-1)" in text
    assert "--" not in text


@pytest.mark.parametrize(
    ("version", "test"), [(Version.OLD, "< 3"), (Version.DELTA, "= 3"), (Version.NEW, "<= 3")]
)
def test_versions_of_a_family_are_partition_filters(version: Version, test: str) -> None:
    state = StateRead("f_ab12", (K, V), ("key", "__w"), version)
    text = to_sql(state, run=3)
    assert f"WHERE `f_ab12`.`__run` {test}" in text
    assert "`f_ab12`.`key` AS `k_1`" in text


def test_a_delta_is_its_own_view() -> None:
    both = Join(
        JoinKind.INNER,
        Scan("s", (K,)),
        Scan("s", (V,), Version.DELTA),
        equals(K, V),
    )
    text = to_sql(both)
    assert "FROM `s`\nJOIN `s__delta` ON `s`.`k` = `s__delta`.`v`" in text


def test_a_relation_that_is_used_twice_is_one_cte() -> None:
    shared = Filter(Scan("r", (K, V)), Call("isnotnull", (Ref(V),), BOOLEAN))
    copy = Project(shared, ((W, Ref(K)),))
    text = to_sql(Join(JoinKind.LEFT, shared, copy, equals(K, W)))
    assert text.count("isnotnull(") == 1
    assert text.startswith("WITH `q1` AS (")


def test_names_of_tables_that_look_like_ours_are_left_alone() -> None:
    q1, t = Scan("q1", (K,)), Scan("T", (V,))
    shared = Filter(q1, Call("isnotnull", (Ref(K),), BOOLEAN))
    copy = Project(shared, ((W, Ref(K)),))
    limited: Relation = Limit(Sort(t, (SortKey(V),)), 1)
    both = Join(JoinKind.INNER, Join(JoinKind.INNER, shared, copy, equals(K, W)), limited, TRUE)
    text = to_sql(both)
    assert "WITH `q1_2` AS" in text
    assert ") AS `t_2`" in text


def test_a_hint_names_the_right_side() -> None:
    right = Scan("r", (V,))
    join = Join(JoinKind.INNER, Scan("s", (K,)), right, equals(K, V))
    text = to_sql(join, hints={right: "BROADCAST"})
    assert text.startswith("SELECT /*+ BROADCAST(`r`) */")


def test_repeat_multiplies_rows(sail: PlainSailEngine) -> None:
    rows = tuple(
        (Literal(a, INT), Literal(n, INT)) for a, n in (("1", "2"), ("2", "0"), ("3", "1"))
    )
    repeated = Repeat(Values((K, V), rows), V)
    assert sorted(sail.query(to_sql(repeated))) == [(1,), (1,), (3,)]


def test_no_rows_and_one_row_without_columns(sail: PlainSailEngine) -> None:
    assert sail.query(to_sql(Values((K, V), ()))) == []
    one = Project(Values((), ((),)), ((K, Literal("1", INT)),))
    assert sail.query(to_sql(one)) == [(1,)]


def test_a_constant_group_key_is_not_the_number_of_a_column(sail: PlainSailEngine) -> None:
    query = read_query("select 2 as two, count(*) as n from r group by 2 + 0", tables.SOURCES)
    assert sail.query(to_sql(query.relation)) == [(2, 7)]


def test_the_order_survives_a_hidden_sort_key(sail: PlainSailEngine) -> None:
    sql = "select w from r where v is not null order by v desc, k limit 4"
    query = read_query(sql, tables.SOURCES)
    assert sail.query(to_sql(query.relation, names=query.names)) == sail.query(sql)


def test_the_same_request_prints_the_same_text() -> None:
    sql = (Path(__file__).parents[2] / "tpch" / "q21.sql").read_text()
    first, second = (to_sql(read_query(sql, tpch.SOURCES).relation) for _ in range(2))
    assert first == second
