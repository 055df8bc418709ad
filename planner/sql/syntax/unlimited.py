"""The text of a query without its LIMIT, for those who want to see what it cuts off."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from forerun.planner.errors import SqlError
from forerun.planner.sql.syntax.lexer import tokens_of
from forerun.planner.sql.syntax.text import QueryText

_OPEN, _CLOSE = TokenType.L_PAREN, TokenType.R_PAREN
_CLAUSE = (TokenType.LIMIT, TokenType.OFFSET)


def without_limit(sql: str) -> str | None:
    """The query as it is written, but for its LIMIT and OFFSET; None if it is not clear which.

    It is that of the outermost query or, where that has none, the only one in the text. The words
    may also name columns, so what comes out is to be read before it is trusted.
    """
    try:
        tokens = tokens_of(QueryText(sql))
    except SqlError:
        return None
    spans = _spans(tokens, len(sql))
    chosen = [span for depth, *span in spans if depth == 0] or [span for _, *span in spans]
    if len(chosen) != 1:
        return None
    start, end = chosen[0]
    return sql[:start].rstrip() + sql[end:]


def _spans(tokens: list[Token], length: int) -> list[tuple[int, int, int]]:
    """Depth in parentheses, start and end of every LIMIT and OFFSET clause: each goes on to the
    end of its query, for nothing comes after it."""
    found: list[tuple[int, int, int]] = []
    begun: dict[int, int] = {}
    depth = 0
    for token in tokens:
        if token.token_type is _OPEN:
            depth += 1
        elif token.token_type in (_CLOSE, TokenType.SEMICOLON):
            if depth in begun:
                found.append((depth, begun.pop(depth), token.start))
            depth -= token.token_type is _CLOSE
        elif token.token_type in _CLAUSE:
            begun.setdefault(depth, token.start)
    found.extend((at, start, length) for at, start in begun.items())
    return found
