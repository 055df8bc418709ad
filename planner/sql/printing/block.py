"""A SELECT statement that is being put together, and which operators still fit into it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from forerun.planner.algebra.relational import Project
from forerun.planner.algebra.scalar import Ref, is_deterministic, references
from forerun.planner.algebra.scalar import walk as walk_scalar
from forerun.planner.algebra.types import Column, ColumnId
from forerun.planner.sql.printing.names import quote, sql_name
from forerun.planner.sql.printing.scalar_sql import SqlPiece, chained


@dataclass
class SelectBlock:
    """The parts of one SELECT. ``values`` are the texts of all columns that it can offer.

    ``grouped``: it has an aggregation (``group`` may still be empty: one row). ``calls`` are the
    columns that an aggregate function computes, ``windowed`` says that window functions do.
    ``alias`` is the name in FROM while FROM has one item.
    """

    tables: str
    values: dict[ColumnId, SqlPiece]
    where: list[str] = field(default_factory=list)
    grouped: bool = False
    group: list[str] = field(default_factory=list)
    having: list[str] = field(default_factory=list)
    calls: frozenset[ColumnId] = frozenset()
    windowed: bool = False
    order: list[tuple[ColumnId, str, str]] = field(default_factory=list)
    limit: str = ""
    alias: str = ""
    hints: list[str] = field(default_factory=list)

    @property
    def is_rows(self) -> bool:
        """Only FROM and WHERE so far: rows can still be filtered, joined and grouped."""
        return not (self.grouped or self.windowed or self.limit)

    def all_plain(self) -> bool:
        return all(piece.plain for piece in self.values.values())


def select_text(
    block: SelectBlock, columns: tuple[Column, ...], names: tuple[str, ...] | None
) -> str:
    """The finished SELECT with the given columns as output."""
    shown = names or tuple(sql_name(column) for column in columns)
    items = [
        _item(block.values[column.id], name) for column, name in zip(columns, shown, strict=True)
    ]
    if not items:
        # A relation without columns still has rows.
        items = ["count(*) AS `rows`" if block.grouped and not block.group else "1 AS `one`"]
    hints = f" /*+ {', '.join(block.hints)} */" if block.hints else ""
    lines = [f"SELECT{hints}\n  " + ",\n  ".join(items)]
    if block.tables:
        lines.append(f"FROM {block.tables}")
    if block.where:
        lines.append("WHERE " + chained(block.where, "\n  AND "))
    if block.group:
        lines.append("GROUP BY " + ", ".join(block.group))
    if block.having:
        lines.append("HAVING " + chained(block.having, "\n  AND "))
    if block.order:
        alias = {column.id: quote(name) for column, name in zip(columns, shown, strict=True)}
        keys = (f"{alias.get(i, text)} {direction}" for i, text, direction in block.order)
        lines.append("ORDER BY " + ", ".join(keys))
    if block.limit:
        lines.append(block.limit)
    return "\n".join(lines)


def _item(piece: SqlPiece, name: str) -> str:
    """An item of a SELECT. A column that is called so already gets no alias: beside a window
    function Spark 4.1 has the column with and without such an alias, takes the two for one when it
    removes redundant aliases, and fails (``PLAN_VALIDATION_FAILED_RULE_IN_BATCH``)."""
    if piece.plain and piece.text.endswith(f".{quote(name)}"):
        return piece.text
    return f"{piece.text} AS {quote(name)}"


def reference(alias: str, name: str) -> SqlPiece:
    """A column of a FROM item."""
    return SqlPiece(f"{quote(alias)}.{quote(name)}", atomic=True, plain=True)


def can_project(block: SelectBlock, node: Project) -> bool:
    """May the items be written in place? Not if that computes something twice, or moves what is
    not deterministic, or takes the last aggregate out of a SELECT that is one group."""
    used: Counter[ColumnId] = Counter()
    for _, scalar in node.items:
        used.update(n.column.id for n in walk_scalar(scalar) if isinstance(n, Ref))
    twice = [i for i, count in used.items() if count > 1]
    if any(not block.values[i].plain and i not in block.calls for i in twice):
        return False
    if block.grouped and not block.group:
        return any(references(scalar) & block.calls for _, scalar in node.items)
    if block.grouped or block.windowed or block.limit:
        return all(is_deterministic(scalar) for _, scalar in node.items)
    return True


def hides_sort_key(block: SelectBlock, node: Project) -> bool:
    """Does the projection drop a column that the block sorts by?"""
    kept = {scalar.column.id for _, scalar in node.items if isinstance(scalar, Ref)}
    return any(i not in kept for i, _, _ in block.order)


def can_group(block: SelectBlock, key: Column) -> bool:
    """A constant in GROUP BY would be read as the number of a column."""
    return block.values[key.id].plain
