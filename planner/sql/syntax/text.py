"""The query text that is being read: positions in it, and errors that point at them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sqlglot import exp

from forerun.planner.algebra.type_kinds import is_ordered
from forerun.planner.algebra.types import Column
from forerun.planner.errors import (
    ALLOWED_FUNCTIONS,
    RefusedFunctionError,
    SqlError,
    UnsupportedSqlError,
)

_EXCERPT_WIDTH = 100


class QueryText:
    """The text of a query. Every error raised through it names line and column (both from 1)."""

    def __init__(self, sql: str) -> None:
        self.sql = sql

    def line_and_column(self, offset: int) -> tuple[int, int]:
        before = self.sql[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

    def excerpt(self, offset: int) -> str:
        """The line at ``offset`` with a caret below the character, cut to a readable width."""
        line_number, column = self.line_and_column(offset)
        line = self.sql.split("\n")[line_number - 1].replace("\t", " ")
        start = max(0, column - 1 - _EXCERPT_WIDTH // 2)
        shown = line[start : start + _EXCERPT_WIDTH]
        return f"  {shown}\n  {' ' * (column - 1 - start)}^"

    def error(self, node: exp.Expr, message: str, hint: str = "") -> SqlError:
        """A :class:`SqlError` at ``node``."""
        return self.error_at(self.offset(node), message, hint)

    def error_at(self, offset: int, message: str, hint: str = "") -> SqlError:
        return SqlError(self._at(offset, message), hint=hint or "correct the query at the mark")

    def unsupported(self, node: exp.Expr, construct: str, hint: str = "") -> SqlError:
        """An :class:`UnsupportedSqlError` that names the construct, at ``node``."""
        return self.unsupported_at(self.offset(node, construct), construct, hint)

    def unsupported_at(self, offset: int, construct: str, hint: str = "") -> UnsupportedSqlError:
        hint = hint or "rewrite the query without it; the rest of the query is not the problem"
        message = self._at(offset, f"{construct} is not supported yet")
        return UnsupportedSqlError(message, hint=hint)

    def refused(self, node: exp.Expr, function: str, why: str) -> SqlError:
        """A :class:`RefusedFunctionError`: what the function does, and who can allow it."""
        message = f"a report may not call {function}: it {why}"
        return RefusedFunctionError(
            self._at(self.offset(node), message),
            hint=f"Write the query without it. Only the deployment can allow it, by "
            f"{ALLOWED_FUNCTIONS}={function} in the environment of the scheduler and the workers.",
        )

    def unknown(self, node: exp.Expr, kind: str, name: str, known: list[str]) -> SqlError:
        """The error for a name that does not exist, with the names that look like it."""
        by_lower = {candidate.lower(): candidate for candidate in known}
        near = [by_lower[match] for match in get_close_matches(name.lower(), by_lower, 3, 0.6)]
        if near:
            hint = f"did you mean {', '.join(near)}?"
        else:
            some = sorted(by_lower.values())
            hint = f"known here: {', '.join(some[:20])}{', ...' if len(some) > 20 else ''}"
        return self.error(node, f"unknown {kind} {name}", hint if known else "")

    def offset(self, node: exp.Expr, construct: str = "") -> int:
        """Where ``node`` begins: its own token, else the first token among its parts."""
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        if construct:
            # A clause without a token of its own: look for its keyword before its first part.
            word = construct.split(" ", maxsplit=1)[0].lower()
            found = self.sql.lower().find(word)
            if found >= 0 and (not starts or self.sql.lower().count(word) == 1):
                return found
        if starts:
            return int(min(starts))
        parent = node.parent
        return self.offset(parent) if parent is not None else 0

    def _at(self, offset: int, message: str) -> str:
        line, column = self.line_and_column(offset)
        return f"line {line}, column {column}: {message}\n{self.excerpt(offset)}"


PLACING = ("distribute", "sort", "cluster")
"""DISTRIBUTE BY, SORT BY and CLUSTER BY, by what they are called in the tree."""
ENDING = ("order", "limit", "offset", *PLACING)
"""The clauses that may follow a query in parentheses, or several that are combined."""


def require_only(text: QueryText, node: exp.Expr, *consumed: str) -> None:
    """Refuse a node that carries an argument nobody reads: nothing may be silently ignored."""
    for name, value in node.args.items():
        if name in consumed or value is None or value is False or value == []:
            continue
        part = value[0] if isinstance(value, list) else value
        at = part if isinstance(part, exp.Expr) else node
        raise text.unsupported(
            at, _CLAUSES.get(name, f"{name.strip('_').upper()} in {_label(node)}")
        )


def require_comparable(text: QueryText, node: exp.Expr, columns: Iterable[Column]) -> None:
    """Refuse to tell rows apart by columns whose values Spark does not compare."""
    for column in columns:
        if not is_ordered(column.type):
            raise text.error(node, f"rows are not compared by {column.name}, of type {column.type}")


def _label(node: exp.Expr) -> str:
    return type(node).__name__.upper()


_CLAUSES = {
    "sample": "TABLESAMPLE", "pivots": "PIVOT", "laterals": "LATERAL VIEW",
    "qualify": "QUALIFY", "distribute": "DISTRIBUTE BY", "sort": "SORT BY",
    "cluster": "CLUSTER BY", "connect": "CONNECT BY", "match": "MATCH_RECOGNIZE",
    "rollup": "ROLLUP", "cube": "CUBE", "grouping_sets": "GROUPING SETS", "recursive": "RECURSIVE",
    "version": "VERSION AS OF", "when": "TIMESTAMP AS OF", "into": "INTO", "locks": "FOR UPDATE",
    "by_name": "UNION BY NAME", "except_": "EXCEPT in a star", "replace": "REPLACE in a star",
    "totals": "WITH TOTALS", "kind": "SELECT AS", "limit_options": "LIMIT ... PERCENT",
}  # fmt: skip
