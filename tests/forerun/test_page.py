"""The page of a day: complete, self-contained, and safe whatever the data say."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from forerun.demo.page import PageReport, page
from forerun.simulation.accounts import DayAccount, RunAccount, StageAccount

STAGE = StageAccount(
    id="s", title="keep sums", sql="SELECT 1 < 2", rows=7, cpu_s=1.0, wall_s=1.0,
    source_rows_read=10, state_rows_read=0,
)  # fmt: skip
DAY = DayAccount(
    report="r",
    engine="spark",
    equal=True,
    result="file:///r",
    rows=3,
    runs=(
        RunAccount(index=1, weight=0.25, arrived=0.6, cpu_s=2.0, rows_read=600, state_bytes=1500,
                   stages=(STAGE,), skipped=False, flow="keep sums\n  new rows of t\n"),
        RunAccount(index=2, weight=0.3, arrived=0.8),
        RunAccount(index=3, weight=1.0, arrived=1.0, cpu_s=1.0, rows_read=400, stages=(STAGE,),
                   skipped=False, flow="the report\n"),
    ),
    batch=RunAccount(index=3, weight=1.0, arrived=1.0, cpu_s=4.0, process_cpu_s=9.0, wall_s=5.0,
                     rows_read=1000, bytes_read=2000),
    weighted_ratio=0.375,
    final_ratio=0.25,
    early_work=True,
    not_incremental=({"operator": "Sort", "reason": "operator-without-delta-rule"},),
    plan_ms=10.0,
    sql="SELECT a FROM t WHERE a < 3",
    sample=({"a": "<b>x</b>", "b": "1"},),
    arrivals=(("t", (600, 800, 1000)),),
)  # fmt: skip


def text_of(day: DayAccount) -> str:
    report = PageReport(title="R & S", about="about", times=("14:00", "19:00", "24:00"), day=day)
    tiles = [("70%", "of 3 & more")]
    return page("The day", "lead", tiles, ["it paid & how"], [report], "foot")


class Balanced(HTMLParser):
    """Raises where a tag is closed that is not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "br", "rect", "line", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag


@pytest.mark.parametrize("day", [DAY, replace(DAY, equal=False, differences=("x < y",))])
def test_tags_are_balanced_and_data_are_escaped(day: DayAccount) -> None:
    text = text_of(day)
    reader = Balanced()
    reader.feed(text)
    assert reader.open == []
    assert "<b>x</b>" not in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert "R &amp; S" in text


def test_nothing_is_fetched() -> None:
    text = text_of(DAY)
    assert not re.search(r"""(src|href)\s*=|<script|url\(|@import""", text)


def test_the_verdict_and_the_figures_are_there() -> None:
    text = text_of(DAY)
    assert "equal to batch" in text
    assert "38%" in text
    assert "25%" in text
    assert "not opened" in text
    assert "there is no delta rule for this operator" in text
    wrong = text_of(replace(DAY, equal=False, differences=("2 rows are missing",)))
    assert "differs from batch" in wrong
    assert "2 rows are missing" in wrong


def test_a_day_without_measurable_cpu_or_rows_is_drawn() -> None:
    idle = RunAccount(index=3, weight=1.0, arrived=1.0)
    bare = replace(DAY, batch=idle, weighted_ratio=None, final_ratio=None, sample=(), rows=0)
    assert "no rows" in text_of(bare)


def test_what_all_of_it_cost_is_seen_first():
    text = text_of(DAY)
    tile = "<b>70%</b><span>of 3 &amp; more</span>"
    assert text.index(tile) < text.index("R &amp; S")
