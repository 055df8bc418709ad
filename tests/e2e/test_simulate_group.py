"""Several reports on the command line: planned, run and shown as a group."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forerun.cli.app import run
from tests.selection import few

TPCH = Path(__file__).parents[1] / "tpch"
GROUP = ("q01", "q03", "q13", "q18", "q06")
CHANGING = ("--changing", "orders,lineitem,customer,partsupp")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path))


def reports(names: tuple[str, ...] = GROUP) -> list[str]:
    return [str(TPCH / f"{name}.sql") for name in names]


@pytest.mark.parametrize("method", few(["progressive", "auto", "batch"], 1))
def test_every_report_of_a_group_equals_batch(method, tables, tmp_path, capsys):
    target = tmp_path / "day.json"
    arguments = ["simulate", *reports(), "--tables", str(tables), "--engine", "sail"]
    arguments += [*CHANGING, "--method", method, "--json", str(target)]
    assert run(arguments) == 0
    day = json.loads(target.read_text())
    assert day["equal"] is True
    assert [one["name"] for one in day["reports"]] == list(GROUP)
    for one in day["reports"]:
        assert one["equal"] is True
        assert {"result", "early_work", "not_incremental"} <= set(one)
    assert day["early_work"] is (method == "progressive")
    assert [run["skipped"] for run in day["runs"]] == [method != "progressive"] * 2 + [False]
    whole = day["runs"][-1]
    assert whole["cpu_s"] == pytest.approx(sum(r["runs"][-1]["cpu_s"] for r in day["reports"]))
    assert day["batch"]["rows_read"] == day["batch_together"]["rows_read"] > 0
    for name in ("weighted_ratio", "process_ratio", "process_ratio_to_together"):
        assert day[name] > 0
    said = capsys.readouterr().out
    assert "5 x batch" in said
    assert "q18: equal to batch" in said
    assert "of one application with all batch queries" in said


def test_early_results_of_a_group(tables, tmp_path):
    target = tmp_path / "day.json"
    arguments = ["simulate", *reports(GROUP[:2]), "--tables", str(tables), "--engine", "sail"]
    assert run([*arguments, *CHANGING, "--results-at", "2", "--json", str(target)]) == 0
    day = json.loads(target.read_text())
    assert [one["runs"][1]["early_result"]["equal"] for one in day["reports"]] == [True, True]


def test_a_plan_of_a_group_is_shown(tables, capsys):
    assert run(["plan", *reports(), "--tables", str(tables), *CHANGING]) == 0
    said = capsys.readouterr().out
    assert "group of 5 reports" in said
    assert (
        "time point 3  weight 1     arrived  100%  application for q01, q03, q13, q18, q06" in said
    )
    assert said.count("\nreport q") == 5
    assert run(["plan", *reports(), "--tables", str(tables), *CHANGING, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["opened"] == [3]
    assert [one["plan"]["report"] for one in shown["reports"]] == list(GROUP)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(list(arguments)) == 2
    said = capsys.readouterr().err
    assert "hint: " in said
    assert "Traceback" not in said
    return said


def test_two_reports_of_one_name(tables, tmp_path, capsys):
    other = tmp_path / "q01.sql"
    other.write_text("SELECT 1 AS one FROM orders")
    for command in ("plan", "simulate"):
        given = (command, *reports(("q01",)), str(other), "--tables", str(tables))
        assert "two reports of the group are called q01" in refused(capsys, *given)
    one, two = tmp_path / "a-b.sql", tmp_path / "a_b.sql"
    for path in (one, two):
        path.write_text("SELECT count(*) AS n FROM orders")
    given = ("simulate", str(one), str(two), "--tables", str(tables))
    assert "two reports of the group are called a_b" in refused(capsys, *given)


def test_a_group_is_not_shown_as_sql(tables, capsys):
    given = ("plan", *reports(), "--tables", str(tables), "--format", "sql")
    assert "a group is shown as a tree or as JSON" in refused(capsys, *given)


def test_a_report_of_a_group_that_is_no_query(tables, tmp_path, capsys):
    broken = tmp_path / "broken.sql"
    broken.write_text("SELECT nowhere FROM orders")
    given = (*reports(("q01",)), str(broken), "--tables", str(tables))
    assert "nowhere" in refused(capsys, "simulate", *given, "--engine", "sail")
    assert run(["plan", *given]) == 2
    said = capsys.readouterr()
    assert "report q01: " in said.out, "the others are planned"
    assert said.err.count("error (") == 1
    assert "nowhere" in said.err
