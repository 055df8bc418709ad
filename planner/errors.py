"""Errors a person can act on, and the reason codes of what is not incremental.

Every error that leaves Forerun on purpose is a :class:`ForerunError`: a stable code, one sentence
that says what is wrong, and a hint that says what to do. Programs test the code, people read the
rest. A bug is any other exception.
"""

from __future__ import annotations

from enum import StrEnum

ALLOWED_FUNCTIONS = "FORERUN_ALLOWED_FUNCTIONS"
"""The environment variable of a deployment that names, with commas between them, the functions that
its reports may call although they are refused by default."""


class ForerunError(Exception):
    """Something the user can put right. ``str(error)`` is the whole message, no traceback."""

    code = "forerun"

    def __init__(self, message: str, *, hint: str = "", code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class SqlError(ForerunError):
    """The query text does not parse, names something unknown, or has no meaning."""

    code = "sql"


class UnsupportedSqlError(SqlError):
    """A construct that Forerun does not plan yet, named, with its position in the text."""

    code = "unsupported-sql"


class RefusedFunctionError(SqlError):
    """A function that reaches into the JVM or the machine, and that the deployment does not allow
    to reports."""

    code = "function-refused"


class TooDeepError(SqlError):
    """A query that is nested more deeply than it is read or planned. The same query without the
    nesting, or in steps, is fine."""

    code = "too-deep"

    def __init__(self, what: str, levels: int = 0, limit: int = 0) -> None:
        measured = (
            f" {levels:,} levels deep, and {limit:,} is the limit" if levels else " too deeply"
        )
        super().__init__(
            f"{what} is nested{measured}",
            hint="Take a part out into a WITH clause or a column of a subquery, or write chains "
            "flat: thousands of AND, OR and UNION ALL may follow one another without parentheses.",
        )


class TooLongError(SqlError):
    """A chain of AND, OR, set operations or joins that is longer than the engines read."""

    code = "too-long"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"a chain of AND, OR, set operations or joins has more than {limit:,} parts",
            hint="Write a list of values as IN (...), or join with a source that holds them.",
        )


class TooLargeError(SqlError):
    """A query whose WITH clauses stand for more than is planned, since each of them reads others
    several times: a chain of 40, each read twice, stands for a million million tables."""

    code = "too-large"

    def __init__(self, name: str, tables: int, limit: int) -> None:
        super().__init__(
            f"with {name} written out wherever it is read, the query reads {tables:,} tables, and "
            f"{limit:,} is the limit",
            hint="Let a step that others read several times be a report of its own, whose result "
            "is a source here; or read it once, with a window or CASE in place of a join with "
            "itself.",
        )


class RequestError(ForerunError):
    """A planning request that cannot be met: weights, deadlines, time points, unknown names."""

    code = "request"


class ScheduleError(ForerunError):
    """A schedule that cannot be made: curves with gaps, a ceiling below one run's need, deadlines
    that no clock can meet, figures that are missing."""

    code = "schedule"


class ParameterError(ForerunError):
    """A named parameter of a query has no type, no value, or one that does not fit."""

    code = "parameter"


class ContractError(ForerunError):
    """A stored plan that this version cannot read."""

    code = "contract"


class MethodError(ForerunError):
    """An incremental method that was asked for by name does not apply to the query."""

    code = "method-does-not-apply"


class NotLifted(StrEnum):
    """A reason not to compute a query for many days at once.

    docs/guides/operations.md has the texts."""

    NOTHING_DAILY = "no-daily-source"
    VARIES = "not-deterministic"
    CHOOSES = "order-of-rows"
    EMPTY = "value-over-no-rows"
    STATE = "reads-state"
    PARAMETER = "parameter-of-the-day"
    CHANGELOG = "source-takes-rows-back"
    OVERLAP = "days-share-files"
    NAME = "column-name-in-use"
    HINTED = "hinted"
    SESSION = "session-without-ansi"
    ONLY_TEXT = "only-its-own-text"
    COST = "dearer-than-days-alone"


class LiftError(ForerunError):
    """A query cannot be computed for many days at once."""

    code = "not-lifted"

    def __init__(self, reason: NotLifted, message: str) -> None:
        super().__init__(message, hint="Each day is computed by itself.")
        self.reason = reason


class UnknownFunctionError(ForerunError):
    """A plan has an aggregate function that the planner's table does not have."""

    code = "unknown-function"


class UnknownOperatorError(ForerunError):
    """A pass of the planner met a relational operator that it has not been told about."""

    code = "unknown-operator"


class Reason(StrEnum):
    """A reason why an operator waits for the final run, or why a method does not apply to a query.
    Explain shows the code, docs/guides/reports.md the text."""

    OPERATOR = "operator-without-delta-rule"
    INPUT_WAITS = "input-waits"
    RETRACTING_INPUT = "input-retracts"
    AGGREGATE_FUNCTION = "aggregate-does-not-merge"
    DISTINCT_AGGREGATE = "distinct-aggregate"
    NO_EQUALITY = "join-without-equality"
    NULLS_MATCH = "join-condition-accepts-nulls"
    MANY_JOINS = "too-many-outer-joins"
    UNKNOWN_TYPE = "type-not-known"
    NOT_DETERMINISTIC = "not-deterministic"
    ROUNDED = "float-is-rounded"
    LIMIT = "order-and-limit-need-all-rows"
    COST = "dearer-early-than-late"
    NOT_IN_USE = "rule-not-in-use"
    NOTHING_GROWS = "no-source-grows"
    NO_OUTER_JOIN = "no-growing-outer-join"
    NO_INNER_JOIN = "no-growing-inner-join"
    UNGROUPED_JOIN = "joined-before-grouping"
    BUILD_SIDE = "grows-on-build-side"
    UNGROUPED = "kept-without-grouping"
