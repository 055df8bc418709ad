"""``forerun repair`` as it is typed, on a day whose runs were executed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.cli.app import run
from forerun.include.engines import ENGINES
from forerun.include.past.repair import Repair, begin_repair, find_repair, look_at, plan_repair
from forerun.include.reports.run_policy import Retries
from forerun.include.reports.sources.source import SourceSpec
from forerun.include.reports.spec import encode_report
from forerun.include.runs.prepare import open_generation, publish_result, read_pointer
from forerun.include.state.fence import GenerationClosedError, close_through
from forerun.include.state.records import OpenedBy
from forerun.past.repair_work import NotVerifiedError, compute, verify
from forerun.simulation.running import open_runner
from tests.include.days.day_cases import COLUMNS, DAY, EARLY, NOW, DayCase

ON_SAIL = replace(EARLY, prices=ENGINES["sail"].prices)


@pytest.fixture
def case(tmp_path: Path) -> DayCase:
    """A published day; a row comes late, and ``spec.json`` is the report."""
    case = DayCase(tmp_path, (tmp_path / "store").as_uri())
    generation = case.open()
    with open_runner("sail", tmp_path, "local[1]") as runner:
        for number in (1, 2):
            case.deliver(str(number), *((k, number) for k in range(3)))
            prepared = case.prepare(generation, number)
            runner.run([prepared.plan_uri], "run", tiny=True)
    publish_result(case.day(generation), now=NOW)
    (tmp_path / "spec.json").write_bytes(encode_report(case.spec))
    case.deliver("late", (2, 40), (9, 9))
    return case


def test_a_day_is_looked_at_repaired_and_published(case: DayCase, tmp_path: Path, capsys):
    command = ["repair", "totals", DAY.isoformat(), "--store", case.store_uri, "--engine", "sail"]
    assert run(command) == 2
    assert "--spec" in capsys.readouterr().err
    command += ["--spec", str(tmp_path / "spec.json")]
    assert run(command) == 0  # no terminal: it only looks
    said = capsys.readouterr().out
    assert "new       orders: file://" in said
    assert "late.parquet, 2 rows" in said
    assert "computing the report anew (chosen)" in said
    assert case.store.folders("reports/totals/2026-03-01") == ("1",)
    assert run([*command, "--no-publish"]) == 0
    said = capsys.readouterr().out
    assert "2 rows added, 1 taken away; 4 rows in all" in said
    assert "  -  2  3\n  +  2  43\n  +  9  9\n" in said
    assert read_pointer(case.store, "totals", DAY).generation == 1
    assert run([*command, "--yes", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["added"], record["removed"]) == (2, 1)
    diff = pq.read_table(record["diff"].removeprefix("file://")).to_pylist()
    assert diff == [
        {"k": 2, "total": 3, "__w": -1},
        {"k": 2, "total": 43, "__w": 1},
        {"k": 9, "total": 9, "__w": 1},
    ]
    assert read_pointer(case.store, "totals", DAY).version == record["version"]
    assert run([*command, "--yes"]) == 0
    assert "nothing to repair" in capsys.readouterr().out


def test_the_engine_is_chosen_and_said(case: DayCase, tmp_path: Path, capsys):
    command = ["repair", "totals", DAY.isoformat(), "--store", case.store_uri]
    command += ["--spec", str(tmp_path / "spec.json"), "--json"]
    assert run([*command, "--engine", "auto", "--no-publish"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["engine"], record["passed_over"]) == ("sail", [])
    assert (record["added"], record["removed"]) == (2, 1)
    assert run([*command, "--preview"]) == 0
    assert json.loads(capsys.readouterr().out)["engine"] == "spark"  # unless it is asked for


def test_what_is_not_known_to_be_exact_is_refused(case: DayCase, tmp_path: Path, capsys):
    other = replace(case.spec, sql="SELECT k, stddev(v) AS total FROM orders GROUP BY k")
    (tmp_path / "spec.json").write_bytes(encode_report(other))
    command = ["repair", "totals", DAY.isoformat(), "--store", case.store_uri]
    command += ["--spec", str(tmp_path / "spec.json")]
    assert run([*command, "--engine", "sail", "--yes"]) == 2
    assert "stddev_samp was not compared with Spark" in capsys.readouterr().err
    assert run([*command, "--engine", "auto", "--preview"]) == 0
    said = capsys.readouterr().out
    assert "takes on Spark itself" in said
    assert "not on sail: " in said
    assert case.store.folders("reports/totals/2026-03-01") == ("1",)


def test_a_result_that_is_not_confirmed_is_not_published(case: DayCase, tmp_path: Path):
    """The file of the result is another one than the run has written."""
    looked = look_at(case.store, case.spec, DAY, now=NOW)
    repair = plan_repair(looked, ON_SAIL)
    delta = replace(repair, plans=tuple(one for one in repair.plans if one.is_delta))
    said: list[str] = []
    version = compute(delta, "sail", "local[1]", said.append)
    verify(version, repair, "sail", "local[1]", said.append)
    assert said[-1] == "sail computes the same anew"
    result = version.commit.result
    key = f"{result.folder}/{result.files[0].name}"
    rows = pq.read_table(pa.BufferReader(case.store.get(key)))
    sink = pa.BufferOutputStream()
    pq.write_table(rows.slice(1), sink)
    case.store.put(key, sink.getvalue().to_pybytes())
    with pytest.raises(NotVerifiedError, match="1 rows of the repair of totals"):
        verify(version, repair, "sail", "local[1]", said.append)


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_spark_confirms_what_the_small_engine_gives(case: DayCase, tmp_path: Path, capsys):
    command = ["repair", "totals", DAY.isoformat(), "--store", case.store_uri, "--engine", "sail"]
    command += ["--spec", str(tmp_path / "spec.json"), "--master", "local[1]"]
    assert run([*command, "--verify", "--yes"]) == 0
    said = capsys.readouterr()
    assert "spark computes the same anew" in said.err
    assert "published at" in said.out


def test_on_a_terminal_it_asks_twice(case: DayCase, tmp_path: Path, capsys, monkeypatch):
    command = ["repair", "totals", DAY.isoformat(), "--store", case.store_uri, "--engine", "sail"]
    command += ["--spec", str(tmp_path / "spec.json")]
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    asked: list[str] = []
    for answers in ([False], [True, False], [True, True]):
        left = iter(answers)
        monkeypatch.setattr(
            "typer.confirm", lambda text, err, left=left: asked.append(text) or next(left)
        )
        assert run(command) == 0
        published = read_pointer(case.store, "totals", DAY)
        assert published.generation == (2 if all(answers) else 1)
    assert asked == ["compute it?"] + ["compute it?", "publish it?"] * 2
    assert run([*command, "--preview"]) == 0
    assert "nothing to repair" in capsys.readouterr().out


def test_state_that_clean_up_closes_meanwhile_does_not_count(case: DayCase, tmp_path: Path):
    """The run of the repair reads all of it and then looks at the fence, so it commits nothing; the
    next repair does without."""

    def look() -> Repair:
        return find_repair(case.store, case.spec, DAY, now=NOW, settings=ON_SAIL)

    repair = look()
    delta = next(one for one in repair.plans if one.is_delta)
    prepared = begin_repair(replace(repair, plans=(delta,)), now=NOW)
    close_through(case.store, "totals", DAY.isoformat(), 1)
    with open_runner("sail", tmp_path, "local[1]") as runner:
        with pytest.raises(GenerationClosedError):
            runner.run([prepared.plan_uri], "repair", tiny=True)
        assert case.day(prepared.at.generation).commit(repair.run) is None
        again = look()
        assert [one.base for one in again.plans] == [None]
        prepared = begin_repair(again, now=NOW)
        runner.run([prepared.plan_uri], "repair", tiny=True)
    day = case.day(prepared.at.generation)
    assert publish_result(day, now=NOW, run=repair.run).generation == 3


def test_who_reads_a_repaired_day_is_named(case: DayCase, tmp_path: Path, capsys):
    source = SourceSpec(
        name="orders", path="forerun://report/totals/{ds}", format="report", columns=COLUMNS
    )
    reader = replace(case.spec, name="after", sources=(source,))
    by = OpenedBy(
        dag_id="after", run_id="r1", mode="auto", group="", retries=Retries(count=0, pauses_s=0.0)
    )
    open_generation(case.store_uri, reader, DAY, trigger="r1", now=NOW, opened_by=by)
    command = ["repair", "totals", DAY.isoformat(), "--store", case.store_uri, "--engine", "sail"]
    assert run([*command, "--spec", str(tmp_path / "spec.json"), "--yes"]) == 0
    said = capsys.readouterr().out
    assert "after reads it, and was computed over the version before" in said
    assert f"forerun repair after {DAY} --store {case.store.root}" in said
