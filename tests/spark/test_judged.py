"""Spark is the judge of the reading: what it says of texts, and what a day does then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.include.machine.wall_clock import utc_now
from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.commits import read_commit
from forerun.include.state.given_up import read_given_up
from forerun.include.state.layout import verdicts_folder
from forerun.include.state.verdicts import newest_verdict
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract import ColumnSpec, NamedTable, Question, decode_plan
from forerun.planner.errors import ForerunError
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.reading import printed
from forerun.planner.sql.syntax.dialect import parse
from forerun.planner.sql.syntax.text import QueryText
from forerun.spark_jobs.engines.sail import SailEngine
from forerun.spark_jobs.executor import GivenUpError, execute
from forerun.spark_jobs.judged import asked
from tests.spark.days import QUERY, SALES, Day, expected, publish, save_rows, save_sums

pytestmark = pytest.mark.spark

TYPES = {
    "a": "INT", "b": "INT", "c": "INT", "d": "DATE", "k": "BIGINT", "s": "STRING",
    "ts": "TIMESTAMP", "x": "BOOLEAN", "y": "BOOLEAN", "m": "DECIMAL(10,2)", "e": "DOUBLE",
}  # fmt: skip
TABLE = NamedTable(
    name="t", columns=tuple(ColumnSpec(name=name, type=kind) for name, kind in TYPES.items())
)
SAME = (
    "a & 1 | b & 4 ^ c", "s || a - c", "a - b || c", "a << 1 + b & c", "a >> 1 >>> 2",
    "x = y IS NULL", "s = s LIKE 'tr%'", "a = b < x", "NOT a = b AND x OR y", "-a * ~b % +c",
    "+s", "-5::string", "-a::string", "1.5BD + 2L + 3S + 4Y", "1.0e2 + 1.0e2BD + .5 + 5.",
    r"""'it''s' || 'a""b' || "q" || '\u0041\U00000042\103\%\_\q' || R'\n' || '\\''x'""",
    "'a' 'b'", "!x", "NOT NOT x", "a <=> b", "1 + d", "CAST(s AS CHAR(2))", "trim('x', s)",
    "INTERVAL 1 DAY 2 HOURS", "INTERVAL '1-2' YEAR TO MONTH", "- INTERVAL 1 DAY",
    "date_add(MONTH, 1, d)", "timestampdiff(HOUR, ts, ts)", "s LIKE 'a!%' ESCAPE '!'",
    "s NOT LIKE ALL ('a', 'b')", "position('a' IN s)", "overlay(s PLACING 'a' FROM 1)",
    "now() > ts", "TIMESTAMP'now'", "rand() + a", "uuid()", "-9223372036854775808L",
        "rand() * rand(5) + a * b", "rand() + (a >> b >>> 1 << 2)", "-128Y + rand()",
        "uuid() || substr(s FROM 2 FOR 1) || substr(substr(s FROM 2), 2)",
        "if(x, coalesce(a - 7, CAST(1.5F AS STRING)), -2147483648)",
    "a -- from C:\\data\\\n + 1\n", "a -- from C:\\data\n + 1\n", "a /* -- */ /* /* */ */",
    "x OR a IN (SELECT b FROM t)", "count(DISTINCT a, b) FILTER (WHERE x)",
)  # fmt: skip
"""Expressions of which Spark makes the same as of what is read of them."""
DIFFERENT = (
    ("SELECT a & 1 | b & 4 FROM t", "SELECT ((a & 1) | b) & 4 FROM t"),
    ("SELECT s || a - c FROM t", "SELECT s || (a - c) FROM t"),
    ("SELECT a FROM t WHERE a > 0 -- \\\n AND a < 5", "SELECT a FROM t WHERE a > 0 AND a < 5"),
    ("SELECT 1.5 FROM t", "SELECT 1.5D FROM t"),
    ("SELECT a FROM t", "SELECT b FROM t"),
    ("SELECT a FROM t", "SELECT nosuch FROM t"),
    ("SELECT TIMESTAMP'2020-01-01 00:00:00' FROM t", "SELECT TIMESTAMP'2020-01-02' FROM t"),
    ("SELECT a FROM t LIMIT 10", "SELECT a FROM t LIMIT 11"),
    ("SELECT a FROM t, t u", "SELECT t.a FROM t LEFT JOIN t u ON true"),
    ("SELECT rand() + a FROM t", "SELECT rand() + b FROM t"),
    ("SELECT rand() + rand(5) FROM t", "SELECT rand() + rand(6) FROM t"),
    ("SELECT CAST(s AS DATE) FROM t", "SELECT TRY_CAST(s AS DATE) FROM t"),
)
"""Texts, each with something that is no reading of it."""
SHOP_SALES = NamedTable(name="sales", columns=SALES)
DELIVERIES = [[(1, "a", 100), (2, "b", 250)], [(3, "a", 1)]]


SOURCE = Source(
    name="t",
    columns=tuple(SourceColumn(name=c.name, type=parse_type(c.type)) for c in TABLE.columns),
)


def question(reading: str, table: NamedTable = TABLE) -> Question:
    return Question(id="q1", reading=reading, tables=(table,), columns=("v",), ordered=False)


def of(text: str) -> Question:
    written = QueryText(text)
    return question(printed(written, parse(written)))


@pytest.mark.parametrize("expression", SAME)
def test_spark_reads_it_the_same(spark, expression):
    text = f"SELECT {expression} FROM t"
    verdict = asked(spark, of(text), text, utc_now)
    assert (verdict.outcome, verdict.why) == ("same", "")
    assert verdict.by == f"Spark {spark.session.version}"


@pytest.mark.parametrize(("text", "reading"), DIFFERENT)
def test_what_is_not_the_same_differs(spark, text, reading):
    verdict = asked(spark, question(reading), text, utc_now)
    assert verdict.outcome in ("differs", "refused")
    assert verdict.why


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t WHERE s AND x",  # a text beside a condition is one
        "SELECT a FROM t WHERE s AND EXISTS (SELECT 1 FROM t u)",
        "SELECT a FROM t WHERE x AND s AND a > 1",
        "WITH RECURSIVE q AS (WITH q AS (SELECT a FROM t) SELECT * FROM q) SELECT * FROM q",
        "SELECT DISTINCT s, s AS y FROM t u ORDER BY u.s, y",
        "SELECT DISTINCT (s) FROM t ORDER BY s",
        "SELECT DISTINCT(s), a FROM t u ORDER BY u.s, a",
    ],
)
def test_spark_reads_the_text_the_same(spark, text):
    assert asked(spark, of(text), text, utc_now).outcome == "same"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t WHERE s AND s",
        "SELECT DISTINCT s AS y FROM t ORDER BY s",
        "SELECT DISTINCT a + 1 FROM t ORDER BY a + 1",
        "SELECT months_between(a, d, x) FROM t",
        "SELECT to_char(x, '999') FROM t",
    ],
)
def test_what_spark_refuses_is_not_planned(spark, text):
    with pytest.raises(ForerunError):
        read_query(text, (SOURCE,))
    assert asked(spark, question("SELECT a FROM t"), text, utc_now).outcome == "refused"


def test_what_spark_refuses_is_said_in_its_words(spark):
    verdict = asked(spark, question("SELECT 1"), "SELECT a FROM t WHERE nosuch > 1", utc_now)
    assert verdict.outcome == "refused"
    assert "UNRESOLVED_COLUMN" in verdict.why


def test_asking_leaves_no_view_behind(spark):
    asked(spark, question("SELECT a FROM t"), "SELECT a FROM t", utc_now)
    assert "t" not in {table.name for table in spark.session.catalog.listTables()}


def misread(day: Day) -> StoredPlan:
    """The run that was planned last, as if something else had been read of its text."""
    wrong = QUERY.replace("count(*)", "count(shop)")
    plan = replace(day.plan, question=replace(question(wrong, SHOP_SALES), columns=COLUMNS))
    return StoredPlan(day.store, day.at, day.at.plan(plan.current, "p1"), plan)


COLUMNS = ("shop", "total", "n")


def test_an_early_run_gives_up_and_the_final_one_runs_the_text(spark, day):
    said: list[str] = []
    day.deliver(DELIVERIES[0])
    day.plan_run(1, (save_rows(1), save_sums(1)))
    with pytest.raises(GivenUpError, match="reads the text otherwise than it was planned"):
        execute(spark, misread(day), "a1", said.append)
    assert read_given_up(day.store, day.at, 1).done.artifacts == ()
    assert any("batch by the text" in line for line in said)
    assert newest_verdict(day.store, "q1").outcome == "differs"
    assert len(day.store.list(verdicts_folder("q1"))) == 1

    day.deliver(DELIVERIES[1])
    day.plan_run(2, (save_rows(2), save_sums(2), publish(2)), base=0, final=True)
    commit = execute(spark, misread(day), "a2", said.append)
    assert sorted(day.rows(commit), key=str) == sorted(expected(DELIVERIES), key=str)
    ran = decode_plan(day.store.get(commit.plan))
    assert (ran.method, [stage.sql for stage in ran.run.stages]) == ("batch", [QUERY])
    assert "reads the text otherwise" in ran.batch_because


def test_a_text_that_spark_refuses_fails_the_first_run(spark, day):
    day.deliver(DELIVERIES[0])
    day.plan_run(1, (save_rows(1), save_sums(1)))
    stored = misread(day)
    refused = replace(stored, plan=replace(stored.plan, sql="SELECT CAST(id AS TIME) FROM sales"))
    with pytest.raises(ForerunError, match="refuses the text") as caught:
        execute(spark, refused, "a1")
    assert caught.value.code == "text-refused"
    assert read_commit(day.store, day.at, 1) is None


def test_the_small_engine_is_not_asked_and_says_so(sail: SailEngine, day):
    said: list[str] = []
    day.deliver(DELIVERIES[0])
    day.plan_run(1, (save_rows(1), save_sums(1)))
    execute(sail, misread(day), "a1", said.append)
    assert any("was not asked: the small engine" in line for line in said)
    assert newest_verdict(day.store, "q1") is None
