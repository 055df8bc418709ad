"""The first question that a table can answer: how much of what, by which column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.dialects.spark import Spark

from forerun.first_report.columns import SeenTable
from forerun.first_report.keys import MOST_ROWS, is_like_a_key, read_columns
from forerun.planner.contract import ColumnSpec

_GROUPING = ("STRING", "DATE", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT")
_MOST_GROUPS = 500
_MOST_MEASURES = 3
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*\Z", re.IGNORECASE | re.ASCII)
_WORDS = frozenset(Spark.Tokenizer.KEYWORDS)
_FIT = 2**63
_LETTERS = re.compile(r"\A[a-z]{1,3}_(?=[a-z_]{4})")
"""Letters of a table before the names of its columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A table beside the one that the report is about: ``own`` names a row of it by ``key``."""

    table: SeenTable
    own: str
    key: str


def ask(table: SeenTable, join: Beside | None) -> str:
    """Return the text of the report: rows and sums of a table by one of its columns, or by one of
    the table that it names."""
    group = _by(join.table) if join else _by(table)
    by = f"{'p' if join else 't'}.{quoted(group)}" if group else ""
    lines = [f"{by} AS {_alias(group)}"] if by else []
    lines.append("COUNT(*) AS n")
    lines += [
        f"{kind}(t.{quoted(name)}) AS {_alias(name, f'{word}_')}"
        for kind, word, name in _measures(table)
    ]
    text = "SELECT\n  " + ",\n  ".join(lines) + f"\nFROM {table.source.name} t\n"
    if join:
        on = f"p.{quoted(join.key)} = t.{quoted(join.own)}"
        text += f"LEFT JOIN {join.table.source.name} p ON {on}\n"
    return f"{text}GROUP BY {by}\n" if by else text


def find_join(table: SeenTable, others: Sequence[SeenTable]) -> Beside | None:
    """Return the smallest table without days that a column of ``table`` names rows of, and that has
    something to count by."""
    named = sorted(named_by(table, others), key=lambda one: one.table.rows)
    return next((beside for beside in named if _by(beside.table)), None)


def named_by(table: SeenTable, others: Sequence[SeenTable]) -> list[Beside]:
    """Return the tables without days that columns of ``table`` name rows of: by a key of one column
    that is called the same, but for the letters of its table before it (``l_partkey`` and
    ``p_partkey``), or ``id`` of the table that the column is called after."""
    alone = table.source.key if len(table.source.key) == 1 else ()
    own = {c.name.lower(): c for c in table.source.columns if c.name not in alone}
    own = {_without_letters(name): column for name, column in own.items()} | own
    found = []
    for other in others:
        if other.layout.days or len(other.source.key) != 1:
            continue
        (key,) = (c for c in other.source.columns if c.name == other.source.key[0])
        called, one = key.name.lower(), other.source.name.removesuffix("s")
        for name in (called, f"{one}_{called}".lower(), _without_letters(called)):
            column = own.get(name)
            if column and column.type == key.type and name != "id":
                found.append(Beside(table=other, own=column.name, key=key.name))
                break
    return found


def _without_letters(name: str) -> str:
    return _LETTERS.sub("", name)


def quoted(name: str) -> str:
    """Return a column as it is written in a text."""
    if _PLAIN.match(name) and name.upper() not in _WORDS:
        return name
    return f"`{name.replace('`', '``')}`"


def _alias(name: str, before: str = "") -> str:
    plain = before + re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_")
    is_free = bool(_PLAIN.match(plain)) and plain.upper() not in _WORDS and plain != "n"
    return plain if is_free else f"by_{plain}".rstrip("_")


def _by(table: SeenTable) -> str:
    """The column by which rows are counted: the one with the fewest values, but more than one;
    texts before numbers. Empty where each is different nearly everywhere."""
    columns = [
        column
        for column in table.source.columns
        if column.type in _GROUPING and column.name not in table.source.key
    ]
    if not columns or not 0 < table.rows <= MOST_ROWS:
        return ""
    newest = table.files[max(table.files)]
    rows = read_columns(newest, [column.name for column in columns])
    best: list[tuple[bool, int, int]] = []
    for at, column in enumerate(columns):
        values = len(rows.column(column.name).unique())
        if 1 < values <= min(_MOST_GROUPS, max(2, table.rows // 2)):
            best.append((is_like_a_key(column), column.type != "STRING", at))
    return columns[min(best)[2]].name if best else ""


def _measures(table: SeenTable) -> list[tuple[str, str, str]]:
    """Sums of numbers that cannot run over: of decimals, and of integers by their least and
    greatest values; where there are none, the greatest value of a number."""
    numbers = [
        c for c in table.source.columns if not is_like_a_key(c) and c.name not in table.source.key
    ]
    sums = [("SUM", "total", c.name) for c in numbers if _has_sum(table, c)]
    if sums:
        return sums[:_MOST_MEASURES]
    floats = [c.name for c in numbers if c.type in ("DOUBLE", "FLOAT", "BIGINT", "INT")]
    return [("MAX", "most", name) for name in floats[:1]]


def _has_sum(table: SeenTable, column: ColumnSpec) -> bool:
    if column.type.startswith("DECIMAL"):
        digits, _ = map(int, re.findall(r"\d+", column.type))
        return digits <= 28
    if column.type in ("TINYINT", "SMALLINT", "INT"):
        return True
    if column.type != "BIGINT":
        return False
    most = 0
    for file in (one for files in table.files.values() for one in files):
        found = next(c for c in file.columns if c.name.lower() == column.name.lower())
        if found.minimum is None or found.maximum is None:
            return False
        most = max(most, abs(int(found.minimum)), abs(int(found.maximum)))
    return most * max(1, table.rows) * 1000 < _FIT
