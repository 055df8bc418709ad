"""Benchmarks that execute days: they go on where they were killed, and their figures add up."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.planner.request import TimePoint
from forerun.simulation.accounts import DayAccount, RunAccount
from forerun.simulation.day import simulate
from forerun.simulation.running import RunFailedError, open_runner
from forerun.simulation.simulated_day import Simulation
from forerun.simulation.tables import find_tables
from tests.benchmarks import executed, results
from tests.benchmarks.days import TPCH
from tests.benchmarks.executed import Progress, measure
from tests.benchmarks.executed_section import section
from tests.benchmarks.executed_work import committed_runs, fitted
from tests.benchmarks.executed_work import lines as prices_fit
from tests.benchmarks.figures import (
    Day,
    Estimates,
    Sums,
    days_of,
    estimated,
    executor,
    process,
    state_share,
)
from tests.benchmarks.plot import Bars, svg
from tests.benchmarks.results import BATCH, OWN, Conditions, Results, Row

HERE = Conditions(suite="tpch", scale="1", master="local[2]", memory="8g", points="1@1", code="abc")
AT = "2026-01-02T03:04:05+00:00"


def run(index: int, weight: float, cpu: float, decided: str = "im1", kept: int = 0) -> RunAccount:
    return RunAccount(
        index=index, weight=weight, arrived=weight, cpu_s=cpu, process_cpu_s=cpu + 5,
        estimated_cost=2 * cpu, bytes_read=1000, state_bytes=kept, decided=decided,
        skipped=not cpu,
    )  # fmt: skip


def account(*, early: float = 4.0, final: float = 2.0, equal: bool = True) -> DayAccount:
    return DayAccount(
        report="q", engine="spark", equal=equal, result="", rows=1,
        runs=(run(1, 0.25, 0.0), run(2, 0.5, early, kept=100), run(3, 1.0, final)),
        batch=run(3, 1.0, 8.0, "batch"), own_batch=run(3, 1.0, 6.0, "batch"),
        weighted_ratio=None, final_ratio=None, early_work=True, not_incremental=(), plan_ms=None,
        differences=() if equal else ("row 1 is missing",),
    )  # fmt: skip


def day(query: str = "q01", **given: float) -> Day:
    return days_of(results.rows_of(HERE, AT, query, account(**given)))[0]


# -- the file --------------------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path):
    kept = Results(tmp_path / "figures.csv")
    rows = results.rows_of(HERE, AT, "q01", account())
    kept.put(rows)
    assert kept.rows() == rows
    assert [row.run for row in rows] == ["1", "2", "3", BATCH, OWN]


def test_only_figures_under_the_same_conditions_spare_a_run(tmp_path):
    kept = Results(tmp_path / "figures.csv")
    kept.put(results.rows_of(HERE, AT, "q01", account()))
    kept.put(results.failed(HERE, AT, "q02", "no memory"))
    names = ["q01", "q02", "q03"]
    assert kept.missing(HERE, names) == ["q02", "q03"], "what failed is tried again"
    for other in ({"code": "abd"}, {"scale": "10"}, {"master": "local[4]"}, {"points": "1@0.5"}):
        assert kept.missing(replace(HERE, **other), names) == names


def test_a_query_that_is_run_again_replaces_its_rows_and_no_others(tmp_path):
    kept, later = Results(tmp_path / "figures.csv"), replace(HERE, code="later")
    for conditions in (HERE, later):
        for query in ("q01", "q02"):
            kept.put(results.rows_of(conditions, AT, query, account()))
    kept.put(results.rows_of(later, AT, "q02", account(final=3.0)))
    assert len(kept.rows()) == 4 * 5
    assert [day.final.executor_s for day in days_of(kept.of(later))] == [2.0, 3.0]
    assert [day.final.executor_s for day in days_of(kept.of(HERE))] == [2.0, 2.0]


def test_two_commands_do_not_measure_at_once(tmp_path):
    kept = Results(tmp_path / "new" / "figures.csv")
    with kept.alone(), pytest.raises(BlockingIOError), Results(kept.path).alone():
        pass
    with kept.alone():
        pass


def test_the_code_version_is_that_of_the_product(tmp_path):
    code = tmp_path / "planner" / "api.py"
    code.parent.mkdir()
    code.write_text("1")
    first = results.code_version(tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_api.py").write_text("1")
    assert results.code_version(tmp_path) == first
    code.write_text("2")
    assert results.code_version(tmp_path) != first


# -- the command -----------------------------------------------------------------------------------


class FakeDays:
    """Days that are not executed: one fails, and at one the command is killed."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def of(self, *_: object) -> FakeDays:
        return self

    suite, folder = TPCH, Path("/nowhere/tpch-1")

    def run(self, name: str, *_: object, own_batch: bool, store: str) -> DayAccount:
        assert own_batch
        assert store == f"/nowhere/tpch-1-stores/{name}"
        self.ran.append(name)
        if name == "q02":
            raise RunFailedError("out of memory", hint="")
        if name == "q04" and self.ran.count("q04") == 1:
            raise KeyboardInterrupt
        return account()


def test_a_killed_command_goes_on_where_it_was(tmp_path, monkeypatch):
    days, kept = FakeDays(), Results(tmp_path / "figures.csv")
    monkeypatch.setattr(executed, "Days", days)
    queries = ["q01", "q02", "q03", "q04", "q05"]
    with pytest.raises(KeyboardInterrupt):
        measure(kept, HERE, kept.missing(HERE, queries))
    measure(kept, HERE, kept.missing(HERE, queries))
    assert days.ran == ["q01", "q02", "q03", "q04", "q02", "q04", "q05"]
    assert kept.missing(HERE, queries) == ["q02"]
    assert json.loads((tmp_path / "figures-accounts" / "q05.json").read_text())["equal"]
    (failed,) = [row for row in kept.rows() if row.query == "q02"]
    assert "out of memory" in failed.error


def test_a_day_that_takes_too_long_is_given_up_for_good(tmp_path, monkeypatch):
    class RestartedError(Exception):
        pass

    started, kept = [], Results(tmp_path / "figures.csv")
    monkeypatch.setattr(executed, "LIMIT_S", 0.01)
    monkeypatch.setattr(executed.os, "execv", lambda _program, given: started.append(given))
    monkeypatch.setattr(
        executed.psutil, "Process", lambda: SimpleNamespace(children=lambda **_: [])
    )
    monkeypatch.setattr(executed.Days, "of", lambda *_: SimpleNamespace(folder=tmp_path / "t"))

    def endless(*_: object) -> Iterator[object]:
        def execute(_query: str) -> DayAccount:
            while not started:
                time.sleep(0.001)
            raise RestartedError

        yield execute

    monkeypatch.setattr(executed, "executing", contextmanager(endless))
    with pytest.raises(RestartedError):
        measure(kept, HERE, ["q01"])
    assert started == [[sys.executable, *sys.orig_argv[1:]]]
    assert kept.missing(HERE, ["q01"]) == []
    assert "- q01 too long: not done in 0.01 s" in lines(kept.rows(), ["q01"])


def test_progress_says_what_is_left():
    progress = Progress(("q01", "q02", "q03", "q04"), 1000.0)
    assert progress.line("q01", 1000.0) == "q01: 1 of 4, 0:00:00 elapsed"
    told = progress.line("q03", 1120.0)
    assert told.startswith("q03: 3 of 4, 0:02:00 elapsed, end expected at ")


# -- figures ---------------------------------------------------------------------------------------


def test_days_are_in_the_order_of_their_numbers():
    names = ["q10", "q2", "q14b", "q14a", "q9"]
    rows = [row for name in names for row in results.rows_of(HERE, AT, name, account())]
    assert [one.query for one in days_of(rows)] == ["q2", "q9", "q10", "q14a", "q14b"]


def test_ratios_of_a_day():
    one = day()
    assert one.ratio(executor) == pytest.approx((0.5 * 4 + 2) / 8)
    assert one.final_ratio(executor) == pytest.approx(2 / 8)
    assert one.own_ratio(process) == pytest.approx(11 / 13)
    assert one.kept == 100
    assert one.decided == "im1"


def test_sums_are_ratios_of_sums():
    sums = Sums.of([day("q01"), day("q02", early=20.0, final=9.0)], executor)
    assert sums.weighted == pytest.approx((4 + 19) / 16)
    assert sums.final == pytest.approx(11 / 16)
    assert sums.own == pytest.approx(12 / 16)
    assert sums.above == sums.final_above == ("q02",)


@pytest.mark.parametrize(
    ("pairs", "correlation"),
    [
        ([(1, 10), (2, 20), (3, 900)], 1.0),
        ([(1, 3), (2, 2), (3, 1)], -1.0),
        ([(1, 1), (2, 3), (3, 2)], 0.5),
        ([(1, 1), (1, 2), (2, 3)], 0.866),
    ],
)
def test_rank_correlation(pairs, correlation):
    assert Estimates.of(pairs).rank_correlation == pytest.approx(correlation, abs=1e-3)


def test_errors_are_what_one_factor_leaves():
    found = Estimates.of([(10, 20), (20, 40), (30, 30)])
    assert found.factor == 2
    assert found.median_error == 0
    assert Estimates.of([(10, 20), (20, 40), (30, 30), (40, 40)]).median_error == 0.375


def test_estimates_are_of_what_ran():
    assert list(estimated([day()], executor)) == [(8, 4), (4, 2), (16, 8), (12, 6)]


def test_what_is_kept_beside_what_batch_reads():
    assert state_share([day()]) == pytest.approx(0.1)
    assert state_share([]) is None


# -- the page --------------------------------------------------------------------------------------


def lines(rows: list[Row], queries: list[str]) -> str:
    return "\n".join(section("tpch", HERE, rows, queries, "2 cores"))


def test_the_section_has_every_query_and_whoever_lost():
    rows = results.rows_of(HERE, AT, "q01", account())
    rows += results.rows_of(HERE, AT, "q02", account(early=20.0, final=9.0))
    text = lines(rows, ["q01", "q02"])
    assert "Unfinished" not in text
    assert re.search(
        r"^\| q02 \| im1 \| 0.0, 20.0, 9.0 \| 8.0 \| 6.0 \| 2.375 ", text, re.MULTILINE
    )
    assert re.search(r"^\| executors \| 1.438 \|.* 1: q02 \|$", text, re.MULTILINE)
    assert "(tpch.svg)" in text
    widths = {line.count(" | ") for line in text.splitlines() if re.match(r"\| q", line)}
    assert len(widths) == 1


def test_an_unfinished_page_says_so_and_hides_no_failure():
    rows = results.rows_of(HERE, AT, "q01", account(equal=False))
    rows += results.failed(HERE, AT, "q02", "no memory")
    text = lines(rows, ["q01", "q02", "q03"])
    assert "**Unfinished: 1 of 3 queries have figures.**" in text
    assert "- q02 failed: no memory" in text
    assert "- q01 is not equal: row 1 is missing" in text
    assert "q02 failed" in lines(rows[-1:], ["q02"])


def test_the_plot_has_bars_as_high_as_the_ratios():
    drawn = ET.fromstring(
        svg("days <1>", [Bars("q01", 0.5, 1.0, 0.75), Bars("q02", 2.0, 0.25, 1.0)])
    )
    name = "{http://www.w3.org/2000/svg}"
    heights = [
        float(bar.attrib["height"])
        for group in drawn.iter(f"{name}g")
        for bar in group.iter(f"{name}rect")
    ]
    assert heights == pytest.approx([h * heights[2] / 2 for h in (0.5, 1.0, 2.0, 0.25)], abs=0.1)
    labels = [text.text for text in drawn.iter(f"{name}text")]
    assert {"q01", "q02", "1"} <= set(labels)


def test_the_plot_of_a_hundred_queries_leaves_out_their_names():
    text = svg("many", [Bars(f"q{n}", 0.5, 0.5, 0.5) for n in range(103)])
    assert ">q7<" not in text
    assert "q7: 0.50 by executors" in text


def test_the_command_publishes_beside_the_page(tmp_path, monkeypatch):
    page = tmp_path / "docs" / "benchmarks.md"
    page.parent.mkdir()
    page.write_text("# Figures\n")
    written: dict[str, list[str]] = {}
    monkeypatch.setattr(executed, "PAGE", page)
    monkeypatch.setattr(executed, "ROOT", Path(tmp_path))
    monkeypatch.setattr(executed, "write_section", written.__setitem__)
    rows = results.rows_of(HERE, AT, "q01", account())
    executed.publish(HERE, rows, ["q01"])
    assert Results(page.with_name("tpch.csv")).rows() == rows
    assert "q01" in page.with_name("tpch.svg").read_text()
    assert list(written) == ["bench-tpch"]


def test_prices_are_fitted_to_both_batches_too(tmp_path):
    rows = pa.table({"k": list(range(2000)), "price": [1.5] * 2000})
    (tmp_path / "tables" / "sales").mkdir(parents=True)
    pq.write_table(rows, tmp_path / "tables" / "sales" / "rows.parquet")
    what = Simulation(
        name="q07", sql="SELECT sum(price) AS total FROM sales WHERE k > 10",
        tables=find_tables(tmp_path / "tables"), changing=frozenset({"sales"}), correlations=(),
        points=(TimePoint(weight=0.3, arrived=0.5), TimePoint(weight=1.0)), seed=1,
        work=tmp_path / "work", store=str(tmp_path / "stores" / "q07"), method="progressive",
        own_batch=True,
    )  # fmt: skip
    (tmp_path / "work").mkdir()
    with open_runner("sail", tmp_path, "") as runner:
        simulate(what, runner, lambda _text: None, lambda _rows: None)
    runs = list(committed_runs(what.store))
    assert {run.report for run in runs} == {"q07"}
    assert len(runs) == 4, "two of the day, batch and own batch"
    assert all(run.work["stage_start"] for run in runs)
    found = fitted(tmp_path / "stores")
    assert found is not None
    assert "| that Forerun comes with | 4 |" in "\n".join(prices_fit(found))
