"""When the day of a source is complete: which files count as markers, and which hours a day has."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from forerun.include.reports.spec import CompleteWhen, HourlyMarkers, MarkerFile, SpecError
from forerun.include.sources.completeness import find_missing
from forerun.include.stores.opening import open_store
from tests.airflow.reports import sales_report, sales_source

DAY = date(2026, 3, 1)
FORWARD, BACK = date(2026, 3, 29), date(2026, 10, 25)  # in Berlin
NIGHT = datetime(2026, 12, 1, tzinfo=UTC)


def missing(data: str, rule: CompleteWhen, day: date = DAY, zone: str = "UTC") -> tuple[str, ...]:
    source = sales_source(data, complete_when=rule)
    spec = sales_report(sources=(source,), timezone=zone)
    return tuple(each.text for each in find_missing(spec, day, NIGHT))


def put(data: str, *paths: str, day: date = DAY) -> None:
    for path in paths:
        open_store(data).put(f"sales/{day}/{path}", b"")


@pytest.fixture
def data(store_uri: str) -> str:
    return f"{store_uri}/data"


def test_a_marker_of_an_hour_does_not_complete_the_day(data: str) -> None:
    put(data, "hour=00/_SUCCESS", "hour=00/part.parquet", "x_SUCCESS", "_SUCCESS.tmp")
    assert missing(data, MarkerFile()) == (f"sales: no _SUCCESS in {data}/sales/{DAY}",)
    put(data, "_SUCCESS")
    assert missing(data, MarkerFile()) == ()


def test_every_hour_needs_its_marker(data: str) -> None:
    rule = HourlyMarkers()
    assert "0 of 24 hours" in missing(data, rule)[0]
    put(data, "_SUCCESS", *(f"hour={h:02d}/_SUCCESS" for h in range(24) if h not in (7, 19)))
    (said,) = missing(data, rule)
    assert "22 of 24 hours" in said
    assert said.endswith("not hour=07/_SUCCESS, hour=19/_SUCCESS")
    put(data, "hour=07/sub/_SUCCESS", "hour=7/_SUCCESS", "hour=19/_SUCCESS")
    assert "23 of 24 hours" in missing(data, rule)[0]
    put(data, "hour=07/_SUCCESS")
    assert missing(data, rule) == ()


def test_another_layout(data: str) -> None:
    rule = HourlyMarkers(folder="h/{hh}00", name="done.flag")
    put(data, *(f"h/{h:02d}00/done.flag" for h in range(24)))
    assert missing(data, rule) == ()


@pytest.mark.parametrize(
    ("day", "zone", "clock", "elapsed"),
    [
        (DAY, "UTC", [*range(24)], 24),
        (FORWARD, "UTC", [*range(24)], 24),
        (FORWARD, "Europe/Berlin", [0, 1, *range(3, 24)], 23),
        (BACK, "Europe/Berlin", [*range(24)], 25),
        # Clocks change by half an hour: every hour begins, one of them late.
        (date(2026, 10, 4), "Australia/Lord_Howe", [*range(24)], 24),
        (date(2026, 4, 5), "Australia/Lord_Howe", [*range(24)], 25),
        # The day begins at one, and the next one does so, too, after it was midnight.
        (date(2026, 9, 6), "America/Santiago", [*range(1, 24)], 23),
        (DAY, "Asia/Kathmandu", [*range(24)], 24),
    ],
)
def test_the_hours_of_a_day(day: date, zone: str, clock: list[int], elapsed: int) -> None:
    zoned = sales_report(timezone=zone).zone
    by_clock = HourlyMarkers(folder="{hh}", name="m").expected(day, zoned)
    assert by_clock == tuple(f"{hour:02d}/m" for hour in clock)
    counted = HourlyMarkers(folder="{hh}", name="m", hours="elapsed").expected(day, zoned)
    assert counted == tuple(f"{hour:02d}/m" for hour in range(elapsed))


def test_a_day_of_23_hours_is_complete_without_the_hour_that_clocks_skip(tmp_path: Path) -> None:
    data = str(tmp_path)
    put(data, *(f"hour={h:02d}/_SUCCESS" for h in range(24) if h != 2), day=FORWARD)
    assert missing(data, HourlyMarkers(), FORWARD, "Europe/Berlin") == ()
    assert "23 of 24 hours" in missing(data, HourlyMarkers(), FORWARD, "UTC")[0]
    put(data, *(f"hour={h:02d}/_SUCCESS" for h in range(24)), day=BACK)
    rule = HourlyMarkers(hours="elapsed")
    assert "24 of 25 hours" in missing(data, rule, BACK, "Europe/Berlin")[0]
    put(data, "hour=24/_SUCCESS", day=BACK)
    assert missing(data, rule, BACK, "Europe/Berlin") == ()


@pytest.mark.parametrize("folder", ["hour", "", "{hh}/{hh}", "{h}", "../{hh}", "/{hh}", "{hh}/"])
def test_a_folder_that_is_not_that_of_an_hour(folder: str) -> None:
    with pytest.raises(SpecError, match="not that of an hour"):
        HourlyMarkers(folder=folder)
