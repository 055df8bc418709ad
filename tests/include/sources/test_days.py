"""The column that tells days apart: which day a row is of, and what bounds say of a file."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from forerun.include.sources.days import DayBounds, DayColumn

UTC = dt.UTC
BERLIN = ZoneInfo("Europe/Berlin")
SPRING = dt.date(2026, 3, 29)  # clocks skip an hour there on this day


def column(kind: str, zone: ZoneInfo = BERLIN, days: int = 2) -> DayColumn:
    """The last of the days is the one on which clocks skip an hour."""
    each = [SPRING - dt.timedelta(days=back) for back in reversed(range(days))]
    bounds = tuple(
        DayBounds(day, *(_begin(day + dt.timedelta(days=n), zone) for n in (0, 1))) for day in each
    )
    return DayColumn("at", kind, zone, bounds)


def _begin(day: dt.date, zone: ZoneInfo) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), zone).astimezone(UTC)


def days(found: DayColumn, values: list[object], kind: pa.DataType) -> dict[str, list[int]]:
    rows = pa.table({"k": list(range(len(values))), "At": pa.array(values, kind)})
    return {day: part["k"].to_pylist() for day, part in found.apart(rows)}


def test_rows_are_of_the_day_in_the_zone():
    at = [
        dt.datetime(2026, 3, 28, 22, 59, tzinfo=UTC),
        dt.datetime(2026, 3, 28, 23, tzinfo=UTC),
        dt.datetime(2026, 3, 29, 21, 59, 59, 999_999, tzinfo=UTC),
        None,
        dt.datetime(2026, 3, 29, 22, tzinfo=UTC),
        dt.datetime(1969, 12, 31, 22, 59, tzinfo=UTC),
    ]
    expected = {"1969-12-31": [5], "2026-03-28": [0], "2026-03-29": [1, 2], "2026-03-30": [4]}
    assert days(column("TIMESTAMP"), at, pa.timestamp("us", "UTC")) == expected
    plain = [None if one is None else one.replace(tzinfo=None) for one in at]
    by_clock = {"1969-12-31": [5], "2026-03-28": [0, 1], "2026-03-29": [2, 4]}
    assert days(column("TIMESTAMP_NTZ"), plain, pa.timestamp("us")) == by_clock
    dates = [None if one is None else one.date() for one in at]
    assert days(column("DATE"), dates, pa.date32()) == by_clock


@pytest.mark.parametrize(
    ("least", "greatest", "expected"),
    [
        (dt.date(2026, 3, 28), dt.date(2026, 3, 28), ("2026-03-28",)),
        (dt.date(2026, 3, 28), dt.date(2026, 3, 29), ("2026-03-28", "2026-03-29")),
        (dt.date(2026, 3, 27), dt.date(2026, 3, 28), ("2026-03-28", "")),
        (dt.date(2026, 3, 29), dt.date(2026, 4, 1), ("2026-03-29", "")),
        (dt.date(2026, 3, 1), dt.date(2026, 3, 27), ()),
        (dt.date(2026, 3, 30), dt.date(2026, 3, 30), ()),
        (None, dt.date(2026, 3, 28), ("2026-03-28", "2026-03-29", "")),
        ("2026-03-28", "2026-03-28", ("2026-03-28", "2026-03-29", "")),
    ],
)
def test_bounds_say_which_days_a_file_may_have(
    least: object, greatest: object, expected: tuple[str, ...]
):
    assert column("DATE").days_between(least, greatest) == expected


def test_the_zone_says_of_which_day_the_bounds_are():
    last = dt.datetime(2026, 3, 28, 22, 59, 59, 999_000, tzinfo=UTC)
    assert column("TIMESTAMP").days_between(last, last) == ("2026-03-28",)
    midnight = last + dt.timedelta(milliseconds=1)
    assert column("TIMESTAMP").days_between(last, midnight) == ("2026-03-28", "2026-03-29")
    far = dt.datetime.max.replace(tzinfo=UTC)
    assert column("TIMESTAMP").days_between(last, far) == ("2026-03-28", "2026-03-29", "")


def test_a_database_is_asked_for_the_days():
    assert column("DATE").predicate('"at"') == (
        "\"at\" >= DATE '2026-03-28' AND \"at\" < DATE '2026-03-30'"
    )
    assert column("TIMESTAMP_NTZ").predicate('"at"') == (
        "\"at\" >= TIMESTAMP '2026-03-28' AND \"at\" < TIMESTAMP '2026-03-30'"
    )
    assert column("TIMESTAMP").predicate('"at"') == (
        "\"at\" >= TIMESTAMP WITH TIME ZONE '2026-03-27 23:00:00+00:00' AND "
        "\"at\" < TIMESTAMP WITH TIME ZONE '2026-03-29 22:00:00+00:00'"
    )
