"""The query in a statement that people run every day, and what stays of it from day to day."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from forerun.planner.errors import SqlError
from forerun.planner.sql.syntax.dialect import parse
from forerun.planner.sql.syntax.lexer import tokens_of
from forerun.planner.sql.syntax.table_names import tables_in
from forerun.planner.sql.syntax.text import QueryText

_QUERY = (TokenType.SELECT, TokenType.WITH)
_MAKING = (TokenType.INSERT, TokenType.CREATE)
_VALUES = (TokenType.STRING, TokenType.NUMBER)
_DEPTHS = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}


def query_in(statement: str) -> str | None:
    """The query of a statement, as it is written: itself, or what ``INSERT`` and ``CREATE TABLE``
    compute. None for any other text."""
    tokens = _tokens(statement)
    if not tokens or tokens[0].token_type not in (*_QUERY, *_MAKING):
        return None
    depth = 0
    for token in tokens:
        if token.token_type in _QUERY and not depth:
            return statement[token.start :].strip().rstrip(";").rstrip()
        depth += _DEPTHS.get(token.token_type, 0)
    return None


def shape_of(sql: str) -> str:
    """The text without its values, comments and layout: equal for a query of today and the same one
    of tomorrow, which has another date in it."""
    words = ("?" if token.token_type in _VALUES else token.text.lower() for token in _tokens(sql))
    return " ".join(words)


def without_schemas(sql: str) -> str:
    """The query with ``orders`` in place of ``lake.sales.orders`` behind FROM and JOIN, for whoever
    knows tables by their names alone. As it is where two tables would become one, and where it
    cannot be read."""
    try:
        tree = parse(QueryText(sql))
    except SqlError:
        return sql
    names = [table.parts for table in tables_in(tree)]
    if len({_dotted(parts) for parts in names}) > len({_dotted(parts[-1:]) for parts in names}):
        return sql
    for parts in sorted(names, key=lambda parts: -int(parts[0].meta.get("start", 0))):
        if len(parts) > 1 and all("start" in part.meta for part in parts):
            sql = sql[: parts[0].meta["start"]] + sql[parts[-1].meta["start"] :]
    return sql


def _dotted(parts: list[exp.Expr]) -> str:
    return ".".join(part.name.lower() for part in parts)


def _tokens(sql: str) -> list[Token]:
    try:
        return tokens_of(QueryText(sql))
    except SqlError:
        return []
