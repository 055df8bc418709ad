"""The printed SQL means what the user wrote.

Each query runs on Sail as written and as printed from the algebra, and the algebra is evaluated by
the row interpreter; all answers must be the same bag. Where Sail itself refuses or misreads the
text that Spark takes (``sail=...`` says which), the interpreter alone is the judge. The same cases
run on Spark in ``tests/spark/test_sql_on_spark.py``.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql
from tests.datadriven import Block
from tests.oracles.bags import compare_bags, with_equal_scales
from tests.oracles.interpreter import Inputs, SourceData, evaluate
from tests.oracles.values import EvaluationError, Row
from tests.planner.sql import tables, tpch
from tests.planner.sql.constructs import CONSTRUCTS
from tests.properties.engines import PlainSailEngine


def plain(rows: list[Row]) -> list[Row]:
    """Sail gives some decimals another scale than Spark: compare them as numbers here."""
    return [
        tuple(value.normalize() + 0 if isinstance(value, Decimal) else value for value in row)
        for row in rows
    ]


@pytest.mark.parametrize("block", CONSTRUCTS)
def test_construct(block: Block, sail: PlainSailEngine) -> None:
    if "printed" in block.options:
        pytest.skip("Sail itself gives a wrong answer; the case runs on Spark")
    query = read_query(block.input, tables.SOURCES)
    printed = plain(sail.query(to_sql(query.relation, names=query.names)))
    if "sail" not in block.options:
        compare_bags(plain(sail.query(block.input)), printed)
    if "interpreter" not in block.options:
        compare_bags(plain(evaluate(query.relation, tables.inputs())), printed)


@pytest.mark.parametrize("path", tpch.TEXTS, ids=lambda p: p.stem)
def test_tpch(path: Path, sail: PlainSailEngine) -> None:
    query = read_query(path.read_text(), tpch.SOURCES)
    printed = sail.query(to_sql(query.relation, names=query.names))
    compare_bags(*with_equal_scales(sail.query(path.read_text()), printed))


def test_the_generated_rows_give_most_tpch_queries_a_result(sail: PlainSailEngine) -> None:
    empty = [path.stem for path in tpch.TEXTS if not sail.query(path.read_text())]
    assert len(empty) <= 3, empty


def test_a_wrong_reading_would_be_noticed(sail: PlainSailEngine) -> None:
    """The comparison itself can fail: the anti join of NOT EXISTS is not the one of NOT IN."""
    written = "select a from t where a not in (select k from s)"
    other = read_query(
        "select a from t where not exists (select 1 from s where k = a)", tables.SOURCES
    )
    with pytest.raises(AssertionError):
        compare_bags(sail.query(written), sail.query(to_sql(other.relation, names=other.names)))


def test_interpreter_sees_the_same_tables() -> None:
    inputs = Inputs({"r": SourceData(("k", "v", "w"), tables.ROWS["r"])})
    query = read_query("select * from r", tables.SOURCES)
    assert len(evaluate(query.relation, inputs)) == len(tables.ROWS["r"])


@pytest.mark.parametrize(
    "sql",
    [
        "select a from t where a = (select k from s)",
        "select a, (select distinct v from s where k < 3) as v from t",
    ],
)
def test_two_rows_for_a_scalar_subquery_fail(sql: str, sail: PlainSailEngine) -> None:
    query = read_query(sql, tables.SOURCES)
    for text in (sql, to_sql(query.relation)):
        with pytest.raises(Exception, match=r"(?i)more than one row"):
            sail.query(text)
    with pytest.raises(EvaluationError):
        evaluate(query.relation, tables.inputs())
