"""From the text of a query to sqlglot's tree of it, as Spark 4.1 reads it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType

from forerun.planner.algebra.scalar import MOST_NESTED
from forerun.planner.errors import SqlError, TooDeepError, TooLongError
from forerun.planner.nesting import MOST_CHAINED, MOST_LEVELS
from forerun.planner.sql.syntax.lexer import ForerunSpark, filled, tokens_of
from forerun.planner.sql.syntax.parser import ForerunSparkParser
from forerun.planner.sql.syntax.recognizer import first_misfit, words_of
from forerun.planner.sql.syntax.templates import refuse_templates
from forerun.planner.sql.syntax.text import QueryText


def parse(text: QueryText) -> exp.Expr:
    """The one query in the text as a sqlglot tree; a :class:`SqlError` if there is none."""
    read = filled(text)
    tokens = tokens_of(text, read)
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise text.error_at(0, "the query is empty")
    _check_tokens(text, read.sql, tokens)
    refuse_templates(text, tokens)
    check_nesting(tokens)
    check_chains(tokens)
    _check_grammar(text, read.sql)
    try:
        trees = ForerunSparkParser(dialect=ForerunSpark()).parse(tokens, text.sql)
    except ParseError as error:
        raise _not_read(text, error) from None
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, exp.Query | exp.Values):
        raise text.error_at(
            tokens[0].start, "this is not a query", "a report is one SELECT statement"
        )
    _check_operands(tree)
    _call_any(tree)
    return tree


def _check_tokens(text: QueryText, sql: str, tokens: list[Token]) -> None:
    """Refuse what sqlglot would read over, or otherwise than Spark."""
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            raise text.error_at(token.start, "a second statement", "a report is one query")
    for token in tokens:
        if token.token_type is TokenType.HEX_STRING and sql[token.start] == "0":
            hint = "write X'1F' for bytes; a number has no such form, and Spark takes it for a name"
            raise text.error_at(token.start, "a number to the base of 16", hint)
    if tokens[-1].token_type is TokenType.ALIAS:
        raise _as_a_name(text, tokens[-1])
    for before, after in pairwise(tokens):
        if before.token_type is TokenType.ALIAS and after.token_type in _AFTER_ITEM:
            raise _as_a_name(text, before)
        if before.token_type in _BEFORE_ITEM and after.token_type is TokenType.ALIAS:
            raise _as_a_name(text, after)
        if before.token_type is TokenType.COMMA and after.token_type in _NO_ITEM:
            raise text.error_at(before.start, "a comma with nothing after it")
        if before.token_type is TokenType.OVER and after.token_type is TokenType.ALIAS:
            raise text.error_at(after.start, "OVER without a window", "write OVER () or name one")


def _as_a_name(text: QueryText, token: Token) -> SqlError:
    """Return the error for what Spark takes for the name AS, which hardly anybody means."""
    hint = "write a name after AS and a value before it; a column that is called so is `AS`"
    return text.unsupported_at(token.start, "AS as a name", hint)


_BEFORE_ITEM = frozenset({TokenType.SELECT, TokenType.DISTINCT, TokenType.ALL, TokenType.COMMA})
_NO_ITEM = frozenset({TokenType.FROM, TokenType.R_PAREN, TokenType.WHERE})
"""What no item of a list begins with. sqlglot reads over such a comma, Spark does not."""
_AFTER_ITEM = _NO_ITEM | {TokenType.COMMA}
_OPENING = {
    TokenType.L_PAREN: TokenType.R_PAREN,
    TokenType.L_BRACKET: TokenType.R_BRACKET,
    TokenType.CASE: TokenType.END,
}
_CLOSING = frozenset(_OPENING.values())
_NESTED_TYPES = frozenset({TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT})
_PREFIXES = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})


_CHAINING = frozenset(
    {
        TokenType.AND, TokenType.OR, TokenType.JOIN,
        TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT,
    }
)  # fmt: skip


def check_chains(tokens: list[Token]) -> None:
    """Raise :class:`TooLongError` where a chain is longer than engines read. What stands between
    the same two parentheses is counted as one chain."""
    counts = [0]
    for token in tokens:
        kind = token.token_type
        if kind in _OPENING:
            counts.append(0)
        elif kind in _CLOSING and len(counts) > 1:
            counts.pop()
        elif kind in _CHAINING:
            counts[-1] += 1
            if counts[-1] > MOST_CHAINED:
                raise TooLongError(MOST_CHAINED)


def check_nesting(tokens: list[Token]) -> None:
    """Raise :class:`TooDeepError` where more is open in one another than may be. Prefix operators
    that follow one another (NOT NOT, - -) nest, too, and so do types (ARRAY<ARRAY<...)."""
    depth = prefixes = types = deepest = 0
    before: TokenType | None = None
    for token in tokens:
        kind = token.token_type
        if kind is TokenType.LT and before in _NESTED_TYPES:
            types += 1
        elif kind is TokenType.GT:
            types = max(0, types - 1)
        before = kind
        prefixes = prefixes + 1 if kind in _PREFIXES else 0
        if kind in _OPENING:
            depth += 1
        elif kind in _CLOSING:
            depth -= 1
        deepest = max(deepest, depth + prefixes + types)
    if deepest > MOST_LEVELS:
        raise TooDeepError("the query", deepest, MOST_LEVELS)


def _check_operands(tree: exp.Expr) -> None:
    """Raise :class:`TooDeepError` for a chain of operators that is longer than an expression may be
    deep: ``a + b + c`` is ``(a + b) + c``. AND and OR are flat, however many there are."""
    stack: list[tuple[exp.Expr, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        chained = isinstance(node, exp.Binary) and not isinstance(node, exp.Connector)
        depth = depth + 1 if chained else 0
        if depth > MOST_NESTED:
            raise TooDeepError("an expression", _chain(node), MOST_NESTED)
        stack.extend((child, depth) for child in node.iter_expressions())


def _chain(node: exp.Expr) -> int:
    """How many operators the chain has that goes on below the node, with those above it."""
    length, below = MOST_NESTED + 1, node
    while isinstance(below.this, exp.Binary):
        below, length = below.this, length + 1
    return length


def _call_any(tree: exp.Expr) -> None:
    """``any(p)`` as the aggregate function that it is where nothing is compared with it."""
    for node in list(tree.find_all(exp.Any)):
        compared = isinstance(node.parent, exp.Binary) and node.arg_key == "expression"
        if isinstance(node.this, exp.Paren) and not compared:
            call = exp.Anonymous(this="any", expressions=[node.this.this])
            call.meta.update(node.meta)
            node.replace(call)


def _check_grammar(text: QueryText, sql: str) -> None:
    """Raise :class:`SqlError` for a text that is no query by Spark's grammar, where it stops being
    one."""
    words = words_of(sql.rstrip().rstrip("; \t\r\n"))
    misfit = first_misfit(words)
    if misfit is None:
        return
    if misfit >= len(words):
        raise text.error_at(len(sql.rstrip()), "the query does not parse: it ends too soon")
    word = words[misfit]
    before = words[max(0, misfit - 2) : misfit + 1]
    hint = next((_OTHERWISE[one.text] for one in before if one.text in _OTHERWISE), "")
    if misfit == 0:
        hint = "a report is one SELECT statement"
        if word.text in ("INSERT", "CREATE", "MERGE"):
            hint += ": keep the query, and name what it writes as the report's sink"
    elif [one.text for one in before] == ["BY", "(", ")"]:
        hint = "write GROUPING SETS (())"
    shown = text.sql[word.start : word.end]
    message = f"the query does not parse: {shown} does not belong here"
    raise text.error_at(word.start, message, hint)


_OTHERWISE = {
    "QUALIFY": "filter by the window function's column in a query around this one",
    "FETCH": "write LIMIT",
    "TOP": "write LIMIT",
    "PERCENT": "Spark has no LIMIT in percent",
    "ASOF": "Spark has no ASOF JOIN: join by the last row before, found with a window function",
    "INTO": "leave it out: the report's sink says where its rows go",
    "ALL": "Spark compares with no ALL of a subquery: write it with NOT EXISTS",
    "ANY": "Spark compares with no ANY of a subquery: write it with IN or EXISTS",
    "INTERVAL": "use make_interval or date_add for a computed length",
    "UPDATE": "leave FOR UPDATE out: sources are only read",
}
"""Clauses of other engines that Spark has not, and what to write in their place."""


def _not_read(text: QueryText, error: ParseError) -> SqlError:
    """The error for what Spark's grammar has and sqlglot's has not, at the mark of sqlglot."""
    first: dict[str, Any] = error.errors[0] if error.errors else {}
    line, column = first.get("line") or 1, first.get("col") or 1
    highlight = first.get("highlight") or ""
    lines = text.sql.split("\n")
    # sqlglot counts the column at which the offending token ends.
    offset = sum(len(one) + 1 for one in lines[: line - 1]) + max(0, column - len(highlight))
    word = highlight.strip()
    if not word.isidentifier():
        return text.unsupported_at(min(offset, len(text.sql)), "what is written here")
    hint = "write what is missing beside it; if it is a name, put it between backticks"
    return text.unsupported_at(min(offset, len(text.sql)), f"{word} as a name", hint)
