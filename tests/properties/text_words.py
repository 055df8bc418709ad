"""The words that :mod:`tests.properties.text_grammar` makes texts of, a few of them no SQL of Spark."""

# ruff: noqa: E501 - lists of texts
from __future__ import annotations

from collections.abc import Mapping

TABLES: Mapping[str, Mapping[str, str]] = {
    "t": {
        "a": "INT", "b": "INT", "k": "BIGINT", "m": "DECIMAL(10,2)", "e": "DOUBLE", "s": "STRING",
        "r": "STRING", "d": "DATE", "ts": "TIMESTAMP", "x": "BOOLEAN", "y": "BOOLEAN",
    },
    "u": {
        "a": "INT", "c": "SMALLINT", "n": "DECIMAL(7,0)", "f": "FLOAT", "s": "STRING", "d": "DATE",
        "z": "BOOLEAN", "w": "ARRAY<INT>", "p": "MAP<STRING,INT>", "o": "BINARY",
        "st": "STRUCT<x:STRING,y:INT,z:ARRAY<STRUCT<v:INT>>>",
    },
}  # fmt: skip
NUMBERS = (
    "1", "0", "7L", "3S", "2Y", "1.5", "2.25BD", ".5", "5.", "1e3", "1.5E-2", "2.5D", "1F", "10BD",
    "2147483648", "12345678901234567890", "-3", "- 3", "+2", "-2147483648", "1e400", "128Y",
    "0x1F", "1_000", "1.e2", ".5e1BD", "9223372036854775808", "NULL", "1.5F", "007",
)  # fmt: skip
STRINGS = (
    "'x'", '"y"', "'it''s'", r"'\\'", r"'a\nb'", "'a\"\"b'", r"'\u0041'", r"R'\d'", "'--'", "'/*'",
    r"'\%'", "'a' 'b'", "''", r"'\101'", "\"it's\"", "'`'", r"'\'x'", 'r"\\"', r"'\U00000041'",
    "'a' \"b\" 'c'", "'%'", r"'\q'", "'NULL'", "'1'", "'a\nb'", r"'\0'", "N'x'", "b'x'", "e'x'",
)  # fmt: skip
DATES = (
    "DATE'2020-01-31'", "date '2020-2-1'", "CAST('2021-01-01' AS DATE)", "current_date",
    "current_date()", "DATE '2020'", "to_date('2020-01-01')", "d", "t.d", "make_date(2020, 1, 2)",
    "DATE \"2020-01-01\"", "'2020-01-01'::date", "date('2020-01-01')",
)  # fmt: skip
MOMENTS = (
    "TIMESTAMP'2020-01-31 10:00:00'", "timestamp '2020-01-01'", "CAST(d AS TIMESTAMP)", "ts",
    "current_timestamp", "now()", "TIMESTAMP_NTZ'2020-01-01 00:00:00'", "to_timestamp(s)",
    "TIMESTAMP_LTZ'2020-01-01'", "date_trunc('DAY', ts)", "timestamp('2020-01-01')",
)  # fmt: skip
LENGTHS = (
    "INTERVAL 1 DAY", "INTERVAL '2' HOURS", "INTERVAL '1-2' YEAR TO MONTH", "INTERVAL -3 MONTH",
    "interval '1 02:03:04' day to second", "INTERVAL 1 DAY 2 HOURS", "INTERVAL '5' WEEK",
    "INTERVAL '1' DAY", "- INTERVAL 1 DAY", "INTERVAL '1 day'", "INTERVAL 1 YEAR", "INTERVAL -'1' DAY",
    "INTERVAL '10' SECOND", "INTERVAL '1.5' SECONDS", "INTERVAL '1:2' HOUR TO MINUTE",
    "INTERVAL 3 QUARTER", "INTERVAL '-1' MINUTE", "INTERVAL 1.5 DAY", "INTERVAL 5 MILLISECONDS",
    "INTERVAL '1' YEAR '2' MONTH", "INTERVAL a DAY", "INTERVAL '2' WEEKS", "INTERVAL 1 DAY 1 MONTH",
)  # fmt: skip
COMMENTS = (
    "\n", "\t", " /* c */ ", " -- c\n", " -- c:\\\n+ 1 \n", " /* ' */ ", " -- '\n", "\r\n",
    " /* a /* b */ c */ ", " -- \\\\\n - 2 \n", " /* -- */ ", " -- /* \n", " -- x\\ \n", " -- z\r",
    "/**/", " -- `\n", ' -- "\n', "\u00a0", "\x0b", "\x0c", " --\n", "/*/ */ ", "\u3000",
)  # fmt: skip
ARITHMETIC = ("+", "-", "*", "/", "%", "DIV", "&", "|", "^", "<<", ">>", ">>>", "MOD", "div")
COMPARED = ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM",
             "IS NOT DISTINCT FROM", "!<", "!>", "<= >")  # fmt: skip
TYPES = (
    "INT", "BIGINT", "STRING", "DOUBLE", "DECIMAL(12,3)", "SMALLINT", "FLOAT", "dec(5)", "DATE",
    "TIMESTAMP", "BOOLEAN", "BINARY", "VARCHAR(3)", "char(2)", "TIMESTAMP_NTZ", "TIME", "TEXT",
    "NUMBER", "DATETIME", "INTERVAL DAY", "INTERVAL", "LONG", "byte", "integer", "DECIMAL",
    "DECIMAL(39,1)", "NVARCHAR(2)", "DOUBLE PRECISION", "ARRAY<INT>", "STRUCT<v: INT>", "UUID",
    "JSON", "INT8", "REAL", "void", "VARCHAR", "timestamptz", "BOOL", "MAP<STRING, INT>",
    "UNSIGNED INT", "TIMESTAMP WITHOUT TIME ZONE", "STRING(5)", "numeric(4,2)", "FLOAT8",
)  # fmt: skip
AGGREGATES = (
    "sum", "avg", "min", "max", "count", "stddev", "bool_and", "collect_list", "median", "mode",
    "any_value", "max_by", "count_if", "corr", "approx_count_distinct", "first", "bit_xor", "every",
    "percentile", "listagg", "array_agg", "var_pop", "total", "group_concat", "string_agg",
)  # fmt: skip
NAMES = ("v", "`v w`", "`v``w`", "V1", "`select`", "`a`", "date", "`1`", "left", "w", "_x", "end")
WORDS = (
    "AND", "OR", "NOT", "(", ")", ",", "'x'", "1", "a", "SELECT", "FROM", "t", "WHERE", "AS", "IS", "NULL", ".",
    "*", "+", "-", "=", "<", "DISTINCT", "ALL", "BETWEEN", "IN", "LIKE", "CASE", "END", "WHEN", "THEN", "::",
    "[", "]", "INTERVAL", "CAST", "ON", "JOIN", "LEFT", "UNION", "BY", "GROUP", "ORDER", "LIMIT", "OVER", ";",
    "ASC", "DESC", "VALUES", "WITH", "LATERAL", "TABLE", "ROWS", "QUALIFY", "OFFSET", "FETCH", "TOP", "USING",
    "->", "=>", ":", "?", "@", "#", "\\", "{", "}", "$1", ":x", "!", "~", "|", "||", "&", "==", "/", "%", "^",
)  # fmt: skip
