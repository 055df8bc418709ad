"""Random queries in the supported subset, as Spark SQL text in droppable clauses.

Every case is a function of its seed. Doubles are dyadic fractions, so their sums are exact and no
comparison hangs on rounding; LIMIT orders by all columns, or is checked as a choice among ties.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tests.properties.cases import Case, JoinClause, QueryCase, Select, TableCase
from tests.properties.data import in_deliveries, random_tables, with_withdrawals, without_nan
from tests.properties.readers import readers_query
from tests.properties.typed import mixed, mixed_query, retyped, typed_query
from tests.properties.zoned import zoned, zoned_query

NUMBERS, ALL = ("k", "n", "m", "x"), ("k", "g", "n", "m", "x", "d")
EXACT = ("k", "g", "n", "m", "d")


def random_case(seed: int, family: str = "", *, for_sail: bool = False) -> Case:
    """The case with this seed; ``family`` restricts the kind of query.

    ``for_sail``: without what Sail's plain query gets wrong, while Spark and the interpreter get
    it: its minimum of NaN depends on the order of the rows, and its INTERSECT ALL is a semi join,
    so that a row that is twice on the left and once on the right comes out twice.
    """
    rng = random.Random(f"case-{seed}")
    runs = rng.choice((2, 3, 3, 4))
    tables = random_tables(rng, rng.choice((1, 2, 2, 3, 3, 4)), runs)
    kind = family or rng.choice(tuple(KINDS))
    query = (KINDS | APART)[kind](rng, sorted(tables))
    if kind == "typed":
        tables = retyped(rng, tables)
    if kind == "mixed":
        tables = mixed(rng, tables)
    zone = "UTC"
    if kind == "zoned":
        zone, tables = zoned(rng, tables)
    if for_sail:
        query = replace(query, combine=query.combine.replace("INTERSECT ALL", "INTERSECT"))
        if "min(" in query.sql or "max(" in query.sql:
            tables = {name: without_nan(table) for name, table in tables.items()}
    few = runs if seed % 4 == 1 else min(runs, _most_runs(query))
    tables = {name: in_deliveries(table, few) for name, table in tables.items()}
    return Case(f"{kind}-{seed}", tables, query, few, early=rng.random() < 0.5, time_zone=zone)


def _most_runs(query: QueryCase) -> int:
    """How many runs most days of a query have. Of queries with many joins a day of four runs takes
    as long to plan as five others, and its later runs are planned as the second one is."""
    joins = sum(len(select.joins) for select in query.selects) + query.sql.count("(SELECT")
    return 4 if joins < 2 else 3 if joins == 2 else 2


def changelog_case(seed: int, family: str = "", *, for_sail: bool = False) -> Case:
    """A random case in which one of the tables that grow takes rows back, or all of them do;
    ``family`` restricts the kind of query."""
    case = random_case(seed, family, for_sail=for_sail)
    rng = random.Random(f"withdrawals-{seed}")
    growing = sorted(name for name, table in case.tables.items() if table.changing)
    chosen = growing if rng.random() < 0.5 else [rng.choice(growing)]
    changed = {name: with_withdrawals(rng, case.tables[name]) for name in chosen}
    return replace(case, name=f"changelog-{case.name}", tables=case.tables | changed)


def completing_case(seed: int, *, for_sail: bool = False) -> Case:
    """A random case in which some of the tables that grow are complete before the day is over; of
    some that is forecast, of some it is not, and of some it is forecast too early. Tables that do
    not grow are said to be large."""
    case = (changelog_case if seed % 3 == 0 else random_case)(seed, for_sail=for_sail)
    rng = random.Random(f"complete-{seed}")
    tables, forecast = dict(case.tables), []
    for name, table in sorted(case.tables.items()):
        if not table.changing:
            tables[name] = replace(table, said=200_000_000)
        if not table.changing or rng.random() < 0.3:
            continue
        whole = rng.randint(1, case.runs)
        tables[name] = _complete_from(table, whole)
        if rng.random() < 0.7:
            forecast.append((name, max(1, whole - (rng.random() < 0.3))))
    name = f"complete-{case.name}"
    return replace(case, name=name, tables=tables, complete=tuple(forecast))


def _complete_from(table: TableCase, run: int) -> TableCase:
    """The same table with all of its later deliveries in that of this run; nothing is taken back
    after it."""
    late = [row for delivery in table.deliveries[run:] for row in delivery]
    nothing = ((),) * len(table.deliveries[run:])
    first = (*table.deliveries[: run - 1], (*table.deliveries[run - 1], *late))
    gone = (*table.withdrawn[:run], *nothing) if table.withdrawn else ()
    return replace(table, deliveries=(*first, *nothing), withdrawn=gone)


def _value(rng: random.Random, alias: str) -> str:
    """A deterministic expression over one row that cannot fail."""
    return rng.choice(
        (
            *(f"{alias}.{c}" for c in ALL),
            f"{alias}.n + 1",
            f"{alias}.n * {alias}.n",
            f"{alias}.m * 2",
            f"1 - {alias}.m",
            f"coalesce({alias}.n, -1)",
            f"CASE WHEN {alias}.n > 1 THEN 'big' WHEN {alias}.n IS NULL THEN NULL ELSE 'small' END",
            f"upper({alias}.g)",
            f"concat({alias}.g, 'z')",
            f"substring({alias}.g, 1, 1)",
            f"year({alias}.d)",
            f"{alias}.d + INTERVAL 1 DAY",
            f"abs({alias}.n)",
            f"CAST({alias}.n AS DECIMAL(12,3))",
            f"CAST({alias}.m AS DOUBLE)",
            f"if({alias}.x > 0, {alias}.k, NULL)",
        )
    )


def _predicate(rng: random.Random, alias: str) -> str:
    return rng.choice(
        (
            f"{alias}.n > {rng.randint(-2, 4)}",
            f"{alias}.m >= {rng.choice(('0', '1.10', '-2.35'))}",
            f"{alias}.x <= 1.5D",
            f"{alias}.x = double('NaN')",
            f"{alias}.x <> 0D",
            f"{alias}.g IN ('a', 'b')",
            f"{alias}.g NOT IN ('c', '')",
            f"{alias}.g LIKE 'a%'",
            f"{alias}.k IS NOT NULL",
            f"{alias}.n IS NULL",
            f"{alias}.d BETWEEN DATE '2024-01-30' AND DATE '2024-02-01'",
            f"({alias}.n > 2 OR {alias}.g = 'a')",
            f"NOT ({alias}.n = 1)",
            f"{alias}.n <=> {alias}.k",
        )
    )


def _pair(rng: random.Random, left: str, right: str) -> str:
    """A condition between two aliases that is no equality."""
    return rng.choice(
        (
            f"{left}.n < {right}.n",
            f"{left}.n <> {right}.n",
            f"{left}.m >= {right}.m",
            f"{left}.d <= {right}.d",
            f"{left}.n + {right}.n > 2",
        )
    )


def _from(
    rng: random.Random, tables: list[str], kinds: tuple[str, ...], most: int = 3
) -> tuple[str, tuple[JoinClause, ...], list[str]]:
    """A chain of joins over aliases a, b, c, d; tables may repeat (self-joins)."""
    aliases = ["a", "b", "c", "d"][: rng.randint(1, most + 1)]
    first = rng.choice(tables)
    joins = []
    for i, alias in enumerate(aliases[1:], 1):
        other = rng.choice(aliases[:i])
        key = rng.choice(("k", "k", "k", "n", "g"))
        on = [f"{other}.{key} = {alias}.{key}"]
        if rng.random() < 0.15:
            on.append(f"{other}.g = {alias}.g")
        if rng.random() < 0.35:
            on.append(_pair(rng, other, alias))
        if rng.random() < 0.25:
            on.append(_predicate(rng, rng.choice((other, alias))))
        joins.append(JoinClause(rng.choice(kinds), f"{rng.choice(tables)} {alias}", tuple(on)))
    return f"{first} a", tuple(joins), aliases


def _where(rng: random.Random, aliases: list[str]) -> tuple[str, ...]:
    return tuple(_predicate(rng, rng.choice(aliases)) for _ in range(rng.choice((0, 0, 1, 1, 2))))


def _items(rng: random.Random, aliases: list[str], most: int = 4) -> tuple[str, ...]:
    return tuple(_value(rng, rng.choice(aliases)) for _ in range(rng.randint(1, most)))


def _flat(rng: random.Random, tables: list[str], kinds: tuple[str, ...]) -> Select:
    table, joins, aliases = _from(rng, tables, kinds)
    return Select(_items(rng, aliases), table, joins, _where(rng, aliases))


def _aggregate(rng: random.Random, aliases: list[str], *, distinct: bool = True) -> str:
    alias = rng.choice(aliases)
    number = f"{alias}.{rng.choice(NUMBERS)}"
    anything = f"{alias}.{rng.choice(ALL)}"
    choices = [
        "count(*)", f"count({anything})", f"sum({number})", f"avg({number})", f"min({anything})",
        f"max({anything})", f"sum({alias}.n) + count(*)", f"sum({alias}.m * (1 - {alias}.m))",
        f"sum(CASE WHEN {alias}.g = 'a' THEN {alias}.n ELSE 0 END)",
        f"count(*) FILTER (WHERE {alias}.n > 0)", f"sum({alias}.m) FILTER (WHERE {alias}.g = 'b')",
        f"coalesce(sum({number}), 0)", f"avg({alias}.n) * 2", f"max({alias}.n) - min({alias}.n)",
    ]  # fmt: skip
    if distinct:
        choices += [f"count(DISTINCT {anything})", f"sum(DISTINCT {alias}.n)"]
    if rng.random() < 0.05:
        return f"stddev({alias}.n)"
    return rng.choice(choices)


def _grouped(rng: random.Random, tables: list[str], kinds: tuple[str, ...]) -> Select:
    table, joins, aliases = _from(rng, tables, kinds)
    group = tuple(
        dict.fromkeys(
            rng.choice((f"{a}.{rng.choice(ALL)}", f"substring({a}.g, 1, 1)"))
            for a in rng.choices(aliases, k=rng.choice((0, 1, 1, 1, 2)))
        )
    )
    calls = tuple(_aggregate(rng, aliases) for _ in range(rng.randint(1, 3)))
    having = ()
    if rng.random() < 0.3:
        alias = rng.choice(aliases)
        having = (
            rng.choice(
                ("count(*) > 1", f"sum({alias}.n) > 2", f"min({alias}.n) < 3", "count(*) < 4")
            ),
        )
    return Select((*group, *calls), table, joins, _where(rng, aliases), group, having)


INNER = ("JOIN",)
OUTER = ("LEFT JOIN", "LEFT JOIN", "JOIN")
FULL = ("FULL JOIN", "FULL JOIN", "LEFT JOIN", "RIGHT JOIN")


def _kind_flat(rng: random.Random, tables: list[str]) -> QueryCase:
    return QueryCase((_flat(rng, tables, INNER),))


def _kind_outer(rng: random.Random, tables: list[str]) -> QueryCase:
    return QueryCase((_flat(rng, tables, OUTER),))


def _kind_full(rng: random.Random, tables: list[str]) -> QueryCase:
    make = rng.choice((_flat, _flat, _grouped))
    return QueryCase((make(rng, tables, FULL),))


def _kind_grouped(rng: random.Random, tables: list[str]) -> QueryCase:
    return QueryCase((_grouped(rng, tables, INNER),))


def _kind_outer_grouped(rng: random.Random, tables: list[str]) -> QueryCase:
    return QueryCase((_grouped(rng, tables, OUTER),))


def _kind_partners(rng: random.Random, tables: list[str]) -> QueryCase:
    """A left join by equalities below functions that read both of its sides."""
    one, other = rng.choice(("ab", "ba"))
    mixed = (
        f"sum(CASE WHEN {other}.n IS NULL THEN {one}.m ELSE -{other}.m END)",
        f"sum(coalesce({other}.m, {one}.m))",
        f"sum(if({other}.g = 'a', {one}.n, {other}.n))",
        f"count(CASE WHEN {other}.n > 1 THEN {one}.g WHEN {one}.k = 1 THEN {other}.g END)",
        f"sum(coalesce({other}.m, 0)) + sum({one}.m)",
        f"sum(if({other}.k IS NULL, {one}.m, 1.5)) - count(*)",
        f"min(coalesce({other}.n, 7)) + max({one}.n)",
    )
    calls = tuple(rng.sample(mixed, rng.randint(1, 2)))
    group = rng.choice((("a.g",), ("a.k",), ("b.g", "a.k"), ()))
    key = rng.choice(("k", "k", "g"))
    joins = (JoinClause("LEFT JOIN", f"{rng.choice(tables)} b", (f"a.{key} = b.{key}",)),)
    having = ("count(*) > 1",) if rng.random() < 0.2 else ()
    where = (_predicate(rng, "a"),) if rng.random() < 0.3 else ()
    return QueryCase(
        (Select((*group, *calls), f"{rng.choice(tables)} a", joins, where, group, having),)
    )


def _kind_distinct(rng: random.Random, tables: list[str]) -> QueryCase:
    flat = _flat(rng, tables, rng.choice((INNER, OUTER)))
    return QueryCase((Select(flat.items, flat.table, flat.joins, flat.where, distinct=True),))


def _typed_select(rng: random.Random, tables: list[str], columns: tuple[str, ...]) -> Select:
    """A select whose output has the types of the given columns, so that branches fit."""
    table, joins, aliases = _from(rng, tables, rng.choice((INNER, OUTER)), most=1)
    items = tuple(f"{rng.choice(aliases)}.{c}" for c in columns)
    if rng.random() < 0.3:
        return Select(items, table, joins, _where(rng, aliases), items)
    return Select(items, table, joins, _where(rng, aliases))


def _kind_union(rng: random.Random, tables: list[str]) -> QueryCase:
    columns = tuple(rng.sample(ALL, rng.randint(1, 3)))
    selects = tuple(_typed_select(rng, tables, columns) for _ in range(rng.randint(2, 3)))
    outer = "{0}"
    if rng.random() < 0.5:
        call = rng.choice(("count(*)", "count(c0)", "min(c0)", "max(c0)"))
        outer = f"SELECT c0, {call} AS r FROM ({{0}}) u GROUP BY c0"
    return QueryCase(selects, rng.choice(("UNION ALL", "UNION ALL", "UNION")), outer)


def _kind_set(rng: random.Random, tables: list[str]) -> QueryCase:
    columns = tuple(rng.sample(EXACT, rng.randint(1, 2)))
    selects = tuple(_typed_select(rng, tables, columns) for _ in range(2))
    operator = rng.choice(("INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"))
    return QueryCase(selects, operator)


def _subquery(rng: random.Random, tables: list[str], alias: str) -> str:
    """A predicate on ``alias`` with a subquery over ``z``."""
    table, where = rng.choice(tables), ""
    if rng.random() < 0.5:
        where = f" AND {_predicate(rng, 'z')}"
    match = f"z.k = {alias}.k"
    extra = f" AND {_pair(rng, alias, 'z')}" if rng.random() < 0.25 else ""
    negated = rng.choice(("", "NOT "))
    plain = f" WHERE {_predicate(rng, 'z')}" if rng.random() < 0.5 else ""
    return rng.choice(
        (
            f"{negated}EXISTS (SELECT 1 FROM {table} z WHERE {match}{extra}{where})",
            f"{negated}EXISTS (SELECT 1 FROM {table} z WHERE {match}{where})",
            f"{alias}.k {negated}IN (SELECT z.k FROM {table} z{plain})",
            f"{alias}.n {negated}IN (SELECT z.n FROM {table} z WHERE {match}{where})",
            f"{alias}.n > (SELECT avg(z.n) FROM {table} z{plain})",
            f"{alias}.n >= (SELECT max(z.n) FROM {table} z WHERE {match}{where})",
            f"(SELECT count(*) FROM {table} z WHERE {match}{where}) > 1",
            f"{alias}.m < (SELECT sum(z.m) FROM {table} z WHERE {match})",
        )
    )


def _kind_subquery(rng: random.Random, tables: list[str]) -> QueryCase:
    make = rng.choice((_flat, _grouped))
    select = make(rng, tables, rng.choice((INNER, OUTER)))
    alias = "a"
    where = (*select.where, _subquery(rng, tables, alias))
    return QueryCase(
        (Select(select.items, select.table, select.joins, where, select.group, select.having),)
    )


def _kind_nested(rng: random.Random, tables: list[str]) -> QueryCase:
    """An aggregate of an aggregate, as the distribution of customers by their orders."""
    select = _grouped(rng, tables, rng.choice((INNER, OUTER)))
    last = len(select.items) - 1
    outer = rng.choice(
        (
            f"SELECT c{last}, count(*) AS r FROM ({{0}}) q GROUP BY c{last}",
            f"SELECT count(*) AS r, min(c{last}) AS lo, max(c{last}) AS hi FROM ({{0}}) q",
            f"SELECT c0, count(*) AS r, max(c{last}) AS s FROM ({{0}}) q GROUP BY c0",
            f"SELECT c0 AS r, c{last} AS s FROM ({{0}}) q WHERE c{last} IS NOT NULL",
        )
    )
    if "avg(" in select.items[last] or "stddev" in select.items[last]:
        outer = f"SELECT count(*) AS r, count(c{last}) AS s FROM ({{0}}) q"
    return QueryCase((select,), outer=outer)


def _kind_limit(rng: random.Random, tables: list[str]) -> QueryCase:
    make = rng.choice((_flat, _grouped))
    select = make(rng, tables, rng.choice((INNER, OUTER)))
    # Doubles that are computed may differ in the last bit and decide a cut: sort by the rest.
    usable = [i for i, item in enumerate(select.items) if not _is_double(item)]
    if not usable:
        return QueryCase((select,))
    keys = tuple(rng.sample(usable, rng.randint(1, len(usable))))
    directions = [rng.choice(("", " DESC", " NULLS LAST", " DESC NULLS FIRST")) for _ in keys]
    order = ", ".join(f"c{k}{d}" for k, d in zip(keys, directions, strict=True))
    limit = rng.choice((None, 0, 1, 3, 5, 10))
    return QueryCase((select,), order=order, limit=limit, sort_keys=keys)


def _is_double(item: str) -> bool:
    return "avg(" in item or ".x" in item or "DOUBLE" in item or "stddev" in item


def _kind_window(rng: random.Random, tables: list[str]) -> QueryCase:
    select = _flat(rng, tables, rng.choice((INNER, OUTER)))
    keys = f"PARTITION BY a.{rng.choice(ALL)}" if rng.random() < 0.7 else ""
    call = rng.choice(
        (
            f"rank() OVER ({keys} ORDER BY a.n)",
            f"dense_rank() OVER ({keys} ORDER BY a.m DESC)",
            f"sum(a.n) OVER ({keys})",
            f"sum(a.m) OVER ({keys} ORDER BY a.n)",
            f"count(*) OVER ({keys})",
            f"max(a.d) OVER ({keys} ORDER BY a.k)",
            f"avg(a.n) OVER ({keys})",
        )
    )
    return QueryCase((Select((*select.items, call), select.table, select.joins, select.where),))


def _kind_ranked(rng: random.Random, tables: list[str]) -> QueryCase:
    """The first rows of each partition. Rows are numbered in an order that tells all of them apart
    but equal ones; ranks tie. Sometimes a window stands beside that needs the other rows, too."""
    select = _flat(rng, tables, rng.choice((INNER, OUTER)))
    items = [f"{item}{rng.choice(('', ' DESC', ' NULLS LAST'))}" for item in select.items]
    keys = f"PARTITION BY a.{rng.choice(ALL)}" if rng.random() < 0.8 else ""
    some = rng.choice(("a.n", "a.m DESC", "a.d NULLS LAST, a.k", "a.x DESC NULLS FIRST"))
    name, order = rng.choice(
        (("row_number", ", ".join(items)), ("rank", some), ("dense_rank", some))
    )
    calls = [f"{name}() OVER ({keys} ORDER BY {order})"]
    if rng.random() < 0.3:
        beside = rng.choice(("rank()", "dense_rank()", "count(*)"))
        calls.append(f"{beside} OVER ({keys} ORDER BY {order})")
    number = f"c{len(items)}"
    most = rng.choice(("= 1", "<= 2", "< 3", "IN (1, 3)", "BETWEEN 2 AND 3", "<= 0", "> 1"))
    what = rng.choice(("*", "*", "c0", f"c0, {number}", f"c0, count(*) AS n, max({number}) AS m"))
    grouped = " GROUP BY c0" if "count" in what else ""
    inner = replace(select, items=(*select.items, *calls))
    outer = f"SELECT {what} FROM ({{0}}) w WHERE w.{number} {most}{grouped}"
    return QueryCase((inner,), outer=outer)


def _kind_changed(rng: random.Random, tables: list[str]) -> QueryCase:
    """Windows over rows and what stands above them partition by partition: filters, windows over
    windows, groups of partitions. Rows are put in an order that tells all of them apart but equal
    ones, or their values do not depend on which of them comes first."""
    select = _flat(rng, tables, rng.choice((INNER, OUTER)))
    by = [f"a.{name}" for name in rng.sample(ALL, rng.choice((1, 1, 2)))]
    items = (*by, *select.items)
    order = ", ".join(f"{item}{rng.choice(('', ' DESC', ' NULLS LAST'))}" for item in items)
    parts = rng.choice((by, by, by[:1], [*by, "a.g"]))
    over = f"(PARTITION BY {', '.join(parts)} ORDER BY {order}, a.k, a.n, a.d"
    calls = rng.sample(
        (
            f"row_number() OVER {over})",
            f"lag(a.n) OVER {over})",
            f"lead(a.k, 2) OVER {over})",
            f"sum(a.n) OVER {over} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
            f"first_value(a.d) OVER {over})",
            f"rank() OVER (PARTITION BY {by[0]} ORDER BY a.n)",
            f"count(*) OVER (PARTITION BY {by[0]})",
            f"sum(a.m) OVER (PARTITION BY {by[0]} ORDER BY a.k)",
        ),
        rng.choice((1, 1, 2)),
    )
    number = f"c{len(items)}"
    names = ", ".join(f"c{place}" for place in range(len(items) + 1))
    again = f"(PARTITION BY {rng.choice(('c0', f'c0, {number}'))} ORDER BY {names})"
    twice = f"SELECT c0, dense_rank() OVER {again} AS r FROM ({{0}}) w WHERE c1 IS NOT NULL"
    outer = rng.choice(
        (
            "SELECT * FROM ({0}) w",
            f"SELECT c0, {number} FROM ({{0}}) w WHERE {number} IS NOT NULL",
            f"SELECT c0, {number}, count(*) AS r FROM ({{0}}) w GROUP BY c0, {number}",
            f"SELECT c0, min(c1) AS lo, max({number}) AS hi FROM ({{0}}) w GROUP BY c0",
            f"SELECT c0, {number}, row_number() OVER {again} AS r FROM ({{0}}) w",
            f"SELECT c0, r, count(*) AS n FROM ({twice}) v GROUP BY c0, r",
            f"SELECT {number}, count(*) AS r FROM ({{0}}) w GROUP BY {number}",
        )
    )
    return QueryCase((replace(select, items=(*items, *calls)),), outer=outer)


def _kind_shared(rng: random.Random, tables: list[str]) -> QueryCase:
    """A common table expression that is used twice."""
    table = rng.choice(tables)
    call = rng.choice(("sum(a.n)", "count(*)", "max(a.m)", "sum(a.m)"))
    inner = Select(("a.k", call), f"{table} a", (), _where(rng, ["a"]), ("a.k",))
    outer = rng.choice(
        (
            "WITH w AS ({0}) SELECT c0, c1 FROM w WHERE c1 = (SELECT max(c1) FROM w)",
            "WITH w AS ({0}) SELECT p.c0, p.c1, q.c1 AS other FROM w p JOIN w q ON p.c0 = q.c0",
            "WITH w AS ({0}) SELECT c0 AS r FROM w WHERE c1 > 1 UNION ALL SELECT c1 FROM w",
        )
    )
    if "m" in call and "UNION" in outer:
        outer = "WITH w AS ({0}) SELECT c0, c1 FROM w WHERE c1 = (SELECT max(c1) FROM w)"
    return QueryCase((inner,), outer=outer)


def _kind_sets(rng: random.Random, tables: list[str]) -> QueryCase:
    """ROLLUP, CUBE and GROUPING SETS. HAVING drops the group of no rows that Sail has for the empty
    set over an empty input, and Spark has not."""
    select = _grouped(rng, tables, rng.choice((INNER, OUTER)))
    keys = select.group or ("a.g",)
    calls = select.items[len(select.group) :]
    if len(keys) == 1:
        keys = (*keys, "a.k") if keys[0] != "a.k" else ("a.k", "a.g")
    one, two = keys
    sets = rng.choice(
        (
            f"ROLLUP({one}, {two})",
            f"CUBE({one}, {two})",
            f"GROUPING SETS (({one}, {two}), ({one}))",
            f"GROUPING SETS (({two}), ({one}), ())",
            f"{one}, ROLLUP({two})",
        )
    )
    shown = rng.choice(((one, two), (two, f"grouping({two})"), (one, f"grouping({one})", two)))
    having = (*select.having, "count(*) > 0")
    return QueryCase(
        (Select((*shown, *calls), select.table, select.joins, select.where, (sets,), having),)
    )


def _kind_values(rng: random.Random, tables: list[str]) -> QueryCase:
    """Subqueries as values: IN under OR and in the select list, a row that is looked up; and what
    is counted once."""
    make = rng.choice((_flat, _flat, _grouped))
    select = make(rng, tables, rng.choice((INNER, OUTER)))
    table, negated = rng.choice(tables), rng.choice(("", "NOT "))
    plain = f" WHERE {_predicate(rng, 'z')}" if rng.random() < 0.5 else ""
    member = rng.choice(
        (
            f"a.k {negated}IN (SELECT z.k FROM {table} z{plain})",
            f"a.n {negated}IN (SELECT z.n FROM {table} z WHERE z.k = a.k)",
            f"{negated}EXISTS (SELECT 1 FROM {table} z WHERE z.k = a.k AND {_pair(rng, 'a', 'z')})",
            f"a.g {negated}IN (SELECT max(z.g) FROM {table} z GROUP BY z.k)",
        )
    )
    if make is _flat and rng.random() < 0.6:
        value = rng.choice((f"({member})", f"(SELECT DISTINCT z.k FROM {table} z WHERE z.k = a.k)"))
        return QueryCase((replace(select, items=(*select.items, value)),))
    where = (*select.where, f"({_predicate(rng, 'a')} OR {member})")
    return QueryCase((replace(select, where=where),))


def _kind_counted(rng: random.Random, tables: list[str]) -> QueryCase:
    """Percentiles, of which the values of a group are counted: beside sums, under FILTER."""
    select = _grouped(rng, tables, rng.choice((INNER, OUTER)))
    value = rng.choice(("a.n", "a.m", "a.k", "a.n + a.k"))
    only = rng.choice(("", "", f" FILTER (WHERE {_predicate(rng, 'a')})"))
    places = rng.sample(("0.5", "0.25", "0", "1", "0.9"), rng.randint(1, 2))
    calls = [f"percentile({value}, {place}){only}" for place in places]
    if rng.random() < 0.4:
        calls.append(f"median({value}){only}")
    if rng.random() < 0.3:
        calls.append(f"approx_count_distinct({value}){only}")
    if rng.random() < 0.4:
        within = f"mode() WITHIN GROUP (ORDER BY {value}"
        forms = (f"mode({value}, true)", f"{within})", f"{within} DESC)")
        calls.append(f"{rng.choice(forms)}{only}")
    if rng.random() < 0.4:
        function, way = rng.choice(("disc", "disc", "cont")), rng.choice(("", " DESC"))
        within = f"WITHIN GROUP (ORDER BY {value}{way})"
        calls.append(f"percentile_{function}({rng.choice(places)}) {within}{only}")
    beside = rng.choice((("count(*)",), ("sum(a.n)", "avg(a.m)"), ("min(a.g)", "max(a.d)"), ()))
    items = (*select.group, *calls, *beside)
    return QueryCase((replace(select, items=items),))


def _kind_turned(rng: random.Random, tables: list[str]) -> QueryCase:
    """PIVOT, UNPIVOT, LATERAL subqueries, time windows, and listed rows in a union."""
    table, joins, aliases = _from(rng, tables, rng.choice((INNER, OUTER)))
    inner = Select(("a.k", "a.g", "a.n", "a.m", "a.d"), table, joins, _where(rng, aliases))
    other, at = rng.choice(tables), "CAST(c4 AS TIMESTAMP)"
    call = rng.choice(("sum(c2)", "count(*)", "max(c3)", "count(c0)", "min(c4)"))
    name = rng.choice(("window", "window", "session_window"))
    slide = rng.choice(("", ", '1 day'")) if name == "window" else ""
    window = f"{name}({at}, '{rng.choice(('1 day', '3 days', '400 days'))}'{slide})"
    few, two = rng.choice(("sum(c2)", "count(*)", "max(c3)")), "('a', 'b')"
    pivot = rng.choice((f"{call} AS one, sum(c2) AS two", call))
    nulls = rng.choice(("", "INCLUDE NULLS "))
    ours = f"FROM {other} t WHERE t.k = q.c0"
    turned = "(SELECT c1, c2, c0 FROM ({0}) q) UNPIVOT " + nulls + "(v FOR w IN (c2, c0 AS kay))"
    summed = f"SELECT sum(t.n) AS s, count(*) AS r {ours}"
    listed = "SELECT c0, c1 FROM ({0}) q UNION ALL VALUES (1L, 'a')"
    first = f"SELECT t.n, t.g {ours} ORDER BY t.n DESC, t.g LIMIT {rng.randint(1, 2)}"
    many = "SELECT explode(array(q.c2, 7, q.c2)) AS e"
    exploded = f"SELECT e + q.c2 AS w FROM ({many}) WHERE e <> q.c2 - 2"
    outer = rng.choice(
        (
            f"SELECT * FROM ({{0}}) q PIVOT ({pivot} FOR c1 IN ('a', 'b' AS bee, NULL AS nil))",
            f"SELECT a, b FROM (SELECT c1, c2, c3 FROM ({{0}}) q) PIVOT ({few} FOR c1 IN {two})",
            f"SELECT w, count(*) AS r, sum(v) AS s FROM {turned} GROUP BY w",
            f"SELECT q.c0, l.s, l.r FROM ({{0}}) q, LATERAL ({summed}) l",
            f"SELECT q.c0, l.n, l.g FROM ({{0}}) q LEFT JOIN LATERAL ({first}) l ON true",
            "SELECT c0, x.w FROM ({0}) q, LATERAL (SELECT q.c2 + 1 AS w WHERE q.c2 > 0) x",
            f"SELECT c0, x.w FROM ({{0}}) q, LATERAL ({exploded}) x",
            f"SELECT {window}.start AS s, c1, {call} AS r FROM ({{0}}) q GROUP BY {window}, c1",
            "SELECT c0, c2 FROM ({0}) q UNION ALL VALUES (41L, 7), (NULL, 1)",
            f"SELECT c0, count(*) AS r FROM ({listed}) u GROUP BY c0",
        )
    )
    return QueryCase((inner,), outer=outer)


def _kind_chosen(rng: random.Random, tables: list[str]) -> QueryCase:
    """Values that an aggregate chooses among rows: where several tie they are the same, which the
    planner cannot know."""
    select = _grouped(rng, tables, rng.choice((INNER, OUTER)))
    value = rng.choice(("a.n", "a.k", "a.d", "a.g"))
    parts = rng.sample(("a.k", "a.n", "a.d", "a.g"), rng.randint(1, 2))
    order = ", ".join((*(part for part in parts if part != value), value))
    only = rng.choice(("", "", f" FILTER (WHERE {_predicate(rng, 'a')})"))
    name = rng.choice(("max_by", "min_by"))
    calls = [f"{name}({value}, struct({order})){only}"]
    if select.group and rng.random() < 0.5:
        calls.append(f"any_value({rng.choice(select.group)})")
    if rng.random() < 0.3:
        calls.append("any_value(CASE WHEN a.n IS NOT NULL THEN 1 END, true)")
    beside = rng.choice((("count(*)",), ("sum(a.n)", "avg(a.m)"), ("min(a.g)", "max(a.d)"), ()))
    return QueryCase((replace(select, items=(*select.group, *calls, *beside)),))


_STRUCTS = """(SELECT t.*, named_struct('g', t.g, 'deep', named_struct('n', t.n, 'm', t.m)) AS s,
array(named_struct('k', t.k, 'd', t.d), named_struct('k', t.k + 1, 'd', NULL)) AS items,
array(t.k, CAST(t.n AS BIGINT)) AS xs, map('u', t.n, 'v', 7) AS mp FROM {} t)"""
_PARTS = (
    "{0}.s", "{0}.items", "{0}.xs", "{0}.s.g", "{0}.s.deep.m", "{0}.s.deep", "{0}.items[0].d",
    "{0}.items[1].k", "{0}.items.k", "{0}.xs[1]", "{0}.mp['u']", "get({0}.xs, 2)", "{0}.g",
    "size({0}.items)", "array_contains({0}.xs, 1L)", "{0}.mp.v + {0}.s.deep.n",
    "array_max({0}.xs)",
)  # fmt: skip
_LAMBDAS = (
    "transform({0}.xs, x -> x + {0}.n)", "filter({0}.items, i -> i.k > {0}.n)",
    "exists({0}.xs, x -> x = 2)", "forall({0}.items, i -> i.k > 1)",
    "aggregate({0}.xs, 0L, (s, x) -> s + coalesce(x, 1L))",
    "zip_with({0}.xs, {0}.items, (x, i) -> named_struct('x', x, 'k', i.k))",
    "transform({0}.xs, (x, at) -> size(filter({0}.xs, y -> y >= x)) + at)",
    "map_values(map_filter({0}.mp, (k, v) -> v > 2))",
    "transform_values({0}.mp, (k, v) -> v * 2)['v']",
)  # fmt: skip


def _kind_structs(rng: random.Random, tables: list[str]) -> QueryCase:
    """Structs, arrays and maps over joins: passed on, taken apart, grouped and joined by."""
    aliases = ["a", "b"][: rng.randint(1, 2)]
    on = ("a.s.deep.n = b.s.deep.n", "a.s = b.s", "a.xs[0] = b.items[0].k", "a.k = b.mp['u']")
    joins: tuple[JoinClause, ...] = ()
    if len(aliases) > 1:
        table = f"{_STRUCTS.format(rng.choice(tables))} b"
        joins = (JoinClause(rng.choice(OUTER), table, (rng.choice(on),)),)
    nested = rng.choice(("a.s.deep.n > 0", "a.mp['u'] IS NOT NULL", "a.xs[0] < 4"))
    where = rng.choice(((), (nested,), _where(rng, aliases)))
    parts = _PARTS + _LAMBDAS
    items = tuple(rng.choice(parts).format(rng.choice(aliases)) for _ in range(rng.randint(1, 3)))
    plain = Select(items, f"{_STRUCTS.format(rng.choice(tables))} a", joins, where)
    if rng.random() < 0.5:
        return QueryCase((replace(plain, distinct=rng.random() < 0.3),))
    some = rng.choice(items)
    calls = ("count(*)", f"max({some})", f"count(DISTINCT {some})", "sum(a.s.deep.m)", "min(a.s)")
    group = tuple(dict.fromkeys(items))
    return QueryCase((replace(plain, items=(*group, *rng.sample(calls, 2)), group=group),))


_EXPLODED = """(SELECT u.k, e.g, u.n, e.m, u.x, u.d FROM (SELECT t.*, array(
named_struct('g', t.g, 'm', t.m), named_struct('g', 'b', 'm', CAST(t.n AS DECIMAL(9,2))), NULL)
AS e,
CASE WHEN t.n > 2 THEN array(t.k, t.k + 1) WHEN t.n > 0 THEN array() END AS xs FROM {} t) u
LATERAL VIEW inline(u.e) e)"""
_POSITIONS = """(SELECT p AS k, u.g, u.n, u.m, u.x, u.d FROM (SELECT t.*,
CASE WHEN t.n > 2 THEN array(t.k, t.k + 1) WHEN t.n > 0 THEN array() END AS xs FROM {} t) u
LATERAL VIEW OUTER posexplode(u.xs) f AS i, p)"""
_STACKED = """(SELECT s.k, t.g, s.n, t.m, t.x, t.d FROM {} t,
LATERAL stack(2, t.k, t.n, t.k + 1, 7) AS s(k, n))"""
_LISTED = """(SELECT k, g, explode_outer(array(n, n + 1)) AS n, m, x, d FROM {} t)"""


def _kind_exploded(rng: random.Random, tables: list[str]) -> QueryCase:
    """Rows that generators make of rows, in place of tables."""
    forms = (_EXPLODED, _POSITIONS, _STACKED, _LISTED, "{}")
    made = [rng.choice(forms).format(table) for table in tables]
    made[0] = rng.choice(forms[:-1]).format(tables[0])
    make = rng.choice((_kind_flat, _kind_outer, _kind_grouped, _kind_outer_grouped, _kind_distinct))
    return make(rng, made)


_WORDED = (
    "datediff(DAY, {0}.d, DATE '2024-02-01')", "date_diff(WEEK, DATE '2024-01-01', {0}.d)",
    "timestampdiff(HOUR, CAST({0}.d AS TIMESTAMP_NTZ), TIMESTAMP_NTZ '2024-02-01 12:00:00')",
    "dateadd(MONTH, 1, {0}.d)", "timestampadd(DAY, -1, CAST({0}.d AS TIMESTAMP_NTZ))",
    "date_add(DAY, {0}.n, CAST({0}.d AS TIMESTAMP_NTZ))", "extract(DAY FROM {0}.d)",
    "date_part('year', {0}.d)", "extract(WEEK FROM {0}.d)", "trunc({0}.d, 'MM')",
    "date_trunc('WEEK', CAST({0}.d AS TIMESTAMP_NTZ))", "{0}.d - INTERVAL '1' MONTH",
    "ceil({0}.m, 1)", "floor({0}.m, 1)", "position('b' IN {0}.g)", "trim(BOTH 'a' FROM {0}.g)",
    "trim(LEADING FROM {0}.g)", "overlay({0}.g PLACING 'x' FROM 1 FOR 1)",
    "substring({0}.g FROM 2 FOR 1)", "{0}.n::STRING", "{0}.g ILIKE 'A%'",
    "{0}.g LIKE ANY ('a%', '%b')", "{0}.n IS DISTINCT FROM {0}.k", "{0}.n NOT BETWEEN 1 AND 3",
    "({0}.n > 1) IS UNKNOWN", "DATE '2024-03-01' - {0}.d", "{0}.n DIV 2", "{0}.n % 2 = 1",
    "CASE {0}.g WHEN 'a' THEN 1 WHEN 'b' THEN 2 END", "hash({0}.k, {0}.g)",
)  # fmt: skip
_STARRED = (
    "xxhash64({0}.*)", "to_json(struct({0}.*))", "concat_ws('-', {0}.*)",
)  # fmt: skip
_OF_GROUPS = (
    "avg(1.0 * {0}.n)", "avg(CAST({0}.m AS DECIMAL(18,0)))", "avg(CAST({0}.n AS DECIMAL(38,18)))",
    "avg(CAST({0}.m AS DECIMAL(38,2)))", "COUNT(DISTINCT {0}.*)", "COUNT({0}.*)",
    "count_if({0}.n > 1)",
    "sum({0}.m) FILTER (WHERE datediff(DAY, {0}.d, DATE '2024-02-01') > 0)", "bool_or({0}.n > 3)",
    "max(dateadd(DAY, {0}.n, {0}.d))", "count(DISTINCT extract(DAY FROM {0}.d), {0}.g)",
    "sum(datediff(DAY, DATE '2024-01-01', {0}.d))", "min(ceil({0}.m, 1))", "every({0}.n < 6)",
)  # fmt: skip


def _kind_worded(rng: random.Random, tables: list[str]) -> QueryCase:
    """Functions that are written with words of their own, stars among arguments, averages of wide
    DECIMALs, and what places rows in files."""
    select = _flat(rng, tables, rng.choice((INNER, OUTER)))
    aliases = ["a", *(join.table.split()[-1] for join in select.joins)]
    forms = (*_WORDED, *_WORDED, *_STARRED) if rng.random() < 0.5 else _WORDED
    items = tuple(
        dict.fromkeys(
            rng.choice(forms).format(rng.choice(aliases)) for _ in range(rng.randint(1, 3))
        )
    )
    where = select.where
    if rng.random() < 0.4:
        where = (*where, f"({rng.choice(_WORDED).format(rng.choice(aliases))}) IS NOT NULL")
    placed = rng.choice(("", "", " DISTRIBUTE BY c0", " CLUSTER BY c0", " SORT BY c0 DESC"))
    plain = replace(select, items=items, where=where)
    if rng.random() < 0.35:
        return QueryCase((replace(plain, distinct=rng.random() < 0.3),), outer=f"{{0}}{placed}")
    group = items[: rng.randint(0, 2)]
    calls = tuple(
        rng.choice(_OF_GROUPS).format(rng.choice(aliases)) for _ in range(rng.randint(1, 3))
    )
    places = tuple(str(n + 1) for n in range(len(group)))
    written = rng.choice((group, ("ALL",), group if "*" in "".join((*items, *calls)) else places))
    grouped = replace(plain, items=(*group, *calls), group=written if group else ())
    return QueryCase((grouped,), outer=f"{{0}}{placed}")


KINDS: dict[str, Callable[[random.Random, list[str]], QueryCase]] = {
    "flat": _kind_flat, "outer": _kind_outer, "grouped": _kind_grouped,
    "outer-grouped": _kind_outer_grouped, "distinct": _kind_distinct, "union": _kind_union,
    "set": _kind_set, "subquery": _kind_subquery, "nested": _kind_nested, "limit": _kind_limit,
    "window": _kind_window, "shared": _kind_shared,
}  # fmt: skip
APART: dict[str, Callable[[random.Random, list[str]], QueryCase]] = {
    "sets": _kind_sets, "full": _kind_full, "values": _kind_values,
    "partners": _kind_partners, "ranked": _kind_ranked, "structs": _kind_structs,
    "exploded": _kind_exploded, "counted": _kind_counted, "changed": _kind_changed,
    "chosen": _kind_chosen,
    "turned": _kind_turned, "worded": _kind_worded, "typed": typed_query,
    "zoned": zoned_query, "mixed": mixed_query,
    "readers": readers_query,
}  # fmt: skip
"""Kinds that are only there by name, so that the cases of the others keep their seeds."""
NESTED = ("structs", "exploded")
"""Kinds over nested values."""
NOT_ON_SAIL = (*NESTED, "counted", "chosen", "turned", "worded", "typed", "zoned", "mixed")
"""Kinds of which Sail does not read all that Spark does, or not as it does."""
