"""The demo's verdict says what the figures say, in both directions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forerun.demo.verdict import early_words, left_to_itself, verdict
from forerun.tables import find_tables
from planner.request import TimePoint
from tests.forerun.test_page import DAY

POINTS = (TimePoint(weight=0.25, arrived=0.6), TimePoint(weight=1.0))


def said(days, alone) -> str:
    return " ".join(verdict(days, alone))


def test_cheaper_and_dearer_are_told_apart():
    dear = replace(DAY, weighted_ratio=1.4)
    text = said({"A": DAY, "B": dear, "C": dear}, {"A": (1, 2), "B": (), "C": (2,)})
    assert "Early work paid for A:" in text
    assert "Early work did not pay for B and C." in text
    assert "4.0, 4.0 and 4.0 s in the plain queries" in text
    assert "A, early runs 1 and 2; B, batch; C, early run 2." in text
    assert "did not pay" not in said({"A": DAY}, {"A": ()})
    assert "Early work paid" not in said({"A": dear}, {"A": ()})


def test_the_cost_of_an_application_is_what_its_process_took_besides_the_work():
    used = replace(DAY.runs[0], process_cpu_s=8.5)
    assert "takes 6 s of CPU" in said({"A": replace(DAY, runs=(used, *DAY.runs[1:]))}, {"A": ()})


def test_whole_processes_are_weighted_too():
    runs = tuple(replace(run, process_cpu_s=6.0) for run in DAY.runs)
    assert replace(DAY, runs=runs).process_ratio == pytest.approx((0.25 + 0.3 + 1) * 6 / 9)


def test_words_for_early_runs():
    assert [early_words(e) for e in ((), (1,), (1, 2))] == [
        "batch", "early run 1", "early runs 1 and 2",
    ]  # fmt: skip


def test_small_tables_are_left_to_batch_and_much_work_is_not(tmp_path: Path):
    report = tmp_path / "r.sql"
    report.write_text("SELECT k, SUM(v) AS s FROM t GROUP BY k", encoding="utf-8")
    rows = pa.table({"k": pa.array([1, 2] * 50, pa.int64()), "v": pa.array(range(100))})
    pq.write_table(rows, tmp_path / "t.parquet")
    tables = find_tables(tmp_path)
    assert left_to_itself(report, tables, POINTS) == ()
    (table,) = tables.values()
    (footer,) = table.footers
    much = replace(table, footers=(replace(footer, rows=10**9, size=10**10),))
    assert left_to_itself(report, {table.name: much}, POINTS) == (1,)


def test_what_waits_is_said_once_per_reason():
    waiting = replace(
        DAY,
        not_incremental=tuple(
            {"operator": operator, "reason": reason}
            for operator, reason in (
                ("Limit", "operator-without-delta-rule"),
                ("Project", "dearer-early-than-late"),
                ("Sort", "operator-without-delta-rule"),
                ("Join inner", "dearer-early-than-late"),
                ("Join inner", "dearer-early-than-late"),
                ("Project", "input-waits"),
            )
        ),
    )
    assert waiting.waiting == (
        ("operator-without-delta-rule", ("Limit", "Sort")),
        ("dearer-early-than-late", ("Join inner",)),
    )
