"""Texts over Spark's grammar, parsed by both and judged by Spark.

``python -m tests.properties.judged_texts --count 100000 --seed 1`` prints how many were read by the
planner and what Spark said of them, and every text that was read otherwise than Spark reads it, or
that Spark refuses. A text is a SELECT over one table with three expressions: operators of all
levels, literals of all types, comments, quoting, casts, intervals and names, most of them valid.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from forerun.planner.algebra.types import parse_type
from forerun.planner.contract.plan_v1 import ColumnSpec, NamedTable
from forerun.planner.errors import ForerunError
from forerun.planner.request import Source, SourceColumn
from forerun.planner.sql.frontend import read_query
from forerun.spark_jobs.engine import Engine

TYPES = {
    "a": "INT", "b": "INT", "k": "BIGINT", "m": "DECIMAL(10,2)", "e": "DOUBLE", "s": "STRING",
    "r": "STRING", "d": "DATE", "ts": "TIMESTAMP", "x": "BOOLEAN", "y": "BOOLEAN",
}  # fmt: skip
TABLE = NamedTable(
    name="t", columns=tuple(ColumnSpec(name=name, type=kind) for name, kind in TYPES.items())
)
SOURCES = (
    Source(
        name="t",
        columns=tuple(SourceColumn(name=n, type=parse_type(kind)) for n, kind in TYPES.items()),
    ),
)
_NUMBERS = (
    "1", "0", "7L", "3S", "2Y", "1.5", "2.25BD", ".5", "5.", "1e3", "1.5E-2", "2.5D", "1F", "10BD",
    "2147483648", "12345678901234567890", "-3", "- 3", "+2",
)  # fmt: skip
_TEXTS = (
    "'x'", '"y"', "'it''s'", r"'\\'", r"'a\nb'", "'a\"\"b'", r"'\u0041'", r"R'\d'", "'--'", "'/*'",
    r"'\%'", "'a' 'b'", "''", r"'\101'", "\"it's\"", "'`'", r"'\'x'", 'r"\\"',
)  # fmt: skip
_DATES = ("DATE'2020-01-31'", "date '2020-2-1'", "CAST('2021-01-01' AS DATE)", "current_date")
_MOMENTS = ("TIMESTAMP'2020-01-31 10:00:00'", "timestamp '2020-01-01'", "CAST(d AS TIMESTAMP)")
_LENGTHS = (
    "INTERVAL 1 DAY", "INTERVAL '2' HOURS", "INTERVAL '1-2' YEAR TO MONTH", "INTERVAL -3 MONTH",
    "interval '1 02:03:04' day to second", "INTERVAL 1 DAY 2 HOURS", "INTERVAL '5' WEEK",
)  # fmt: skip
_COMMENTS = (
    " ", "\n", "\t", " /* c */ ", " -- c\n", " -- c:\\\n+ 1 \n", " /* ' */ ", " -- '\n", "\r\n",
    " /* a /* b */ c */ ", " -- \\\\\n - 2 \n", " /* -- */ ", " -- /* \n", " -- x\\ \n", " -- z\r",
)  # fmt: skip
_ARITHMETIC = ("+", "-", "*", "/", "%", "DIV", "&", "|", "^", "<<", ">>", ">>>")
_COMPARED = ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>")
_CASTS = ("INT", "BIGINT", "STRING", "DOUBLE", "DECIMAL(12,3)", "SMALLINT", "FLOAT", "dec(5)")

_AT_ONCE = 100


@dataclass
class Texts:
    """Makes texts from a seed. ``depth`` is that of expressions."""

    chance: random.Random
    depth: int = 3

    def text(self) -> str:
        names = ("v", "`v w`", "`v``w`", "V1", "`select`")
        items = [
            f"{self.any(self.depth)}{self.gap()}AS {self.chance.choice(names)}" for _ in range(2)
        ]
        where = f"WHERE{self.gap()}{self.truth(self.depth)}" if self.chance.random() < 0.5 else ""
        return f"SELECT{self.gap()}{', '.join(items)}{self.gap()}FROM t{self.gap()}{where}"

    def gap(self) -> str:
        return self.chance.choice(_COMMENTS) if self.chance.random() < 0.1 else " "

    def any(self, depth: int) -> str:
        return self.chance.choice((self.number, self.string, self.truth, self.moment))(depth)

    def number(self, depth: int) -> str:
        if depth <= 0 or self.chance.random() < 0.15:
            return self.chance.choice((*("a", "b", "k", "m", "e", "t.a", "`b`"), *_NUMBERS))
        one, two = self.number(depth - 1), self.number(depth - 1)
        shape = self.chance.randrange(10)
        if shape < 5:
            operator = self.chance.choice(_ARITHMETIC)
            return f"{one}{self.gap()}{operator}{self.gap()}{two}"
        if shape == 5:
            return f"({one})"
        if shape == 6:
            return f"{self.chance.choice(('-', '+', '~', '- '))}{one}"
        if shape == 7:
            return f"CAST({one} AS {self.chance.choice(_CASTS[:2])})"
        if shape == 8:
            return f"CASE WHEN {self.truth(depth - 1)} THEN {one} ELSE {two} END"
        return f"coalesce({one}, {two})"

    def string(self, depth: int) -> str:
        if depth <= 0 or self.chance.random() < 0.3:
            return self.chance.choice(("s", "r", *_TEXTS))
        one, two = self.string(depth - 1), self.string(depth - 1)
        shape = self.chance.randrange(4)
        if shape == 0:
            return f"{one} || {self.number(depth - 1)}"
        if shape == 1:
            return f"{one} || {two}"
        if shape == 2:
            return f"{self.chance.choice(('a', '-5', '2.5', 'k'))}::STRING"
        return f"trim({self.chance.choice(('', 'BOTH ' + two + ' FROM '))}{one})"

    def moment(self, depth: int) -> str:
        one = self.chance.choice(("d", "ts", *_DATES, *_MOMENTS))
        if depth <= 0 or self.chance.random() < 0.4:
            return one
        if self.chance.random() < 0.2:
            return self.chance.choice(("1 + d", "d + 1", "d - a", "date_add(MONTH, 1, d)"))
        return f"{one} {self.chance.choice('+-')} {self.chance.choice(_LENGTHS)}"

    def truth(self, depth: int) -> str:
        if depth <= 0:
            return self.chance.choice(("x", "y", "true", "FALSE", "a > b"))
        one, two = self.truth(depth - 1), self.truth(depth - 1)
        number, other = self.number(depth - 1), self.number(depth - 1)
        string = self.string(depth - 1)
        return self.chance.choice(
            (
                f"{one} AND {two}", f"{one} OR {two}", f"NOT {one}", f"! {one}", f"({one})",
                f"{number} {self.chance.choice(_COMPARED)} {other}", f"{one} = {two}",
                f"{number} BETWEEN {other} AND {self.number(depth - 1)}", f"{number} IS NULL",
                f"{number} NOT IN ({other}, 1)", f"{string} LIKE 'a%'", f"{number} IS NOT NULL",
                f"{string} NOT LIKE '%b!%' ESCAPE '!'", f"{string} RLIKE '^b'", f"{one} IS TRUE",
                f"{number} IS DISTINCT FROM {other}", f"{string} LIKE ANY ('a', {string})",
                f"{string} ILIKE 'A_'", f"{number} < {other} IS NOT NULL",
            )
        )  # fmt: skip


@dataclass
class Judged:
    """The number of texts by what came of them, and those that are faults: text, and why."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str]] = field(default_factory=list)

    @property
    def otherwise(self) -> list[tuple[str, str]]:
        """The faults that would be silent: texts that Spark takes and reads otherwise."""
        return [fault for fault in self.faults if fault[1].startswith("differs")]


def judged(engine: Engine, count: int, seed: int) -> Judged:
    """Make texts and have Spark judge those that the planner reads."""
    from forerun.spark_jobs.engines.judging import outcome_of, session_over

    found, session = Judged(), session_over(engine.session, (TABLE,))
    for text in texts(count, seed):
        try:
            query = read_query(text, SOURCES)
        except ForerunError as error:
            found.counts[f"not read: {error.code}"] += 1
            continue
        outcome, why = outcome_of(session, text, query.reading, {})
        found.counts[outcome] += 1
        if outcome != "same":
            found.faults.append((text, f"{outcome}: {why}\n  {query.reading}"))
    return found


def texts(count: int, seed: int) -> Iterator[str]:
    """Yield so many texts; a seed gives the same ones."""
    made = Texts(random.Random(seed))
    for _ in range(count):
        yield made.text()


def main() -> None:
    from forerun.spark_jobs.engines.spark import start_spark

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    engine = start_spark(master="local[1]")
    engine.session.sparkContext.setLogLevel("OFF")
    counts: Counter[str] = Counter()
    for begun in range(0, options.count, _AT_ONCE):
        found = judged(engine, min(_AT_ONCE, options.count - begun), options.seed + begun)
        counts += found.counts
        for text, why in found.faults:
            sys.stdout.write(f"{text!r}\n  {why[:700]}\n")
        sys.stdout.write(f"{dict(counts)}\n")
        sys.stdout.flush()
    engine.stop()


if __name__ == "__main__":
    main()
