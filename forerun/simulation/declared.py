"""Declarations of a command line about the tables of a day: keys, foreign keys, orders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from forerun.planner.contract.plan_v1 import ForeignKey, ReliedForeignKey
from forerun.planner.errors import RequestError
from forerun.planner.request import Source, SourceForeignKey
from forerun.simulation.tables import list_tables


@dataclass(frozen=True, slots=True)
class Declared:
    """Declarations of tables that nobody has looked at: the runs that rely on them do.

    ``keys``: tables, each with the columns of its key. ``orders``: tables, each with the column in
    whose order its rows come."""

    keys: tuple[tuple[str, tuple[str, ...]], ...] = ()
    foreign_keys: tuple[ReliedForeignKey, ...] = ()
    orders: tuple[tuple[str, str], ...] = ()

    def of(self, found: tuple[Source, ...]) -> tuple[Source, ...]:
        """Return the sources with what is declared of them. Every query of a group is given the
        same, so of foreign keys only those between two of the sources."""
        keys, orders = dict(self.keys), dict(self.orders)
        names = frozenset(source.name for source in found)
        return tuple(
            replace(
                source,
                keys=(keys[source.name],) if source.name in keys else (),
                ordered_by=orders.get(source.name, ""),
                foreign_keys=tuple(
                    SourceForeignKey(key=key) for key in self.foreign_keys_of(source.name, names)
                ),
            )
            for source in found
        )

    def foreign_keys_of(self, table: str, among: Iterable[str]) -> tuple[ForeignKey, ...]:
        """Return the foreign keys of a table whose parent is ``among`` the tables that are read."""
        names = set(among)
        return tuple(
            one.key for one in self.foreign_keys if one.source == table and one.key.parent in names
        )


NOTHING_DECLARED = Declared()


def parse_declared(
    folder: Path, *, keys: Iterable[str], foreign_keys: Iterable[str], orders: Iterable[str]
) -> Declared:
    """Return the declarations of a command's options, about tables that the folder holds."""
    return Declared(
        keys=tuple(_by_table("--key", keys, folder).items()),
        foreign_keys=tuple(map(parse_foreign_key, foreign_keys)),
        orders=tuple(
            (table, column)
            for table, (column,) in _by_table("--ordered-by", orders, folder, most=1).items()
        ),
    )


def parse_foreign_key(text: str) -> ReliedForeignKey:
    """A foreign key from ``child.a,b=parent.c,d``."""
    child, _, parent = text.partition("=")
    one, mine = _columns(child)
    other, theirs = _columns(parent)
    if not (one and other and all(mine) and len(mine) == len(theirs)):
        raise RequestError(
            f"--foreign-key {text!r} is not of the form child.column=parent.column",
            hint="For example --foreign-key lineitem.l_orderkey=orders.o_orderkey; of several "
            "columns child.a,b=parent.c,d.",
        )
    key = ForeignKey(columns=mine, parent=other, parent_columns=theirs)
    return ReliedForeignKey(source=one, key=key)


def _by_table(
    option: str, texts: Iterable[str], folder: Path, most: int | None = None
) -> dict[str, tuple[str, ...]]:
    """Columns by table, from ``table.column`` or, of at ``most`` so many, ``table.a,b``."""
    found: dict[str, tuple[str, ...]] = {}
    several = most != 1
    for text in texts:
        table, columns = _columns(text)
        if not table or not all(columns) or table in found or len(columns) > (most or len(columns)):
            raise RequestError(
                f"{option} {text!r} is not of the form table.column, once for each table",
                hint=f"For example {option} clicks.at"
                + (f"; of several columns {option} clicks.customer,at." if several else "."),
            )
        if table not in (there := list_tables(folder)):
            raise RequestError(
                f"{option} names the table {table}, which is not in {folder}",
                hint=f"Its tables are {', '.join(there)}.",
            )
        found[table] = columns
    return found


def _columns(text: str) -> tuple[str, tuple[str, ...]]:
    """The table and the columns of ``table.a,b``."""
    table, _, columns = text.strip().partition(".")
    return table.strip(), tuple(part.strip() for part in columns.split(","))
