"""A folder of Parquet tables, as ``forerun plan`` and ``forerun simulate`` take it.

A table is a file ``NAME.parquet`` or a folder ``NAME`` with Parquet files anywhere below it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from forerun.include.sources.files import locate
from forerun.include.sources.formats import format_of
from forerun.include.sources.unread import refuse_unread
from forerun.include.state.records import PinnedFile
from forerun.planner.contract import ColumnSpec
from forerun.planner.errors import ForerunError

_PARQUET = format_of("parquet")
CHANGING_ROWS = 10_000
"""By default a table with more rows than this changes during the day, smaller ones are static."""


class TablesError(ForerunError):
    """The folder of tables, or a table in it, cannot be used."""

    code = "tables"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: its files, its schema in Spark's types, and what the footers say."""

    name: str
    files: tuple[Path, ...]
    columns: tuple[ColumnSpec, ...]
    footers: tuple[PinnedFile, ...]

    @property
    def rows(self) -> int:
        return sum(footer.rows for footer in self.footers)

    @property
    def bytes(self) -> int:
        return sum(footer.size for footer in self.footers)


@dataclass(frozen=True, slots=True)
class TablePlace:
    """The place where a table would lie: a file, a folder, or (which is refused when it is read)
    both."""

    name: str
    entries: tuple[Path, ...]

    def read(self) -> Table:
        """The table from its footers. Raises :class:`TablesError` for what is no table, and what
        reading a footer raises."""
        tables = [(entry, files) for entry in self.entries if (files := _files(entry))]
        if len(tables) > 1:
            raise TablesError(
                f"{self.entries[0].parent} has table {self.name} twice, as a file and as a folder",
                hint="Remove one of them.",
            )
        if not tables:
            raise TablesError(
                f"{self.entries[0]} holds no Parquet files",
                hint="Put the files of the table there, or remove the folder.",
            )
        return read_table(self.name, tables[0][1])


def list_tables(folder: Path) -> dict[str, TablePlace]:
    """Return what may be a table of a folder, by name: every Parquet file and every folder. Nothing
    in them is looked at. Raises :class:`TablesError` if it is no folder, or has nothing of the
    kind."""
    if not folder.is_dir():
        raise TablesError(
            f"{folder} is not a folder",
            hint="Give the folder that holds a Parquet file or a folder of them per table.",
        )
    found: dict[str, TablePlace] = {}
    for entry in sorted(folder.iterdir()):
        is_folder = entry.is_dir()
        if entry.name.startswith((".", "_")) or not (is_folder or entry.suffix == ".parquet"):
            continue
        name = entry.name if is_folder else entry.stem
        before = found[name].entries if name in found else ()
        found[name] = TablePlace(name, (*before, entry))
    if not found:
        raise TablesError(
            f"there are no Parquet files in {folder}",
            hint="Give the folder that holds NAME.parquet, or NAME/*.parquet, per table.",
        )
    return found


def find_tables(folder: Path) -> dict[str, Table]:
    """All tables of a folder, by name. Reads the footers only.

    Raises :class:`TablesError` naming the folder or the file and what to do about it.
    """
    return {name: place.read() for name, place in list_tables(folder).items()}


def _files(entry: Path) -> tuple[Path, ...]:
    if entry.is_file():
        return (entry,) if entry.suffix == _PARQUET.suffix else ()
    inside = (p for p in sorted(entry.rglob(f"*{_PARQUET.suffix}")) if p.is_file())
    hidden = (".", "_")
    return tuple(
        p for p in inside if not any(x.startswith(hidden) for x in p.relative_to(entry).parts)
    )


def read_table(name: str, files: tuple[Path, ...]) -> Table:
    """A table from its footers. All files must have the columns of the first, in its types.

    Raises :class:`TablesError` where they differ, and what reading a footer raises.
    """
    columns: tuple[ColumnSpec, ...] = ()
    footers: list[PinnedFile] = []
    for path in files:
        location = locate(str(path))
        (footer,) = _PARQUET.describe(location, location.files(_PARQUET.suffix), ())
        for column in footer.columns:
            refuse_unread(footer.uri, column)
        these = tuple(ColumnSpec(name=c.name, type=c.type) for c in footer.columns)
        if columns and _shape(these) != _shape(columns):
            raise TablesError(
                f"{path} has the columns {_text(these)}, {files[0]} has {_text(columns)}",
                hint="All files of a table need the same columns and types.",
            )
        columns = columns or these
        footers.append(footer)
    return Table(name=name, files=files, columns=columns, footers=tuple(footers))


def _shape(columns: tuple[ColumnSpec, ...]) -> list[tuple[str, str]]:
    return sorted((column.name, column.type) for column in columns)


def _text(columns: Iterable[ColumnSpec]) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in columns)
