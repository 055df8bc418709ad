"""Panes: of which day files are, and what is known not to go as a whole."""

from __future__ import annotations

import pytest

from forerun.include.days.panes import panes_of
from forerun.include.state.records import Pin, PinnedFile


def file(day: str, name: str = "a.parquet") -> PinnedFile:
    uri = f"file:///in/{day}/{name}"
    return PinnedFile(uri=uri, size=1, identity="1", rows=1, columns=(), day=day)


def pin(*files: PinnedFile) -> Pin:
    return Pin(
        source="orders", name="orders", day="2026-03-30", number=1, path="/in", format="parquet",
        pinned_at="", files=files,
    )  # fmt: skip


FIRST, SECOND, THIRD = "2026-03-27", "2026-03-28", "2026-03-29"


def test_a_day_goes_as_a_whole():
    now = pin(file(SECOND), file(THIRD), file(THIRD, "b.parquet"))
    assert panes_of(now, pin(file(FIRST), file(SECOND)), (file(FIRST),)) == (SECOND, THIRD)
    assert panes_of(now, None, ()) == (SECOND, THIRD)


@pytest.mark.parametrize(
    ("there", "gone"),
    [
        ((SECOND, THIRD), SECOND),  # another file of the day stays, or comes
        ((SECOND, ""), FIRST),  # nobody knows of which day a file is
        ((SECOND,), ""),
    ],
)
def test_what_goes_in_part_has_no_panes(there: tuple[str, ...], gone: str):
    now = pin(*(file(day, "b.parquet") for day in there))
    assert panes_of(now, pin(file(SECOND)), (file(gone),)) == ()


def test_a_file_that_was_of_another_day_has_no_pane():
    """A folder that is named by a day of the month has another day in each month."""
    there = file(SECOND)
    before = PinnedFile(uri=there.uri, size=1, identity="1", rows=1, day=FIRST)
    assert panes_of(pin(there), pin(before), ()) == ()
    assert panes_of(pin(there), pin(there), ()) == (SECOND,)
