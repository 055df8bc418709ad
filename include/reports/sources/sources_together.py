"""Checks of what the sources of a report say together, or beside it: keys that name rows of another
one, ranges that days inherit from one another, a source that is the report itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forerun.include.reports.asset_keys import report_key
from forerun.include.reports.sources.complete_when import AssetEvent
from forerun.include.reports.sources.source import SourceSpec
from forerun.include.reports.values.fields import SpecError
from forerun.planner.algebra.types import DataType, parse_type


def check_foreign_keys(sources: Sequence[SourceSpec]) -> None:
    """Refuse foreign keys that no data could have, or that nothing can be concluded from."""
    by_name = {source.name: source for source in sources}
    for source in sources:
        for key in source.foreign_keys:
            what = f"source {source.name}: the foreign key ({', '.join(key.columns)})"
            parent = by_name.get(key.parent)
            if parent is None:
                raise SpecError(
                    f"{what} names the source {key.parent}, which the report does not have",
                    hint=f"Its sources are {', '.join(by_name)}.",
                )
            if not key.columns or len(key.columns) != len(key.parent_columns):
                raise SpecError(
                    f"{what} has {len(key.columns)} columns and names {len(key.parent_columns)}",
                    hint="Give each column the one of the parent that it names, at least one.",
                )
            for one, other in zip(key.columns, key.parent_columns, strict=True):
                if _type(source, one, what) != _type(parent, other, what):
                    raise SpecError(
                        f"{what}: {one} is not of the type of {key.parent}.{other}",
                        hint="Declare both with the same type, or leave the foreign key out.",
                    )
            if taking_back := [s.name for s in (source, parent) if s.change == "changelog"]:
                raise SpecError(
                    f"{what}: {taking_back[0]} is a changelog, whose rows may go and come again",
                    hint="Leave the foreign key out: it is of no use where rows are taken back.",
                )


def check_not_itself(sources: Sequence[SourceSpec], report: str, store: str) -> None:
    """Refuse a report that would wait for itself, or read its own results."""
    for source in sources:
        rule = source.complete_when
        if isinstance(rule, AssetEvent) and rule.uri == report_key(report).uri:
            raise SpecError(
                f"report {report}: source {source.name} waits for the report itself",
                hint="Say how its day is complete by a marker, a count or the clock; or name the "
                "asset of another report.",
            )
        if source.reads == report and source.store == store:
            raise SpecError(
                f"report {report}: source {source.name} is the report itself",
                hint="Name another report, or another store.",
            )


def check_rolling(moves_by: Mapping[SourceSpec, float], report: str) -> None:
    """Refuse days that inherit where there is nothing to inherit: no source has a rolling range.
    ``moves_by``: how far the range of each source moves, 0 for one that is not rolling."""
    if not any(moves_by.values()):
        raise SpecError(
            f"report {report} has days inherit, and no source has a rolling range",
            hint="A day goes on from the one before where both read nearly the same days: give a "
            "growing source over=Trailing(days_back=28), and a path with {ds}, or day_by of a "
            "table that has no place for each day; or leave inherit_days out.",
        )


def _type(source: SourceSpec, name: str, what: str) -> DataType:
    for column in source.columns:
        if column.name == name:
            return parse_type(column.type)
    raise SpecError(
        f"{what}: source {source.name} has no column {name}",
        hint=f"Its columns are {', '.join(column.name for column in source.columns)}.",
    )
