"""Which functions a report may call, and what looks like a template in its text."""

from __future__ import annotations

import pytest

from forerun.include.machine.settings import SettingsError, allowed_functions, forbidden_functions
from forerun.planner.algebra import functions
from forerun.planner.algebra.aggregates import functions as aggregate_functions
from forerun.planner.algebra.scalar import Call, is_deterministic
from forerun.planner.algebra.spark_functions import (
    ALWAYS_REFUSED,
    KINDS,
    NOT_DETERMINISTIC,
    REFUSED,
    FunctionKind,
)
from forerun.planner.algebra.types import STRING
from forerun.planner.errors import (
    ALLOWED_FUNCTIONS,
    RefusedFunctionError,
    SqlError,
    UnsupportedSqlError,
)
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql
from tests.planner.sql import tables

GET_ENV = "('java.lang.System', 'getenv', 'AWS_SECRET_ACCESS_KEY')"
PLACES = [
    "SELECT {} AS x FROM t",
    "SELECT a FROM t WHERE {} = 'x'",
    "SELECT max({}) AS x FROM t",
    "SELECT count(*) FILTER (WHERE {} = 'x') AS x FROM t",
    "SELECT a FROM t JOIN s ON t.a = s.k AND {} = 'x'",
    "SELECT a, count(*) AS n FROM t GROUP BY a HAVING max({}) = 'x'",
    "SELECT a FROM t ORDER BY {}",
    "SELECT sum(a) OVER (PARTITION BY {}) AS x FROM t",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM s WHERE {} = 'x')",
    "WITH q AS (SELECT {} AS x FROM t) SELECT x FROM q",
    "SELECT a FROM t UNION ALL SELECT {} FROM s",
    "SELECT upper(coalesce('a', {})) AS x FROM t",
    "VALUES ({})",
]


def refusal(sql: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        read_query(sql, tables.SOURCES)
    return caught.value


@pytest.mark.parametrize("place", PLACES)
def test_what_reaches_into_the_jvm_is_refused_wherever_it_stands(place: str) -> None:
    error = refusal(place.format(f"reflect{GET_ENV}"))
    assert isinstance(error, RefusedFunctionError)
    assert "may not call reflect" in error.message
    assert f"{ALLOWED_FUNCTIONS}=reflect" in error.hint
    assert "deployment" in error.hint


@pytest.mark.parametrize("name", [*sorted(ALWAYS_REFUSED), "JAVA_METHOD", "`reflect`", "Reflect"])
def test_every_function_of_a_refused_kind(name: str) -> None:
    assert isinstance(refusal(f"SELECT {name}{GET_ENV} AS x FROM t"), RefusedFunctionError)


@pytest.mark.parametrize(
    "name", ["system.builtin.reflect", "builtin.reflect", "IDENTIFIER('reflect')"]
)
def test_no_other_way_to_name_it(name: str) -> None:
    refusal(f"SELECT {name}{GET_ENV} AS x FROM t")


def test_options_that_name_a_file_are_refused_and_calls_without_them_are_not() -> None:
    option = "map('rowValidationXSDPath', '/etc/passwd')"
    assert isinstance(
        refusal(f"SELECT from_xml(b, 'a INT', {option}) AS x FROM t"), RefusedFunctionError
    )
    read_query("SELECT from_xml('<p/>', 'a INT') AS x FROM t", tables.SOURCES)


def test_what_the_deployment_allows_is_planned_and_never_kept() -> None:
    sql = f"SELECT reflect{GET_ENV} AS x, my_udf(a) AS y FROM t"
    query = read_query(sql, tables.SOURCES, allowed_functions=("reflect", "my_udf"))
    assert "reflect(" in to_sql(query.relation)
    with pytest.raises(SqlError, match="unknown function my_udf"):
        read_query(sql, tables.SOURCES, allowed_functions=("reflect",))
    assert ALWAYS_REFUSED <= NOT_DETERMINISTIC


def test_the_deployment_says_so_in_its_environment() -> None:
    assert allowed_functions({}) == ()
    assert allowed_functions({ALLOWED_FUNCTIONS: " Reflect, my_udf,"}) == ("my_udf", "reflect")
    assert "reflect" in forbidden_functions({})
    assert "reflect" not in forbidden_functions({ALLOWED_FUNCTIONS: "reflect"})
    with pytest.raises(SettingsError, match="names 'a b'"):
        allowed_functions({ALLOWED_FUNCTIONS: "a b"})


def test_an_unknown_function_is_an_error_with_near_names() -> None:
    assert "did you mean" in refusal("SELECT substrin(c, 1) AS x FROM t").hint
    for name in ("schema_of_variant_agg(a)", "sql_keywords()"):
        assert isinstance(refusal(f"SELECT {name} AS x FROM t"), UnsupportedSqlError)


def test_the_tables_of_functions_agree() -> None:
    others = aggregate_functions.NAMES | functions.WINDOW_ONLY | functions.GENERATORS
    assert not others & {n for n, kind in KINDS.items() if kind is not FunctionKind.AGGREGATE}
    assert {kind for kind in KINDS.values() if kind in REFUSED} == REFUSED
    assert not is_deterministic(Call("unix_timestamp", (), STRING))
    assert not is_deterministic(Call("current_user", (), STRING))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM parquet.`/etc/passwd`",
        "SELECT * FROM csv.`/etc/passwd`",
        "SELECT * FROM read_files('/etc/passwd')",
        "SELECT * FROM python_worker_logs()",
        "SELECT * FROM IDENTIFIER('parquet.`/etc/passwd`')",
        "SELECT TRANSFORM(a) USING 'cat /etc/passwd' AS (b) FROM t",
        "SELECT a FROM t; ADD JAR '/tmp/x.jar'",
        "ADD JAR '/tmp/x.jar'",
        "SET spark.sql.variable.substitute=true",
        "LOAD DATA INPATH '/etc/passwd' INTO TABLE t",
        "CREATE TEMPORARY FUNCTION f AS 'java.lang.Runtime'",
        "EXECUTE IMMEDIATE 'SELECT 1'",
        "BEGIN SELECT 1; END",
    ],
)
def test_a_report_reads_its_sources_and_nothing_else(sql: str) -> None:
    refusal(sql)


TEMPLATES = [
    ("c LIKE '{{ ds }}%'", "{{ ds }}"),
    ("c LIKE '{{ macros.ds_add(ds, -7) }}%'", "{{ macros.ds_add(ds, -7) }}"),
    ("c = '{% if x %}a{% endif %}'", "{% if x %}"),
    ("c = '{ds}'", "{ds}"),
    ("c = 'd={ds_nodash}/x'", "{ds_nodash}"),
    ("c = '{date:%Y-%m-%d}'", "{date:%Y-%m-%d}"),
    ("c = '${ds}'", "${ds}"),
    ("c = '${env:AWS_SECRET_ACCESS_KEY}'", "${env:AWS_SECRET_ACCESS_KEY}"),
    ("a = 1 -- ${env:AWS_SECRET_ACCESS_KEY}", "${env:AWS_SECRET_ACCESS_KEY}"),
    ("c = '%(ds)s'", "%(ds)s"),
    ("f = {ds}", "{ds}"),
    ("f = {{ ds }}", "{{ ds }}"),
    ("f = {{ params.day }}", "{{ params.day }}"),
    ('c = "{{ ds }}"', "{{ ds }}"),
    ("c = r'{{ ds }}'", "{{ ds }}"),
]


@pytest.mark.parametrize(("condition", "shown"), TEMPLATES)
def test_a_template_is_refused_with_the_parameter_to_use(condition: str, shown: str) -> None:
    error = refusal(f"SELECT a FROM t WHERE {condition}")
    assert f"{shown} looks like a template" in error.message
    assert ":report_date" in error.hint


def test_a_parameter_in_quotes_is_text_and_refused() -> None:
    error = refusal("SELECT a FROM t WHERE c LIKE ':report_date%'")
    assert "inside quotes" in error.message
    assert "LIKE concat(:report_date, '%')" in error.hint


@pytest.mark.parametrize(
    "literal",
    [
        """'{"a":1}'""",
        """'{"a":{"b":{"c":[1,{}]}}}'""",
        "'^[a-z]{2,3}$'",
        "'x{2}'",
        "'{}'",
        "'/users/{id}/orders/{order_id}'",
        "'{dsx}'",
        "'100%'",
        "'%(US)s%'",
        "'$1'",
        "'a:b'",
        "'{ \"ds\": 1 }'",
        "'%d items'",
        "'}}'",
        "'{{'",
    ],
)
def test_text_with_braces_is_text(literal: str) -> None:
    read_query(f"SELECT a FROM t WHERE c = {literal}", tables.SOURCES)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT /*+ BROADCAST(t) */ a FROM t",
        "SELECT /*+ REPARTITION(3), COALESCE(2) */ a FROM t",
        "SELECT x.a FROM (SELECT /*+ NO_SUCH_HINT(1, 'x') */ a FROM t) x",
        "SELECT a FROM t UNION ALL SELECT /*+ MERGE(s) */ k FROM s",
    ],
)
def test_optimizer_hints_change_no_row(sql: str) -> None:
    plain = read_query(sql, tables.SOURCES).relation
    without = " ".join(p.split("*/")[-1] for p in sql.split("/*+"))
    assert plain == read_query(without, tables.SOURCES).relation


def test_a_key_with_a_subquery_is_that_subquery() -> None:
    key = "a + (SELECT max(v) FROM s)"
    read_query(f"SELECT {key} AS x, count(*) AS n FROM t GROUP BY {key}", tables.SOURCES)
    error = refusal(f"SELECT a + (SELECT min(v) FROM s) AS x FROM t GROUP BY {key}")
    assert "neither in GROUP BY" in error.message
