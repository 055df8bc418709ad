"""One table of engines: what it says is true of each, and a new engine is a module and an entry."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from forerun.include import engines
from forerun.include.engines import ENGINES, EngineSpec, UnknownEngineError, engine_spec, own_engine
from forerun.include.state.commits import read_commit
from forerun.simulation.running import open_runner
from forerun.spark_jobs import run
from forerun.spark_jobs.engines.sail import SailEngine, start_sail
from tests.spark.days import Day, expected, publish, save_rows, save_sums

ROWS = [(1, "a", 100), (2, "b", 250)]
CLASSES = {"spark": "SparkEngine", "sail": "SailEngine", "connect": "ConnectEngine"}


@pytest.fixture
def day(tmp_path: Path) -> Day:
    return Day(tmp_path)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> EngineSpec:
    """An engine's entry; its module can be imported under the name that the entry gives."""
    monkeypatch.setitem(sys.modules, "toy_engine", SimpleNamespace(start_toy=start_toy))
    return EngineSpec(name="toy", about="a toy", start="toy_engine:start_toy", submitted=False)


@pytest.mark.parametrize("spec", ENGINES.values(), ids=list(ENGINES))
def test_what_the_table_names_is_there(spec: EngineSpec) -> None:
    module = importlib.import_module(spec.start.partition(":")[0])
    assert callable(getattr(module, spec.start.partition(":")[2]))
    assert getattr(module, CLASSES[spec.name]).name == spec.name


def test_an_engine_that_is_not_in_the_table() -> None:
    with pytest.raises(UnknownEngineError, match="no engine 'duckdb'") as caught:
        engine_spec("duckdb")
    assert "spark (Spark itself), sail" in caught.value.hint


def test_a_command_that_starts_its_engine_takes_nobody_s_server() -> None:
    assert own_engine("spark") is ENGINES["spark"]
    with pytest.raises(UnknownEngineError, match="only Airflow's tasks know where") as caught:
        own_engine("connect")
    assert caught.value.hint == "Use one of spark, sail."


class ToyEngine(SailEngine):
    """An engine that nothing but its entry knows."""

    name = "toy"


def start_toy(*, master: str | None, name: str) -> ToyEngine:
    started.append((master, name))
    sail = start_sail()
    return ToyEngine(sail.session, sail._server)


started: list[tuple[str | None, str]] = []


def test_a_new_engine_is_a_module_and_an_entry(day: Day, toy: EngineSpec) -> None:
    day.deliver(ROWS)
    key = day.plan_run(1, (save_rows(1), save_sums(1), publish(1)), final=True)
    with mock.patch.object(run, "ENGINES", {**ENGINES, "toy": toy}):
        arguments = ["--plan", day.store.uri(key), "--run", "1", "--attempt", "a1"]
        assert run.main([*arguments, "--engine", "toy"]) == 0
    assert started == [(None, "forerun shops run 1")]
    assert day.rows(read_commit(day.store, day.at, 1)) == expected([ROWS])


def test_a_simulation_finds_it_by_its_name(tmp_path: Path, toy: EngineSpec) -> None:
    with (
        mock.patch.object(engines, "ENGINES", {**ENGINES, "toy": toy}),
        open_runner("toy", tmp_path, "local[1]") as runner,
    ):
        assert runner.engine is toy
