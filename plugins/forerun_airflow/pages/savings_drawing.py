"""Draws what a report's days took beside what batch would have taken."""

from __future__ import annotations

from forerun_airflow.pages.drawing import Drawing
from forerun_airflow.pages.figures import cpu
from include.oncall.savings import Savings, SpentDay

_WIDTH, _LEFT, _TOP, _HIGH = 1160.0, 70.0, 14.0, 150.0


def savings_drawing(savings: Savings) -> Drawing:
    """A bar per day, the newest at the right: batch as a frame, and in it what was measured."""
    sheet = Drawing("CPU seconds times price, day by day", _WIDTH, _TOP + _HIGH + 34)
    bottom = _TOP + _HIGH
    most = max([1.0, *(max(day.measured_s, day.batch_s or 0.0) for day in savings.days)])
    for part in (0.0, 0.5, 1.0):
        y = bottom - _HIGH * part
        sheet.line("floor", _LEFT, y, _WIDTH, y)
        sheet.text("soft", _LEFT - 8, y + 4, cpu(most * part), "end")
    step = (_WIDTH - _LEFT) / max(12, len(savings.days))
    for number, day in enumerate(savings.days):
        x, wide = _LEFT + number * step + step * 0.14, step * 0.72
        if day.batch_s is not None:
            high = _HIGH * day.batch_s / most
            sheet.rect("frame", x, bottom - high, wide, high)
        high = _HIGH * day.measured_s / most
        look = "done idle" if day.is_batch else "done early"
        sheet.rect(look, x, bottom - high, wide, high, says=_said(day))
        if number % max(1, len(savings.days) // 12) == 0:
            sheet.text("soft", x + wide / 2, bottom + 16, day.day[5:], "middle")
    return sheet


def _said(day: SpentDay) -> str:
    if day.is_batch:
        return f"{day.day}: batch ran, and took {cpu(day.measured_s)} s"
    beside = "" if day.batch_s is None else f", batch {cpu(day.batch_s)} s"
    return f"{day.day}: {cpu(day.measured_s)} s{beside}"
