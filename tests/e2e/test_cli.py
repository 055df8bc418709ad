"""The command line: exit codes, and that everything a user can get wrong is a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.cli.app import run

SQL = "SELECT g, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY g"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FORERUN_DEBUG", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tables = tmp_path / "tables"
    tables.mkdir()
    rows = {"g": [i % 7 for i in range(20_000)], "v": list(range(20_000))}
    pq.write_table(pa.table(rows), tables / "t.parquet")
    return tables


def report(tmp_path: Path, sql: str = SQL) -> str:
    path = tmp_path / "report.sql"
    path.write_text(sql)
    return str(path)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command says that cannot be done: one error with a hint, and no traceback."""
    assert run(list(arguments)) == 2
    said = capsys.readouterr().err
    assert said.count("error (") == 1, said
    assert "hint: " in said
    assert "Traceback" not in said
    assert "(internal)" not in said
    return said


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELEC g FROM t", "line 1"),
        ("SELECT g FROM nowhere", "unknown table nowhere"),
        ("SELECT nothing FROM t", "nothing"),
        ("SELECT g FROM t WHERE v < :most", "--param"),
        ("SELECT reflect('java.lang.System', 'getenv', 'X') AS x FROM t", "may not call reflect"),
        ("SELECT g FROM t WHERE CAST(g AS STRING) LIKE '{{ ds }}%'", "a template"),
        ("SELECT g FROM t PIVOT (count(*) FOR g IN (1))", "line 1"),
        ("INSERT INTO t SELECT * FROM t", "line 1"),
        ("  \n", "is empty"),
    ],
)
def test_sql_that_cannot_be_planned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path, sql: str, message: str
) -> None:
    arguments = [report(tmp_path, sql), "--tables", str(folder)]
    assert message in refused(capsys, "plan", *arguments)
    assert message in refused(capsys, "simulate", *arguments, "--engine", "sail")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--weights", "0,0.3,1"], "weight of run 1 is 0"),
        (["--weights", "1,-2,1"], "weight of run 2 is -2"),
        (["--weights", "1,inf,1"], "weight of run 2 is inf"),
        (["--weights", "1,nan,1"], "weight of run 2 is nan"),
        (["--arrived", "0.5,nan,1"], "run 2 has nan of the data"),
        (["--weights", "a,b"], "not a list of numbers"),
        (["--weights", "1,1"], "--weights has 2"),
        (["--arrived", "0.9,0.5,1"], "less data has arrived later"),
        (["--arrived", "0.5,0.7,0.9"], "complete day"),
        (["--changing", "t,u"], "table u"),
        (["--no-such-option"], "--no-such-option"),
        (["--rules-off", "FilterDelta,NoRule"], "The rules are"),
        (["--method", "im2"], "no-growing-outer-join"),
        (["--state-budget", "much"], "--state-budget 'much' is not a number of bytes"),
        (["--state-budget=-1"], "--state-budget '-1' is not a number of bytes"),
    ],
)
def test_options_that_have_no_meaning(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    folder: Path,
    options: list[str],
    message: str,
) -> None:
    said = refused(capsys, "plan", report(tmp_path), "--tables", str(folder), *options)
    assert message in said


def test_files_that_are_not_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path
) -> None:
    nowhere = str(tmp_path / "nowhere")
    assert "no file" in refused(capsys, "plan", nowhere, "--tables", str(folder))
    assert "not a folder" in refused(capsys, "plan", report(tmp_path), "--tables", nowhere)
    (folder / "t.parquet").unlink()
    said = refused(capsys, "plan", report(tmp_path), "--tables", str(folder))
    assert "no Parquet files" in said


def test_a_truncated_file(capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path) -> None:
    path = folder / "t.parquet"
    path.write_bytes(path.read_bytes()[:-30])
    assert "t.parquet" in refused(capsys, "plan", report(tmp_path), "--tables", str(folder))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--correlate", "t.g"], "child.key=parent.key"),
        (["--store", "ftp://host/x"], "ftp://host/x"),
        (["--json", "/nowhere/at/all.json"], "cannot be written"),
        (["--engine", "duckdb"], "duckdb"),
    ],
)
def test_simulations_that_cannot_start(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    folder: Path,
    options: list[str],
    message: str,
) -> None:
    arguments = ["simulate", report(tmp_path), "--tables", str(folder), "--engine", "sail"]
    assert message in refused(capsys, *arguments, *options)


@pytest.mark.parametrize("command", ["plan", "simulate"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--problem", "ivm", "--results-at", "1"], "--problem ivm has the result at every run"),
        (["--results-at", "0"], "--results-at names run 0 of a day of 3 runs"),
        (["--results-at", "1,4"], "--results-at names run 4 of a day of 3 runs"),
        (["--results-at", "1.5"], "--results-at names run 1.5 of a day of 3 runs"),
        (["--results-at", "first"], "is not a list of numbers"),
        (["--problem", "tdw"], "tdw"),
    ],
)
def test_problems_that_are_none(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    folder: Path,
    command: str,
    options: list[str],
    message: str,
) -> None:
    arguments = [command, report(tmp_path), "--tables", str(folder)]
    assert message in refused(capsys, *arguments, *options)


def test_what_the_operating_system_refuses(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path / "file" / "home"))
    arguments = ["simulate", report(tmp_path), "--tables", str(folder), "--engine", "sail"]
    said = refused(capsys, *arguments)
    assert "(os)" in said
    assert str(tmp_path / "file") in said


def test_credentials_in_a_store_are_not_repeated(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path
) -> None:
    arguments = ["simulate", report(tmp_path), "--tables", str(folder), "--engine", "sail"]
    hidden = "hidden-key"
    said = refused(capsys, *arguments, "--store", f"s3://who:{hidden}@bucket/x")
    assert "holds credentials" in said
    assert hidden not in said


def test_errors_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path) -> None:
    path = report(tmp_path, "SELECT x FROM t")
    assert run(["plan", path, "--tables", str(folder), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "sql"
    assert error["hint"]


def test_java_missing_is_said(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    said = refused(capsys, "simulate", report(tmp_path), "--tables", str(folder))
    assert "spark-submit" in said or "Java" in said


def test_formats_of_a_plan(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path
) -> None:
    arguments = ["plan", report(tmp_path), "--tables", str(folder)]
    assert run(arguments) == 0
    assert "Aggregate by g" in capsys.readouterr().out
    assert run([*arguments, "--format", "sql", "--method", "batch"]) == 0
    assert SQL in capsys.readouterr().out
    assert run([*arguments, "--why-not"]) == 0
    assert "im1 alone" in capsys.readouterr().out
    assert run([*arguments, "--steps"]) == 0
    assert "AggregateDelta at" in capsys.readouterr().out
    assert run([*arguments, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["plan"]["current"] == 1
    assert record["operators"][0]["depth"] == 0
    assert sum(one["chosen"] for one in record["candidates"]) == 1
    assert {one["method"] for one in record["methods"]} >= {"im1", "im2", "cv"}
    assert record["search"]["firings"] > 0


def test_a_plan_does_not_change_from_one_process_to_the_next(tmp_path: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "forerun", "plan", report(tmp_path), "--tables", str(folder)]
    outputs = {
        subprocess.run(
            [*command, "--format", "json"],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": str(seed), "PATH": "/usr/bin:/bin"},
            cwd=Path(__file__).parents[2],
        ).stdout
        for seed in (1, 2)
    }
    assert len(outputs) == 1


def test_no_state_is_batch_and_some_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path
) -> None:
    arguments = ["plan", report(tmp_path), "--tables", str(folder)]
    plans = []
    for options in (["--state-budget", "0"], ["--method", "batch"]):
        assert run([*arguments, *options, "--json"]) == 0
        plans.append(json.loads(capsys.readouterr().out)["plan"])
    assert plans[0] == plans[1]
    assert run([*arguments, "--state-budget", "1.5MB"]) == 0
    assert "keeps nothing, of a state budget of 1.5 MB" in capsys.readouterr().out


@pytest.mark.parametrize(("size", "keeps"), [("0", False), ("50B", False), ("1MB", True)])
def test_a_simulated_day_keeps_no_more_than_its_state_budget(
    tmp_path: Path, folder: Path, size: str, keeps: bool
) -> None:
    target = tmp_path / "day.json"
    given = [report(tmp_path), "--tables", str(folder), "--engine", "sail", "--json", str(target)]
    assert run(["simulate", *given, "--method", "progressive", "--state-budget", size]) == 0
    day = json.loads(target.read_text())
    assert day["equal"]
    assert day["early_work"] is keeps
    early = sum(figures["state_bytes"] for figures in day["runs"][:-1])
    assert (0 < early < 1_000_000) is keeps


def test_a_simulated_day_with_its_own_store(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path
) -> None:
    store = tmp_path / "store"
    arguments = ["simulate", report(tmp_path), "--tables", str(folder), "--engine", "sail"]
    options = ["--store", str(store), "--json", "-", "--seed", "5", "--arrived", "0.4,1"]
    assert run([*arguments, *options, "--weights", "0.2,1", "--method", "progressive"]) == 0
    day = json.loads(capsys.readouterr().out)
    assert day["equal"]
    assert day["early_work"]
    assert day["result"].startswith(store.as_uri())
    assert day["runs"][0]["rows_read"] + day["runs"][1]["rows_read"] == 20_000
    assert day["batch"]["rows_read"] == 20_000
    for figures in day["runs"]:
        assert 0 < figures["plan_ms"] < figures["prepare_ms"], "pinning is not planning"
    assert day["plan_ms"] == max(figures["plan_ms"] for figures in day["runs"])


def test_a_day_by_one_method_without_a_rule(tmp_path: Path, folder: Path) -> None:
    """As it is asked for on the command line: also where that costs more than batch."""
    day = tmp_path / "day.json"
    off = "PushFilterBelowJoin,EagerAggregate"
    options = ("--engine", "sail", "--method", "cv", "--rules-off", off)
    given = [report(tmp_path), "--tables", str(folder), *options, "--json", str(day)]
    assert run(["simulate", *given]) == 0
    said = json.loads(day.read_text())
    assert said["equal"]
    assert said["early_work"]
    assert not said["runs"][0]["skipped"]


@pytest.mark.parametrize("method", ["progressive", "batch"])
def test_a_day_with_parameters_equals_the_plain_query(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path, method: str
) -> None:
    """In the plan they are constants, and in the plain query the engine binds them."""
    sql = (
        "SELECT g, COUNT(*) AS n FROM t WHERE v < :most AND :who = 'O\\'Neil; --' "
        "AND date_add(DATE'2026-01-01', CAST(g AS INT)) <= :report_date "
        "AND to_timestamp(date_add(DATE'2026-01-01', CAST(g AS INT))) < :report_end GROUP BY g"
    )
    arguments = [
        *("simulate", report(tmp_path, sql), "--tables", str(folder), "--engine", "sail"),
        *("--date", "2026-01-04", "--param", "most:INT=700", "--param", "who=O'Neil; --"),
        *("--method", method, "--json", "-"),
    ]
    assert run(arguments) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["equal"]
    assert said["rows"] == 4, "the days from the first to the fourth"
    assert "/2026-01-04/" in said["result"]
    assert "unknown parameter :report_date" in refused(capsys, *arguments[:6], *arguments[8:])


CANDIDATES = ["--arrived", "0.2,0.4,0.6,0.8,1", "--weights", "0.2,0.2,0.2,0.9,1"]


def test_chosen_times_are_said_and_planned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path
) -> None:
    arguments = [report(tmp_path), "--tables", str(folder), *CANDIDATES, "--choose", "2"]
    assert run(["plan", *arguments, "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert "runs: " in shown.err
    assert "100% at price 1" in shown.err
    assert 1 <= len(json.loads(shown.out)["plan"]["runs"]) <= 2


@pytest.mark.parametrize("asked", [["--choose", "6"], ["--choose", "3", "--problem", "ivm"]])
def test_times_that_cannot_be_chosen(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: Path, asked: list[str]
) -> None:
    arguments = [report(tmp_path), "--tables", str(folder), *CANDIDATES, *asked]
    assert "cannot choose" in refused(capsys, "plan", *arguments)
