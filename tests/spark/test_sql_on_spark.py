"""The SQL front end against Spark itself: the same answers, the same types, the same names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forerun.planner.algebra.types import parse_type
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql
from tests.datadriven import Block
from tests.oracles.bags import compare_bags
from tests.planner.sql import tables, tpch
from tests.planner.sql.constructs import CONSTRUCTS, bound
from tests.planner.sql.function_calls import CALLS
from tests.planner.sql.unnamed import UNNAMED
from tests.properties.engines import PlainSparkEngine

pytestmark = pytest.mark.spark

CASES = [case for case in CONSTRUCTS if "spark" not in case.values[0].options]
SAMPLE = CASES[::12]


@pytest.fixture(scope="module")
def engine(spark: Any) -> PlainSparkEngine:
    return bound(PlainSparkEngine(spark.session))


def check(block: Block, engine: PlainSparkEngine, session: Any) -> None:
    """Same rows, same names and the derived types, for the user's text and for ours. ``nulls``: of
    a part of a value Spark says that it may be NULL in one of them, and not in the other."""
    query = read_query(block.input, tables.SOURCES)
    text = to_sql(query.relation, names=query.names)
    written, printed = session.sql(block.input).schema, session.sql(text).schema
    assert [f.name for f in written] == list(query.names)
    if "nulls" not in block.options:
        assert [f.dataType for f in written] == [f.dataType for f in printed]
    for column, field in zip(query.relation.columns, written, strict=True):
        if column.type.is_known:
            assert column.type == parse_type(field.dataType.simpleString()), field.name
    compare_bags(engine.query(block.input), engine.query(text))


@pytest.mark.parametrize("block", SAMPLE)
def test_sample(block: Block, engine: PlainSparkEngine, spark: Any) -> None:
    check(block, engine, spark.session)


@pytest.mark.slow
@pytest.mark.parametrize("block", CASES)
def test_all(block: Block, engine: PlainSparkEngine, spark: Any) -> None:
    check(block, engine, spark.session)


@pytest.mark.slow
@pytest.mark.parametrize("path", tpch.TEXTS, ids=lambda p: p.stem)
def test_tpch(path: Path, engine: PlainSparkEngine, spark: Any) -> None:
    query = read_query(path.read_text(), tpch.SOURCES)
    text = to_sql(query.relation, names=query.names)
    fields = spark.session.sql(path.read_text()).schema
    types = [parse_type(field.dataType.simpleString()) for field in fields]
    assert [column.type for column in query.relation.columns] == types
    compare_bags(engine.query(path.read_text()), engine.query(text))


def test_types_of_functions(engine: PlainSparkEngine, spark: Any) -> None:
    """Analysis only: Spark's type of each call is the one we derive, or we say UNKNOWN."""
    from pyspark.errors import AnalysisException

    wrong, unknown = [], []
    for call in CALLS:
        sql = f"select {call} as x from t"
        (ours,) = read_query(sql, tables.SOURCES).relation.columns
        try:
            theirs = parse_type(spark.session.sql(sql).schema[0].dataType.simpleString())
        except AnalysisException as error:
            wrong.append(f"{call}: Spark refuses it: {str(error)[:90]}")
            continue
        if not ours.type.is_known:
            unknown.append(call)
        elif str(ours.type).lower() != str(theirs).lower():  # of nested types Spark's are lower
            wrong.append(f"{call}: {ours.type}, Spark {theirs}")
    assert not wrong, "\n".join(wrong)
    assert len(unknown) <= 8, unknown


def test_names_of_what_has_no_alias(engine: PlainSparkEngine, spark: Any) -> None:
    """Analysis only: an item of SELECT is called as Spark calls it, and can be found by that."""
    named = {call: _names(call, spark) for call in (*UNNAMED, *CALLS)}
    wrong = {call: pair for call, pair in named.items() if pair and pair[0] != pair[1]}
    assert not wrong


def _names(call: str, spark: Any) -> tuple[list[str], list[str]] | None:
    """What we call the columns, and what Spark does; None where it refuses the call."""
    from pyspark.errors import AnalysisException

    sql = f"select {call} from t{' window w as (partition by c)' if 'over w' in call else ''}"
    try:
        theirs = spark.session.sql(sql).columns
    except AnalysisException:
        return None
    return list(read_query(sql, tables.SOURCES).names), theirs


def test_not_in_is_a_null_aware_anti_join(engine: PlainSparkEngine, spark: Any) -> None:
    """The printed condition is what Spark turns into its hash-based null-aware anti join."""
    query = read_query("select a from t where a not in (select k from s)", tables.SOURCES)
    frame = spark.session.sql(to_sql(query.relation))
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "BroadcastHashJoin" in plan
    assert "LeftAnti" in plan


def test_two_rows_for_a_scalar_subquery_fail_in_both(engine: PlainSparkEngine, spark: Any) -> None:
    sql = "select a, (select v from s where s.k = t.a) as v from t"
    query = read_query(sql, tables.SOURCES)
    for text in (sql, to_sql(query.relation)):
        with pytest.raises(Exception, match=r"(?i)more than one row|too_many_rows"):
            spark.session.sql(text).collect()
