"""Panes: which folders are days, and what is known not to go as a whole."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from forerun.include.days.panes import if_whole, pane_of, panes_of
from forerun.include.reports.spec import MarkerFile, SourceSpec, Trailing
from forerun.include.state.records import Pin, PinnedFile
from forerun.planner.contract import ColumnSpec

DAY = date(2026, 3, 30)


def source(path: str) -> SourceSpec:
    return SourceSpec(
        name="orders",
        path=path,
        columns=(ColumnSpec(name="k", type="BIGINT"),),
        over=Trailing(days_back=3),
        complete_when=MarkerFile(),
    )


def file(day: str, name: str = "a.parquet", **more: str) -> PinnedFile:
    return PinnedFile(
        uri=f"file:///in/{day}/{name}", size=1, identity="1", rows=1, columns=(), **more
    )


def pin(*files: PinnedFile) -> Pin:
    return Pin(
        source="orders", name="orders", day="2026-03-30", number=1, path="/in", format="parquet",
        pinned_at="", files=files,
    )  # fmt: skip


DAYS = panes_of(source("/in/{ds}"), (DAY - timedelta(days=1), DAY))


def test_each_folder_of_a_day_is_a_pane():
    assert [day for _, day in DAYS] == ["2026-03-27", "2026-03-28", "2026-03-29", "2026-03-30"]
    assert DAYS[0][0] == "file:///in/2026-03-27"


def test_a_file_is_of_the_day_that_it_was_delivered_for():
    known = dict(DAYS)
    assert pane_of(file("2026-03-28", "hour=1/a.parquet"), known) == "2026-03-28"
    assert pane_of(file("2026-03-01"), known) is None
    copied = replace(file("copies"), origin="file:///in/2026-03-29/a.csv")
    assert pane_of(copied, known) == "2026-03-29"


def test_a_day_goes_as_a_whole():
    before, now = pin(file("2026-03-27"), file("2026-03-28")), pin(file("2026-03-28"))
    assert if_whole(DAYS, now, before, (file("2026-03-27"),)) == DAYS
    assert if_whole(DAYS, now, None, ()) == DAYS


@pytest.mark.parametrize(
    ("there", "gone"),
    [
        (("2026-03-28", "2026-03-29"), "2026-03-28"),  # another file of the day stays, or comes
        (("2026-03-28", "elsewhere"), "2026-03-27"),  # nobody knows of which day a file is
        (("2026-03-28",), "2026-03-01"),
    ],
)
def test_what_goes_in_part_has_no_panes(there: tuple[str, ...], gone: str):
    now = pin(*(file(day, "b.parquet") for day in there))
    assert if_whole(DAYS, now, pin(file("2026-03-28")), (file(gone),)) == ()


@pytest.mark.parametrize(
    ("path", "days"),
    [("/in/{yyyy}/{mm}", (DAY,)), ("/in/{dd}", (DAY, DAY + timedelta(days=31)))],
)
def test_a_folder_of_several_days_is_no_pane(path: str, days: tuple[date, ...]):
    assert panes_of(source(path), days) == ()
