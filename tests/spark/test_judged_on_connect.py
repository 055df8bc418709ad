"""A Spark Connect server is a judge of the reading, too, by what it explains of its plans."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forerun.include.machine.wall_clock import utc_now
from forerun.planner.contract import ColumnSpec, NamedTable, Question
from forerun.planner.sql.reading import printed
from forerun.planner.sql.syntax.dialect import parse
from forerun.planner.sql.syntax.text import QueryText
from forerun.spark_jobs.engines.connect import ConnectEngine, start_connect
from forerun.spark_jobs.judged import asked
from tests.spark.standalone import connect_server
from tests.spark.test_judged import DIFFERENT, SAME, of, question
from tests.spark.test_planned_on_spark import TPCH, tpch_sources

pytestmark = pytest.mark.spark
SELF = "FROM t JOIN t u ON t.b < u.b"


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectEngine]:
    with connect_server(tmp_path_factory.mktemp("server")) as (address, _):
        engine = start_connect(master=address)
        yield engine
        engine.stop()


def test_a_server_reads_it_the_same(connect: ConnectEngine) -> None:
    texts = [f"SELECT {expression} FROM t" for expression in SAME]
    found = {text: asked(connect, of(text), text, utc_now) for text in texts}
    assert {text: one.why for text, one in found.items() if one.outcome != "same"} == {}
    assert {one.by for one in found.values()} == {f"Spark connect {connect.session.version}"}


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        *DIFFERENT,
        ("SELECT s = 'Brand#12' FROM t", "SELECT s = 'Brand#13' FROM t"),
        ("SELECT 1 FROM t", "SELECT 1L FROM t"),
        ("SELECT a + 1 FROM t", "SELECT a + 1L FROM t"),
        (
            "SELECT t.a, u.a FROM t, t u WHERE t.b < u.b",
            "SELECT u.a, t.a FROM t, t u WHERE t.b < u.b",
        ),
    ],
)
def test_what_is_not_the_same_differs_on_a_server(
    connect: ConnectEngine, text: str, reading: str
) -> None:
    verdict = asked(connect, question(reading), text, utc_now)
    assert verdict.outcome in ("differs", "refused")
    assert verdict.why


def test_what_a_plan_does_not_show_is_not_asked(connect: ConnectEngine) -> None:
    for text, table in (
        ("SELECT s = 'a AS b' FROM t", "t"),
        ("SELECT `a#1` FROM odd", "odd"),
    ):
        named = NamedTable(name=table, columns=(ColumnSpec(name="a#1", type="INT"),))
        about = of(text) if table == "t" else question(text, named)
        assert asked(connect, about, text, utc_now).outcome == "not-asked"


def test_a_server_reads_the_texts_of_tpch_the_same(connect: ConnectEngine) -> None:
    tables = tuple(
        NamedTable(
            name=source.name,
            columns=tuple(ColumnSpec(name=c.name, type=c.type.sql) for c in source.columns),
        )
        for source in tpch_sources()
    )
    for path in TPCH:
        text = path.read_text().strip().rstrip(";")
        written = QueryText(text)
        reading = printed(written, parse(written))
        about = Question(id="q", reading=reading, tables=tables, columns=("v",), ordered=False)
        verdict = asked(connect, about, text, utc_now)
        assert (verdict.outcome, verdict.why) == ("same", ""), path.stem


def test_asking_a_server_leaves_no_view_behind(connect: ConnectEngine) -> None:
    shown = connect.session.conf.get("spark.sql.debug.maxToStringFields")
    asked(connect, question("SELECT a FROM t"), "SELECT a FROM t", utc_now)
    assert [row.tableName for row in connect.session.sql("SHOW TABLES").collect()] == []
    assert connect.session.conf.get("spark.sql.debug.maxToStringFields") == shown
