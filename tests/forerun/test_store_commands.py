"""What a terminal at three in the morning is told of a store: status, explain, diff, and so on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from forerun.cli.app import run
from forerun.cli.stored.explain import error_codes
from forerun.include.state.failure import failure_of, record_failure
from tests.include.oncall.dag_days import DATE, at, dag_day


@pytest.fixture
def case(tmp_path, monkeypatch):
    found = dag_day(tmp_path)
    found.begin()
    found.make(1, at(12))
    monkeypatch.setenv("FORERUN_STORE", found.store_uri)
    return found


def failed(case, at_run=2):
    text = "[source-file] part-00.parquet is not a Parquet file\n  hint: Write it again."
    failure = failure_of(text, task="run_2.plan", run=at_run, at=at(16), tries=3)
    record_failure(case.store, case.handle.at, failure)


def test_status_says_first_what_has_failed_and_what_to_do(case, capsys):
    failed(case)
    assert run(["status"]) == 1
    said = capsys.readouterr().out
    assert re.search(r"totals +2026-\d\d-\d\d +failed", said)
    assert "run_2.plan has failed: [source-file] part-00.parquet is not a Parquet file" in said
    assert "to do: Write it again." in said
    assert run(["status", "totals", DATE, "--json"]) == 1
    (day,) = json.loads(capsys.readouterr().out)["days"]
    assert (day["state"], day["severity"], day["hint"]) == ("failed", "bad", "Write it again.")
    assert day["published"] is False


def test_status_of_a_good_store_is_zero(case, capsys):
    case.deliver("2", (3, 4))
    case.make(2, at(16))
    case.publish(at(17))
    assert run(["status"]) == 0
    assert "published" in capsys.readouterr().out


def test_a_name_that_is_nearly_right_is_guessed(case, capsys):
    assert run(["status", "total"]) == 2
    assert "Did you mean totals?" in capsys.readouterr().err
    assert run(["explain", "totals", "1999-01-01"]) == 2
    assert f"Its newest day is {DATE}." in capsys.readouterr().err
    assert run(["frobnicate"]) == 2
    assert run(["explain", "source-fil"]) == 2
    assert "Did you mean source-file?" in capsys.readouterr().err


def test_an_empty_store_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORERUN_STORE", str(tmp_path / "empty"))
    assert run(["status"]) == 0
    assert "has no day of a report yet" in capsys.readouterr().out
    assert run(["savings"]) == 0
    assert "no published day has been measured yet" in capsys.readouterr().out
    assert run(["arrivals", "totals", DATE]) == 2
    assert "It has none yet" in capsys.readouterr().err


def test_explain_tells_the_plan_of_a_day_and_every_code(case, capsys):
    assert run(["explain", "totals", DATE]) == 0
    said = capsys.readouterr().out
    assert "Early work in run 1 keeps" in said
    assert "run 1, " in said
    assert ": committed" in said
    codes = error_codes()
    product = [
        Path(folder) for folder in ("planner", "include", "spark_jobs", "plugins", "forerun")
    ]
    files = {path.resolve() for folder in product for path in folder.rglob("*.py")}
    written = {
        code
        for path in files
        for code in re.findall(r'^    code = "([a-z-]+)"$', path.read_text(), re.MULTILINE)
    }
    assert set(codes) == written
    assert [code for code, means in codes.items() if not means] == []
    assert run(["explain", "[source-file]"]) == 0
    assert "Running batch runs into it as well." in capsys.readouterr().out


def test_diff_marks_what_is_not_alike(case, capsys, tmp_path):
    assert run(["diff", "totals", DATE, DATE]) == 0
    assert " *" not in capsys.readouterr().out
    assert run(["diff", "totals", DATE, DATE, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["run 1: state"] == ["committed", "committed"]
    assert figures["final run: state"][0] != "committed"


def test_savings_and_arrivals(case, capsys):
    case.deliver("2", (3, 4))
    case.make(2, at(16))
    case.publish(at(17))
    assert run(["savings", "totals", "--json"]) == 0
    (day,) = json.loads(capsys.readouterr().out)["totals"]["days"]
    assert day["day"] == DATE
    assert day["measured_s"] > 0
    assert run(["savings"]) == 0
    assert "totals" in capsys.readouterr().out
    assert run(["arrivals", "totals", DATE]) == 0
    assert "looked at" in capsys.readouterr().out
    assert run(["arrivals", "totals", DATE, "--json"]) == 0
    seen = [one["seen"] for one in json.loads(capsys.readouterr().out).values()]
    assert all(rows for each in seen for _, rows in each)
