"""Asks Spark's own application for the optimized plans of texts.

They are analyzed and optimized over the same tables without rows, and the canonical forms are
compared: names, aliases, parentheses, the order of conditions and whether a query stands in WITH
are gone there, an operator that binds otherwise is not. The tables are RDDs: of a local relation
without rows the optimizer would make nothing, and of anything the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from forerun.planner.contract import NamedTable
from forerun.spark_jobs.engine import Judgement, quoted, schema_of
from forerun.spark_jobs.engines.two_plans import digest_of_settings, outcome_of, words_of

_ALL_FIELDS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class _InJvm:
    """Implements :class:`forerun.spark_jobs.engines.two_plans.Optimized` by a plan in the JVM, in
    its canonical form."""

    plan: Any

    def is_same(self, other: _InJvm) -> bool:
        return bool(self.plan.sameResult(other.plan))

    @property
    def words(self) -> list[str]:
        return words_of(str(self.plan.treeString(True, False, _ALL_FIELDS, False, False)))


def judge_of(session: Any) -> str:
    """The version of Spark with a digest of the settings that its analyzer and optimizer have, as a
    name."""
    return f"spark-{session.version}-{digest_of_settings(session)}"


def compared(
    session: Any,
    tables: tuple[NamedTable, ...],
    text: str,
    reading: str,
    parameters: Mapping[str, Any],
) -> Judgement:
    """Compare what Spark makes of a text and of what was read of it. Raises what a text raises that
    is no error of its own."""
    apart = session_over(session, tables)
    before = _cpu_ns(session)
    outcome, why = outcome_of(partial(optimized, apart, parameters), text, reading)
    return Judgement(outcome, why, (_cpu_ns(session) - before) // 1_000_000)


def session_over(session: Any, tables: tuple[NamedTable, ...]) -> Any:
    """Return a session with the same settings in which these tables are there, without rows."""
    apart = _session_apart(session)
    for table in tables:
        schema = schema_of(apart, table.columns)
        _without_rows(apart, schema).createOrReplaceTempView(quoted(table.name))
    return apart


def _cpu_ns(session: Any) -> int:
    """CPU time of the thread of the driver that serves this one, in nanoseconds."""
    beans = session.sparkContext._jvm.java.lang.management.ManagementFactory  # noqa: SLF001
    return int(beans.getThreadMXBean().getCurrentThreadCpuTime())


def _session_apart(session: Any) -> Any:
    """A session with the same settings and functions, whose views are its own."""
    return SparkSession(session.sparkContext, session._jsparkSession.cloneSession())  # noqa: SLF001


def _without_rows(session: Any, schema: Any) -> Any:
    """A table without rows of which the optimizer does not know that it has none."""
    from pyspark.sql import DataFrame

    java = session._jsparkSession  # noqa: SLF001 - Python's own way starts a worker to look at rows
    no_rows = session.sparkContext._jsc.emptyRDD()  # noqa: SLF001 - the same
    return DataFrame(java.createDataFrame(no_rows, java.parseDataType(schema.json())), session)


def optimized(session: Any, parameters: Mapping[str, Any], sql: str) -> _InJvm:
    """Return the optimized plan of a text."""
    frame = session.sql(sql, args=dict(parameters)) if parameters else session.sql(sql)
    return _InJvm(frame._jdf.queryExecution().optimizedPlan().canonicalized())  # noqa: SLF001 - no other way
