"""Asks Spark whether it makes the same plan of two texts.

Both are analyzed and optimized over the same tables without rows, and the canonical forms of the
optimized plans are compared: names, aliases, parentheses, the order of conditions and whether a
query stands in WITH are gone there, an operator that binds otherwise is not. The tables are RDDs:
of a local relation without rows the optimizer would make nothing, and of anything the same.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from itertools import combinations, zip_longest
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from forerun.include.state.verdicts import Outcome
from forerun.planner.contract import NamedTable
from forerun.spark_jobs.engine import Judgement, quoted, schema_of

_NOT_SETTINGS = ("spark.sql.warehouse.dir", "spark.sql.shuffle.partitions")
_ALL_FIELDS = 1_000_000
_WORD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?|-?\d[\d.:]*|[A-Za-z_]\w*|\W")
_SHOWN = 40
"""So many words of a plan are shown from where it differs."""
_SAMPLES = 8
"""So often a text is analyzed that has another plan each time."""


def judge_of(session: Any) -> str:
    """The version of Spark with a digest of the settings that its analyzer and optimizer have, as a
    name."""
    said = sorted(
        (name, value)
        for name, value in session.sql("SET").collect()  # conf.getAll is of Spark 4
        if name.startswith("spark.sql.") and name not in _NOT_SETTINGS
    )
    return f"spark-{session.version}-{hashlib.sha256(repr(said).encode()).hexdigest()[:12]}"


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
    outcome, why = outcome_of(apart, text, reading, parameters)
    return Judgement(outcome, why, (_cpu_ns(session) - before) // 1_000_000)


def session_over(session: Any, tables: tuple[NamedTable, ...]) -> Any:
    """Return a session with the same settings in which these tables are there, without rows."""
    apart = _session_apart(session)
    for table in tables:
        schema = schema_of(apart, table.columns)
        _without_rows(apart, schema).createOrReplaceTempView(quoted(table.name))
    return apart


def outcome_of(
    session: Any, text: str, reading: str, parameters: Mapping[str, Any]
) -> tuple[Outcome, str]:
    """Return what the analyzer and optimizer of a session make of two texts, and why."""
    try:
        wanted = _optimized(session, text, parameters)
    except PySparkException as error:
        return "refused", _said(error)
    try:
        found = _optimized(session, reading, parameters)
    except PySparkException as error:
        return "differs", f"what was read of it is refused: {_said(error)}"
    if wanted.sameResult(found):
        return "same", ""
    again = _optimized(session, text, parameters)
    texts, readings = [_words(wanted)], [_words(found)]
    for _ in range(0 if wanted.sameResult(again) else _SAMPLES):
        texts.append(_words(_optimized(session, text, parameters)))
        if _same_but_for_chance(texts, readings):
            return "same", ""
        readings.append(_words(_optimized(session, reading, parameters)))
    return "differs", _first_difference(texts[0], readings[0])


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


def _optimized(session: Any, sql: str, parameters: Mapping[str, Any]) -> Any:
    """The canonical form of the optimized plan of a text, in the JVM."""
    frame = session.sql(sql, args=dict(parameters)) if parameters else session.sql(sql)
    return frame._jdf.queryExecution().optimizedPlan().canonicalized()  # noqa: SLF001 - no other way


def _words(plan: Any) -> list[str]:
    return _WORD.findall(str(plan.treeString(True, False, _ALL_FIELDS, False, False)))


def _same_but_for_chance(texts: list[list[str]], readings: list[list[str]]) -> bool:
    """Return whether a reading has the words of a text but for those that chance gives: the time,
    seeds and the numbers of columns that EXISTS becomes are other ones in each analysis."""
    for one, again in combinations(texts, 2):
        chance = _given_by_chance(one, again)
        if chance is None:
            continue
        for other in readings:
            if len(one) == len(other) and _different(one, other) <= chance:
                return True
    return False


def _given_by_chance(one: list[str], again: list[str]) -> set[int] | None:
    """The places at which two analyses of one text have other words; None where those words are
    not new ones: a seed also decides the canonical order of the operands of a sum, and words that
    have only moved tell nothing of what may stand in their places."""
    places = _different(one, again)
    moved = len(one) != len(again) or (Counter(one) - Counter(again)).total() != len(places)
    return None if moved else places


def _different(one: list[str], two: list[str]) -> set[int]:
    pairs = enumerate(zip_longest(one, two))
    return {at for at, (mine, theirs) in pairs if mine != theirs}


def _first_difference(one: list[str], two: list[str]) -> str:
    at = min(_different(one, two), default=None)
    if at is None:
        return "the plans differ in the types of their constants or columns"
    return f"the text has {_around(one, at)}, what was read has {_around(two, at)}"


def _around(words: list[str], at: int) -> str:
    """The words from some before ``at`` to some after it, on one line."""
    return "".join(words[max(0, at - _SHOWN // 4) : at + _SHOWN]).replace("\n", " ").strip(" :+-")


def _said(error: PySparkException) -> str:
    message = error.getMessage() or str(error)
    return message.partition("\n\nJVM stacktrace:")[0].strip().partition("\n'")[0][:1000]
