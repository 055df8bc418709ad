"""Draws what a report's days took beside what batch would have taken."""

from __future__ import annotations

from dataclasses import dataclass

from forerun.airflow.pages.drawing import Drawing
from forerun.airflow.pages.figures import cpu
from forerun.include.oncall.all_savings import AllSavings, TotalDay
from forerun.include.oncall.savings import Savings, SpentDay

_WIDTH, _LEFT, _TOP, _HIGH = 1160.0, 70.0, 14.0, 150.0


@dataclass(frozen=True, slots=True)
class _Bar:
    """A day as a bar in a frame: what it took, and batch, None where nothing tells."""

    day: str
    spent: float
    batch: float | None
    look: str
    says: str


def savings_drawing(savings: Savings) -> Drawing:
    """A bar per day, the newest at the right: batch as a frame, and in it what was measured."""
    bars = [
        _Bar(
            day.day,
            day.measured_s,
            day.batch_s,
            "done idle" if day.is_batch else "done early",
            _said(day),
        )
        for day in savings.days
    ]
    return _drawing("CPU seconds times price, day by day", bars)


def total_drawing(savings: AllSavings) -> Drawing:
    """A bar per day, of all reports together."""
    bars = [
        _Bar(day.day, day.spent_s, day.batch_s, "done early", _said_of_all(day))
        for day in savings.days
    ]
    return _drawing("CPU seconds times price of all reports, day by day", bars)


def _drawing(title: str, bars: list[_Bar]) -> Drawing:
    sheet = Drawing(title, _WIDTH, _TOP + _HIGH + 34)
    bottom = _TOP + _HIGH
    most = max([1.0, *(max(bar.spent, bar.batch or 0.0) for bar in bars)])
    for part in (0.0, 0.5, 1.0):
        y = bottom - _HIGH * part
        sheet.line("floor", _LEFT, y, _WIDTH, y)
        sheet.text("soft", _LEFT - 8, y + 4, cpu(most * part), "end")
    step = (_WIDTH - _LEFT) / max(12, len(bars))
    for number, bar in enumerate(bars):
        x, wide = _LEFT + number * step + step * 0.14, step * 0.72
        if bar.batch is not None:
            high = _HIGH * bar.batch / most
            sheet.rect("frame", x, bottom - high, wide, high)
        high = _HIGH * bar.spent / most
        sheet.rect(bar.look, x, bottom - high, wide, high, says=bar.says)
        if number % max(1, len(bars) // 12) == 0:
            sheet.text("soft", x + wide / 2, bottom + 16, bar.day[5:], "middle")
    return sheet


def _said_of_all(day: TotalDay) -> str:
    ran = f", of which {day.ran} ran as batch" if day.ran else ""
    return (
        f"{day.day}: {cpu(day.spent_s)} s, batch {cpu(day.batch_s)} s, {day.reports} reports{ran}"
    )


def _said(day: SpentDay) -> str:
    if day.is_batch:
        return f"{day.day}: batch ran, and took {cpu(day.measured_s)} s"
    beside = "" if day.batch_s is None else f", batch {cpu(day.batch_s)} s"
    return f"{day.day}: {cpu(day.measured_s)} s{beside}"
