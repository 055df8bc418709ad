"""Every refusal names the construct or the name, and points at it (goldens in ``errors.test``)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlglot import exp

from forerun.planner.algebra.types import INT
from forerun.planner.errors import SqlError, UnsupportedSqlError
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.query_block.expressions import HANDLED
from forerun.planner.sql.syntax.dialect import parse
from forerun.planner.sql.syntax.text import QueryText, require_only
from tests.datadriven import Block, Case, cases, check, read_blocks
from tests.planner.sql import tables

PATH = Path(__file__).parent / "errors.test"


def _message(sql: str) -> str:
    with pytest.raises(SqlError) as caught:
        read_query(sql, tables.SOURCES)
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize("case", cases([PATH]))
def test_messages(case: Case, accept: bool) -> None:
    def run(block: Block) -> str:
        assert block.directive == "error"
        return _message(block.input)

    check(case, run, accept=accept)


@pytest.mark.parametrize("block", read_blocks(PATH), ids=lambda b: f"line {b.line}")
def test_the_position_is_inside_the_text(block: Block) -> None:
    found = re.match(r"\w+: line (\d+), column (\d+): ", _message(block.input))
    assert found is not None
    line, column = int(found[1]), int(found[2])
    lines = block.input.split("\n")
    assert 1 <= line <= len(lines)
    assert 1 <= column <= len(lines[line - 1]) + 1


def test_an_empty_text_is_refused() -> None:
    for sql in ("", "  \n ", ";", "-- only a comment"):
        with pytest.raises(SqlError, match="the query is empty"):
            read_query(sql, tables.SOURCES)


def test_a_very_deep_query_is_refused_not_crashed() -> None:
    deep = "select " + "(" * 3000 + "1" + ")" * 3000 + " as x"
    with pytest.raises(SqlError, match="3,000 levels deep, and 150 is the limit"):
        read_query(deep, tables.SOURCES)


def test_a_long_chain_of_ors_is_read() -> None:
    chain = " or ".join(f"a = {i}" for i in range(300))
    query = read_query(f"select a from t where {chain}", tables.SOURCES)
    assert query.names == ("a",)


def test_a_trailing_semicolon_is_fine() -> None:
    assert read_query("select a from t ; ;", tables.SOURCES).names == ("a",)


def test_names_match_whatever_their_case() -> None:
    source = Source(name="Orders", columns=(SourceColumn(name="OrderKey", type=INT),))
    query = read_query("select orderkey, ORDERS.OrderKey as k2 from orders", (source,))
    assert query.names == ("orderkey", "k2")


def test_a_part_that_nobody_reads_is_refused() -> None:
    text = QueryText("select a from t limit 3")
    tree = parse(text)
    with pytest.raises(UnsupportedSqlError, match="LIMIT"):
        require_only(text, tree, "expressions", "from_")


def test_the_parts_a_handler_reads_exist() -> None:
    """What is not listed is refused by name; what is listed must be a part of that node."""
    for kind, consumed in HANDLED.items():
        assert issubclass(kind, exp.Expr)
        assert set(consumed) - {"this", "expression"} <= set(kind.arg_types), kind


def test_words_in_disorder_are_refused_not_crashed() -> None:
    sql = "else a from t where case when exists (select from s where s.k =1t.a) then b end"
    with pytest.raises(SqlError):
        read_query(sql, tables.SOURCES)
