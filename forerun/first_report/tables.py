"""The tables in a folder, or the one of a catalog. Where a table has a log, of Delta or of Iceberg,
that says its columns, and which partitions are days."""

from __future__ import annotations

from datetime import date
from urllib.parse import quote

from forerun.first_report.layout import FORMATS, Layout, NoTableError, name_of, plain_tables
from forerun.include.sources.files import Location, locate
from forerun.include.sources.table_formats import refuse_tables_above
from forerun.include.sources.tables.log import TableLog
from forerun.planner.errors import ForerunError

_CATALOG = "iceberg:"
_LOG = "/_delta_log/"


def find_tables(folder: str) -> tuple[list[Layout], list[str]]:
    """Return the tables in a folder, the largest first, or the one that a catalog knows
    (``iceberg:lake.shop.orders``); and in sentences what was left out.

    Raises :class:`NoTableError` where there is none, and
    :class:`forerun.include.sources.table_formats.TableFormatError` for a folder of Iceberg and the
    like.
    """
    if folder.startswith(_CATALOG):
        return [_iceberg_table(folder.removeprefix(_CATALOG))], []
    location = locate(folder)
    listed = location.store.list(location.key)
    roots = {file.key.partition(_LOG)[0] for file in listed if _LOG in file.key}
    if location.key not in roots:
        refuse_tables_above(location)
    found, left_out = list[Layout](), list[str]()
    for root in sorted(roots):
        try:
            found.append(_delta_table(location, root))
        except ForerunError as error:
            left_out.append(error.message)
    within = tuple(f"{root}/" for root in roots)
    plain = [file for file in listed if not file.key.startswith(within)]
    found += plain_tables(location, plain, left_out)
    if not found:
        said = f": {'; '.join(left_out)}" if left_out else ""
        raise NoTableError(
            f"there is no table in {location.store.uri(location.key)}{said}",
            hint=f"Name a folder with files of {' or '.join(FORMATS)}, with a table of Delta, or "
            "with a folder for each table; or a table of Iceberg as iceberg:<catalog>.<table>.",
        )
    names = [one.name for one in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise NoTableError(
            f"two tables are called {twice[0]}",
            hint="Name the folder of one of them.",
        )
    return sorted(found, key=lambda one: -one.bytes), left_out


def _delta_table(location: Location, root: str) -> Layout:
    from forerun.include.sources.tables.delta_log import read_log

    log = read_log(location.store, root)
    return _layout(log, name_of(root.rpartition("/")[2]), "delta", location, root)


def _iceberg_table(name: str) -> Layout:
    from forerun.include.sources.tables.iceberg_log import load_table, read_log

    if "." not in name:
        raise NoTableError(
            f"{_CATALOG}{name} names no table of a catalog",
            hint="Name the catalog, and the table in it: iceberg:lake.shop.orders.",
        )
    location = locate(load_table(name).location())
    log = read_log(location, location.key, name)
    table = name_of(name.rpartition(".")[2])
    return _layout(log, table, "iceberg", location, location.key, name)


def _layout(
    log: TableLog, name: str, form: str, location: Location, root: str, catalog: str = ""
) -> Layout:
    snapshot, days = log.snapshot, set[date]()
    path = location.store.uri(root).removeprefix("file://")
    types = {column.name: column.type for column in log.columns}
    for column in snapshot.partitions:
        values = {dict(held).get(column) for held in snapshot.files.values()} - {None}
        found = {day for value in values if (day := _day(value)) is not None}
        if found and len(found) == len(values) and types[column] in ("DATE", "STRING"):
            path, days = f"{path}/{quote(column)}={{ds}}", found
            break
    sizes = {file.key: file.size for file in location.store.list(root)}
    return Layout(
        name=name,
        path=path,
        format=form,
        days=tuple(sorted(days)),
        signs={day: frozenset() for day in days},
        bytes=sum(sizes.get(key, 0) for key in snapshot.files),
        catalog=catalog,
        columns=log.columns,
    )


def _day(value: str | None) -> date | None:
    """The day that a partition's value says; None if it says none."""
    try:
        day = date.fromisoformat(value or "")
    except ValueError:
        return None
    return day if day.isoformat() == value else None
