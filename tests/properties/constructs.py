"""What a generated day is made of, to count how often each construct was tried."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from tests.properties.cases import Case, TableCase

_OF_TEXT = {
    "inner join": r"(?<!LEFT )(?<!RIGHT )(?<!FULL )\bJOIN\b",
    "outer join": r"\b(LEFT|RIGHT) JOIN\b",
    "full join": r"\bFULL JOIN\b",
    "grouping": r"\bGROUP BY\b",
    "grouping sets": r"\b(ROLLUP|CUBE|GROUPING SETS)\b",
    "distinct aggregate": r"\b(count|sum)\(DISTINCT\b",
    "FILTER": r"\bFILTER \(",
    "HAVING": r"\bHAVING\b",
    "SELECT DISTINCT": r"\bSELECT DISTINCT\b",
    "window": r"\bOVER \(",
    "UNION": r"\bUNION\b",
    "INTERSECT, EXCEPT": r"\b(INTERSECT|EXCEPT)\b",
    "EXISTS": r"\bEXISTS \(",
    "IN with a subquery": r"\bIN \(SELECT\b",
    "NOT IN with a subquery": r"\bNOT IN \(SELECT\b",
    "scalar subquery": r"(?<!IN )(?<!EXISTS )\(SELECT (DISTINCT|avg|max|sum|count)\b",
    "aggregate of an aggregate": r"\) q\b",
    "WITH, used twice": r"\bWITH w AS\b",
    "ORDER BY": r"\) ?ORDER BY|ORDER BY c\d",
    "LIMIT": r"\bLIMIT \d",
}
_LARGE = 1_000_000
_PATTERNS = {name: re.compile(pattern) for name, pattern in _OF_TEXT.items()}


def of_query(case: Case) -> Iterator[str]:
    """The constructs of the query and of how it is planned."""
    yield "kind " + re.sub(r"-\d.*", "", case.name)
    for name, pattern in _PATTERNS.items():
        if pattern.search(case.query.sql):
            yield name
    tables = re.findall(r"\b(?:FROM|JOIN) (t\d+)\b", case.query.sql)
    if len(tables) > len(set(tables)):
        yield "a table twice"
    growing = sum(case.tables[name].changing for name in set(tables))
    yield f"{growing} growing tables" if growing != 1 else "1 growing table"
    if case.early:
        yield "early work forced"
    if case.method != "auto":
        yield f"method {case.method}"
    if case.state_budget is not None:
        yield "a byte budget"
    yield f"{case.runs} runs"


def of_rows(case: Case) -> Iterator[str]:
    """The constructs of the rows and of how they arrive, of the tables that the query reads."""
    read = [
        table for name, table in case.tables.items() if re.search(rf"\b{name}\b", case.query.sql)
    ]
    found = {name for table in read for name in _of_table(table)}
    yield from sorted(found)


def _of_table(table: TableCase) -> Iterator[str]:
    values = [value for part in table.deliveries for row in part for value in row]
    if not values:
        yield "an empty table"
    if any(value is None for value in values):
        yield "NULL"
    if any(isinstance(value, float) and math.isnan(value) for value in values):
        yield "NaN"
    if any(_at_limit(value) for value in values):
        yield "a value at the limit of its type"
    rows = [repr(row) for part in table.deliveries for row in part]
    if len(set(rows)) < len(rows):
        yield "equal rows"
    if not table.changing:
        return
    sizes = [len(part) for part in table.deliveries]
    if sum(sizes) and 0 in sizes:
        yield "an empty delivery"
    if sizes[-1] * 2 > sum(sizes) > 0:
        yield "most rows come late"
    if any(table.withdrawn):
        yield "rows taken back"


def _at_limit(value: object) -> bool:
    if isinstance(value, str):
        return len(value) > 2
    if isinstance(value, date):
        return value.year in (1, 9999)
    return isinstance(value, int | Decimal) and abs(value) > _LARGE
