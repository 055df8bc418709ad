"""Queries that read a common table expression with joins in it more than once, which the planner
makes one sub-plan of (:mod:`forerun.planner.rules.normalize.repeated`)."""

from __future__ import annotations

import random

from tests.properties.cases import JoinClause, QueryCase, Select

_OVER = (
    "SELECT p.c0, p.c1, q.c1 AS other FROM w p {join} w q ON p.c0 = q.c0",
    "SELECT p.c0, q.c1 FROM w p {join} w q ON p.c0 = q.c0 AND p.c1 <= q.c1",
    "SELECT p.c0, r.c1 FROM w p JOIN w q ON p.c0 = q.c0 {join} w r ON q.c1 = r.c1",
    "SELECT c0, c1 FROM w WHERE c1 = (SELECT max(c1) FROM w)",
    "SELECT p.c0 FROM w p WHERE {no}EXISTS (SELECT 1 FROM w q WHERE q.c0 = p.c0 AND q.c1 > p.c1)",
    "SELECT c1 FROM w WHERE c0 {no}IN (SELECT c1 FROM w)",
    """SELECT c0, c1 FROM w UNION ALL SELECT c0, max(c1) FROM w GROUP BY c0
    UNION ALL SELECT NULL, max(c1) FROM w""",
    "SELECT c1, count(*) AS n FROM (SELECT * FROM w UNION ALL SELECT * FROM w) u GROUP BY c1",
    "SELECT p.c1, count(*) AS n, sum(q.c1) AS s FROM w p {join} w q ON p.c0 = q.c0 GROUP BY p.c1",
    """SELECT c0, c1, row_number() OVER (PARTITION BY c1 ORDER BY c0) AS r FROM w
    WHERE c1 >= (SELECT min(c1) FROM w)""",
)
_AGAIN = (
    "SELECT p.c0, max(q.c1) AS c1 FROM v p {join} v q ON p.c0 = q.c0 GROUP BY p.c0",
    "SELECT c0, c1 FROM v UNION ALL SELECT c0, c1 FROM v WHERE c1 > 1",
    "SELECT c0, max(c1) OVER (PARTITION BY c0) AS c1 FROM v",
)


def readers_query(rng: random.Random, tables: list[str]) -> QueryCase:
    """Return a query over ``w``, which is read twice or more often; at times ``w`` itself reads
    another one so."""
    joins, over = ("JOIN", "LEFT JOIN", "FULL JOIN"), rng.choice(_OVER)
    text = over.format(join=rng.choice(joins), no=rng.choice(("", "NOT ")))
    if rng.random() < 0.4:
        inner = rng.choice(_AGAIN).format(join=rng.choice(joins[:2]))
        return QueryCase(_rows(rng, tables), outer=f"WITH v AS ({{0}}), w AS ({inner}) {text}")
    return QueryCase(_rows(rng, tables), outer=f"WITH w AS ({{0}}) {text}")


def _rows(rng: random.Random, tables: list[str]) -> tuple[Select, ...]:
    """Return what a common table expression is the union of: groups above two joins, or several
    groups above one each."""
    if rng.random() < 0.3:
        return _groups(rng, tables, "b"), _groups(rng, tables, "b")
    return (_groups(rng, tables, "bc"),)


def _groups(rng: random.Random, tables: list[str], joined: str) -> Select:
    call = rng.choice(("sum(a.n)", "count(*)", "sum(b.n) + count(b.k)", "max(b.k)"))
    kinds = ("JOIN", "JOIN", "LEFT JOIN")
    clauses = tuple(
        JoinClause(rng.choice(kinds), f"{rng.choice(tables)} {alias}", (f"a.k = {alias}.k",))
        for alias in joined
    )
    where = ("a.n IS NOT NULL",) if rng.random() < 0.3 else ()
    return Select(("a.k", call), f"{rng.choice(tables)} a", clauses, where, ("a.k",))
