"""The words of a text as Spark's lexer sees them, on top of sqlglot's tokenizer.

Where a comment ends and what a string holds decide what the rest of a text means, and sqlglot has
rules of its own for both. Here they are Spark's (``SqlBaseLexer.g4`` and ``unescapeSQLString`` of
4.1): sqlglot is given a text of the same length, in which comments are blanks and strings and
quoted names are filled with a letter, and its tokens are then given what stands in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from forerun.planner.sql.syntax.text import QueryText

_WORD = re.compile(r"\w+")
_COMMENT = re.compile(r"--(?:\\\n|[^\r\n])*")
_SINGLE = re.compile(r"'(?:[^'\\]|\\.|'')*'", re.DOTALL)
_DOUBLE = re.compile(r'"(?:[^"\\]|\\.|"")*"', re.DOTALL)
_RAW = re.compile(r"""'[^']*'|"[^"]*\"""")
_NAME = re.compile(r"`(?:[^`]|``)*`")
_BRACKET = re.compile(r"/\*|\*/")
_DOLLARS = re.compile(r"\$[A-Za-z]*\$")
_ESCAPED = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|\\([0-3][0-7]{2})|\\(.)", re.DOTALL)
_CONTROL = {
    "0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_",
}  # fmt: skip
_NOT_A_LINE_END = re.compile(r"[^\r\n]")
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_BYTES = frozenset({"x"})
"""Words before a quote whose text sqlglot reads itself: ``X'1F'``."""


@dataclass(frozen=True, slots=True)
class _Quoted:
    """A string or a quoted name: where it stands with its quotes, and what it holds."""

    start: int
    end: int
    value: str


class ForerunSpark(Spark):
    """Spark's dialect for texts whose strings are filled, so that nothing is left to be escaped."""

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES = ["\\"]  # noqa: RUF012 - sqlglot's way to configure a tokenizer


@dataclass(frozen=True, slots=True)
class FilledText:
    """A text of the same length whose comments are blanks, and whose strings and quoted names are
    filled with a letter, with what these hold, by where they begin."""

    sql: str
    quoted: dict[int, _Quoted]


def filled(text: QueryText) -> FilledText:
    """Return the text as other readers of it need not know how Spark writes comments and strings.
    Raises :class:`forerun.planner.errors.SqlError` for a quote or a comment that is not closed, and
    for texts between ``$$``."""
    quoted: dict[int, _Quoted] = {}
    pieces: list[str] = []
    done = 0
    for found in _scanned(text):
        pieces.append(text.sql[done : (found.start if isinstance(found, _Quoted) else found[0])])
        if isinstance(found, _Quoted):
            quoted[found.start] = found
            mark = text.sql[found.end - 1]
            pieces.append(mark + "x" * (found.end - found.start - 2) + mark)
            done = found.end
        else:
            done = found[1]
            pieces.append(_NOT_A_LINE_END.sub(" ", text.sql[found[0] : done]))
    pieces.append(text.sql[done:])
    _check_hints(text, plain := "".join(pieces))
    return FilledText(plain, quoted)


def _check_hints(text: QueryText, plain: str) -> None:
    """Refuse the end of a hint without its beginning: one sign to Spark, also in a product. What is
    left of brackets are those of hints."""
    hinted = False
    for mark in _BRACKET.finditer(plain):
        if mark[0] == "*/" and not hinted:
            hint = "write * and / apart"
            raise text.error_at(mark.start(), "a comment is closed and not opened", hint)
        hinted = mark[0] == "/*"


def tokens_of(text: QueryText, read: FilledText | None = None) -> list[Token]:
    """The tokens of a text, without comments; those of strings and quoted names hold the value that
    Spark gives them. Raises :class:`forerun.planner.errors.SqlError` for a character that no query
    has, and as :func:`filled` does, whose answer may be given."""
    read = filled(text) if read is None else read
    try:
        tokens = ForerunSpark().tokenize(read.sql)
    except TokenError:
        raise text.error_at(0, "the text has a character that no query has") from None
    valued = [_with_value(token, read.quoted) for token in tokens]
    return list(_with_queries(_with_calls(_with_suffixes(valued, text.sql))))


def on_one_line(sql: str) -> str:
    """Return a text without comments and without line ends outside of strings, and without a
    semicolon at its end. Raises :class:`forerun.planner.errors.SqlError` as :func:`tokens_of`."""
    text, pieces, done = QueryText(sql), list[str](), 0
    for found in _scanned(text):
        start, end = (found.start, found.end) if isinstance(found, _Quoted) else found
        pieces.append(" ".join(_LINE_ENDS.split(sql[done:start])))
        pieces.append(sql[start:end] if isinstance(found, _Quoted) else " ")
        done = end
    pieces.append(" ".join(_LINE_ENDS.split(sql[done:])))
    return "".join(pieces).strip().rstrip(";").rstrip()


_BEFORE_QUERY = frozenset({
    TokenType.L_PAREN, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.ALL,
    TokenType.DISTINCT, TokenType.R_PAREN,
})  # fmt: skip
_A_NAME = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


def _with_calls(tokens: list[Token]) -> list[Token]:
    """The tokens with the word WINDOW as a name where it is that of the function."""
    for token, after in pairwise(tokens):
        if token.token_type is TokenType.WINDOW and after.token_type is TokenType.L_PAREN:
            token.token_type = TokenType.VAR
    return tokens


def _with_queries(tokens: list[Token]) -> Iterator[Token]:
    """The tokens with ``SELECT * FROM a`` in place of the query ``TABLE a``."""
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        begins = before is None or before.token_type in _BEFORE_QUERY
        names = after is not None and after.token_type in _A_NAME
        if token.token_type is TokenType.TABLE and begins and names:
            for kind, word in _WHOLE_TABLE:
                yield Token(kind, word, token.line, token.col, token.start, token.end)
        else:
            yield token


_WHOLE_TABLE = ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM"))


def _with_suffixes(tokens: list[Token], sql: str) -> list[Token]:
    """Numbers with the letters that give them a type, ``1.5BD``, as they are written: sqlglot makes
    casts of them."""
    kept: list[Token] = []
    for token in tokens:
        number = kept[-1] if kept and kept[-1].token_type is TokenType.NUMBER else None
        if number is None or token.start != number.start:
            kept.append(token)
        else:
            number.text = sql[number.start : token.end + 1]
    return kept


def _scanned(text: QueryText) -> Iterator[_Quoted | tuple[int, int]]:
    """Every string and quoted name, and every comment as the range that it takes, in order."""
    sql, at = text.sql, 0
    while at < len(sql):
        char = sql[at]
        if char.isalnum() or char == "_":
            word = _WORD.match(sql, at)
            end = word.end() if word else at + 1
            before, at = sql[at:end].lower(), end
            if sql[at : at + 1] in ("'", '"'):
                if before == "r":
                    yield (one := _matched(text, _RAW, at, raw=True))
                    at = one.end
                elif before in _BYTES and (found := _SINGLE.match(sql, at)):
                    at = found.end()
        elif sql.startswith("--", at):
            end = _end_of_line_comment(sql, at)
            yield at, end
            at = end
        elif sql.startswith("/*", at) and not sql.startswith("/*+", at):
            end = _end_of_bracketed(text, at)
            yield at, end
            at = end
        elif char in _PATTERNS:
            one = _matched(text, _PATTERNS[char], at)
            yield one
            at = one.end
        elif char == "$" and _DOLLARS.match(sql, at):
            raise text.error_at(at, "a string between $$", "write it between single quotes")
        else:
            at += 2 if sql.startswith("*/", at) else 1


_PATTERNS = {"'": _SINGLE, '"': _DOUBLE, "`": _NAME}


def _matched(text: QueryText, pattern: re.Pattern[str], at: int, *, raw: bool = False) -> _Quoted:
    found = pattern.match(text.sql, at)
    if found is None:
        raise text.error_at(at, "a quote or a comment is opened and not closed")
    inner, mark = found[0][1:-1], found[0][0]
    value = inner if raw else inner.replace("``", "`") if mark == "`" else unescaped(inner, mark)
    return _Quoted(at, found.end(), value)


def unescaped(inner: str, mark: str) -> str:
    """What a string holds that is written so between two ``mark``\\ s."""
    parts = re.split(rf"(\\.|{mark}{mark})", inner, flags=re.DOTALL) if mark * 2 in inner else None
    if parts is not None:  # a doubled quote, but not the one that a backslash escapes
        inner = "".join(f"\\{mark}" if part == mark * 2 else part for part in parts)
    return _ESCAPED.sub(_meant, inner)


def _meant(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    if code:
        return chr(int(code, 16)) if int(code, 16) < 0x110000 else found[0]
    if found[3]:
        return chr(int(found[3], 8))
    return _CONTROL.get(found[4], found[4])


def _end_of_line_comment(sql: str, at: int) -> int:
    """A backslash at the very end of a line carries the comment on to the next one; a carriage
    return ends it, also where no line feed follows."""
    found = _COMMENT.match(sql, at)
    return found.end() if found else at


def _end_of_bracketed(text: QueryText, at: int) -> int:
    """Comments in brackets nest."""
    depth = 0
    for mark in _BRACKET.finditer(text.sql, at):
        depth += 1 if mark[0] == "/*" else -1
        if not depth:
            return mark.end()
    raise text.error_at(at, "a quote or a comment is opened and not closed")


def _with_value(token: Token, quoted: dict[int, _Quoted]) -> Token:
    start = token.start + (token.token_type is TokenType.RAW_STRING)
    one = quoted.get(start)
    if one is not None and token.token_type in _FILLED:
        token.text = one.value
    return token


_FILLED = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.IDENTIFIER})
