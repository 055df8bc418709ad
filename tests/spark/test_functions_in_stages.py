"""Over the whole registry of functions: what a stage does to a query changes no value and no type.

A stage calls columns otherwise than the text and reads them of what an earlier stage wrote. So
every function of the registry is called over columns of every type, by the text and by our reading
of it in which all columns were renamed; Spark says of both which type they have, names of fields
and collations included, and which value. A function that differs has to be one that only the text
gives its value (:data:`forerun.planner.algebra.spark_functions.ONLY_TEXT`).
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from forerun.planner.algebra.spark_functions import KINDS, NOT_DETERMINISTIC, FunctionKind
from forerun.planner.algebra.types import parse_type
from forerun.planner.errors import ForerunError
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql

pytestmark = pytest.mark.spark
VALUES = {
    "BIGINT": ("5", "-2", "NULL"),
    "INT": ("3", "1", "NULL"),
    "DECIMAL(9,2)": ("12.50", "-0.25", "NULL"),
    "DOUBLE": ("1.5", "0.25", "NULL"),
    "STRING": ("'Abc'", "'1'", "NULL"),
    "BINARY": ("X'4142'", "X'00'", "NULL"),
    "BOOLEAN": ("true", "false", "NULL"),
    "DATE": ("'2026-01-31'", "'1999-12-01'", "NULL"),
    "TIMESTAMP": ("'2026-01-31 10:20:30'", "'1999-12-01 00:00:00'", "NULL"),
    "ARRAY<INT>": ("array(3, 1)", "array(7)", "NULL"),
    "MAP<STRING,INT>": ("map('x', 1)", "map('y', 2)", "NULL"),
}
NAMES = {type_: f"Col_{number}" for number, type_ in enumerate(VALUES)}
TABLE = Source(
    name="everything",
    columns=tuple(SourceColumn(name=name, type=parse_type(t)) for t, name in NAMES.items()),
)
_ROWS = " UNION ALL ".join(
    "SELECT " + ", ".join(f"CAST({VALUES[t][i]} AS {t}) AS {name}" for t, name in NAMES.items())
    for i in range(3)
)
_RENAMED = "(SELECT * FROM everything UNION ALL SELECT * FROM everything WHERE Col_0 < -99)"
_COLUMNS = list(NAMES.values())
ARGUMENTS = [
    *[(one,) for one in _COLUMNS],
    *[(one, one) for one in _COLUMNS],
    *itertools.pairwise(_COLUMNS),
    *itertools.product(_COLUMNS, ["'a'", "2"]),
    *[(one, "'a'", "'b'") for one in _COLUMNS],
    *[(one, "1", "2") for one in _COLUMNS],
    *[("'x'", one, "'y'", other) for one, other in itertools.pairwise(_COLUMNS)],
    *[(one, one, one) for one in _COLUMNS],
]
"""Of one, two and three arguments, and of names beside values."""
_LIKE_OTHERS = {FunctionKind.SYNTAX, FunctionKind.AGGREGATE, FunctionKind.ROWS, FunctionKind.TABLE}
FUNCTIONS = sorted(
    name
    for name, kind in KINDS.items()
    if kind not in _LIKE_OTHERS and name not in NOT_DETERMINISTIC and name != "raise_error"
)
AROUND = ("{0}", "to_json(named_struct('v', {0}))", "typeof({0})", "array({0})", "max({0})")
WITH_NAMES = (
    "struct(Col_0, COL_4)", "to_json(struct(col_0, Col_4 || 'x', Col_2))", "array(struct(Col_1))",
    "map('k', struct(Col_1))", "typeof(struct(Col_1, 1))", "to_xml(struct(Col_0))",
    "schema_of_json('{\"a\": 1}')", "to_csv(struct(Col_0, Col_4))", "coalesce(struct(Col_0), NULL)",
    "hash(struct(Col_0))", "CAST(struct(Col_0) AS STRING)", "max(struct(Col_0, Col_4))",
    "max_by(struct(Col_0), Col_1)", "collect_list(struct(Col_1))", "first(struct(Col_1), true)",
)  # fmt: skip


@pytest.fixture(scope="module")
def session(spark) -> Any:
    spark.session.sql(_ROWS).createOrReplaceTempView("everything")
    return spark.session


def differs(session: Any, call: str) -> str | None:
    """What differs between a call by the text and by our reading over renamed columns; None where
    Spark or we refuse the call."""
    sql = f"SELECT {call} AS r FROM {_RENAMED} AS t"
    try:
        theirs = session.sql(sql)
        wanted = theirs.schema[0].dataType
    except (PySparkException, Py4JError):  # the one is Spark's refusal, the other a fault of it
        return None
    try:
        query = read_query(sql, [TABLE])
    except ForerunError:
        return None
    if query.only_text:
        return ""
    printed = to_sql(query.relation, names=query.names)
    try:
        ours = session.sql(printed)
        found = ours.schema[0].dataType
    except PySparkException as error:
        return f"{call}: our reading is refused: {str(error)[:200]}\n{printed}"
    if wanted.json() != found.json():
        return f"{call}: {wanted.simpleString()}, ours {found.simpleString()}"
    known = query.relation.columns[0].type
    if known.is_known and known != parse_type(wanted.simpleString()):
        return f"{call}: {wanted.simpleString()}, taken for {known}"
    return ""


def values(session: Any, calls: list[str]) -> list[str]:
    """The calls whose values differ between the text and our reading; those that fail, fail in
    both."""
    wrong = []
    for call in calls:
        sql = f"SELECT {call} AS r FROM {_RENAMED} AS t"
        printed = to_sql(read_query(sql, [TABLE]).relation, names=("r",))
        if (one := _rows(session, sql)) != (other := _rows(session, printed)):
            wrong.append(f"{call}: {one}, ours {other}")
    return wrong


def _rows(session: Any, sql: str) -> list[str]:
    try:
        return sorted(map(repr, session.sql(sql).collect()))
    except (PySparkException, Py4JError):
        return ["fails"]


@pytest.mark.parametrize("call", WITH_NAMES)
def test_names_of_columns_in_values_are_those_of_the_text(session, call):
    assert differs(session, call) == ""
    assert not values(session, [call])


@pytest.mark.parametrize(
    "call",
    [
        "arrays_zip(Col_9)", "arrays_zip(col_9, array(1, 2))", "arrays_zip(array('a'), Col_9)[0]",
        "to_json(arrays_zip(Col_9, transform(Col_9, x -> x + 1)))",
        "arrays_zip(array(Col_0), Col_9)", "typeof(arrays_zip(t.Col_9, array(struct(Col_1))))",
    ],
)  # fmt: skip
def test_zipped_arrays_have_the_names_of_the_text(session, call):
    """Of a cast, Spark says that its elements may be NULL: that alone is another type."""
    sql = f"SELECT {call} AS r FROM {_RENAMED} AS t"
    query = read_query(sql, [TABLE])
    assert not query.only_text
    shown = [session.sql(text).schema[0].dataType.simpleString()
             for text in (sql, to_sql(query.relation, names=query.names))]  # fmt: skip
    assert shown[0] == shown[1]
    assert not values(session, [call])


@pytest.mark.parametrize(
    "call",
    ["arrays_zip(Col_9, Col_9)", "collate(Col_4, 'UTF8_LCASE')", "trim(collate(Col_4, 'UNICODE'))",
     "CAST(Col_4 AS STRING COLLATE UTF8_LCASE)", "collation(Col_4)"],
)  # fmt: skip
def test_what_only_the_text_means_is_known(call):
    assert read_query(f"SELECT {call} AS r FROM everything", [TABLE]).only_text


@pytest.mark.slow
@pytest.mark.parametrize("part", range(12))
def test_no_function_depends_on_what_a_stage_changes(session, part):
    """Types of every call that Spark takes, alone and inside of others; values of one call of each
    function and type of result."""
    wrong, taken = [], 0
    for name in FUNCTIONS[part::12]:
        seen: dict[str, str] = {}
        for arguments in ARGUMENTS:
            call = f"{name}({', '.join(arguments)})"
            said = differs(session, call)
            if said is None:
                continue
            taken += 1
            if said:
                wrong.append(said)
            else:
                seen.setdefault(", ".join(arguments), call)
        some = list(seen.values())[:3]
        wrong += values(session, some)
        wrong += [said for c in some[:1] for a in AROUND if (said := differs(session, a.format(c)))]
    assert taken > 100
    assert not wrong, "\n".join(wrong)
