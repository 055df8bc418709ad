"""Tells texts apart that become a moment by the clock.

Spark reads ``now``, ``today``, ``yesterday`` and ``tomorrow`` as moments where a constant text is
cast to DATE or TIMESTAMP, by whatever means: a literal ``DATE'today'``, a CAST, a comparison with a
column of dates, an argument of a function that takes dates. A text that is a time of the day and no
more, such as ``12:30``, becomes a TIMESTAMP of the current day, also where a column holds it.
Sources: ``SpecialDatetimeValues`` and ``SparkDateTimeUtils.stringToTimestamp`` of Spark 4.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_WORD = re.compile(r"\s*(now|today|yesterday|tomorrow)(?![A-Za-z])", re.IGNORECASE)
_TIME_ALONE = re.compile(r"\s*T?\d{1,2}:", re.IGNORECASE)

_TAKE_DATES = (
    "add_months date_add date_diff date_sub dateadd datediff day dayname dayofmonth dayofweek "
    "dayofyear last_day month monthname next_day quarter sequence to_char to_date to_varchar trunc "
    "try_to_date unix_date weekday weekofyear year"
)
_TAKE_TIMESTAMPS = (
    "convert_timezone date_format date_part date_trunc datepart extract from_utc_timestamp hour "
    "minute months_between second timestampadd timestampdiff to_timestamp to_timestamp_ltz "
    "to_timestamp_ntz to_utc_timestamp try_to_timestamp unix_micros unix_millis unix_seconds"
)
TAKEN: Mapping[str, str] = {
    **dict.fromkeys(_TAKE_DATES.split(), "DATE"),
    **dict.fromkeys(_TAKE_TIMESTAMPS.split(), "TIMESTAMP"),
}
"""What a function casts a text among its arguments to, by its name. A test asks Spark's analyzer of
its whole registry (``tests/spark/test_clock_texts_on_spark.py``), since a function that is missing
here is taken for a constant of its text."""


def taken_as(name: str) -> str:
    """Return what a function casts texts among its arguments to: DATE, TIMESTAMP or nothing."""
    return TAKEN.get(name.removesuffix("_unit"), "")


def is_by_clock(text: str) -> bool:
    """Return whether a constant text becomes another moment each time."""
    return bool(_WORD.match(text) or _TIME_ALONE.match(text))
