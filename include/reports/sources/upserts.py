"""Checks of a source whose files have a row anew, with its key, each time that it changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from forerun.include.reports.sources.source_formats import LOGGED, RESULTS, SERVICES
from forerun.include.reports.values.fields import SpecError
from forerun.planner.contract.plan_v1 import ColumnSpec


class _Upserted(Protocol):
    """What is looked at of a source."""

    @property
    def columns(self) -> tuple[ColumnSpec, ...]: ...
    @property
    def key(self) -> tuple[str, ...]: ...
    @property
    def change(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def arrival(self) -> str: ...
    @property
    def partitioned_by(self) -> Sequence[str]: ...
    @property
    def newest_by(self) -> str: ...


def check_upserts(source: _Upserted, what: str) -> None:
    """Refuse upserts of which the newest row of a key cannot be told."""
    columns = {column.name: column for column in source.columns}
    by = source.newest_by
    if by not in columns or by in source.key:
        raise SpecError(
            f"{what}: the newest row of a key is told by {by}, which is "
            + ("a part of the key" if by in columns else "not among its columns"),
            hint="Name a column that is greater in each newer row of a key, such as updated_at.",
        )
    if not source.key or source.change != "changelog" or source.arrival == "static":
        raise SpecError(
            f"{what}: newest_by tells rows of a key apart, in a growing changelog",
            hint='Declare its key and change="changelog", or leave newest_by out.',
        )
    if source.format in (*LOGGED, *SERVICES, RESULTS) or source.partitioned_by:
        why = "partitioned_by" if source.partitioned_by else f"the format {source.format}"
        raise SpecError(
            f"{what}: newest_by with {why}",
            hint="Upserts are files of Parquet, CSV or JSON lines in one folder. A table with a "
            "log, a database and another report say by themselves which rows have changed; of a "
            "topic, or a partitioned folder, take the newest row of a key in the query.",
        )
    nested = next((one.name for one in source.columns if "<" in one.type), "")
    if nested:
        raise SpecError(
            f"{what}: column {nested} is nested, by which rows cannot be compared",
            hint="Leave the column out, or take the newest row of a key in the query.",
        )
