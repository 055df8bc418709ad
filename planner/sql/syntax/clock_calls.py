"""The clock of a query, made a parameter: ``current_date()`` and its kin ask when a run is, so that
what is computed with them is another value in each run, and waits for the last one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot.tokenizer_core import Token, TokenType

from forerun.planner.sql.syntax.lexer import tokens_of
from forerun.planner.sql.syntax.text import QueryText

_OF_MOMENT: Mapping[str, str] = {
    "current_timestamp": ":{name}",
    "now": ":{name}",
    "current_date": "CAST(:{name} AS DATE)",
    "curdate": "CAST(:{name} AS DATE)",
    "localtimestamp": "CAST(:{name} AS TIMESTAMP_NTZ)",
    "unix_timestamp": "unix_timestamp(:{name})",
}
"""By function: what it gives at the moment that a parameter is."""
_WITHOUT_PARENTHESES = ("current_timestamp", "current_date", "localtimestamp")


def with_clock(sql: str, name: str, columns: Iterable[str] = ()) -> str:
    """Return the query with the TIMESTAMP parameter ``name`` in place of the time at which it runs.

    A column comes before a function without parentheses: such a word stays if it is one of the
    sources' ``columns``, or a name anywhere in the text. Raises
    :class:`forerun.planner.errors.SqlError` for text that is no words of SQL.
    """
    tokens = tokens_of(QueryText(sql))
    names = {column.lower() for column in columns}
    names |= {token.text.lower() for at, token in enumerate(tokens) if _is_name(sql, tokens, at)}
    for at in reversed(range(len(tokens))):
        word = tokens[at].text.lower()
        if word not in _OF_MOMENT or _is_name(sql, tokens, at):
            continue
        following = [token.token_type for token in tokens[at + 1 : at + 3]]
        called = following == [TokenType.L_PAREN, TokenType.R_PAREN]
        alone = word in _WITHOUT_PARENTHESES and TokenType.L_PAREN not in following[:1]
        if called or (alone and word not in names):
            end = tokens[at + 2 if called else at].end + 1
            made = _OF_MOMENT[word].format(name=name)
            sql = sql[: tokens[at].start] + made + sql[end:]
    return sql


def _is_name(sql: str, tokens: list[Token], at: int) -> bool:
    """Return whether a word is quoted or stands where a name does: after AS, or beside a dot."""
    before = tokens[at - 1].token_type if at else None
    after = tokens[at + 1].token_type if at + 1 < len(tokens) else None
    beside = before in (TokenType.ALIAS, TokenType.DOT) or after is TokenType.DOT
    return beside or sql[tokens[at].start] == "`"
