"""Lengths of time as people write them: ``5m``, ``1h30m``, ``90 min``, a ``timedelta``."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from forerun.include.reports.values.clock import TimeError

_UNITS = "days?|d|hours?|h|minutes?|min|m|seconds?|sec|s"
_PART = re.compile(rf"(\d+(?:\.\d+)?)\s*({_UNITS})\s*", re.ASCII)
_CLOCK = re.compile(r"\+?\d+:", re.ASCII)
LENGTH = "a length of time"
Length = Annotated[str, LENGTH]
"""The type of a field that holds a length of time; what an author writes is taken as one."""
_SECONDS = {"d": 86_400, "h": 3600, "m": 60, "s": 1}


def length_text(given: object, what: str) -> object:
    """Return a length as a record keeps it, ``+HH:MM:SS``, from what an author writes; what is
    written with a colon, and what is no text and no ``timedelta``, as it is.

    Raises :class:`TimeError`, naming ``what``, for a text that is no length of time.
    """
    if isinstance(given, timedelta):
        return _elapsed(given.total_seconds(), what)
    if not isinstance(given, str) or _CLOCK.match(given):
        return given
    text, at, seconds = given.strip().lower(), 0, 0.0
    while found := _PART.match(text, at):
        seconds += float(found[1]) * _SECONDS[found[2][0]]
        at = found.end()
    if not text or at < len(text):
        raise TimeError(
            f"{what} {given!r} is not a length of time",
            hint='Write "5m", "1h30m", "+01:00" for an hour, or a timedelta.',
        )
    return _elapsed(seconds, what)


def _elapsed(seconds: float, what: str) -> str:
    whole = round(seconds)
    if whole < 0 or whole >= 1000 * 3600:
        raise TimeError(f"{what} is {whole:,} seconds", hint="Write a length below 1000 hours.")
    text = f"+{whole // 3600:02d}:{whole // 60 % 60:02d}"
    return text if whole % 60 == 0 else f"{text}:{whole % 60:02d}"
