"""Spark's dialect as Spark 4.1 reads it, on top of sqlglot's.

sqlglot's own Spark dialect rewrites functions to a common vocabulary (and back, with losses), reads
``CAST`` as ``TRY_CAST`` and ``'it''s'`` as ``its``. Here functions keep the name and the arguments
that were written, so that what Spark calls ``nvl`` is ``nvl`` in the algebra too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from planner.errors import SqlError
from planner.sql.text import QueryText

_KEPT_FUNCTION_PARSERS = (
    "CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "SUBSTR", "TRIM", "POSITION", "OVERLAY",
)  # fmt: skip


class ForerunSparkParser(SparkParser):
    """Keeps function calls as written; CAST is strict."""

    STRICT_CAST = True
    ADD_JOIN_ON_TRUE = False
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        name: SparkParser.FUNCTION_PARSERS[name] for name in _KEPT_FUNCTION_PARSERS
    }

    def expression(
        self, instance: Any, token: Token | None = None, comments: list[str] | None = None
    ) -> Any:
        node = super().expression(instance, token, comments)
        if isinstance(node, exp.Expr) and "start" not in node.meta and not _has_parts(node):
            node.update_positions(token or self._prev)
        return node


def _has_parts(node: exp.Expr) -> bool:
    return next(node.iter_expressions(), None) is not None


class ForerunSpark(Spark):
    """Spark with doubled quotes and Spark's escapes in strings."""

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']

    Parser = ForerunSparkParser


def parse(text: QueryText) -> exp.Expr:
    """The one query in the text as a sqlglot tree; a :class:`SqlError` if there is none."""
    dialect = ForerunSpark()
    try:
        tokens = dialect.tokenize(text.sql)
    except TokenError:
        raise text.error_at(
            max(0, len(text.sql) - 1), "a quote or a comment is opened and not closed"
        ) from None
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise text.error_at(0, "the query is empty")
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            raise text.error_at(token.start, "a second statement", "a report is one query")
    try:
        trees = dialect.parser().parse(tokens, text.sql)
    except ParseError as error:
        raise _parse_error(text, error) from None
    except RecursionError:
        raise text.error_at(0, "the query is nested too deeply to be read") from None
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, exp.Query | exp.Values):
        raise text.error_at(
            tokens[0].start, "this is not a query", "a report is one SELECT statement"
        )
    return tree


def _parse_error(text: QueryText, error: ParseError) -> SqlError:
    first: dict[str, Any] = error.errors[0] if error.errors else {}
    line, column = first.get("line") or 1, first.get("col") or 1
    highlight = first.get("highlight") or ""
    lines = text.sql.split("\n")
    # sqlglot counts the column at which the offending token ends.
    offset = sum(len(one) + 1 for one in lines[: line - 1]) + max(0, column - len(highlight))
    description = _described(first.get("description") or str(error))
    return text.error_at(min(offset, len(text.sql)), f"the query does not parse: {description}")


def _described(description: str) -> str:
    """sqlglot's message without its own class and token names."""
    missing = re.match(r"Required keyword: '\w+' missing for <class '[\w.]*\.(\w+)'>", description)
    if missing:
        return f"something is missing after {missing[1].upper()}"
    plain = re.sub(r" but got <Token.*", "", description, flags=re.DOTALL)
    return {"Invalid expression / Unexpected token": "this word does not belong here"}.get(
        plain, plain
    )
