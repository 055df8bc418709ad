"""The columns of a table, as a report can declare them so that the files that are there fit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Literal

from forerun.first_report.layout import Layout, NoTableError
from forerun.include.reports.complete_when import ClockTime
from forerun.include.reports.source import SourceSpec
from forerun.include.sources.files import Listing, Location
from forerun.include.sources.formats import format_of
from forerun.include.sources.listing import data_files
from forerun.include.sources.unread import SourceFileError, refuse_unread
from forerun.include.sources.widening import same_type, widens
from forerun.include.state.records import PinnedFile
from forerun.include.stores.store import StoredFile
from forerun.planner.contract import ColumnSpec
from forerun.planner.errors import ForerunError

MOST_DAYS = 7
"""So many of the newest days are looked at."""
_ANY_DAY = date(2000, 1, 1)
_BAD_COLUMN = re.compile(r", column (.+) \S+: ")
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})\Z")
_POINT = re.compile(r"-?(0|[1-9][0-9]{0,14})\.([0-9]{1,8})\Z")
_FLOAT = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_ROOM = 4
"""Digits that a DECIMAL of CSV has before the point beyond those that are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTable:
    """A table that a report can read: the source, how its files are on the days that were looked
    at, and what is to know of it, in sentences."""

    layout: Layout
    source: SourceSpec
    files: dict[date, tuple[PinnedFile, ...]]
    remarks: tuple[str, ...]

    @property
    def rows(self) -> int:
        """The rows of the newest day, or of all of a table without days."""
        newest = max(self.files)
        return sum(file.rows for file in self.files[newest])


def look_at(layout: Layout) -> SeenTable:
    """Find the columns of a table. Raises :class:`NoTableError` for one that no report can read,
    and says why."""
    days = layout.days[-MOST_DAYS:] or (_ANY_DAY,)
    first = _source(layout, (ColumnSpec(name="any", type="STRING"),))
    listed = {day: data_files(first, day) for day in days}
    try:
        if layout.format == "csv":
            return _look_at_texts(layout, listed)
        return _look_at_footers(layout, listed)
    except NoTableError:
        raise
    except ForerunError as error:
        raise NoTableError(f"{layout.name}: {error.message}") from None


def _source(
    layout: Layout,
    columns: Sequence[ColumnSpec],
    *,
    extra: Literal["refuse", "ignore"] = "refuse",
    narrower: Literal["refuse", "widen"] = "refuse",
) -> SourceSpec:
    return SourceSpec(
        name=layout.name,
        path=layout.path,
        format=layout.format,
        columns=tuple(columns),
        arrival="growing" if layout.days else "static",
        complete_when=ClockTime() if layout.days else None,
        extra_columns=extra,
        narrower_types=narrower,
    )


Listed = dict[date, Listing]


def _look_at_footers(layout: Layout, listed: Listed) -> SeenTable:
    form = format_of(layout.format)
    files = {day: tuple(form.describe(at.location, at.files, ())) for day, at in listed.items()}
    every = [file for found in files.values() for file in found]
    names = Counter(column.name.lower() for file in every for column in file.columns)
    remarks, columns = [], []
    extra: Literal["refuse", "ignore"] = "refuse"
    narrower: Literal["refuse", "widen"] = "refuse"
    for name, count in names.items():
        try:
            if count < len(every):
                raise NoTableError(f"only {count} of {len(every)} files have it")
            column, is_widened = _column(name, every)
            _source(layout, [column])
        except ForerunError as error:
            remarks.append(f"column {name} is left out: {error.message}")
            extra = "ignore"
            continue
        columns.append(column)
        if is_widened:
            narrower = "widen"
            remarks.append(f"column {column.name} is {column.type}, and narrower in some files")
    if not columns:
        raise NoTableError(f"{layout.name} has no column that can be read: {'; '.join(remarks)}")
    source = _source(layout, columns, extra=extra, narrower=narrower)
    return SeenTable(layout=layout, source=source, files=files, remarks=tuple(remarks))


def _column(name: str, files: Iterable[PinnedFile]) -> tuple[ColumnSpec, bool]:
    """A column in the type that all files fit, and whether some have a narrower one."""
    found = []
    for file in files:
        column = next(one for one in file.columns if one.name.lower() == name)
        refuse_unread(file.uri, column)
        found.append(column)
    types = list(dict.fromkeys(column.type for column in found))
    for kind in types:
        if all(same_type(other, kind) or widens(other, kind) for other in types):
            alike = all(same_type(one, other) for one, other in pairwise(types))
            return ColumnSpec(name=found[0].name, type=kind), not alike
    raise NoTableError(f"it is {' and '.join(types)} in different files")


def _look_at_texts(layout: Layout, listed: Listed) -> SeenTable:
    """Find the types of a CSV table's columns: those that every value of the days is of, and of
    which each is written as that type is. A number with leading zeros is a text."""
    values: dict[str, _Values] = {}
    for listing in listed.values():
        for file in listing.files:
            _read_values(listing.location, file, values)
    columns = [ColumnSpec(name=name, type=found.type) for name, found in values.items()]
    form, remarks = format_of(layout.format), list[str]()
    while True:
        source = _source(layout, columns)
        try:
            files_by_day = {
                day: tuple(form.describe(found.location, found.files, source.columns))
                for day, found in listed.items()
            }
            return SeenTable(
                layout=layout, source=source, files=files_by_day, remarks=tuple(remarks)
            )
        except SourceFileError as error:
            bad = _BAD_COLUMN.search(error.message)
            at = next((n for n, c in enumerate(columns) if bad and c.name == bad[1]), None)
            if at is None or columns[at].type == "STRING":
                raise
            remarks.append(f"column {columns[at].name} is read as text: {error.message}")
            columns[at] = replace(columns[at], type="STRING")


@dataclass(slots=True)
class _Values:
    """The types that the values of a column so far let it be."""

    kinds: tuple[str, ...] = ("BIGINT", "DECIMAL", "DOUBLE", "DATE", "BOOLEAN")
    whole: int = 1
    scale: int = 0
    seen: bool = False

    @property
    def type(self) -> str:
        if not self.seen or not self.kinds:
            return "STRING"
        if self.kinds[0] != "DECIMAL":
            return self.kinds[0]
        return f"DECIMAL({self.whole + _ROOM + self.scale},{self.scale})"

    def take(self, text: str) -> None:
        self.seen = True
        point = _POINT.match(text)
        if _WHOLE.match(text):
            digits = len(text.lstrip("-"))
            fits = {"BIGINT", "DECIMAL", "DOUBLE"} if digits <= 15 else {"BIGINT"}
            self.whole = max(self.whole, digits)
        elif point:
            fits = {"DECIMAL", "DOUBLE"}
            self.whole, self.scale = max(self.whole, len(point[1])), max(self.scale, len(point[2]))
        elif _FLOAT.match(text) and not text.lstrip("-").startswith("00"):
            fits = {"DOUBLE"} if "." in text or "e" in text.lower() else set()
        elif _DATE.match(text):
            fits = {"DATE"}
        else:
            fits = {"BOOLEAN"} if text in ("true", "false") else set()
        if not fits.issuperset(self.kinds):
            self.kinds = tuple(kind for kind in self.kinds if kind in fits)


def _read_values(location: Location, file: StoredFile, values: dict[str, _Values]) -> None:
    from pyarrow import csv
    from pyarrow.lib import ArrowInvalid

    uri = location.store.uri(file.key)
    with location.store.open(file.key) as handle:
        try:
            header = handle.readline().decode().rstrip("\r\n")
            handle.seek(0)
            read = csv.read_csv(
                handle,
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(_header(header), "string"),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
        except (ArrowInvalid, UnicodeDecodeError) as error:
            raise NoTableError(f"{uri} cannot be read: {error}") from None
    if values and list(values) != read.column_names:
        raise NoTableError(f"{uri} has other columns than the files before it")
    for name, column in zip(read.column_names, read.columns, strict=True):
        known = values.setdefault(name, _Values())
        for text in column.drop_null().unique().to_pylist():
            known.take(text)


def _header(line: str) -> list[str]:
    import csv

    return next(csv.reader([line]), [])
