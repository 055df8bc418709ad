"""One application with the runs of several reports: each is committed by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.include.machine.cpu_meter import tree_cpu_s
from forerun.include.state.commits import read_commit
from forerun.planner.contract import Stage
from forerun.spark_jobs import application, run
from forerun.spark_jobs.executor import execute
from tests.spark.days import Day, expected, publish, save_rows, save_sums

ROWS = [(1, "a", 100), (2, "b", 250), (1, "a", 50)]
Said = dict[str, object]


@pytest.fixture
def days(tmp_path: Path) -> list[Day]:
    made = []
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        day = Day(tmp_path / name)
        day.deliver(ROWS)
        made.append(day)
    return made


def plans(days: list[Day], broken: int | None = None) -> list[str]:
    """The plans of the days' only runs; the ``broken`` one asks for a column that is not there."""
    uris = []
    for number, day in enumerate(days):
        stages: tuple[Stage, ...] = (save_rows(1), save_sums(1), publish(1))
        if number == broken:
            stages = (replace(stages[0], sql="SELECT nowhere FROM sales"), *stages[1:])
        uris.append(day.store.uri(day.plan_run(1, stages, final=True)))
    return uris


def submitted(uris: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, list[Said], str]:
    """The exit code, what the last line says of each run, and what is on stderr."""
    named = [part for uri in uris for part in ("--plan", uri)]
    code = run.main([*named, "--attempt", "a1", "--engine", "sail"])
    said = capsys.readouterr()
    return code, json.loads(said.out.splitlines()[-1])["runs"], said.err


def committed(day: Day) -> bool:
    commit = read_commit(day.store, day.at, 1)
    return commit is not None and day.rows(commit) == expected([ROWS])


def test_every_run_is_committed(days, capsys):
    code, said, err = submitted(plans(days), capsys)
    assert code == 0
    assert [one["won"] for one in said] == [True] * 3
    assert all(map(committed, days))
    assert err.count("run 1 is committed") == 3
    again = submitted(plans(days), capsys)
    assert again[0] == 0, "what is committed is not done again"


def test_what_an_application_costs_is_divided_among_its_runs(days, capsys):
    submitted(plans(days), capsys)
    metrics = [read_commit(day.store, day.at, 1).metrics for day in days]
    assert [(one.runs_in_application, one.engine) for one in metrics] == [(3, "sail")] * 3
    spent = [one.process_cpu_s for one in metrics]
    assert all(seconds > 0 for seconds in spent)
    rounding = 0.0005 * len(spent)
    assert sum(spent) <= tree_cpu_s() + rounding, "none is charged what another has taken"


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_a_report_that_fails_holds_up_no_other(days, capsys, broken):
    code, said, err = submitted(plans(days, broken), capsys)
    assert code == run.CANNOT
    assert [committed(day) for day in days] == [number != broken for number in range(3)]
    assert said[broken]["error"].startswith("stage:")
    assert "error: stage:" in err
    assert "run 1 of shops is not committed: stage save-rows" in err
    assert "Traceback" not in err
    mended = submitted(plans(days), capsys)
    assert mended[0] == 0
    assert all(map(committed, days))


def test_a_plan_that_cannot_be_read_holds_up_no_other(days, capsys):
    uris = plans(days)
    lost = uris[0].replace("plans/", "plans/lost-")
    code, said, err = submitted([lost, *uris[1:]], capsys)
    assert code == run.CANNOT
    assert [committed(day) for day in days] == [False, True, True]
    assert [one.get("won", False) for one in said] == [True, True, False]
    assert "lost-" in err


def test_where_no_plan_can_be_read_no_engine_is_started(days, capsys, monkeypatch):
    monkeypatch.setattr(run, "_start", lambda *_: pytest.fail("an engine was started"))
    lost = [uri.replace("plans/", "plans/lost-") for uri in plans(days)]
    assert submitted(lost, capsys)[0] == run.CANNOT


def test_a_bug_that_one_report_meets_is_said_and_the_others_are_done(days, capsys, monkeypatch):
    def broken(engine, stored, *others):
        if "/one/" in stored.store.root:
            raise ZeroDivisionError("a bug")
        return execute(engine, stored, *others)

    monkeypatch.setattr(application, "execute", broken)
    uris = plans(days)
    code, said, err = submitted(uris, capsys)
    assert code == run.CANNOT
    assert [committed(day) for day in days] == [False, True, True]
    assert said[0] == {"report": "shops", "error": "internal"}
    assert "ZeroDivisionError: a bug" in err


def test_the_number_of_a_run_goes_with_a_single_plan(days, capsys):
    uris = plans(days)
    with pytest.raises(SystemExit):
        run.main(["--plan", uris[0], "--plan", uris[1], "--run", "1", "--attempt", "a1"])
    assert "--run goes with a single --plan" in capsys.readouterr().err
