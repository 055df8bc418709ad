"""Long and deep queries: thousands of ANDs, ORs, branches and joins are planned, and what is nested
more deeply than the planner reads is refused with a message that names the limit.

A RecursionError is never the answer, whoever has used the frames of Python before.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from contextlib import suppress

import pytest

from forerun.planner import nesting
from forerun.planner.algebra.relational import Aggregate, UnionAll
from forerun.planner.algebra.scalar import MOST_NESTED, Call, Ref, conjuncts, connected
from forerun.planner.algebra.types import BIGINT, BOOLEAN, Column, ColumnId
from forerun.planner.api import plan
from forerun.planner.errors import ForerunError, TooDeepError, TooLongError
from forerun.planner.nesting import MOST_CHAINED, MOST_LEVELS
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint
from forerun.planner.sql.frontend import read_query
from forerun.planner.sql.printing.printer import to_sql
from forerun.planner.sql.printing.scalar_sql import MOST_FLAT
from forerun.planner.sql.syntax.dialect import parse
from forerun.planner.sql.syntax.text import QueryText
from tests.properties.engines import PlainSailEngine
from tests.properties.sessions import sail_session

pytestmark = pytest.mark.search
COLUMNS = (SourceColumn(name="a", type=BIGINT), SourceColumn(name="c", type=BIGINT))


def source(name: str) -> Source:
    return Source(name=name, columns=COLUMNS, changing=True, rows=1_000_000, bytes=10**8)


def planned(sql: str, *tables: str, method: str = "auto") -> str:
    request = PlanRequest(
        report="deep",
        sql=sql,
        sources=tuple(source(name) for name in tables or ("t",)),
        points=(TimePoint(weight=0.25, arrived=0.6), TimePoint(weight=1.0)),
        method=method,  # type: ignore[arg-type]
        settings=Settings(explore=200, tries=1, temporal="early" if method == "auto" else "cost"),
    )
    return "\n".join(stage.sql for stage in plan(request).plan.runs[-1].stages)


def chain(connective: str, count: int) -> str:
    return f" {connective} ".join(f"a <> {i}" for i in range(count))


def subqueries(count: int) -> str:
    query = "SELECT a, c FROM t"
    for i in range(count):
        query = f"SELECT a, c + 1 AS c FROM ({query}) s{i} WHERE a > {i}"
    return f"SELECT a, sum(c) AS s FROM ({query}) GROUP BY a"


def exists(count: int) -> str:
    query = "SELECT 1 FROM t WHERE a = 1"
    for i in range(count):
        query = f"SELECT 1 FROM t x{i} WHERE EXISTS ({query})"
    return f"SELECT a FROM t WHERE EXISTS ({query})"


def cases(count: int) -> str:
    value = "0"
    for i in range(count):
        value = f"CASE WHEN a = {i} THEN {i} ELSE {value} END"
    return f"SELECT sum({value}) AS s FROM t"


@pytest.mark.parametrize("connective", ["AND", "OR"])
def test_5000_conditions_are_one_flat_call(connective: str) -> None:
    sql = f"SELECT sum(c) AS s FROM t WHERE {chain(connective, 5000)}"
    text = planned(sql)
    assert text.count("<>") >= 5000
    assert max(_open_parentheses(text)) < 12, "the engine's parser has to follow"
    longest = max(part.count(f"{connective} ") for part in re.split(r"[()]", text))
    assert longest <= MOST_FLAT


def test_2000_branches_of_a_union_are_one_operator() -> None:
    sql = " UNION ALL ".join(f"SELECT a, {i} AS i FROM t" for i in range(2000))
    relation = read_query(sql, [source("t")]).relation
    assert isinstance(relation, UnionAll)
    assert len(relation.branches) == 2000
    assert planned(sql, method="batch") == sql


def test_a_distinct_union_of_many_removes_duplicates_once() -> None:
    sql = " UNION ".join(f"SELECT a, {i} AS i FROM t" for i in range(50))
    relation = read_query(sql, [source("t")]).relation
    assert isinstance(relation, Aggregate)
    assert isinstance(relation.input, UnionAll)
    assert len(relation.input.branches) == 50
    mixed = read_query(
        "SELECT a FROM t UNION SELECT a FROM t UNION ALL SELECT a FROM t", [source("t")]
    ).relation
    assert isinstance(mixed, UnionAll)
    assert len(mixed.branches) == 2, "what UNION ALL adds is not made distinct"


def test_300_joins() -> None:
    names = [f"t{i}" for i in range(301)]
    joins = " ".join(f"JOIN {name} ON t0.a = {name}.a" for name in names[1:])
    query = f"SELECT sum(t0.c) AS s FROM t0 {joins}"
    assert planned(query, *names, method="batch") == query
    # Equal trees that are not the same objects, so that comparing walks both.
    one, two = (read_query(query, [source(n) for n in names]).relation for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)


@pytest.mark.parametrize(
    "sql",
    [
        subqueries(60),
        exists(60),
        cases(60),
        f"SELECT a FROM t WHERE {'(' * 100}a = 1{')' * 100}",
        f"SELECT {'abs(' * 100}a{')' * 100} AS x FROM t",
        f"SELECT a FROM t WHERE {'NOT ' * 100}a = 1",
        f"SELECT sum({' + '.join(['a'] * 300)}) AS s FROM t",
    ],
    ids=["subqueries", "exists", "case", "parentheses", "calls", "not", "sum"],
)
def test_what_is_nested_is_planned(sql: str) -> None:
    assert planned(sql)


@pytest.mark.parametrize(
    ("nested", "limit"),
    [
        (lambda n: f"SELECT a FROM t WHERE {'(' * n}a = 1{')' * n}", MOST_LEVELS),
        (lambda n: f"SELECT {'abs(' * n}a{')' * n} AS x FROM t", MOST_LEVELS),
        (lambda n: f"SELECT a FROM t WHERE {'NOT ' * n}a = 1", MOST_LEVELS),
        (lambda n: f"SELECT {'- ' * n}a AS x FROM t", MOST_LEVELS),
        (lambda n: f"SELECT {'~ ' * n}a AS x FROM t", MOST_LEVELS),
        (subqueries, MOST_LEVELS),
        (exists, MOST_LEVELS),
        (cases, MOST_LEVELS),
        (lambda n: f"SELECT sum({' + '.join(['a'] * n)}) AS s FROM t", MOST_NESTED),
        (lambda n: f"SELECT {' || '.join(['c'] * n)} AS s FROM t", MOST_NESTED),
        (lambda n: " EXCEPT ".join(["SELECT a FROM t"] * n), MOST_LEVELS),
        (lambda n: " UNION SELECT 1 UNION ALL ".join(["SELECT a FROM t"] * n), MOST_LEVELS),
    ],
)
def test_what_is_deeper_is_refused(nested: Callable[[int], str], limit: int) -> None:
    with pytest.raises(TooDeepError) as caught:
        planned(nested(600))
    assert f"{limit:,} is the limit" in str(caught.value)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT a FROM t WHERE {chain('AND', MOST_CHAINED + 2)}",
        f"SELECT a FROM t WHERE NOT ({chain('OR', MOST_CHAINED + 2)})",
        " UNION ALL ".join(["SELECT a FROM t"] * (MOST_CHAINED + 2)),
        "SELECT 1 FROM t" + " CROSS JOIN t" * (MOST_CHAINED + 1),
    ],
    ids=["and", "or", "union", "join"],
)
def test_a_chain_that_no_engine_reads_is_refused(sql: str) -> None:
    with pytest.raises(TooLongError, match="more than 10,000 parts"):
        parse(QueryText(sql))


def test_parts_of_several_chains_are_not_added_up() -> None:
    tests = ", ".join(f"({chain('AND', MOST_CHAINED // 2)})" for _ in range(3))
    assert parse(QueryText(f"SELECT {tests} FROM t"))


def test_no_way_of_nesting_ends_in_a_recursion_error() -> None:
    """Also where nothing counts levels before they are read."""
    for opening, closing in (("STRUCT<x: ", ">"), ("ARRAY<", ">")):
        for count in (100, 1_500):
            with suppress(ForerunError):
                planned(f"SELECT CAST(a AS {opening * count}INT{closing * count}) FROM t")
    with pytest.raises(ForerunError):
        planned("SELECT a FROM t WHERE " + "a = (SELECT max(a) FROM t) + " * 1_500 + "1")


def test_where_frames_end_the_query_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever nobody has counted."""
    monkeypatch.setattr(nesting, "FRAMES", 0)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 200)
    try:
        with pytest.raises(TooDeepError):
            planned(subqueries(60))
    finally:
        sys.setrecursionlimit(limit)


def test_planning_does_not_depend_on_who_calls() -> None:
    """A worker has used most of its frames already; and its limit is what it was afterwards."""
    limit = sys.getrecursionlimit()

    def deeper(frames: int) -> str:
        return planned(subqueries(60)) if frames == 0 else deeper(frames - 1)

    assert deeper(limit - 200)
    assert sys.getrecursionlimit() == limit


def test_connected_calls_are_flat_and_equal_without_recursion() -> None:
    def tests(count: int) -> list[Call]:
        refs = (Ref(Column(ColumnId(i), "a", BIGINT)) for i in range(count))
        return [Call("isnull", (ref,), BOOLEAN) for ref in refs]

    parts = tests(5000)
    whole = connected("and", parts)
    assert isinstance(whole, Call)
    assert whole.depth == 2
    assert conjuncts(whole) == tuple(parts)
    assert whole == connected("and", tests(5000))
    assert whole != connected("and", tests(4999))
    deep = other = Ref(Column(ColumnId(1), "a", BIGINT))
    for _ in range(MOST_NESTED):
        deep, other = (Call("neg", (value,), BIGINT) for value in (deep, other))
    assert deep == other
    with pytest.raises(TooDeepError):
        Call("neg", (deep,), BIGINT)


def test_reading_counts_levels_before_it_parses() -> None:
    with pytest.raises(TooDeepError, match="20,001 levels"):
        parse(QueryText("SELECT " + "(" * 20_001 + "1"))


def _open_parentheses(text: str) -> list[int]:
    depth, found = 0, [0]
    for char in text:
        depth += {"(": 1, ")": -1}.get(char, 0)
        found.append(depth)
    return found


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (f"SELECT a FROM deep WHERE {chain('AND', 600)}", [(1000,)]),
        (f"SELECT a FROM deep WHERE {' OR '.join(f'a = {i}' for i in range(400, 1001))}", None),
        (" UNION ALL ".join(["SELECT a FROM deep WHERE a = 1"] * 400), [(1,)] * 400),
    ],
    ids=["and", "or", "union"],
)
def test_what_is_printed_is_read_by_an_engine(sql: str, rows: list[tuple[int]] | None) -> None:
    """As the user writes it, Sail's parser would run out of stack and end the process."""
    session = sail_session()
    session.sql("SELECT 1L AS a, 2L AS c UNION ALL SELECT 1000L, 1L").createOrReplaceTempView(
        "deep"
    )
    text = to_sql(read_query(sql, [source("deep")]).relation)
    assert [tuple(row) for row in PlainSailEngine(session).query(text)] == (rows or [(1000,)])
