"""Views and plain names are put into a text that stays what it is, line by line."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.types import parse_type
from forerun.planner.errors import SqlError
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.query_block.recursion import reads
from forerun.planner.sql.syntax.dialect import parse
from forerun.planner.sql.syntax.table_names import tables_read
from forerun.planner.sql.syntax.text import QueryText
from forerun.planner.sql.syntax.views import tables_named, with_plain_names, with_views

SALES = Source(
    name="sales",
    columns=tuple(
        SourceColumn(name=name, type=parse_type(kind))
        for name, kind in (("shop", "STRING"), ("amount", "BIGINT"))
    ),
)
BIG = "-- those that count; ';'\nSELECT shop, amount /* all */\nFROM sales WHERE shop <> '--\n';\n"


def test_a_view_is_defined_before_the_query_s_own():
    text = "-- first\nWITH best AS (SELECT max(amount) AS m FROM big)\nSELECT m FROM best"
    made = with_views(text, [("big", BIG)])
    assert made.splitlines()[0] == "-- first"
    assert read_query(made, [SALES]).names == ("m",)
    assert "-- those" not in made
    assert "'--\n'" in made, "a string keeps its line end"


@pytest.mark.parametrize("before", ["", "\n\n", "-- a comment\n", "/* two\nlines */ "])
def test_no_line_of_the_query_moves(before):
    plain = "SELECT shop FROM sales"
    made = with_views(f"{before}SELECT x\nFROM big", [("big", plain)])
    with pytest.raises(SqlError) as raised:
        read_query(made, [SALES])
    where = before.count("\n") + 1
    assert raised.value.message.startswith(f"line {where}, column"), raised.value.message


def test_without_views_the_text_is_as_it_was():
    assert with_views("SELECT 1", []) == "SELECT 1"


def test_tables_are_named_as_they_are_written():
    text = "WITH a AS (SELECT * FROM b) SELECT * FROM a JOIN `Lake`.Sales.T t WHERE x IN (TABLE c)"
    assert tables_named(text) == {"b", "lake.sales.t", "c"}


def test_what_a_hint_names_is_no_other_table():
    text = (
        "SELECT /*+ BROADCAST(s), SHUFFLE_HASH(t, x.y) */ * FROM sales s JOIN t ON s.shop = t.shop"
    )
    assert tables_named(text) == {"sales", "t"}
    assert tables_read(text, ["SALES", "t"]) == {"SALES", "t"}
    assert not reads(parse(QueryText(text)), "s")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT amount FROM shop.sales", "SELECT amount FROM sales"),
        ("SELECT sales.amount FROM SHOP.SALES WHERE 'shop.sales' <> shop",
         "SELECT sales.amount FROM sales WHERE 'shop.sales' <> shop"),
        ("SELECT shop.sales.amount FROM `shop`.`sales`", "SELECT sales.amount FROM sales"),
        ("SELECT t.amount FROM shop.sales t -- shop.sales", "SELECT t.amount FROM sales t"),
        ("SELECT sales.amount FROM eu.sales", "SELECT sales.amount FROM eu_sales AS sales"),
        ("SELECT s.amount FROM eu.sales AS s", "SELECT s.amount FROM eu_sales AS s"),
        ("SELECT amount FROM sales", "SELECT amount FROM sales"),
        ("SELECT /*+ MERGE(s, shop.sales) */ s.amount FROM shop.sales s",
         "SELECT /*+ MERGE(s, shop.sales) */ s.amount FROM sales s"),
    ],
)  # fmt: skip
def test_a_name_with_dots_is_that_of_a_source(text, wanted):
    made = with_plain_names(text, {"shop.sales": "sales", "eu.sales": "eu_sales"})
    assert made.count("\n") == text.count("\n")
    assert " ".join(made.partition("--")[0].replace(" .", ".").split()).replace(" .", ".") == wanted
    eu = Source(name="eu_sales", columns=SALES.columns)
    assert read_query(made, [SALES, eu]).names == ("amount",)
    assert with_plain_names(made, {"shop.sales": "sales", "eu.sales": "eu_sales"}) == made
