"""Tables in a folder, as files lie in it: which of them have a folder for each day, and how its
name says the day."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from forerun.include.reports.values.names import is_name
from forerun.include.sources.files import Location
from forerun.include.sources.table_formats import TableFormatError, refuse_tables_below
from forerun.include.stores.store import StoredFile, is_hidden
from forerun.planner.contract import ColumnSpec
from forerun.planner.errors import ForerunError

FORMATS = ("parquet", "csv", "json")
"""The formats whose columns are found by a look at the files."""
_SUFFIXES = {"parquet": "parquet", "csv": "csv"} | {
    f"{name}{packed}": "json" for name in ("json", "jsonl", "ndjson") for packed in ("", ".gz")
}
_VALUE = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*=)?(\d{2,8}|\d{4}-\d{2}-\d{2})\Z")
_HIVE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PART = re.compile(r"(part|run|data|file|batch|chunk)?[-_]?[0-9a-f-]*(\.c000)?\Z")
"""Names, without what comes after the first dot, that say nothing of what is in a file."""


class NoTableError(ForerunError):
    """A folder has nothing that a report could read."""

    code = "tables"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A table as its files lie: ``path`` has placeholders where each day has a folder of its own,
    ``days`` are these days, oldest first; of a table without them there is none. ``signs``: by day
    the paths below its folder of what is no data, such as markers. Of a table with a log there are
    the ``columns`` that it says, and where it is in a ``catalog`` its name there."""

    name: str
    path: str
    format: str
    days: tuple[date, ...]
    signs: dict[date, frozenset[str]]
    bytes: int
    catalog: str = ""
    columns: tuple[ColumnSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class _Placed:
    """A file: the folder of its table as parts below the root, the template of its day's folder,
    the day, and what comes below that."""

    table: tuple[str, ...]
    template: tuple[str, ...]
    day: date | None
    below: tuple[str, ...]
    file: StoredFile


def plain_tables(
    location: Location, listed: Iterable[StoredFile], left_out: list[str]
) -> list[Layout]:
    """Return the tables that files below a folder are; ``left_out`` gets to know in sentences what
    is none.

    Each folder below is a table, and so is a file beside others that are none of its kind; a folder
    that itself has data or days is one.
    """
    start = len(location.key) + 1
    placed = [
        _place(tuple(file.key[start:].split("/")), file)
        for file in _plain_files(location, listed, left_out)
    ]
    own, found = location.key.rpartition("/")[2], []
    for name, files in _by_table([one for one in placed if one.below], own):
        try:
            found.append(_layout(location, name, files))
        except NoTableError as error:
            left_out.append(error.message)
    return found


def _plain_files(
    location: Location, listed: Iterable[StoredFile], left_out: list[str]
) -> Iterator[StoredFile]:
    """The files below a folder, without those of folders in which a table of another format lies,
    which ``left_out`` gets to know."""
    groups: dict[str, list[StoredFile]] = defaultdict(list)
    start = len(location.key) + 1
    for file in listed:
        folder, mark, _ = file.key[start:].partition("/")
        groups[folder if mark else ""].append(file)
    for files in groups.values():
        try:
            refuse_tables_below(location.store, location.key, (file.key for file in files))
        except TableFormatError as error:
            left_out.append(error.message)
            continue
        yield from files


def _place(parts: tuple[str, ...], file: StoredFile) -> _Placed:
    """Return where a file belongs, by the names of the folders that it is in."""
    folders = parts[:-1]
    for at in range(len(folders)):
        for count, names in ((1, ("ds", "ds_nodash")), (3, ("yyyy", "mm", "dd"))):
            found = _day_of(folders[at : at + count], count)
            if found is None:
                continue
            day, values = found
            placeholders = names[:1] if count == 1 and "-" in values[0] else names[-count:]
            template = tuple(
                f"{part.removesuffix(value)}{{{name}}}"
                for part, value, name in zip(
                    folders[at : at + count], values, placeholders, strict=True
                )
            )
            return _Placed(folders[:at], template, day, parts[at + count :], file)
    hive = next((n for n, part in enumerate(folders) if _HIVE.match(part)), len(folders))
    return _Placed(folders[:hive], (), None, parts[hive:], file)


def _day_of(parts: tuple[str, ...], count: int) -> tuple[date, list[str]] | None:
    """The day that names of folders say, each with its value; None if they say none."""
    values = [found[1] for part in parts if (found := _VALUE.match(part))]
    lengths = [len(value) for value in values]
    if len(values) != count or lengths not in ([10], [8], [4, 2, 2]):
        return None
    try:
        return date.fromisoformat("-".join(values)), values
    except ValueError:
        return None


def _by_table(placed: Sequence[_Placed], own: str) -> Iterator[tuple[str, list[_Placed]]]:
    """The files of each table, with its name. Folders within the folder of a table are its own."""
    groups: dict[tuple[str, ...], list[_Placed]] = defaultdict(list)
    for one in placed:
        groups[one.table].append(one)
    data = {table for table, files in groups.items() if any(_is_data(one) for one in files)}
    tops: dict[tuple[str, ...], list[_Placed]] = {}
    for table in sorted(data, key=len):
        above = next((top for top in tops if top == table[: len(top)] and top), None)
        has_days = any(one.day for one in groups[table])
        if above is None or has_days:
            tops[table] = groups[table]
    for table, files in tops.items():
        if table or any(one.day for one in files):
            yield name_of(table[-1] if table else own), files
        else:
            yield from _loose(files, own)


def _loose(files: list[_Placed], own: str) -> Iterator[tuple[str, list[_Placed]]]:
    """Files without a folder of their table: one table if their names say nothing, else a table
    each."""
    data = [one for one in files if _is_data(one)]
    names = [one.below[-1].partition(".")[0] for one in data]
    if all(_PART.match(name) for name in names) or any(len(one.below) > 1 for one in data):
        yield name_of(own), files
        return
    for one, name in zip(data, names, strict=True):
        yield name_of(name), [one]


def _is_data(one: _Placed) -> bool:
    return bool(one.file.size) and not any(map(is_hidden, (*one.table, *one.below)))


def name_of(text: str) -> str:
    """Return a name that a table of a query may have."""
    plain = re.sub(r"[^a-z0-9_]+", "_", text.lower()).strip("_") or "table"
    return plain if is_name(plain) else f"t_{plain}"[:80]


def _layout(location: Location, name: str, files: Sequence[_Placed]) -> Layout:
    data = [one for one in files if _is_data(one)]
    templates = [one.template for one in data]
    template = max(set(templates), key=lambda one: (bool(one), templates.count(one), one))
    mine = [one for one in files if one.template == template]
    data = [one for one in mine if _is_data(one)]
    alone = len(files) == 1 and not data[0].table and len(data[0].below) == 1
    parts = (*data[0].table, *template, *(data[0].below if alone else ()))
    if unwritable := [part for part in parts if set("{}") & set(re.sub(r"\{\w+\}", "", part))]:
        raise NoTableError(f"{name}: the folder {unwritable[0]} has a brace in its name")
    signs: dict[date, set[str]] = defaultdict(set)
    for one in mine:
        if one.day and not _is_data(one):
            signs[one.day].add("/".join(one.below))
    days = tuple(sorted({one.day for one in data if one.day}))
    return Layout(
        name=name,
        path="/".join((location.store.uri(location.key), *parts)).removeprefix("file://"),
        format=_format(location, name, [one.file for one in data]),
        days=days,
        signs={day: frozenset(signs[day]) for day in days},
        bytes=sum(one.file.size for one in data),
    )


def _format(location: Location, name: str, files: Iterable[StoredFile]) -> str:
    """The format of a table's files, by how they begin and by their names."""
    kinds = set()
    for file in files:
        with location.store.open(file.key) as handle:
            magic = handle.read(4)
        name_of_file = file.key.rpartition("/")[2].lower()
        known = (form for suffix, form in _SUFFIXES.items() if name_of_file.endswith(f".{suffix}"))
        unknown = name_of_file.partition(".")[2] or "no known format"
        kinds.add("parquet" if magic == b"PAR1" else next(known, unknown))
    if len(kinds) > 1 or not kinds <= set(FORMATS):
        raise NoTableError(
            f"{name}: its files are {' and '.join(sorted(kinds))}, and columns are found in files "
            f"of {', '.join(FORMATS)} alone, of one format"
        )
    return kinds.pop()
