"""Checks of the column by which the rows of a table are told apart by day."""

from __future__ import annotations

from collections.abc import Sequence

from forerun.include.reports.sources.complete_when import (
    CompleteWhen,
    ExpectedCount,
    HourlyMarkers,
    MarkerFile,
)
from forerun.include.reports.sources.placeholders import has_placeholder
from forerun.include.reports.sources.source_formats import LOGGED, SERVICES, STREAMS
from forerun.include.reports.values.fields import SpecError
from forerun.planner.algebra.types import parse_type
from forerun.planner.contract.plan_v1 import ColumnSpec

DAY_TYPES = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
"""The types of columns by which rows are told apart by day."""


def check_day_by(
    day_by: str,
    columns: Sequence[ColumnSpec],
    source_format: str,
    path: str,
    rule: CompleteWhen | None,
    what: str,
) -> None:
    """Refuse a column that tells no days, and one of a source whose places tell them."""
    held = {column.name: column for column in columns}
    if day_by not in held or parse_type(held[day_by].type).name not in DAY_TYPES:
        is_what = f"is {held[day_by].type}" if day_by in held else "is not among its columns"
        raise SpecError(
            f"{what}: day_by={day_by!r}, which {is_what}",
            hint=f"Name a column of the type {', '.join(DAY_TYPES[:-1])} or {DAY_TYPES[-1]}.",
        )
    if source_format not in (*LOGGED, *SERVICES) or source_format in STREAMS:
        raise SpecError(
            f"{what}: day_by, with the format {source_format}",
            hint="It is of a table, which has the rows of all days: Delta, Iceberg or PostgreSQL. "
            "Deliver files into a folder for each day, and write {ds} in the path; a topic tells "
            "days by the times of its messages, another report by what it is about.",
        )
    if has_placeholder(path):
        raise SpecError(
            f"{what}: day_by, and a path with a place for each day",
            hint="One of them tells days apart. Leave the other out.",
        )
    if isinstance(rule, MarkerFile | HourlyMarkers | ExpectedCount):
        raise SpecError(
            f"{what}: day_by, and complete_when looks at files, which have the rows of other days",
            hint="Its day is complete by ClockTime, or by the AssetEvent of who writes it.",
        )
