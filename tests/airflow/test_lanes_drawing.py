"""The picture of a night on one clock: one that is long over, and one that was replayed later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from forerun.airflow.pages.lanes_drawing import lanes_drawing
from forerun.include.oncall.night.lanes import Lane, LaneRun


def at(hours):
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hours)


def texts(hours, now):
    """What is written into the picture of a report with runs that began at these hours."""
    runs = tuple(
        LaneRun(run=number, start=at(hour), end=at(hour + 1), kind="early", made=True)
        for number, hour in enumerate(hours, 1)
    )
    row = SimpleNamespace(report=SimpleNamespace(name="revenue"))
    lane = Lane(row=row, runs=runs, safe=at(28), deadline=at(30), cores=2)
    return [shape.text for shape in lanes_drawing([lane], now).shapes if shape.tag == "text"]


def test_the_present_is_drawn_beside_a_night_of_the_present_alone():
    assert "now" in texts([24], at(26))
    long_over = texts([24], at(24 * 300))
    assert "now" not in long_over
    assert {"00:00", "03:00", "06:00"} <= {*long_over}


def test_a_night_of_which_a_part_ran_months_later_has_days_for_hours():
    days = [text for text in texts([24, 24 * 300], at(24 * 300)) if text.endswith("May")]
    assert 1 <= len(days) <= 2
