"""Which tables a query's text names, before anything is known about their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from forerun.planner.sql.syntax.dialect import parse
from forerun.planner.sql.syntax.text import QueryText


def tables_in(tree: exp.Expr) -> Iterator[exp.Table]:
    """Yield what a query names as tables. What hints name (``BROADCAST(c)``) is called so in FROM,
    and no other table."""
    for table in tree.find_all(exp.Table):
        if not isinstance(table.parent, exp.JoinHint):
            yield table


def tables_read(sql: str, known: Iterable[str]) -> frozenset[str]:
    """Those of the ``known`` tables whose name comes after FROM or JOIN anywhere in a query,
    whatever its case; also if the query defines a table of that name by WITH, for which of the two
    is meant depends on where it stands.

    Raises :class:`forerun.planner.errors.SqlError` for text that does not parse, and for a table
    that is neither known nor defined by WITH.
    """
    text = QueryText(sql)
    tree = parse(text)
    by_lower = {name.lower(): name for name in known}
    defined = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    found = set()
    for table in tables_in(tree):
        name = table.name.lower()
        if name in by_lower:
            found.add(by_lower[name])
        elif isinstance(table.this, exp.Identifier) and name not in defined:  # no table function
            raise text.unknown(table, "table", table.name, sorted(by_lower.values()))
    return frozenset(found)
