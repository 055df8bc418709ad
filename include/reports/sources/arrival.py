"""Checks of when the rows of a source come, and of what says that its day is complete."""

from __future__ import annotations

from forerun.include.reports.period import Over
from forerun.include.reports.sources.complete_when import CompleteWhen, WhenPublished
from forerun.include.reports.sources.source_formats import RESULTS
from forerun.include.reports.values.fields import SpecError


def check_arrival(
    arrival: str, rule: CompleteWhen | None, source_format: str, what: str, *, over: Over | None
) -> None:
    """Refuse what contradicts itself. ``over``: the range of days that it
    tells apart."""
    if arrival == "static" and over is not None:
        raise SpecError(
            f"{what} is static, and its rows are told apart by day, of {over}",
            hint="Rows of later days are not there before the first run: let it grow, and say when "
            "it is complete; over=Trailing(days_back=1) reads the last day alone.",
        )
    if arrival == "growing" and rule is None:
        raise SpecError(
            f"{what} grows, but nothing says when its day is complete",
            hint="Give complete_when: MarkerFile, HourlyMarkers, AssetEvent, ExpectedCount or "
            "ClockTime.",
        )
    if isinstance(rule, WhenPublished) and source_format != RESULTS:
        raise SpecError(
            f"{what}: WhenPublished, with the format {source_format}",
            hint='It looks at what another report has published: format="report".',
        )
