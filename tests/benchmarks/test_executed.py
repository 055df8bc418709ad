"""Executed days: their figures add up, and the table tells who lost."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.planner.request import TimePoint
from forerun.simulation.accounts import DayAccount, RunAccount
from forerun.simulation.day import simulate
from forerun.simulation.running import open_runner
from forerun.simulation.simulated_day import Simulation
from forerun.simulation.tables import find_tables
from tests.benchmarks.calibrated import committed_runs, fitted, price_lines
from tests.benchmarks.executed import APPLICATIONS, beside, lines
from tests.benchmarks.figures import (
    Day,
    Estimates,
    Sums,
    csv_of,
    days_of,
    estimated,
    executor,
    figures_of,
    process,
    state_share,
)
from tests.benchmarks.plot import Bars, Line, bars_svg, lines_svg

SVG = "{http://www.w3.org/2000/svg}"


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


def day(*name: str, **given: float) -> Day:
    return Day.of(name or ("q01",), figures_of(account(**given)))


# -- figures ---------------------------------------------------------------------------------------


def test_days_are_in_the_order_of_their_numbers() -> None:
    names = ["q10", "q2", "q14b", "q14a", "q9"]
    found = {(name,): figures_of(account()) for name in names}
    assert [one.query for one in days_of(found)] == ["q2", "q9", "q10", "q14a", "q14b"]


def test_ratios_of_a_day() -> None:
    one = day()
    assert one.ratio(executor) == pytest.approx((0.5 * 4 + 2) / 8)
    assert one.final_ratio(executor) == pytest.approx(2 / 8)
    assert one.own_ratio(process) == pytest.approx(11 / 13)
    assert one.kept == 100


def test_sums_are_ratios_of_sums() -> None:
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
def test_rank_correlation(pairs: Sequence[tuple[float, float]], correlation: float) -> None:
    assert Estimates.of(pairs).rank_correlation == pytest.approx(correlation, abs=1e-3)


def test_errors_are_what_one_factor_leaves() -> None:
    found = Estimates.of([(10, 20), (20, 40), (30, 30)])
    assert found.factor == 2
    assert found.median_error == 0
    assert Estimates.of([(10, 20), (20, 40), (30, 30), (40, 40)]).median_error == 0.375


def test_estimates_are_of_what_ran_and_what_is_kept_is_beside_what_batch_reads() -> None:
    assert list(estimated([day()], executor)) == [(8, 4), (4, 2), (16, 8), (12, 6)]
    assert state_share([day()]) == pytest.approx(0.1)
    assert state_share([]) is None


def test_every_run_has_a_row() -> None:
    rows = [row.split(",") for row in csv_of([day()]).splitlines()]
    assert [(row[0], row[1], row[6]) for row in rows[1:]] == [
        ("q01", "1", "0.0"), ("q01", "2", "4.0"), ("q01", "3", "2.0"), ("q01", "batch", "8.0"),
        ("q01", "own batch", "6.0"),
    ]  # fmt: skip


# -- the page --------------------------------------------------------------------------------------


def test_the_table_has_every_query_and_whoever_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORERUN_HOME", str(tmp_path))
    lost = figures_of(account(early=20.0, final=9.0))
    found = {("q01",): figures_of(account()), ("q02",): lost}
    given = argparse.Namespace(suite="tpch", where=APPLICATIONS, scale=1.0, arrivals="three")
    text = "\n".join(lines(given, found))
    assert re.search(
        r"^\| q02 \| im1 \| 0.0, 20.0, 9.0 \| 8.0 \| 6.0 \| 2.375 ", text, re.MULTILINE
    )
    assert re.search(r"^\| executors \| 1.438 \|.* 1: q02 \|$", text, re.MULTILINE)
    assert "(tpch.svg)" in text
    assert len({line.count(" | ") for line in text.splitlines() if line.startswith("| q")}) == 1
    files = beside(given, found)
    assert files.keys() == {"tpch.svg", "tpch.csv"}
    assert "q02: 2.38 by executors" in files["tpch.svg"]


def test_the_plot_has_bars_as_high_as_the_ratios() -> None:
    drawn = ET.fromstring(
        bars_svg("days <1>", [Bars("q01", 0.5, 1.0, 0.75), Bars("q02", 2.0, 0.25, 1.0)])
    )
    heights = [
        float(bar.attrib["height"])
        for group in drawn.iter(f"{SVG}g")
        for bar in group.iter(f"{SVG}rect")
    ]
    assert heights == pytest.approx([h * heights[2] / 2 for h in (0.5, 1.0, 2.0, 0.25)], abs=0.1)
    assert {"q01", "q02", "1"} <= {text.text for text in drawn.iter(f"{SVG}text")}
    many = bars_svg("many", [Bars(f"q{n}", 0.5, 0.5, 0.5) for n in range(103)])
    assert ">q7<" not in many
    assert "q7: 0.50 by executors" in many


@pytest.mark.parametrize("powers", [False, True])
def test_lines_are_where_their_points_are(powers: bool) -> None:
    given = [Line("a <b>", [(1.0, 1.0), (2.0, 0.5), (4.0, 0.25)])]
    drawn = ET.fromstring(lines_svg("lines", "x", "y", given, powers=powers))
    circles = drawn.iter(f"{SVG}circle")
    (x0, y0), (x1, y1), (x2, y2) = [
        (float(one.attrib["cx"]), float(one.attrib["cy"])) for one in circles
    ]
    assert (x1 - x0) == pytest.approx((x2 - x1) if powers else (x2 - x1) / 2, abs=0.2)
    assert (y1 - y0) == pytest.approx(2 * (y2 - y1), abs=0.2)
    assert y0 < y1 < y2, "more is higher"


def test_prices_are_fitted_to_both_batches_too(tmp_path: Path) -> None:
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
    text = "\n".join(price_lines(fitted(tmp_path / "stores")))
    assert "| that Forerun comes with | 4 |" in text
    assert not list(price_lines(fitted(tmp_path / "nothing")))
