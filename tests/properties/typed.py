"""Random queries over columns of any type that rows are grouped, joined and sorted by: what they do
with a value is what they can do with one of every type."""

# ruff: noqa: E501 - lists of texts

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal

from tests.oracles.values import Row, Value
from tests.properties.cases import JoinClause, QueryCase, Select, TableCase

_MOMENT = datetime(2023, 12, 31, 21, 30)
_FLOATS = (0.0, -0.0, 1.5, float("nan"), -2.25, 3.0, float("inf"), 0.25, 7.0, -1.0)
_TEXTS = ("", "a", "ä", "a ", "A", "ab", "𝄞", "z", "b", "%")
_TYPES: dict[str, Callable[[int], Value]] = {
    "TIMESTAMP": lambda n: _MOMENT + timedelta(hours=7 * n, microseconds=n % 3),
    "TIMESTAMP_NTZ": lambda n: _MOMENT + timedelta(hours=5 * n, microseconds=n % 2),
    "DATE": lambda n: date(2024, 2, 27) + timedelta(days=n),
    "BOOLEAN": lambda n: n % 2 == 1,
    "BINARY": lambda n: bytes((n, 255 - n))[: n % 3],
    "FLOAT": lambda n: _FLOATS[n],
    "DOUBLE": lambda n: _FLOATS[n],
    "TINYINT": lambda n: n - 3,
    "SMALLINT": lambda n: 100 * n - 300,
    "BIGINT": lambda n: n * 10**17 - 10**17,
    "DECIMAL(38,10)": lambda n: Decimal(f"{n}{'0' * 20}.{'0' * 9}{n}"),
    "DECIMAL(20,0)": lambda n: Decimal(10**19 + n),
    "DECIMAL(4,2)": lambda n: Decimal(f"0.{n}0"),
    "STRING": lambda n: _TEXTS[n],
}
"""By type: a value for each of ten numbers."""
_NUMBERS = (0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 7.0, 100.0, -2.0, 4.0)
_KIN: tuple[dict[str, Callable[[int], Value]], ...] = (
    {
        "TINYINT": lambda n: int(_NUMBERS[n]), "SMALLINT": lambda n: int(_NUMBERS[n]),
        "INT": lambda n: int(_NUMBERS[n]), "BIGINT": lambda n: int(_NUMBERS[n]),
        "FLOAT": lambda n: _NUMBERS[n], "DOUBLE": lambda n: _NUMBERS[n],
        "DECIMAL(5,1)": lambda n: Decimal(str(_NUMBERS[n])),
        "DECIMAL(20,0)": lambda n: Decimal(int(_NUMBERS[n])),
        "DECIMAL(38,10)": lambda n: Decimal(f"{_NUMBERS[n]:.10f}"),
        "STRING": lambda n: str(int(_NUMBERS[n])),
    },
    {
        "DATE": lambda n: date(2024, 2, 25 + n // 2),
        "TIMESTAMP": lambda n: datetime(2024, 2, 25 + n // 2, 6 * (n % 2)),
        "TIMESTAMP_NTZ": lambda n: datetime(2024, 2, 25 + n // 2, 6 * (n % 2)),
        "STRING": lambda n: str(date(2024, 2, 25 + n // 2)),
    },
)  # fmt: skip
"""Types that Spark compares with one another: by type, a value for each of ten numbers."""
TYPED = ("k", "g", "x", "d")
_PLACE = {"k": 0, "g": 1, "n": 2, "m": 3, "x": 4, "d": 5}


def retyped(rng: random.Random, tables: dict[str, TableCase]) -> dict[str, TableCase]:
    """The tables with other types of the columns that are no numbers to count with: those of a name
    are of one type in all tables."""
    made = {name: rng.choice(tuple(_TYPES.items())) for name in TYPED}
    return {name: of_types(table, made) for name, table in tables.items()}


def mixed(rng: random.Random, tables: dict[str, TableCase]) -> dict[str, TableCase]:
    """The tables with columns of a name that Spark compares although they are of other types."""
    kin = {name: tuple(rng.choice(_KIN).items()) for name in TYPED}
    return {
        name: of_types(table, {column: rng.choice(kin[column]) for column in TYPED})
        for name, table in tables.items()
    }


def of_types(table: TableCase, made: Mapping[str, tuple[str, Callable[[int], Value]]]) -> TableCase:
    """The table with other types of some columns: for each its type, and what makes a value of one
    of ten numbers."""

    def row(old: Row) -> Row:
        new = list(old)
        for name, (_, value_of) in made.items():
            value = old[_PLACE[name]]
            new[_PLACE[name]] = None if value is None else value_of(_number(value))
        return tuple(new)

    def parts(old: tuple[tuple[Row, ...], ...]) -> tuple[tuple[Row, ...], ...]:
        return tuple(tuple(map(row, part)) for part in old)

    types = {name: type_ for name, (type_, _) in made.items()}
    return replace(
        table,
        said=10_000,  # joins by a BOOLEAN make more rows than there can be of a million
        columns=tuple((column, types.get(column, type_)) for column, type_ in table.columns),
        deliveries=parts(table.deliveries),
        withdrawn=parts(table.withdrawn),
    )


def _number(value: Value) -> int:
    """One of ten numbers for a value, the same for equal ones."""
    if isinstance(value, date):
        return value.toordinal() % 10
    return sum(str(value).encode()) % 10


def typed_query(rng: random.Random, tables: list[str]) -> QueryCase:
    return rng.choice((_flat, _grouped, _grouped, _set, _ranked, _asked, _limited))(rng, tables)


def mixed_query(rng: random.Random, tables: list[str]) -> QueryCase:
    """A query over columns of any type; now and then with what tells the type of its first column:
    that, and the column as a text."""
    query = typed_query(rng, tables)
    if query.outer != "{0}" or query.order or rng.random() < 0.6:
        return query
    told = rng.choice(
        ("typeof(c0) AS t, ", "CAST(c0 AS STRING) AS t, ", "to_json(struct(c0)) AS t, ")
    )
    return replace(query, outer=f"SELECT {told}q.* FROM ({{0}}) q")


def _from(rng: random.Random, tables: list[str]) -> Select:
    aliases = ["a", "b", "c"][: rng.choice((1, 2, 2, 3))]
    joins = []
    for place, alias in enumerate(aliases[1:], 1):
        other, key = rng.choice(aliases[:place]), rng.choice(TYPED)
        on = [f"{other}.{key} {rng.choice(('=', '=', '=', '<=>'))} {alias}.{key}"]
        if rng.random() < 0.2:
            name = rng.choice(TYPED)
            on.append(f"{other}.{name} {rng.choice(('<', '>=', '<>'))} {alias}.{name}")
        kind = rng.choice(("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "FULL JOIN"))
        joins.append(JoinClause(kind, f"{rng.choice(tables)} {alias}", tuple(on)))
    where = (_condition(rng, aliases),) if rng.random() < 0.4 else ()
    return Select((), f"{rng.choice(tables)} a", tuple(joins), where)


def _aliases(select: Select) -> list[str]:
    return ["a", *(join.table.split()[-1] for join in select.joins)]


def _pair(rng: random.Random, aliases: list[str]) -> tuple[str, str]:
    name = rng.choice(TYPED)
    return f"{rng.choice(aliases)}.{name}", f"{rng.choice(aliases)}.{name}"


def _condition(rng: random.Random, aliases: list[str]) -> str:
    one, other = _pair(rng, aliases)
    return rng.choice((
        f"{one} {rng.choice(('=', '<', '<>', '<=', '<=>'))} {other}", f"{one} IS NOT NULL", f"{one} IS NULL",
        f"{one} IN ({other}, {rng.choice(aliases)}.{one[2:]})", f"a.n > {rng.randint(-1, 4)}",
        f"NOT ({one} <=> {other})", f"{one} = (SELECT max(z.{one[2:]}) FROM t0 z)",
    ))  # fmt: skip


def _value(rng: random.Random, aliases: list[str]) -> str:
    one, other = _pair(rng, aliases)
    return rng.choice((
        one, one, one, f"{one} IS NULL", f"{one} < {other}", f"CASE WHEN a.n > 1 THEN {one} END",
        f"coalesce({one}, {other})", f"greatest({one}, {other})", f"nullif({one}, {other})",
        f"struct({one}, a.n)", f"array({one}, {other})", f"if({one} = {other}, a.n, a.m)", f"least({one}, {other})",
    ))  # fmt: skip


def _call(rng: random.Random, aliases: list[str]) -> str:
    one, other = _pair(rng, aliases)
    return rng.choice((
        "count(*)", f"count({one})", f"count(DISTINCT {one})", f"min({one})", f"max({one})", "sum(a.n)", "avg(a.m)",
        f"max_by({one}, struct({one}, a.n))", f"min(struct({other}, a.n))", f"sum(a.n) FILTER (WHERE {one} < {other})",
        f"bool_or({one} <=> {other})", f"approx_count_distinct({one})", f"sort_array(collect_set({one}))",
        f"array_sort(collect_list({one}))", f"count(DISTINCT {one}, {other}, a.n)", f"max({one}) = min({other})",
        f"max(coalesce({one}, {other}))", f"sum(CASE WHEN {one} = {other} THEN a.m ELSE 0 END)",
    ))  # fmt: skip


def _flat(rng: random.Random, tables: list[str]) -> QueryCase:
    select = _from(rng, tables)
    items = tuple(_value(rng, _aliases(select)) for _ in range(rng.randint(1, 3)))
    return QueryCase((replace(select, items=items, distinct=rng.random() < 0.4),))


def _grouped(rng: random.Random, tables: list[str]) -> QueryCase:
    select = _from(rng, tables)
    aliases = _aliases(select)
    group = tuple(dict.fromkeys(_value(rng, aliases) for _ in range(rng.choice((0, 1, 1, 2)))))
    calls = tuple(_call(rng, aliases) for _ in range(rng.randint(1, 3)))
    one, other = _pair(rng, aliases)
    having = (
        (rng.choice((f"max({one}) > min({other})", "count(*) > 1")),) if rng.random() < 0.2 else ()
    )
    grouped = replace(select, items=(*group, *calls), group=group, having=having)
    outer = rng.choice(("{0}", "{0}", "SELECT c0, count(*) AS r FROM ({0}) q GROUP BY c0"))
    return QueryCase((grouped,), outer=outer)


def _set(rng: random.Random, tables: list[str]) -> QueryCase:
    names = rng.sample(TYPED, rng.randint(1, 2))
    selects = []
    for _ in range(2):
        select = _from(rng, tables)
        items = tuple(f"{rng.choice(_aliases(select))}.{name}" for name in names)
        selects.append(replace(select, items=items))
    words = ("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
    outer = rng.choice(("{0}", "SELECT c0, count(*) AS r FROM ({0}) q GROUP BY c0"))
    return QueryCase(tuple(selects), rng.choice(words), outer)


def _ranked(rng: random.Random, tables: list[str]) -> QueryCase:
    select = _from(rng, tables)
    items = tuple(f"a.{name}" for name in ("k", "g", "x", "d", "n"))
    by, order = rng.choice(TYPED), rng.choice(TYPED)
    whole = ", ".join(
        f"{item} {rng.choice(('DESC', '', 'NULLS LAST'))}" for item in rng.sample(items, 5)
    )
    call = rng.choice((
        f"rank() OVER (PARTITION BY a.{by} ORDER BY a.{order} DESC)", f"count(*) OVER (PARTITION BY a.{by})",
        f"row_number() OVER (PARTITION BY a.{by} ORDER BY {whole})", f"max(a.{order}) OVER (PARTITION BY a.{by})",
        f"lag(a.{order}) OVER (PARTITION BY a.{by} ORDER BY {whole})", f"dense_rank() OVER (ORDER BY a.{order})",
        f"first_value(a.{order}) OVER (PARTITION BY a.{by} ORDER BY {whole})",
        f"sum(a.n) OVER (PARTITION BY a.{by} ORDER BY a.{order})",
    ))  # fmt: skip
    inner = replace(select, items=(*items, call))
    shown = rng.choice(("*", "c0, c5", "c1, count(*) AS r, max(c5) AS s"))
    grouped = " GROUP BY c1" if "count" in shown else ""
    counts = not call.startswith(("lag", "max", "first_value"))
    where = f" WHERE c5 {rng.choice(('= 1', '<= 2'))}" if counts and rng.random() < 0.5 else ""
    return QueryCase((inner,), outer=f"SELECT {shown} FROM ({{0}}) w{where}{grouped}")


def _asked(rng: random.Random, tables: list[str]) -> QueryCase:
    select = _from(rng, tables)
    name, other, table = rng.choice(TYPED), rng.choice(TYPED), rng.choice(tables)
    negated = rng.choice(("", "NOT "))
    asked = rng.choice((
        f"a.{name} {negated}IN (SELECT z.{name} FROM {table} z)",
        f"{negated}EXISTS (SELECT 1 FROM {table} z WHERE z.{name} = a.{name} AND z.{other} < a.{other})",
        f"a.{name} {rng.choice(('=', '<', '>='))} (SELECT max(z.{name}) FROM {table} z WHERE z.{other} = a.{other})",
        f"(a.{name}, a.n) {negated}IN (SELECT z.{name}, z.n FROM {table} z)",
    ))  # fmt: skip
    items = tuple(_value(rng, _aliases(select)) for _ in range(rng.randint(1, 2)))
    if rng.random() < 0.4:
        items = (*items, f"max(a.{other})")
        return QueryCase(
            (replace(select, items=items, where=(*select.where, asked), group=items[:-1]),)
        )
    return QueryCase((replace(select, items=items, where=(*select.where, asked)),))


def _limited(rng: random.Random, tables: list[str]) -> QueryCase:
    select = _from(rng, tables)
    names = rng.sample(TYPED, rng.randint(1, 3))
    items = tuple(f"{rng.choice(_aliases(select))}.{name}" for name in names)
    keys = tuple(rng.sample(range(len(items)), rng.randint(1, len(items))))
    order = ", ".join(f"c{key}{rng.choice(('', ' DESC', ' NULLS LAST'))}" for key in keys)
    limit = rng.choice((1, 3, 10))
    return QueryCase((replace(select, items=items),), order=order, limit=limit, sort_keys=keys)
