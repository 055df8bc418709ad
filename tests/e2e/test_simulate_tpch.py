"""All 22 TPC-H queries as days on the small engine: equal to batch, most with early work.

By cost (``auto``, the default: opening a run costs nothing in a session that is there already), and
with every run that was asked for (``progressive``).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forerun.cli import run
from forerun.running import open_runner
from forerun.simulate import Simulation, simulate
from forerun.tables import find_tables
from planner.request import TimePoint
from tests.selection import need_all

QUERIES = tuple(f"q{number:02d}" for number in range(1, 23))
TPCH = Path(__file__).parents[1] / "tpch"
EARLY_WORK: dict[str, dict[str, bool]] = {"auto": {}, "progressive": {}}
PROGRESSIVE = pytest.param("progressive", marks=pytest.mark.slow)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("method", ["auto", PROGRESSIVE])
def test_the_day_gives_the_batch_result(
    method: str, query: str, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path))
    target = tmp_path / "day.json"
    arguments = ["simulate", str(TPCH / f"{query}.sql"), "--tables", str(tables)]
    arguments += ["--engine", "sail", "--method", method, "--json", str(target)]
    arguments += ["--correlate", "lineitem.l_orderkey=orders.o_orderkey"]
    arguments += ["--changing", "orders,lineitem,customer,partsupp"]
    assert run(arguments) == 0
    day = json.loads(target.read_text())
    assert day["equal"]
    assert day["differences"] == []
    assert [r["index"] for r in day["runs"]] == [1, 2, 3]
    assert not day["runs"][-1]["skipped"]
    EARLY_WORK[method][query] = day["early_work"]


@pytest.mark.parametrize("query", QUERIES)
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
    assert day.own_batch is not None
    assert day.own_batch.stages[0].sql != day.batch.stages[0].sql


@pytest.mark.parametrize(
    ("method", "least"),
    [("auto", 12), pytest.param("progressive", 14, marks=pytest.mark.slow)],
)
def test_most_queries_work_early(request: pytest.FixtureRequest, method: str, least: int) -> None:
    """After the others: at least so many of 22 leave less than the day's rows to the final run."""
    found = EARLY_WORK[method]
    count = len(QUERIES) * (1 if method == "auto" else 2)
    need_all(request, test_the_day_gives_the_batch_result, count)
    assert sum(found.values()) >= least, found
