"""Reports ranked by what early work is expected to save."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.cli.app import run
from forerun.cli.assess import as_measured, assess, most_saved
from forerun.include.machine.event_files import find_event_files
from forerun.include.machine.past_queries import read_past
from forerun.past.past_reports import past_of, read_past_reports
from forerun.planner.algebra.types import parse_type
from forerun.planner.request import ColumnStats, PlanRequest, Source, SourceColumn, TimePoint
from forerun.planner.sql.syntax.statement import query_in, shape_of, without_schemas
from tests.include.machine.scrubbed_log import LOG
from tests.spark.past_application import TEXT

POINTS = (TimePoint(weight=0.2, arrived=0.8), TimePoint(weight=1.0))
TEXTS = {
    "small": "SELECT k, sum(v) AS s FROM some GROUP BY k",
    "large": "SELECT k, sum(v) AS s FROM many GROUP BY k",
    "waits": "SELECT k, v FROM many ORDER BY v LIMIT 1000000",
    "wrong": "SELECT nothing FROM many",
}


def source(name: str, rows: int) -> Source:
    columns = tuple(SourceColumn(name=column, type=parse_type("BIGINT")) for column in ("k", "v"))
    stats = (("k", ColumnStats(minimum="1", maximum="1000", distinct=1000.0)),)
    return Source(
        name=name, columns=columns, changing=True, rows=rows, bytes=16 * rows, stats=stats
    )


def request_of(name: str) -> PlanRequest:
    sources = (source("some", 1000), source("many", 500_000_000))
    return PlanRequest(report=name, sql=TEXTS[name], sources=sources, points=POINTS)


def test_the_largest_saving_is_first_and_what_cannot_be_planned_last():
    found = assess(TEXTS, request_of)
    assert found[0].report == "large"
    assert found[-1].report == "wrong"
    assert "nothing" in found[-1].error
    savings = [one.saving for one in found[:-1]]
    assert savings == sorted(savings, reverse=True)
    large, small = (next(one for one in found if one.report == name) for name in ("large", "small"))
    assert large.share > 0.5
    assert large.final < 0.5
    assert large.kept > 0
    assert (small.saving, small.final, small.kept, small.decided) == (0.0, 1.0, 0, "batch")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"k": pa.array([1, 2], pa.int64()), "v": pa.array([3, 4], pa.int64())}
    (tmp_path / "data").mkdir()
    (tmp_path / "reports").mkdir()
    for name in ("some", "many"):
        pq.write_table(pa.table(rows), tmp_path / "data" / f"{name}.parquet")
    for name, text in TEXTS.items():
        (tmp_path / "reports" / f"{name}.sql").write_text(text)
    return tmp_path


def test_a_folder_of_reports_is_assessed(folder: Path, capsys):
    command = ["assess", str(folder / "reports"), "--tables", str(folder / "data")]
    assert run([*command, "--changing", "many"]) == 0
    said = capsys.readouterr().out
    assert "wrong   cannot be planned: " in said
    assert "tables that grow during the day: many (--changing)" in said
    assert "58% of the day at price 0.25" in said
    assert run([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert {one["report"] for one in record["reports"]} == set(TEXTS)
    assert len(record["assumptions"]) == 5


def test_a_folder_without_reports_is_refused(folder: Path, capsys):
    assert run(["assess", str(folder / "data"), "--tables", str(folder / "data")]) == 2
    assert "holds no .sql file" in capsys.readouterr().err


def test_logs_or_reports_have_to_be_given(folder: Path, capsys):
    assert run(["assess"]) == 2
    assert "--event-logs" in capsys.readouterr().err
    assert run(["assess", "--event-logs", str(folder / "reports" / "none")]) == 2
    assert "there is no" in capsys.readouterr().err


DAY_MS = 86_400_000


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """The log of three nights, the last with another value in the query and cut off in the end."""
    (tmp_path / "logs").mkdir()
    lines = LOG.read_text().splitlines()
    for night in range(3):
        events = [json.loads(line) for line in lines]
        for event in events:
            for key in ("Timestamp", "time"):
                if key in event:
                    event[key] += night * DAY_MS
        text = "\n".join(json.dumps(event, separators=(",", ":")) for event in events)
        if night == 2:
            text = text.replace("v > 17", "v > 18")[:-40]
        (tmp_path / "logs" / f"night-{night}").write_text(text)
    return tmp_path / "logs"


def test_what_came_on_several_days_is_a_report(logs: Path):
    past = read_past_reports([logs])
    assert (past.applications, past.unended, past.damaged, past.once) == (3, 1, 1, 0)
    with_text, unnamed = past.reports
    assert with_text.sql == TEXT.replace("17", "18")
    assert [day.isoformat() for day in with_text.days] == ["2026-01-01", "2026-01-02", "2026-01-03"]
    assert (with_text.runs, with_text.start) == (2.0, "02:00")
    (log, *_) = find_event_files(logs)
    night = [query for query in read_past(log).queries if query.sql]
    assert with_text.cpu_s == pytest.approx(sum(query.cpu_s for query in night))
    assert unnamed.sql == ""
    assert past_of([read_past(log)]).reports == ()


def test_a_report_that_was_measured_saves_the_planned_share_of_it(logs: Path):
    past = read_past_reports([logs]).reports[0]
    (estimated,) = assess(["large"], request_of)
    found = as_measured(estimated, past, weight=2.0)
    assert found.batch == 2 * past.cpu_s
    assert found.share == pytest.approx(estimated.share)
    assert most_saved(past, POINTS) == pytest.approx(past.cpu_s * 0.8 * 0.8)
    assert most_saved(past, POINTS[-1:]) == 0.0


def test_logs_are_assessed_by_text_where_there_is_one(folder: Path, logs: Path, capsys):
    rows = {"k": pa.array([1, 2], pa.int64()), "v": pa.array([3, 4], pa.int64())}
    pq.write_table(pa.table(rows), folder / "data" / "orders.parquet")
    command = ["assess", "--event-logs", str(logs), "--tables", str(folder / "data")]
    assert run(command) == 0
    said = capsys.readouterr().out
    assert "3 applications (1 did not end); 2 statements came on several days" in said
    assert "1 damaged lines were left out" in said
    assert "measured on 3 days, 02:00: CREATE TABLE t AS SELECT k" in said
    assert "reads orders; no SQL text in the log" in said
    assert run([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    (measured,) = record["reports"]
    assert measured["measured"]["days"][0] == "2026-01-01"
    (only,) = record["measured_only"]
    assert only["at_most_weighted_cpu_s"] < only["cpu_s"]
    # The same report as a file is one report, not two.
    (folder / "mine.sql").write_text(TEXT.replace("17", "5").lower())
    assert run([command[0], str(folder / "mine.sql"), *command[1:], "--json"]) == 0
    (mine,) = json.loads(capsys.readouterr().out)["reports"]
    assert (mine["report"], mine["measured"]["name"]) == ("mine", measured["report"])


def test_without_tables_only_the_most_that_can_be_saved_is_said(logs: Path, capsys, monkeypatch):
    monkeypatch.chdir(logs)
    assert run(["assess", "--event-logs", str(logs), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["reports"] == []
    assert [bool(one["sql"]) for one in record["measured_only"]] == [True, False]


@pytest.mark.parametrize(
    ("statement", "query"),
    [
        ("SELECT 1;", "SELECT 1"),
        ("insert overwrite t partition (ds = '1') select * from (select 2)",
         "select * from (select 2)"),
        ("CREATE TABLE t (a INT) AS\nWITH x AS (SELECT 1) SELECT * FROM x",
         "WITH x AS (SELECT 1) SELECT * FROM x"),
        ("collect at app.py:21", None),
        ("DROP TABLE t", None),
        ("INSERT INTO t VALUES (1)", None),
        ("SELECT 'open", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_query_of_a_statement(statement: str, query: str | None):
    assert query_in(statement) == query


def test_values_and_layout_are_no_part_of_a_shape():
    one = shape_of("SELECT a FROM t WHERE d = DATE '2026-01-01' AND b < 7")
    assert one == shape_of("select a\nfrom T -- daily\nwhere d = date '2026-01-02' and b < 19")
    assert one != shape_of("SELECT b FROM t WHERE d = DATE '2026-01-01' AND b < 7")


@pytest.mark.parametrize(
    ("sql", "plain"),
    [
        ("SELECT o.k FROM lake.sales.orders o JOIN `sales`.`lines` ON o.k = lines.k",
         "SELECT o.k FROM orders o JOIN `lines` ON o.k = lines.k"),
        ("SELECT k FROM (SELECT k FROM a.t) JOIN a.t USING (k)",
         "SELECT k FROM (SELECT k FROM t) JOIN t USING (k)"),
        ("SELECT 1 FROM a.t, b.t", "SELECT 1 FROM a.t, b.t"),
        ("SELECT 1 FROM a.t, t", "SELECT 1 FROM a.t, t"),
        ("SELECT FROM FROM", "SELECT FROM FROM"),
    ],
)  # fmt: skip
def test_tables_are_known_by_their_names_alone(sql: str, plain: str):
    assert without_schemas(sql) == plain
