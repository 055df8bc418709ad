"""``forerun check``: texts that are wrong are found before anything runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.cli.app import run
from forerun.include.reports.spec import encode_report
from tests.include.days.day_cases import DayCase

SPEC_FILE = """
from forerun.include.reports.spec import decode_report
SPEC = decode_report({data!r})
"""


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "t"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"a": pa.array([1], pa.int32()), "s": ["x"]}), folder / "p.parquet")
    return folder.parent


@pytest.fixture
def check(capfd):
    def checked(*arguments: object) -> tuple[int, dict[str, object]]:
        code = run(["check", *map(str, arguments), "--json"])
        return code, json.loads(capfd.readouterr().out)

    return checked


def sql(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / f"{name}.sql").write_text(text)
    return tmp_path / f"{name}.sql"


def test_what_the_parser_knows_is_said_without_spark(check, tmp_path, tables):
    right = sql(tmp_path, "right", "SELECT a FROM t WHERE s = :s")
    wrong = sql(tmp_path, "wrong", "SELECT CAST(s AS TIME) FROM t")
    code, found = check(right, wrong, "--tables", tables, "--param", "s=x", "--no-spark")
    assert (code, found["wrong"]) == (1, 1)
    assert [one["outcome"] for one in found["checked"]] == ["not-asked", "unread"]
    assert "Spark was not asked" in found["checked"][0]["says"]
    assert check(right, "--tables", tables, "--param", "s=x", "--no-spark")[0] == 0


def test_reports_as_json_and_of_python_files(check, tmp_path):
    data = encode_report(DayCase(tmp_path, f"{tmp_path}/store").spec)
    (tmp_path / "report.json").write_bytes(data)
    (tmp_path / "dag.py").write_text(SPEC_FILE.format(data=data))
    (tmp_path / "none.py").write_text("x = 1")
    for name in ("report.json", "dag.py"):
        code, found = check(tmp_path / name, "--no-spark")
        assert (code, found["checked"][0]["report"]) == (0, "totals")
    code, found = check(tmp_path / "none.py", "--no-spark")
    assert (code, found["checked"][0]["outcome"]) == (1, "unread")


def test_a_report_with_its_fields_is_shown_as_it_would_run(check, tmp_path, tables, capfd):
    text = """/*---
period: Weekly
timezone: Europe/Berlin
sources:
  t:
    path: {path}
    columns: {{a: INT, s: STRING}}
    complete_when: {{MarkerFile: {{}}}}
policy: {{runs: [{{at: "-3d 12:00", weight: 0.25}}, {{at: "24:00"}}]}}
---*/
SELECT s, sum(a) AS total, avg(a) AS mean FROM t GROUP BY s
"""
    file = sql(tmp_path, "weekly", text.format(path=tables / "t"))
    code, found = check(file, "--date", "2026-03-04", "--no-spark")
    (one,) = found["checked"]
    assert (code, one["of"]) == (0, "2026-03-02 to 2026-03-08")
    assert one["columns"] == {"s": "STRING", "total": "BIGINT", "mean": "DOUBLE"}
    assert [each["at"] for each in one["runs"]] == [
        "2026-03-05 12:00 Europe/Berlin", "2026-03-09 00:00 Europe/Berlin",
    ]  # fmt: skip
    assert one["due"] == "2026-03-09 06:00 Europe/Berlin"
    assert one["missing"] == [f"t: no _SUCCESS in {tables / 't'}"]
    assert one["planned"]
    assert "waits for the final run" in one["plan"]
    assert run(["check", str(file), "--date", "2026-03-04", "--no-spark"]) == 0
    assert "    total  BIGINT\n" in capfd.readouterr().out
    broken = sql(tmp_path, "broken", text.format(path=tables / "none"))
    assert not check(broken, "--no-spark")[1]["checked"][0]["planned"]


@pytest.mark.spark
def test_spark_is_asked_where_it_is(tmp_path, tables):
    """In a process of its own: a session of Spark changes the log of the one that it is in."""
    right = sql(tmp_path, "right", "SELECT a & 1 | a & 4 AS v FROM t -- \\\n")
    of_maps = "SELECT transform_keys(map(a, 1), (k, v) -> map(k, v)) AS v FROM t"
    refused = sql(tmp_path, "refused", of_maps)
    dag = tmp_path / "dag.py"  # Airflow sets up the log of whoever imports it
    data = encode_report(DayCase(tmp_path, f"{tmp_path}/store").spec)
    dag.write_text(f"import airflow.models\n{SPEC_FILE.format(data=data)}")
    command = [sys.executable, "-m", "forerun", "check", right, refused, dag, "--tables", tables]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    outcomes = [one["outcome"] for one in json.loads(done.stdout)["checked"]]
    assert (done.returncode, outcomes, done.stderr) == (1, ["same", "refused", "same"], "")
