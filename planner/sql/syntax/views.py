"""Texts that are put into a query before it is read: views by name, and plain names of tables.

Both keep the lines of the query, so that what is said of it names the author's own line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from forerun.planner.sql.syntax.dialect import parse
from forerun.planner.sql.syntax.lexer import on_one_line, tokens_of
from forerun.planner.sql.syntax.table_names import tables_in
from forerun.planner.sql.syntax.text import QueryText


def tables_named(sql: str) -> frozenset[str]:
    """Return the names of the tables that a query reads, with dots where it has them, in small
    letters; not those that it defines itself. Raises :class:`forerun.planner.errors.SqlError` for
    text that does not parse."""
    tree = parse(QueryText(sql))
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    return frozenset(name for table in tables_in(tree) if (name := _dotted(table.parts)) not in own)


def with_views(sql: str, views: Sequence[tuple[str, str]]) -> str:
    """Return the query with views, each a name and its text, defined by WITH before its own. Each
    may read those before it. All of them are on one line, so that no line of the query moves."""
    defined = ", ".join(f"{_quoted(name)} AS ({on_one_line(text)})" for name, text in views)
    tokens = tokens_of(QueryText(sql))
    if not defined or not tokens:
        return sql
    first = tokens[0]
    if first.token_type is TokenType.WITH:
        return f"{sql[: first.end + 1]} {defined},{sql[first.end + 1 :]}"
    at = 0 if "\n" in sql[: first.start] and not sql[: first.start].strip() else first.start
    return f"{sql[:at]}WITH {defined} {sql[at:]}"


def with_plain_names(sql: str, names: Mapping[str, str]) -> str:
    """Return the query with a plain name for each table that ``names`` has by its name with dots,
    in small letters. What it is called by in the rest of the query stays."""
    edits: list[tuple[int, int, str]] = []
    tree = parse(QueryText(sql))
    for table in tables_in(tree):
        plain = names.get(_dotted(table.parts))
        if plain is None or len(table.parts) < 2:
            continue
        called = table.parts[-1].name
        if not table.alias and plain.lower() != called.lower():
            plain = f"{plain} AS {_quoted(called)}"
        edits.append((*_range(table.parts), plain))
    for column in tree.find_all(exp.Column):
        *owner, _ = column.parts
        if len(owner) > 1 and _dotted(owner) in names:
            edits.append((*_range(owner), _quoted(owner[-1].name)))
    for start, end, text in sorted(edits, reverse=True):
        sql = sql[:start] + text.ljust(end - start) + sql[end:]
    return sql


def _range(parts: Sequence[exp.Expr]) -> tuple[int, int]:
    return int(parts[0].meta["start"]), int(parts[-1].meta["end"]) + 1


def _dotted(parts: Sequence[exp.Expr]) -> str:
    return ".".join(part.name.lower() for part in parts)


def _quoted(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else f"`{name.replace('`', '``')}`"
