"""Byte counts as people write them."""

from __future__ import annotations

import re

from forerun.planner.errors import ForerunError

_UNITS: dict[str, int] = {
    unit: base**power
    for base, suffix in ((1000, "B"), (1024, "iB"))
    for power, unit in enumerate(("", *(letter + suffix for letter in "KMGTP")))
}
_UNITS["B"] = 1
_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*\Z", re.ASCII)


class SizeError(ForerunError):
    """A text that is no number of bytes."""

    code = "size"


def parse_bytes(text: str, what: str) -> int:
    """Bytes from ``500MB``, ``1.5 GiB`` or ``0``, whatever the case of the unit. Raises
    :class:`SizeError` that names ``what`` for any other text."""
    units = {unit.lower(): size for unit, size in _UNITS.items()}
    found = _SIZE.match(text)
    if found is None or found[2].lower() not in units:
        raise SizeError(
            f"{what} {text!r} is not a number of bytes",
            hint=f"Write a number and one of {', '.join(filter(None, _UNITS))}, such as 500MB.",
        )
    return round(float(found[1]) * units[found[2].lower()])
