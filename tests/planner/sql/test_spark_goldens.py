"""Spark's own SQL tests: the answers that Spark's developers recorded, from our printed text.

The files are in the test jar of Spark SQL, which ``scripts/tpcds.sh`` fetches. Each query that both
of us accept runs on Sail as printed from the algebra, as bound and as normalized, and must give the
recorded rows, and the recorded types where we derive them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import Row

from forerun.planner.algebra.types import parse_type
from forerun.planner.errors import ForerunError
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import Query, read_query
from forerun.planner.sql.printing.printer import to_sql
from forerun.planner.tvr.signed import ColumnIds
from tests.benchmarks import tpcds
from tests.properties.sessions import sail_session
from tests.selection import need_all

pytestmark = pytest.mark.slow

_FILES = """
count cross-join cte cte-nested except except-all group-analytics group-by group-by-alias
group-by-filter group-by-ordinal grouping_set having inner-join intersect-all join-empty-relation
limit natural-join null-handling order-by order-by-alias order-by-nulls-ordering order-by-ordinal
outer-join pred-pushdown predicate-functions union using-join window window-with-aggregates
subquery/exists-subquery/exists-aggregate subquery/exists-subquery/exists-basic
subquery/exists-subquery/exists-cte subquery/exists-subquery/exists-having
subquery/exists-subquery/exists-in-join-condition
subquery/exists-subquery/exists-joins-and-set-ops
subquery/exists-subquery/exists-orderby-limit subquery/exists-subquery/exists-outside-filter
subquery/exists-subquery/exists-within-and-or subquery/in-subquery/in-basic
subquery/in-subquery/in-group-by subquery/in-subquery/in-having subquery/in-subquery/in-joins
subquery/in-subquery/in-multiple-columns
subquery/in-subquery/in-nullability subquery/in-subquery/in-order-by
subquery/in-subquery/in-set-operations subquery/in-subquery/in-subquery-in-join-condition
subquery/in-subquery/in-with-cte subquery/in-subquery/nested-not-in
subquery/in-subquery/not-in-group-by subquery/in-subquery/not-in-joins
subquery/in-subquery/not-in-unit-tests-multi-column
subquery/in-subquery/not-in-unit-tests-multi-column-literal
subquery/in-subquery/not-in-unit-tests-single-column
subquery/in-subquery/not-in-unit-tests-single-column-literal subquery/in-subquery/simple-in
subquery/scalar-subquery/scalar-subquery-count-bug
subquery/scalar-subquery/scalar-subquery-group-by
subquery/scalar-subquery/scalar-subquery-predicate
subquery/scalar-subquery/scalar-subquery-select
subquery/scalar-subquery/scalar-subquery-set-op subquery/subquery-offset
"""
FILES = tuple(_FILES.split())
"""The others are about functions, commands, settings, a LIMIT without order, or what we refuse."""

LEAST_EQUAL = 1700
KNOWN = (
    # A correlated ORDER BY t2c LIMIT 1 over a NULL: by NULLS FIRST it is the NULL, Spark has 12.
    re.compile(r"SELECT (DISTINCT )?t2c\s+FROM\s+t2\s+WHERE\s+t1b < t1d\s+ORDER BY t2c LIMIT 1"),
)
SEEN: Counter[str] = Counter()
_VIEW = re.compile(r"^create\s+(or\s+replace\s+)?(global\s+)?temp\w*\s+view\s+`?(\w+)", re.I)
_QUERY = re.compile(r"(--[^\n]*\n|\s)*\(?\s*(select|with|values|\()", re.I)


class Recorded(NamedTuple):
    """One statement of a file, its result's type, and its rows as text."""

    sql: str
    schema: str
    output: str

    @property
    def fails(self) -> bool:
        return '"errorClass"' in self.output or "org.apache.spark" in self.output

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.output.split("\n")] if self.output else []


def statements(path: Path) -> Iterator[Recorded]:
    for part in path.read_text().split("-- !query\n")[1:]:
        sql, _, rest = part.partition("\n-- !query schema\n")
        schema, _, output = rest.partition("\n-- !query output\n")
        yield Recorded(sql.strip(), schema.strip(), output.rstrip("\n"))


def define(session: Any, sql: str) -> Source | None:
    """Make the view of a CREATE VIEW; as a source, unless Sail cannot make it."""
    found = _VIEW.match(sql)
    if found is None:
        return None
    name = found[3]
    try:
        session.sql(_VIEW.sub(f"CREATE OR REPLACE TEMPORARY VIEW {name}", sql, count=1)).collect()
        fields = session.table(name).schema
    except Exception:  # noqa: BLE001  whatever Sail has against it: its queries are refused then
        return None
    return Source(
        name=name,
        columns=tuple(
            SourceColumn(name=f.name, type=parse_type(f.dataType.simpleString())) for f in fields
        ),
    )


def shown(value: object) -> str:
    """A cell as Spark's test writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime) and value.microsecond:
        return str(value).rstrip("0")
    if isinstance(value, Row):
        fields = value.asDict().items()
        return "{" + ",".join(f'"{name}":{_inside(field)}' for name, field in fields) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_inside(element) for element in value) + "]"
    return str(value)


def _inside(value: object) -> str:
    """A value inside of another one, where texts are quoted and NULL is called otherwise."""
    if isinstance(value, str):
        return f'"{value}"'
    return "null" if value is None else shown(value)


def is_same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return abs(float(one) - float(other)) <= 1e-6 * max(1.0, abs(float(one)))
    except ValueError:
        return False


def are_same(found: list[list[str]], recorded: list[list[str]]) -> bool:
    def key(row: list[str]) -> list[str]:
        return [re.sub(r"\.0+$", "", cell) for cell in row]

    pairs = list(zip(sorted(found, key=key), sorted(recorded, key=key), strict=False))
    return len(found) == len(recorded) and all(
        len(a) == len(b) and all(map(is_same, a, b)) for a, b in pairs
    )


def answer(session: Any, sql: str) -> list[list[str]] | None:
    try:
        return [[shown(value) for value in row] for row in session.sql(sql).collect()]
    except Exception:  # noqa: BLE001  what Sail refuses says nothing about us
        return None


def wrong_types(query: Query, schema: str) -> list[str]:
    """Columns whose type is not the recorded one; names with commas or brackets are not read."""
    inside = schema.removeprefix("struct<").removesuffix(">")
    parts = re.split(r",(?![^(]*\))", inside)
    if "<" in inside or len(parts) != len(query.relation.columns):
        return []
    pairs = zip(query.relation.columns, (part.rpartition(":")[2] for part in parts), strict=True)
    return [
        f"{column.name}: {column.type}, recorded {theirs}"
        for column, theirs in pairs
        if column.type.is_known and column.type != parse_type(theirs)
    ]


def problems(session: Any, query: Query, sources: tuple[Source, ...], case: Recorded) -> list[str]:
    found = wrong_types(query, case.schema)
    normal = normalize(query.relation, sources, ColumnIds(query.last_id))
    for relation in (query.relation, normal):
        rows = answer(session, to_sql(relation, names=query.names))
        if rows is None:
            SEEN["not run"] += 1
        elif are_same(rows, case.rows):
            SEEN["equal"] += 1
        else:
            plain = answer(session, case.sql)
            if plain is None or not are_same(rows, plain):
                found.append(f"{rows[:3]}, recorded {case.rows[:3]}")
            SEEN["Sail differs from Spark"] += 1
    return found


@pytest.fixture(scope="module")
def folder() -> Path:
    return tpcds.fetch() / "spark-sql-tests"


@pytest.mark.parametrize("name", FILES)
def test_answers_as_recorded(name: str, folder: Path) -> None:
    session, sources, wrong = sail_session(), {}, []
    for case in statements(folder / f"{name}.sql.out"):
        if (view := define(session, case.sql)) is not None:
            sources[view.name] = view
        if not _QUERY.match(case.sql) or case.fails or any(k.search(case.sql) for k in KNOWN):
            continue
        try:
            query = read_query(case.sql, sources.values())
        except ForerunError:
            SEEN["refused"] += 1
            continue
        found = problems(session, query, tuple(sources.values()), case)
        wrong += [f"{case.sql}\n  {problem}" for problem in found]
    assert not wrong, "\n\n".join(wrong)


def test_most_were_compared(request: pytest.FixtureRequest) -> None:
    """After the others: the comparison was not empty."""
    need_all(request, test_answers_as_recorded, len(FILES))
    assert SEEN["equal"] >= LEAST_EQUAL, SEEN
