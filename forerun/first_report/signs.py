"""The sign by which the days of a table were complete, as the folders of past days have it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from zoneinfo import ZoneInfo

from forerun.first_report.layout import Layout
from forerun.include.reports.sources.complete_when import ClockTime, HourlyMarkers, MarkerFile

_HOUR = re.compile(r"(.*?)(?<!\d)([01]\d|2[0-3])(?!\d)([^/]*)/([^/]+)\Z")
_USUAL = "_SUCCESS"
_SAYS_SO = re.compile(r"success|done|complete|ready|finish|marker|(^|[_.])ok", re.IGNORECASE)
"""Names of files that say that a day is in."""
_HOURS = 24
_UTC = ZoneInfo("UTC")


def find_sign(layout: Layout) -> tuple[MarkerFile | HourlyMarkers | ClockTime, str]:
    """Return what says that a day is complete, and a sentence where it is only taken to be so.

    The newest day may still be under way: what all days before it have counts.
    """
    over = layout.days[:-1] or layout.days
    signs = [layout.signs[day] for day in over]
    there = frozenset.intersection(*signs)
    names = {name for name in there if "/" not in name and _SAYS_SO.search(name)}
    if names:
        return MarkerFile(name=_USUAL if _USUAL in names else min(names)), ""
    for folder, name in sorted(set(_hourly(signs[-1]))):
        rule = HourlyMarkers(folder=folder, name=name)
        if all(set(rule.expected(day, _UTC)) <= layout.signs[day] for day in over):
            return rule, ""
    return ClockTime(), (
        "nothing in the folders says when a day is complete: it is taken to be at midnight"
    )


def _hourly(signs: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Folders of hours with a marker in them, as HourlyMarkers has them."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in signs:
        match = _HOUR.match(path)
        if match and "{" not in path:
            place = f"{match[1]}{{hh}}{match[3]}", match[4]
            found.setdefault(place, set()).add(match[2])
    return [place for place, hours in found.items() if len(hours) == _HOURS]
