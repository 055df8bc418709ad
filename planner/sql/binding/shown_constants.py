"""Constants in names of columns: floating numbers as Java prints them, moments and lengths of time
with all their digits."""

from __future__ import annotations

import re
import struct
from decimal import Decimal

from forerun.planner.algebra.scalar import Literal
from forerun.planner.algebra.types import FLOAT, DataType

_MOMENT = re.compile(
    r"(?P<year>\d{4,})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?)?"
    r"(?:[ T](?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<part>\d+))?)?)?"
)
_PLAIN = Decimal("0.001"), Decimal(10_000_000)
"""Between these Java writes a number without an exponent."""


def floating(text: str, type_: DataType) -> str:
    """Return a DOUBLE or FLOAT as Java prints it, by its shortest digits: ``1.0E7``."""
    value = Decimal(_shortest(float(text)) if type_ == FLOAT else repr(float(text)))
    if not value:
        return "0.0"
    if _PLAIN[0] <= abs(value) < _PLAIN[1]:
        plain = f"{value.normalize():f}"
        return plain if "." in plain else f"{plain}.0"
    sign, digits, _ = value.normalize().as_tuple()
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{rest}E{value.adjusted()}"


def _shortest(value: float) -> str:
    """Return the fewest digits that are the same number in four bytes."""
    (single,) = struct.unpack("f", struct.pack("f", value))
    texts = (f"{single:.{digits}g}" for digits in range(1, 10))
    return next(
        (one for one in texts if struct.pack("f", float(one)) == struct.pack("f", single)),
        repr(single),
    )


def typed(type_: str, text: str) -> str:
    """Return a literal of a date or a moment with all its parts, as ``DATE '2020-01-01'``; one
    that is not written with digits alone as it is."""
    shown = "TIMESTAMP" if type_ == "TIMESTAMP_LTZ" else type_
    found = _MOMENT.fullmatch(text)
    if found is None:
        return f"{shown} '{text}'"
    parts = {name: (part or "").zfill(2) for name, part in found.groupdict().items()}
    month, day = (part if part != "00" else "01" for part in (parts["month"], parts["day"]))
    date = f"{found['year']}-{month}-{day}"
    if shown == "DATE":
        return f"{shown} '{date}'"
    fraction = (found["part"] or "").rstrip("0")
    time = ":".join(parts[name] for name in ("hour", "minute", "second"))
    return f"{shown} '{date} {time}{'.' if fraction else ''}{fraction}'"


def length_of_time(length: Literal) -> str:
    """Return an interval as Spark prints it: all but days, months and years with two digits, where
    days do not stand before them."""
    text, units = length.text or "", length.type.name.removeprefix("INTERVAL ")
    sign, digits = ("-" if text.startswith("-") else ""), text.lstrip("+-")
    parts = re.split("([- :])", digits)
    first = 1 if units.split()[0] in ("YEAR", "MONTH", "DAY") else 0
    for place in range(0, len(parts), 2):
        whole, _, fraction = parts[place].partition(".")
        width = 1 if place < 2 * first or "MONTH" in units else 2
        fraction = fraction.rstrip("0")
        parts[place] = str(int(whole or 0)).zfill(width) + (f".{fraction}" if fraction else "")
    return f"INTERVAL '{sign}{''.join(parts)}' {units}"
