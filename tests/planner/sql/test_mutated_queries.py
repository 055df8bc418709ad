"""Queries with words exchanged at random: refused in words or answered right, never a traceback.

What is accepted runs on Sail as printed and is compared with the row interpreter, and with Sail's
own reading where the interpreter does not know a function.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from forerun.include.verify.sail_gaps import SAIL_GAPS, gaps_of
from forerun.planner.errors import ForerunError
from forerun.planner.sql.frontend import Query, read_query
from forerun.planner.sql.printing.printer import to_sql
from tests.datadriven import read_blocks
from tests.oracles.bags import DifferenceError, compare_bags
from tests.oracles.interpreter import evaluate
from tests.oracles.values import Row
from tests.planner.sql import tables
from tests.planner.sql.test_round_trip import plain
from tests.properties.engines import PlainSailEngine
from tests.properties.sessions import sail_session

pytestmark = pytest.mark.search
SEED, MUTANTS = 20261121, 1500
_PLAIN = "a b c d e f h k v w x 1 2 null t.a s.v sum(v) count(*) and or not left full = > + / ||"
WORDS = (
    *_PLAIN.split(),
    "(select max(v) from s)",
    "(select k from s where s.k = t.a)",
    "exists (select 1 from r where r.k = t.b)",
    "a in (select k from s)",
    "row_number() over (order by a)",
)


def mutants() -> Iterator[str]:
    rng = random.Random(SEED)
    files = sorted((Path(__file__).parent / "queries").glob("*.test"))
    queries = [
        re.findall(r"\w+|'[^']*'|\s+|[^\w\s]", block.input)
        for path in files
        for block in read_blocks(path)
        # Sail's INTERSECT ALL is a semi join, it has a group of no rows for the empty grouping set,
        # which Spark has not, and knows NULLs in another way in an IN under a NOT; which rows a
        # LIMIT takes at a tie is open.
        if "printed" not in block.options
        and block.options.get("sail") != "differs"
        and "limit" not in block.input
    ]
    for _ in range(MUTANTS):
        words = list(rng.choice(queries))
        for _ in range(rng.choice((1, 1, 2, 3))):
            place = rng.randrange(len(words))
            if words[place].strip():
                words[place] = rng.choice(WORDS) if rng.random() < 0.95 else ""
        yield "".join(words)


def _attempt(engine: PlainSailEngine, sql: str) -> list[Row] | None:
    try:
        return plain(engine.query(sql))
    except Exception:  # noqa: BLE001  any refusal of the engine
        return None


def _interpreted(query: Query) -> list[Row] | None:
    try:
        return plain(evaluate(query.relation, tables.inputs()))
    except Exception:  # noqa: BLE001  a function it does not know, or an error of the query itself
        return None


def test_mutants() -> None:
    engine = PlainSailEngine(sail_session())
    tables.bind_all(engine)
    seen: Counter[str] = Counter()
    for sql in mutants():
        try:
            query = read_query(sql, tables.SOURCES)
        except ForerunError:
            seen["refused"] += 1
            continue
        printed = _attempt(engine, to_sql(query.relation, names=query.names))
        judge = _interpreted(query) or _attempt(engine, sql)
        if printed is None or judge is None:
            seen["not judged"] += 1
            continue
        try:
            compare_bags(judge, printed)
        except DifferenceError as error:
            if "row_number" in sql:
                seen["numbers of ties"] += 1
                continue
            if gaps_of(query.relation, SAIL_GAPS, sql):
                seen["gaps of Sail"] += 1
                continue
            pytest.fail(f"{sql}\n{error}")
        seen["equal"] += 1
    assert seen["equal"] >= 200, seen
    assert seen["gaps of Sail"] <= 5, seen
    assert seen["not judged"] <= seen["equal"] / 10, seen
