"""Texts over Spark's grammar, parsed by both and judged by Spark.

``python -m tests.properties.judged_texts --count 100000 --into FOLDER`` makes texts in shards, each
from a seed of its own, and writes what came of a shard to a file of the folder; a shard that is
there already is not made again. In the end it prints how many texts the planner reads and what
Spark says of them, and every text that is a fault, as short as it can be made (``--shrink``).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from forerun.planner.algebra.types import UNKNOWN, DataType, parse_type
from forerun.planner.contract.plan_v1 import ColumnSpec, NamedTable
from forerun.planner.errors import ForerunError
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.spark_jobs.engine import Engine
from tests.properties.shorter import shorter
from tests.properties.text_grammar import texts
from tests.properties.text_words import TABLES

NAMED = tuple(
    NamedTable(name=table, columns=tuple(ColumnSpec(name=n, type=t) for n, t in columns.items()))
    for table, columns in TABLES.items()
)
SOURCES = tuple(
    Source(
        name=table,
        columns=tuple(SourceColumn(name=n, type=parse_type(t)) for n, t in columns.items()),
    )
    for table, columns in TABLES.items()
)
_SHARD = 500
Came = Literal[
    "same", "differs", "named", "typed", "refused", "left", "fails", "not read", "refused by both",
    "untrue", "crash",
]  # fmt: skip
"""``same`` to ``fails`` are of texts that the planner reads. Spark makes the same of the text and
of the reading, or another plan, or ``named``: it calls the columns otherwise, or ``typed``: they
have another type, names of fields included, or its analyzer refuses the text. ``left``: it refuses
a text in which the planner does not derive every type, so that the judge says so before anything
runs.
``fails``: a constant in the text fails, whoever computes it.

The others the planner does not read: it says that it cannot plan them yet, or that they are wrong,
which Spark says, too, or which is ``untrue``; or it raises what is no error of its own."""
_ID = re.compile(r"#\d")
FAULTS = ("differs", "named", "typed", "refused", "untrue", "crash")


@dataclass
class Judged:
    """The number of texts by what came of them, and those that are faults: text, what, and why."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, other: Judged) -> None:
        self.counts += other.counts
        self.faults += other.faults


class Judge:
    """Spark's analyzer and optimizer over the tables of the grammar, asked without a DataFrame for
    each text, which would take as long again."""

    def __init__(self, engine: Engine) -> None:
        from forerun.spark_jobs.engines.judging import session_over

        self.session: Any = session_over(engine.session, NAMED)
        context = self.session.sparkContext
        self._state = self.session._jsparkSession.sessionState()
        self._mode = context._jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()

    def analyzed(self, sql: str) -> Any:
        """The analyzed plan of a text. Raises what Spark refuses it with."""
        execution = self._state.executePlan(self._state.sqlParser().parsePlan(sql), self._mode)
        execution.assertAnalyzed()
        return execution

    def came_of(self, text: str) -> tuple[Came, str]:
        try:
            query = read_query(text, SOURCES)
        except ForerunError as error:
            return self._of_unread(text, error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the planner's own fault
            return "crash", repr(error)[:600]
        try:
            wanted = self.analyzed(text)
        except (PySparkException, Py4JError) as error:
            if "FAILED_FUNCTION_CALL" in str(error):
                return "fails", _said(error)
            unsure = UNKNOWN.name in repr(query.relation)
            return "left" if unsure else "refused", _said(error)
        schema = wanted.analyzed().schema()
        if wrong := _otherwise_named(query.names, list(schema.fieldNames())):
            return "named", wrong
        types = [schema.apply(at).dataType().sql() for at in range(len(query.names))]
        if wrong := _otherwise_typed([c.type for c in query.relation.columns], types):
            return "typed", wrong
        try:
            found = self.analyzed(query.reading)
        except (PySparkException, Py4JError) as error:
            return "differs", f"the reading is refused: {_said(error)}\n{query.reading}"
        if wanted.analyzed().canonicalized().sameResult(found.analyzed().canonicalized()):
            return "same", ""
        return self._optimized(text, query.reading)

    def _optimized(self, text: str, reading: str) -> tuple[Came, str]:
        from forerun.spark_jobs.engines.judging import optimized
        from forerun.spark_jobs.engines.two_plans import outcome_of

        try:
            outcome, why = outcome_of(partial(optimized, self.session, {}), text, reading)
        except Py4JError as error:
            return "fails", _said(error)
        if outcome == "same":
            return "same", ""
        return ("fails" if outcome == "refused" else "differs"), f"{why}\n{reading}"

    def _of_unread(self, text: str, error: ForerunError) -> tuple[Came, str]:
        if error.code != "sql":
            return "not read", error.code
        try:
            self.analyzed(text)
        except (PySparkException, Py4JError):
            return "refused by both", ""
        return "untrue", error.message


def _otherwise_named(ours: Sequence[str], theirs: Sequence[str]) -> str:
    """Return a column that Spark calls otherwise. A name that is there already has a number after
    it with us, since no file has two columns of one name."""
    seen: set[str] = set()
    for one, other in zip(ours, theirs, strict=True):
        is_its_own = _ID.search(other) is not None
        if one != other and other.lower() not in seen and not is_its_own:
            return f"{one}, Spark {other}"
        seen.add(other.lower())
    return ""


def _otherwise_typed(ours: Sequence[DataType], theirs: Sequence[str]) -> str:
    """Return a type that Spark has otherwise, of those that the planner derives."""
    for one, other in zip(ours, theirs, strict=True):
        if UNKNOWN.name not in one.sql and one != parse_type(other):
            return f"{one.sql}, Spark {other}"
    return ""


def _said(error: Exception) -> str:
    message = error.getMessage() if isinstance(error, PySparkException) else str(error)
    return (message or str(error)).partition("\n\nJVM")[0].partition("\n\tat")[0].strip()[:600]


def judged(engine: Engine, count: int, seed: int, *, shrink: bool = False) -> Judged:
    """Make texts and have Spark judge those that the planner reads."""
    judge, found = Judge(engine), Judged()
    for text in texts(count, seed):
        came, why = judge.came_of(text)
        found.counts[came] += 1
        if came in FAULTS:
            found.faults.append((_short(judge, text, came, why) if shrink else text, came, why))
    return found


def _short(judge: Judge, text: str, came: Came, why: str) -> str:
    """The shortest text found of which the same comes, for the same kind of reason."""
    kind = why[:24]

    def still(one: str) -> bool:
        again, because = judge.came_of(one)
        return again == came and because[:24] == kind

    return shorter(text, still)


def shards(engine: Engine, count: int, seed: int, into: Path, *, shrink: bool) -> Judged:
    """Judge texts shard by shard, each only once for all runs with the same folder."""
    into.mkdir(parents=True, exist_ok=True)
    whole = Judged()
    for number in range((count + _SHARD - 1) // _SHARD):
        file = into / f"{seed}-{number}.json"
        if file.exists():
            kept = json.loads(file.read_text())
            one = Judged(Counter(kept["counts"]), [tuple(fault) for fault in kept["faults"]])
        else:
            size = min(_SHARD, count - number * _SHARD)
            one = judged(engine, size, seed * 1_000_003 + number, shrink=shrink)
            file.write_text(json.dumps({"counts": one.counts, "faults": one.faults}))
        whole.add(one)
        _say(f"{sum(whole.counts.values())} {dict(whole.counts)}")
    return whole


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Iterable[str] | None = None) -> None:
    import logging

    from forerun.spark_jobs.engines.spark import start_spark

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--shrink", action="store_true")
    options = parser.parse_args(None if arguments is None else list(arguments))
    logging.disable(
        logging.CRITICAL
    )  # PySpark logs each text that it refuses, with the JVM's stack
    engine = start_spark(master="local[1]")
    engine.session.sparkContext.setLogLevel("OFF")
    found = shards(engine, options.count, options.seed, options.into, shrink=options.shrink)
    for text, came, why in found.faults:
        _say(f"{came}: {text!r}\n  {why[:700]}")
    _say(f"{dict(found.counts)}")
    engine.stop()


if __name__ == "__main__":
    main()
