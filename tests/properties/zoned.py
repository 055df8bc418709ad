"""Random queries over moments around the hours at which the clocks of a time zone change: what they
do by its clock is neither one to one nor in the order of the instants there."""

# ruff: noqa: E501 - lists of texts

from __future__ import annotations

import random
import re
from dataclasses import replace
from datetime import datetime, timedelta

from tests.properties.cases import QueryCase, TableCase
from tests.properties.typed import of_types, typed_query

ZONES = {
    "Europe/Berlin": ("2024-03-31 01:00", "2024-10-27 01:00"),
    "America/New_York": ("2024-03-10 07:00", "2024-11-03 06:00", "1883-11-18 17:00"),
    "America/St_Johns": ("2024-03-10 05:30", "2024-11-03 04:30"),
    "Australia/Lord_Howe": ("2024-04-06 15:00", "2024-10-05 15:30"),
    "Pacific/Apia": ("2011-12-30 10:00",),
    "Asia/Kathmandu": ("1985-12-31 18:30", "2024-02-29 18:15"),
    "UTC": ("2024-02-29 23:30",),
}
"""By time zone: moments of UTC at which its clocks change, or its day does."""
_MINUTES = (-95, -60, -30, -5, 0, 5, 30, 65, -1440, 1440)
_MOMENTS = {"k": "TIMESTAMP", "g": "TIMESTAMP_NTZ", "x": "TIMESTAMP"}
_READ = (
    "{0}", "{0}", "{0}", "CAST({0} AS DATE)", "CAST({0} AS TIMESTAMP)", "CAST({0} AS TIMESTAMP_NTZ)",
    "date_trunc('HOUR', {0})", "date_trunc('DAY', {0})", "{0} + INTERVAL 1 DAY", "CAST({0} AS STRING)",
    "CAST({0} AS TIMESTAMP) + INTERVAL '30' MINUTE", "from_utc_timestamp({0}, 'Asia/Tokyo')",
    "to_utc_timestamp({0}, 'Europe/Berlin')", "dateadd(DAY, 1, {0})", "timestampadd(HOUR, 1, {0})",
    "date_format({0}, 'yyyy-MM-dd HH')", "CAST({0} AS TIMESTAMP) - INTERVAL '1' MONTH", "to_date({0})",
    "CAST(CAST({0} AS STRING) AS TIMESTAMP)", "make_timestamp(year({0}), month({0}), day({0}), hour({0}), 0, 0)",
    "timestamp_seconds(unix_timestamp({0}))", "date_add(CAST({0} AS DATE), 1)", "CAST({0} AS TIMESTAMP_NTZ)",
    "convert_timezone('Europe/Berlin', 'UTC', CAST({0} AS TIMESTAMP_NTZ))", "last_day({0})",
)  # fmt: skip
_LENGTHS = (
    "CAST({0} AS TIMESTAMP) - TIMESTAMP '2024-03-31 00:00:00'",
    "CAST({0} AS TIMESTAMP) - CAST(CAST({0} AS DATE) AS TIMESTAMP)",
)
"""Lengths of time, of which a day of a change has 23 or 25 hours."""
_COLUMN = re.compile(r"\b([abcz])\.([kgxd])\b")


def zoned(rng: random.Random, tables: dict[str, TableCase]) -> tuple[str, dict[str, TableCase]]:
    """A time zone, and the tables with moments and dates around a change of its clocks instead of
    the columns that are no numbers to count with."""
    zone = rng.choice(tuple(ZONES))
    change = datetime.fromisoformat(rng.choice(ZONES[zone]))

    def moment(number: int) -> datetime:
        return change + timedelta(minutes=_MINUTES[number])

    made = {name: (type_, moment) for name, type_ in _MOMENTS.items()}
    dates = {"d": ("DATE", lambda number: moment(number).date())}
    return zone, {name: of_types(table, made | dates) for name, table in tables.items()}


def zoned_query(rng: random.Random, tables: list[str]) -> QueryCase:
    """A query over columns of any type that reads some of them by the clock: a column of an alias
    in one way wherever it stands."""
    query = typed_query(rng, tables)
    known, ways = _LENGTHS if rng.random() < 0.15 else _READ, dict[str, str]()

    def way(found: re.Match[str]) -> str:
        return ways.setdefault(found[0], rng.choice(known)).format(found[0])

    def texts(old: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_COLUMN.sub(way, text) for text in old)

    return replace(
        query,
        selects=tuple(
            replace(
                select,
                items=texts(select.items),
                joins=tuple(replace(join, on=texts(join.on)) for join in select.joins),
                where=texts(select.where),
                group=texts(select.group),
                having=texts(select.having),
            )
            for select in query.selects
        ),
    )
