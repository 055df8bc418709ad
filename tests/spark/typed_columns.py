"""A table with a column of each kind of type, and what Spark's analyzer makes of expressions over
them: many in one query, since one alone takes as long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from forerun.planner.algebra.types import parse_type
from forerun.planner.errors import ForerunError, UnsupportedSqlError
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query

TYPES = {
    "v": "VOID", "b": "BOOLEAN", "i": "INT", "l": "BIGINT", "f": "FLOAT", "e": "DOUBLE",
    "c": "DECIMAL(10,2)", "s": "STRING", "x": "BINARY", "d": "DATE", "t": "TIMESTAMP",
    "n": "TIMESTAMP_NTZ", "m": "INTERVAL YEAR TO MONTH", "w": "INTERVAL DAY TO SECOND",
    "a": "ARRAY<INT>", "a2": "ARRAY<STRING>", "a3": "ARRAY<STRUCT<u:INT,v:INT>>",
    "p": "MAP<STRING,INT>", "r": "STRUCT<u:INT,v:STRING>",
}  # fmt: skip
"""By the name of the column, which is the letter of its kind where it is the only one."""
TABLE = "typed"
SOURCE = Source(
    name=TABLE,
    columns=tuple(SourceColumn(name=name, type=parse_type(t)) for name, t in TYPES.items()),
)
_AT_ONCE = 250
UNPLANNED = "not planned"
"""What the planner says it does not do yet."""


def make_table(session: Any) -> None:
    """Make the view, without rows."""
    columns = ", ".join(f"CAST(NULL AS {t}) AS {name}" for name, t in TYPES.items())
    session.sql(f"SELECT {columns} WHERE false").createOrReplaceTempView(TABLE)


def sparks(session: Any, expressions: Sequence[str], *, aggregated: bool = False) -> list[str]:
    """The type that Spark gives each expression, empty for one that it refuses."""
    return _each(session, expressions, lambda item: item.dataType().sql(), aggregated)


def analyzed(session: Any, expressions: Sequence[str]) -> list[str]:
    """What Spark's analyzer makes of each expression, empty for one that it refuses."""
    return _each(session, expressions, lambda item: item.toString(), aggregated=False)


def _each(
    session: Any, expressions: Sequence[str], of: Callable[[Any], str], aggregated: bool
) -> list[str]:
    found: list[str] = []
    for begin in range(0, len(expressions), _AT_ONCE):
        found += _some(session, expressions[begin : begin + _AT_ONCE], of, aggregated)
    return found


def _some(
    session: Any, expressions: Sequence[str], of: Callable[[Any], str], aggregated: bool
) -> list[str]:
    """Where one of them cannot even be looked at, each half by itself."""
    state = session._jsparkSession.sessionState()
    listed = ", ".join(f"{one} AS r{number}" for number, one in enumerate(expressions))
    try:
        plan = state.analyzer().execute(
            state.sqlParser().parsePlan(f"SELECT {listed} FROM {TABLE}")
        )
        items = plan.aggregateExpressions() if aggregated else plan.projectList()
        each = [items.apply(number) for number in range(len(expressions))]
        return [of(item) if item.resolved() else "" for item in each]
    except (PySparkException, Py4JError):
        if len(expressions) == 1:
            return [""]
        half = len(expressions) // 2
        one, two = expressions[:half], expressions[half:]
        return [*_some(session, one, of, aggregated), *_some(session, two, of, aggregated)]


def planners(expression: str) -> str:
    """The type that the planner gives it, empty for one that it refuses."""
    try:
        query = read_query(f"SELECT {expression} AS r FROM {TABLE}", [SOURCE])
    except UnsupportedSqlError:
        return UNPLANNED
    except ForerunError:
        return ""
    return query.relation.columns[0].type.sql


def differing(session: Any, expressions: Sequence[str], *, aggregated: bool = False) -> list[str]:
    """The expressions that are planned and refused by Spark, refused though Spark takes them, or of
    another type."""
    wrong = []
    answers = sparks(session, expressions, aggregated=aggregated)
    for expression, theirs in zip(expressions, answers, strict=True):
        ours = planners(expression)
        if ours == UNPLANNED or (theirs and ours == "UNKNOWN"):
            continue
        if _plain(ours) != _plain(theirs):
            wrong.append(f"{expression}: Spark {theirs or 'refuses it'}, ours {ours or 'too'}")
    return wrong


def _plain(written: str) -> str:
    return parse_type(written).sql.replace(": ", ":").replace(", ", ",") if written else ""
