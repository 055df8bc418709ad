"""Asks a Spark Connect server for the optimized plans of texts, as it explains them.

A client sees a plan as text alone. So that two of them can be compared, columns are numbered in the
order in which they come, and names of columns are left out; operators, conditions and types of
casts are all there. The order of operands that may be swapped is that of the text. Constants have
no types there: that of `1` shows where it is cast, or in the columns of the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from forerun.planner.contract import ColumnSpec, NamedTable
from forerun.spark_jobs.engine import EngineError, Judgement, quoted, text_literal
from forerun.spark_jobs.engines.two_plans import digest_of_settings, outcome_of, words_of

_SHOWN_FIELDS = ("spark.sql.debug.maxToStringFields", "1000000")
_PLANS = re.compile(
    r"== Optimized Logical Plan ==\n(?P<optimized>.*?)\n*(?:== Physical Plan ==.*)?\Z", re.DOTALL
)
_ALIAS = re.compile(r" AS (.*?)#(\d+)")
_NAME = re.compile(r" AS #|[\w.]*#(?=\d)")
"""What is left of the name of a column, before its number."""
_LITERAL = re.compile(r"'(?:[^'\\]|\\.|'')*'", re.DOTALL)
_LIKE_A_NUMBER = re.compile(r"#(?=\d)")
_NUMBER = re.compile(r"#(\d+)L?")
_ROWS = 1_000_000_000
"""The rows of a table that is asked about: the optimizer knows nothing of their values."""
_CALLED = {"position": "locate", "substr": "substring", "char_length": "length", "ceiling": "ceil"}
_CALL = re.compile(rf"\b({'|'.join(_CALLED)})(?=\()")
"""Functions that are shown by the name by which a text calls them, and by another one elsewhere."""


@dataclass(frozen=True, slots=True)
class _Explained:
    """Implements :class:`forerun.spark_jobs.engines.two_plans.Optimized` by the text of a plan.
    ``types`` are those of the columns of the result."""

    plan: str
    types: tuple[str, ...]

    def is_same(self, other: _Explained) -> bool:
        return self == other

    @property
    def words(self) -> list[str]:
        return words_of(self.plan)


def judge_of(session: Any) -> str:
    """The version of the server's Spark with a digest of its settings, as a name."""
    return f"spark-connect-{session.version}-{digest_of_settings(session)}"


def compared(
    session: Any,
    tables: tuple[NamedTable, ...],
    text: str,
    reading: str,
    parameters: Mapping[str, Any],
) -> Judgement:
    """Compare what a server makes of a text and of what was read of it. Raises what a text raises
    that is no error of its own."""
    names = [column.name for table in tables for column in table.columns]
    if any(" AS " in literal for literal in _LITERAL.findall(reading)) or "#" in "".join(names):
        return Judgement("not-asked", "in a plan, one of its literals or names looks like others")
    with _over(session, tables):
        # Where both say "Brand#12", a plan has no number.
        plain = (_LIKE_A_NUMBER.sub("\N{NUMERO SIGN}", sql) for sql in (text, reading))
        outcome, why = outcome_of(partial(_optimized, session, parameters), *plain)
    return Judgement(outcome, why)


@contextmanager
def _over(session: Any, tables: tuple[NamedTable, ...]) -> Iterator[None]:
    """Let these tables be there for the block. They are ranges of numbers, of which each column is
    made by casts, so that the optimizer knows as little of them as of files."""
    name, shown = _SHOWN_FIELDS
    before = session.conf.get(name)
    session.conf.set(name, shown)
    try:
        for table in tables:
            columns = ", ".join(
                f"{_any_value(column, number)} AS {quoted(column.name)}"
                for number, column in enumerate(table.columns)
            )
            rows = session.sql(f"SELECT {columns} FROM range({_ROWS})")
            rows.createOrReplaceTempView(quoted(table.name))
        yield
    finally:
        for table in tables:
            session.sql(f"DROP VIEW IF EXISTS {quoted(table.name)}")
        session.conf.set(name, before)


def _any_value(column: ColumnSpec, number: int) -> str:
    text = f"CAST(id + {number} AS STRING)"
    if "<" in column.type:
        return f"from_json({text}, {text_literal(column.type)})"
    if column.type.upper().startswith(("STRING", "BINARY")):
        return f"CAST({text} AS {column.type})"
    return f"TRY_CAST({text} AS {column.type})"


def _optimized(session: Any, parameters: Mapping[str, Any], sql: str) -> _Explained:
    """Return the optimized plan of a text."""
    frame = session.sql(sql, args=dict(parameters)) if parameters else session.sql(sql)
    said = frame._explain_string(extended=True)  # noqa: SLF001 - explain() prints it
    found = _PLANS.search(said)
    if found is None:
        raise EngineError(
            "the server explains a query otherwise than Spark does: it shows no optimized plan",
            hint="Let the server be one of Spark itself.",
        )
    called = _CALL.sub(lambda each: _CALLED[each[1]], _without_names(found["optimized"]))
    return _Explained(called, tuple(field.dataType.simpleString() for field in frame.schema.fields))


def _without_names(plan: str) -> str:
    """Return a plan whose columns have no names, and are numbered in the order in which they come.
    A column that a text does not name has its whole expression for a name."""
    names: dict[str, str] = {}
    for name, number in _ALIAS.findall(plan):
        names[number] = max(name, names.get(number, ""), key=len)
    for number, name in names.items():
        plan = re.sub(rf"{re.escape(name)}#{number}(?!\d)", f"#{number}", plan)
    numbers: dict[str, int] = {}

    def numbered(each: re.Match[str]) -> str:
        return f"#{numbers.setdefault(each[1], len(numbers))}"

    return _NUMBER.sub(numbered, _NAME.sub("#", plan))
