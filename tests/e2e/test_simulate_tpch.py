"""All 22 TPC-H queries as days on the small engine: equal to batch, most with early work.

With every run that was asked for (``progressive``); by cost (``auto``) days so small are batch.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forerun.cli.app import run
from forerun.planner.request import Settings, TimePoint
from forerun.simulation.day import simulate
from forerun.simulation.running import open_runner
from forerun.simulation.simulated_day import Simulation
from forerun.simulation.tables import find_tables
from tests.selection import few, need_all

QUERIES = tuple(f"q{number:02d}" for number in range(1, 23))
TPCH = Path(__file__).parents[1] / "tpch"
EARLY_WORK: dict[str, bool] = {}


@pytest.mark.parametrize("query", few(QUERIES, 4))
def test_the_day_gives_the_batch_result(
    query: str, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = simulated("progressive", query, tables, tmp_path, monkeypatch)
    assert day["equal"]
    assert day["differences"] == []
    assert [r["index"] for r in day["runs"]] == [1, 2, 3]
    assert not day["runs"][-1]["skipped"]
    EARLY_WORK[query] = day["early_work"]


@pytest.mark.parametrize("query", ["q01", "q03", "q13"])
def test_by_cost_a_day_that_its_stages_would_make_dearer_is_batch(
    query: str, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = simulated("auto", query, tables, tmp_path, monkeypatch)
    assert day["equal"]
    assert [r["skipped"] for r in day["runs"]] == [True, True, False]


def simulated(
    method: str, query: str, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path))
    target = tmp_path / "day.json"
    arguments = ["simulate", str(TPCH / f"{query}.sql"), "--tables", str(tables)]
    arguments += ["--engine", "sail", "--method", method, "--json", str(target)]
    arguments += ["--correlate", "lineitem.l_orderkey=orders.o_orderkey"]
    arguments += ["--changing", "orders,lineitem,customer,partsupp"]
    assert run(arguments) == 0
    day: dict[str, Any] = json.loads(target.read_text())
    return day


@pytest.mark.parametrize("query", few(QUERIES, 4))
def test_batch_in_stages_of_our_own_gives_the_batch_result(
    query: str, tables: Path, tmp_path: Path
) -> None:
    what = Simulation(
        name=query, sql=(TPCH / f"{query}.sql").read_text(), tables=find_tables(tables),
        changing=frozenset({"orders", "lineitem"}), points=(TimePoint(weight=1.0),),
        correlations=(), seed=1, work=tmp_path, store=str(tmp_path / "store"), own_batch=True,
    )  # fmt: skip
    with open_runner("sail", tmp_path, "") as runner:
        day = simulate(what, runner, lambda _text: None, lambda _rows: None)
    assert day.equal, day.differences
    assert day.runs[0].decided == "batch"
    assert day.batch is day.runs[0], "the same text is not run twice"
    assert day.own_batch is not None
    assert day.own_batch.stages[0].sql != day.batch.stages[0].sql


@pytest.mark.parametrize("query", few(QUERIES, 4))
def test_a_day_that_auto_gives_to_own_batch_is_no_early_work(
    query: str, tables: Path, tmp_path: Path
) -> None:
    what = Simulation(
        name=query, sql=(TPCH / f"{query}.sql").read_text(), tables=find_tables(tables),
        changing=frozenset({"orders", "lineitem"}), correlations=(), seed=1, work=tmp_path,
        points=(TimePoint(weight=1.0, arrived=0.6), TimePoint(weight=1.0)),
        store=str(tmp_path / "store"), settings=Settings(own_batch="always"), own_batch=True,
    )  # fmt: skip
    with open_runner("sail", tmp_path, "") as runner:
        day = simulate(what, runner, lambda _text: None, lambda _rows: None)
    assert day.equal, day.differences
    assert not day.early_work
    assert day.kept == ()
    assert [run.skipped for run in day.runs] == [True, False]
    assert day.runs[-1].decided == "own-batch"
    assert day.own_batch is day.runs[-1], "the same stages are not run twice"
    assert day.runs[-1].stages[0].sql != day.batch.stages[0].sql


def test_most_queries_work_early(request: pytest.FixtureRequest) -> None:
    """After the others: at least so many of 22 leave less than the day's rows to the final run."""
    need_all(request, test_the_day_gives_the_batch_result, len(QUERIES))
    assert sum(EARLY_WORK.values()) >= 14, EARLY_WORK
