"""Reports ranked by what early work is expected to save."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.assess import assess
from forerun.cli import run
from planner.algebra.types import parse_type
from planner.request import ColumnStats, PlanRequest, Source, SourceColumn, TimePoint

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
