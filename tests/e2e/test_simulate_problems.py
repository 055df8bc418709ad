"""Days whose early runs give the result too, on the small engine: each result equals the plain
query over what has arrived by then, and the account says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.cli.app import run
from forerun.include.stores.opening import open_store, split_uri
from forerun.planner.contract import decode_plan, encode_plan
from forerun.planner.request import Problem, TimePoint
from forerun.simulation.day import simulate
from forerun.simulation.running import Runner, Used, open_runner
from forerun.simulation.shown_day import show_day
from forerun.simulation.simulated_day import Simulation
from forerun.simulation.tables import find_tables
from tests.selection import few

TPCH = Path(__file__).parents[1] / "tpch"
QUERIES = tuple(f"q{number:02d}" for number in range(1, 23))
FEW = ("q03", "q13", "q22")


def arguments_of(query: str, tables: Path, target: Path, *options: str) -> list[str]:
    arguments = ["simulate", str(TPCH / f"{query}.sql"), "--tables", str(tables)]
    arguments += ["--engine", "sail", "--json", str(target), *options]
    return [*arguments, "--changing", "orders,lineitem,customer,partsupp"]


@pytest.mark.parametrize(
    ("query", "options", "at"),
    [
        *(
            pytest.param(query, ("--problem", "ivm"), [1, 2], marks=marks)
            for number, query in enumerate(QUERIES)
            for marks in (() if number % 8 == 1 else pytest.mark.slow,)
        ),
        *few(((query, ("--results-at", "2"), [2]) for query in FEW), 1),
        *few(((query, ("--results-at", "1", "--method", "progressive"), [1]) for query in FEW), 1),
    ],
)
def test_every_result_that_is_asked_for_equals_batch(
    query: str,
    options: tuple[str, ...],
    at: list[int],
    tables: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path))
    target = tmp_path / "day.json"
    assert run(arguments_of(query, tables, target, *options)) == 0
    day = json.loads(target.read_text())
    early = {r["index"]: r["early_result"] for r in day["runs"] if r["early_result"]}
    assert sorted(early) == at
    assert all(result["equal"] for result in early.values())
    assert day["equal"]
    assert "early result" in " ".join(capsys.readouterr().out.split())


class Losing:
    """A runner whose early result lacks a row."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.engine = runner.engine

    def run(self, plan_uris: Sequence[str], name: str, **how: Any) -> Used:
        root, key = split_uri(plan_uris[0])
        store = open_store(root)
        plan = decode_plan(store.get(key))
        if plan.run.early_result:
            *before, last = plan.run.stages
            less = replace(last, sql=f"SELECT * FROM ({last.sql}) LIMIT 2")
            changed = replace(plan.run, stages=(*before, less))
            runs = tuple(changed if r is plan.run else r for r in plan.runs)
            store.put(key, encode_plan(replace(plan, runs=runs)))
        return self._runner.run(plan_uris, name, **how)


def test_an_early_result_that_differs_is_said_and_fails_the_day(
    tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = find_tables(tables)
    what = Simulation(
        name="q01",
        sql=(TPCH / "q01.sql").read_text(),
        tables=found,
        changing=frozenset({"lineitem"}),
        points=(TimePoint(weight=0.3, arrived=0.5), TimePoint(weight=1.0)),
        correlations=(),
        seed=1,
        work=tmp_path,
        store=str(tmp_path / "store"),
        problem=Problem(results_at=(1,)),
    )
    with open_runner("sail", tmp_path / "logs", "local[1]") as runner:
        day = simulate(what, Losing(runner), say=lambda _: None, advance=lambda _: None)
    assert not day.equal
    assert not day.differences
    early = day.runs[0].early_result
    assert early is not None
    assert not early.equal
    assert early.differences
    show_day(day)
    said = " ".join(capsys.readouterr().out.split())
    assert "2 rows, DIFFERS" in said
    assert "the early result of run 1 DIFFERS from batch" in said
    assert "equal to batch" in said


CHANGED = """
SELECT c.k, count(*) AS n, sum(e.v) AS v FROM events e JOIN customers c ON e.k = c.k GROUP BY c.k
"""


@pytest.mark.parametrize("method", few(["progressive", "auto", "im1"], 1))
def test_a_day_of_changelogs_equals_batch_at_every_run(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path))
    (tmp_path / "tables").mkdir()
    events = pa.table({"k": [i % 40 for i in range(3000)], "v": list(range(3000))})
    pq.write_table(events, tmp_path / "tables" / "events.parquet")
    pq.write_table(pa.table({"k": range(40)}), tmp_path / "tables" / "customers.parquet")
    report, target = tmp_path / "changed.sql", tmp_path / "day.json"
    report.write_text(CHANGED, encoding="utf-8")
    options = ["simulate", str(report), "--tables", str(tmp_path / "tables"), "--engine", "sail"]
    options += ["--changing", "events", "--json", str(target), "--method", method]
    assert run([*options, "--changelog", "events", "--results-at", "1,2"]) == 0
    day = json.loads(target.read_text())
    assert day["equal"]
    assert day["not_covered"] == []
    assert dict(day["arrivals"])["events"][-1] > 3000  # what is taken back are rows, too
    assert all(day["runs"][i]["early_result"]["equal"] for i in (0, 1))
    assert run([*options, "--changelog", "customers"]) != 0
    assert "customers, which does not change" in capsys.readouterr().err


def test_what_the_comparison_does_not_cover_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path))
    (tmp_path / "tables").mkdir()
    pq.write_table(pa.table({"k": [1, 1, 2]}), tmp_path / "tables" / "t.parquet")
    report, target = tmp_path / "twice.sql", tmp_path / "day.json"
    report.write_text("SELECT k FROM t INTERSECT ALL SELECT k FROM t", encoding="utf-8")
    options = ["simulate", str(report), "--tables", str(tmp_path / "tables"), "--engine", "sail"]
    run([*options, "--json", str(target)])
    assert "does not cover what Sail itself gets wrong" in capsys.readouterr().out
    (gap,) = json.loads(target.read_text())["not_covered"]
    assert gap["code"] == "intersect-all"


def test_a_changelog_that_only_the_text_reads_is_read(tmp_path: Path) -> None:
    """Rewriting drops the condition, and the user's own text still has it."""
    for name in ("orders", "refused"):
        (tmp_path / "tables" / name).mkdir(parents=True)
        rows = pa.table({"k": list(range(200)), "v": [1] * 200})
        pq.write_table(rows, tmp_path / "tables" / name / "rows.parquet")
    what = Simulation(
        name="dropped", tables=find_tables(tmp_path / "tables"), method="batch", seed=1,
        sql="SELECT k FROM orders WHERE EXISTS (SELECT 1 FROM refused) OR true",
        changing=frozenset({"orders", "refused"}), changelogs=frozenset({"refused"}),
        points=(TimePoint(weight=0.3, arrived=0.5), TimePoint(weight=1.0)), correlations=(),
        work=tmp_path / "work", store=str(tmp_path / "store"),
    )  # fmt: skip
    (tmp_path / "work").mkdir()
    with open_runner("sail", tmp_path, "") as runner:
        day = simulate(what, runner, lambda _text: None, lambda _rows: None)
    assert day.equal
    assert day.rows == 200
