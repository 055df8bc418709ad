"""The command that spark-submit runs: what it refuses before it starts an engine."""

from __future__ import annotations

import pytest

from forerun.include.state.commits import read_commit
from forerun.planner.contract import CONTRACT_VERSION
from forerun.planner.contract.seal import seal, unseal
from forerun.spark_jobs import run
from tests.spark.days import Day, publish, save_rows, save_sums


@pytest.fixture
def planned(day: Day, monkeypatch: pytest.MonkeyPatch) -> tuple[Day, str]:
    """A planned run; no engine may be started for it."""
    day.deliver([(1, "a", 100)])
    key = day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)

    def start(*arguments: object) -> None:
        raise AssertionError("an engine was started")

    monkeypatch.setattr(run, "_start", start)
    return day, key


def refused(day: Day, key: str, capsys: pytest.CaptureFixture[str], number: int = 1) -> str:
    arguments = ["--plan", day.store.uri(key), "--run", str(number), "--attempt", "a1"]
    assert run.main(arguments) == run.CANNOT == 2
    said = capsys.readouterr().err
    assert "hint: " in said
    assert "Traceback" not in said
    assert read_commit(day.store, day.at, 1) is None
    assert day.store.folders(day.at.artifacts) == ()
    return said


def test_a_plan_of_a_newer_version(planned, capsys):
    day, key = planned
    raw, _ = unseal(day.store.get(key), "the plan")
    day.store.put(key, seal(raw | {"version": CONTRACT_VERSION + 1, "new_field": []}))
    said = refused(day, key, capsys)
    assert f"error: contract: the plan has contract version {CONTRACT_VERSION + 1}" in said


def test_a_plan_that_was_cut_short(planned, capsys):
    day, key = planned
    day.store.put(key, day.store.get(key)[:-20])
    assert "is not JSON" in refused(day, key, capsys)


def test_a_plan_that_is_not_there(planned, capsys):
    day, _ = planned
    assert "missing.json" in refused(day, day.at.plan(1, "missing"), capsys)


def test_a_plan_of_another_run(planned, capsys):
    day, key = planned
    assert "plans run 1, not run 2" in refused(day, key, capsys, number=2)
