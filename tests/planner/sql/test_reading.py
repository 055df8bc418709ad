"""How a text is taken apart: comments, strings, numbers, operators and types as Spark 4.1 has them.

``tests/spark/test_judged_texts.py`` asks Spark the same about generated texts.
"""

from __future__ import annotations

import pytest

from forerun.planner.errors import SqlError
from forerun.planner.sql.reading import printed
from forerun.planner.sql.syntax.dialect import parse
from forerun.planner.sql.syntax.lexer import tokens_of
from forerun.planner.sql.syntax.text import QueryText


def read(expression: str) -> str:
    text = QueryText(f"SELECT {expression} FROM t")
    return printed(text, parse(text)).removeprefix("SELECT ").removesuffix(" FROM `t`")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a -- from C:\\data\\\n b\n c", ["a", "c"]),  # a backslash carries the comment on
        ("a -- x\\ \n b", ["a", "b"]),  # but not with a blank after it
        ("a -- x\\\\\n b", ["a"]),  # and two of them do
        ("a -- x\r b", ["a", "b"]),  # a carriage return alone ends it
        ("a -- x\\\r\n b", ["a", "b"]),
        ("a -- \\\n/*\nb -- */ c", ["a", "b"]),  # so no bracket is opened here
        ("a /* x /* y */ b */ c", ["a", "c"]),  # brackets nest
        ("a /* it's */ b", ["a", "b"]),
        ("a '--' b", ["a", "--", "b"]),
        ("a `--` b", ["a", "--", "b"]),
        ("a R'\\' b -- '", ["a", "\\", "b"]),  # raw: the backslash is one
        ("ar'x' b", ["ar", "x", "b"]),
    ],
)
def test_words(text, words):
    assert [token.text for token in tokens_of(QueryText(text))] == words


@pytest.mark.parametrize(
    ("written", "held"),
    [
        (r"'it''s'", "it's"),
        (r"""'a""b'""", 'a""b'),
        (r"""'a\"b'""", 'a"b'),
        (r'''"a''b"''', "a''b"),
        (r"'\u0041\U00000042\103'", "ABC"),
        (r"'\%\_\q\0'", "\\%\\_q\0"),
        (r"R'\n'", "\\n"),
        (r"'\\''x'", "\\'x"),
    ],
)
def test_strings(written, held):
    assert [token.text for token in tokens_of(QueryText(written))] == [held]


def test_names_between_dollars_are_refused():
    with pytest.raises(SqlError, match="a string between"):
        tokens_of(QueryText("SELECT $$ -- $$"))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a & 1 | a & 4", "((`a` & 1) | (`a` & 4))"),
        ("a | b ^ c & d", "(`a` | (`b` ^ (`c` & `d`)))"),
        ("a & b = c", "((`a` & `b`) = `c`)"),
        ("a || b - c", "((`a` || `b`) - `c`)"),
        ("a - b || c", "((`a` - `b`) || `c`)"),
        ("a << 1 + b & c", "((`a` << (1 + `b`)) & `c`)"),
        ("a >> 1 >>> 2", "((`a` >> 1) >>> 2)"),
        ("a = b < c", "((`a` = `b`) < `c`)"),
        ("a = b IS NULL", "((`a` = `b`) IS NULL)"),
        ("a IS NOT NULL AND NOT b IS NULL", "((`a` IS NOT NULL) AND (NOT (`b` IS NULL)))"),
        ("a = b LIKE c", "((`a` = `b`) LIKE `c`)"),
        ("a BETWEEN b AND c = d AND e", "((`a` BETWEEN `b` AND (`c` = `d`)) AND `e`)"),
        ("NOT a = b AND c OR d", "(((NOT (`a` = `b`)) AND `c`) OR `d`)"),
        ("-a * ~b % +c", "(((-`a`) * (~`b`)) % positive(`c`))"),
        ("-5::string", "CAST((-5) AS STRING)"),
        ("-a::string", "(-CAST(`a` AS STRING))"),
        ("a DIV b * c / d", "(((`a` DIV `b`) * `c`) / `d`)"),
        ("1.5BD + 2L + 3S + 4Y", "(((1.5BD + 2L) + 3S) + 4Y)"),
        ("1.0e2 + 1.0e2BD + .5", "((100.0E0D + 100BD) + 0.5BD)"),
    ],
)
def test_operators_and_numbers(written, meant):
    assert read(written) == meant


@pytest.mark.parametrize(
    "refused",
    [
        "CAST(a AS TIME)", "CAST(a AS TEXT)", "CAST(a AS UUID)", "CAST(a AS INT4)", "a = NOT b",
        "INT '5'", "a SIMILAR TO 'x'", "a IS NULL IS NULL", "128Y + 129Y", "a -> 1",
    ],
)  # fmt: skip
def test_what_spark_has_not_is_an_error_in_the_text(refused):
    with pytest.raises(SqlError):
        read(refused)
