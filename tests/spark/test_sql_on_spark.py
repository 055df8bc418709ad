"""The SQL front end against Spark itself: the same answers, the same types, the same names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forerun.planner.algebra.types import parse_type
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printer import to_sql
from tests.datadriven import Block
from tests.oracles.bags import compare_bags
from tests.planner.sql import tables, tpch
from tests.planner.sql.constructs import CONSTRUCTS, bound
from tests.properties.engines import PlainSparkEngine

pytestmark = pytest.mark.spark

CASES = [case for case in CONSTRUCTS if "spark" not in case.values[0].options]
SAMPLE = CASES[::12]

# One call of every function whose type forerun.planner.algebra.functions claims to know.
CALLS = """
concat_ws(',', c, 'x'); upper(c); ucase(c); lower(c); lcase(c); trim(c); btrim(c); ltrim(c);
rtrim(c); trim(both 'x' from c); trim(leading 'x' from c); trim(trailing 'x' from c);
substring(c, 1, 2); substr(c, 1); substring_index(c, 'x', 1); lpad(c, 3, 'x'); rpad(c, 3, 'x');
repeat(c, 2); replace(c, 'a', 'b'); regexp_replace(c, 'a', 'b'); regexp_extract(c, '(a)', 1);
regexp_substr(c, 'a'); initcap(c); translate(c, 'a', 'b'); format_number(a, 2);
format_string('%s', c); printf('%s', c); date_format(f, 'yyyy'); from_unixtime(b); md5(c); sha(c);
sha1(c); sha2(c, 256); chr(a); char(a); hex(a); base64(c); soundex(c); space(a); to_json(null);
split_part(c, 'x', 1); get_json_object(c, '$.a'); typeof(a); decode(unhex('41'), 'UTF-8');
dayname(f); monthname(f); current_user(); overlay(c placing 'x' from 1); left(c, 1); right(c, 1);
elt(1, c, 'x'); url_encode(c); url_decode(c); bin(b); version(); uuid(); length(c);
char_length(c); character_length(c); len(c); octet_length(c); bit_length(c); ascii(c);
instr(c, 'x'); locate('x', c); position('x' in c); year(f); quarter(f);
month(f); day(f); dayofmonth(f); dayofweek(f); weekday(f); dayofyear(f); weekofyear(f); hour(g);
minute(g); second(g); datediff(f, f); date_diff(f, f); levenshtein(c, c); find_in_set(c, 'a,b');
size(array(1)); array_size(array(1)); cardinality(array(1)); regexp_count(c, 'a');
regexp_instr(c, 'a'); hash(a, c); unix_date(f); bit_count(a);
xxhash64(a); crc32(c); unix_timestamp(g);
to_unix_timestamp(g); unix_seconds(g); unix_millis(g); unix_micros(g); factorial(a);
monotonically_increasing_id(); array_position(array(1), 1); timestampdiff(hour, g, g);
datediff(day, f, f); sqrt(a); cbrt(a); exp(a); expm1(a); ln(a); log(a); log10(a); log2(a); log1p(a);
pow(a, 2); power(a, 2); sin(a); cos(a); tan(a); cot(a); asin(a); acos(a); atan(a); atan2(a, b);
sinh(a); cosh(a); tanh(a); asinh(a); acosh(a); atanh(a); degrees(a); radians(a); pi(); e();
rand(); randn(); random(); months_between(f, f); hypot(a, b); rint(e); signum(a); sign(a); sec(a);
csc(a); isnull(a); isnotnull(a); isnan(e); like(c, 'x'); ilike(c, 'x'); rlike(c, 'x');
regexp(c, 'x'); regexp_like(c, 'x'); startswith(c, 'x'); endswith(c, 'x'); contains(c, 'x');
array_contains(array(1), 1); equal_null(a, b); to_date(c); to_date(c, 'yyyy'); add_months(f, 1);
last_day(f); next_day(f, 'MO'); trunc(f, 'MM'); current_date(); curdate(); make_date(2020, 1, 1);
date_from_unix_date(1); to_timestamp(c); date_trunc('day', g); current_timestamp(); now();
from_utc_timestamp(g, 'UTC'); to_utc_timestamp(g, 'UTC'); timestamp_seconds(a);
timestamp_millis(b); timestamp_micros(b); unhex('41'); encode(c, 'UTF-8'); unbase64(c);
to_binary(c); abs(a); abs(d); abs(e); negative(a); negative(d); positive(a); nullif(a, 1);
reverse(c); coalesce(a, b); coalesce(a, d); nvl(a, 1); ifnull(d, 1); greatest(a, b, d);
least(a, e); ceil(a); ceil(d); ceil(e); ceiling(b); floor(a); floor(d); floor(e); round(a);
round(a, -1); round(d); round(d, 1); round(d, 5); round(d, -1); round(d, -3); round(e, 2);
bround(d, 1); mod(a, b); mod(d, 3); pmod(a, 2); pmod(d, d); a div b; date_add(f, 1);
date_sub(f, 1); dateadd(f, 1); nvl2(a, b, 1); if(a > 1, a, d); concat(c, a); c || a; a + b; a - d;
a * d; d / 3; d % 2; b / a; d * d * d * d; d / d / d; d + 1.000000000000001; -d; e + d;
cast(d as decimal(38, 10)) * cast(d as decimal(38, 10)); cast(d as decimal(38, 2)) / 7;
cast(d as decimal(38, 20)) + cast(d as decimal(38, 2)); cast(a as smallint) + cast(a as tinyint);
cast(a as float) + a; cast(a as float) * cast(a as float); f + 1; f - interval 1 month;
f + interval 1 day; f + interval 2 hour; g + interval 1 day; g - g; f - f; interval 1 day * 2;
interval 2 month / 2; interval 1 day + interval 2 hour; sum(a); sum(d); sum(e); avg(a); avg(d);
avg(e); min(f); max(c); count(a); stddev(a); variance(d); corr(a, b); first(c); any_value(d);
bool_and(h); every(h); approx_count_distinct(a); skewness(a); kurtosis(a); covar_pop(a, b);
sum(d * d); avg(d * d * d); sum(cast(a as smallint)); avg(cast(d as decimal(38, 10)));
sum(cast(d as decimal(38, 10))); mode(a); count_if(h); max_by(a, b);
std(a); stddev_pop(d); var_samp(e); covar_samp(a, b); some(h);
any(h); bool_or(h); mean(d); min_by(c, a); first_value(c); last_value(f); bit_and(a); bit_xor(b);
bit_or(a)
"""


@pytest.fixture(scope="module")
def engine(spark: Any) -> PlainSparkEngine:
    return bound(PlainSparkEngine(spark.session))


def check(block: Block, engine: PlainSparkEngine, session: Any) -> None:
    """Same rows, same names and the derived types, for the user's text and for ours."""
    query = read_query(block.input, tables.SOURCES)
    text = to_sql(query.relation, names=query.names)
    written, printed = session.sql(block.input).schema, session.sql(text).schema
    assert [f.name for f in written] == list(query.names)
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
    for call in (part.strip() for part in CALLS.replace("\n", " ").split(";")):
        sql = f"select {call} as x from t"
        (ours,) = read_query(sql, tables.SOURCES).relation.columns
        try:
            theirs = parse_type(spark.session.sql(sql).schema[0].dataType.simpleString())
        except AnalysisException as error:
            wrong.append(f"{call}: Spark refuses it: {str(error)[:90]}")
            continue
        if not ours.type.is_known:
            unknown.append(call)
        elif ours.type != theirs:
            wrong.append(f"{call}: {ours.type}, Spark {theirs}")
    assert not wrong, "\n".join(wrong)
    assert len(unknown) <= 8, unknown


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
