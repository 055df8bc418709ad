"""Groups that no join looks up are not made, against the row interpreter."""

from __future__ import annotations

import random

import pytest

from forerun.planner.algebra.relational import Aggregate, Join, JoinKind, Relation, sources, walk
from forerun.planner.algebra.types import INT
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.explore.magic_sets import restrict_groups
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.bags import compare_bags
from tests.oracles.interpreter import Inputs, SourceData, evaluate


def table(name: str, *columns: str) -> Source:
    parsed = tuple(SourceColumn(name=c, type=INT) for c in columns)
    return Source(name=name, columns=parsed, changing=name != "p")


SOURCES = (table("p", "k", "b"), table("l", "k", "s", "x"), table("o", "k", "d"))
TOTALS = "(SELECT k, sum(x) AS t FROM l GROUP BY k) AS g"
LOOKED_UP = {
    "correlated": "SELECT sum(l.x) AS s FROM l, p WHERE p.k = l.k AND b = 1 "
    "AND l.x < (SELECT avg(x) FROM l AS m WHERE m.k = p.k)",
    "joined": f"SELECT p.k, t FROM p JOIN {TOTALS} ON p.k = g.k WHERE b = 1",
    "left of it": f"SELECT g.k, t FROM {TOTALS} JOIN p ON p.k = g.k WHERE b > 1",
    "from above": f"SELECT o.d, t FROM o JOIN {TOTALS} ON o.k = g.k "
    "JOIN p ON p.k = o.k WHERE b = 1",
    "left join": "SELECT p.k, t FROM (SELECT k FROM p WHERE b = 1) p "
    f"LEFT JOIN {TOTALS} ON p.k = g.k",
    "semi join": f"SELECT k FROM p WHERE b = 1 AND k IN (SELECT k FROM {TOTALS} WHERE t > 1)",
    "anti join": "SELECT k FROM p WHERE b = 1 AND NOT EXISTS "
    f"(SELECT 1 FROM {TOTALS} WHERE t > 1 AND g.k = p.k)",
    "semi joined": "SELECT o.d, t FROM o "
    f"JOIN {TOTALS} ON o.k = g.k WHERE o.k IN (SELECT k FROM p WHERE b = 1)",
    "two keys": "SELECT p.k, g.s, n FROM p "
    "JOIN (SELECT k, s, count(*) AS n FROM l GROUP BY k, s) g ON p.k = g.k WHERE b = 1",
    "over a join": "SELECT p.k, t FROM p JOIN (SELECT l.k, sum(d) AS t FROM l JOIN o ON l.k = o.k "
    "GROUP BY l.k) g ON p.k = g.k WHERE b = 1",
    "over a left join": "SELECT p.k, t FROM p JOIN (SELECT l.k, sum(d) AS t FROM l LEFT JOIN o "
    "ON l.k = o.k GROUP BY l.k) g ON p.k = g.k WHERE b = 1",
    "over a union": "SELECT p.k, t FROM p JOIN (SELECT k, sum(x) AS t FROM (SELECT k, x FROM l "
    "UNION ALL SELECT k, d FROM o) u GROUP BY k) g ON p.k = g.k WHERE b = 1",
}
LEFT_ALONE = {
    "nothing filtered": f"SELECT p.k, t FROM p JOIN {TOTALS} ON p.k = g.k",
    "another column": f"SELECT p.k, t FROM p JOIN {TOTALS} ON p.k = t WHERE b = 1",
    "a table that grows": f"SELECT o.k, t FROM o JOIN {TOTALS} ON o.k = g.k WHERE d = 1",
    "not an equality": f"SELECT p.k, t FROM p JOIN {TOTALS} ON p.k < g.k WHERE b = 1",
    "the side that stays": f"SELECT g.k, t FROM {TOTALS} LEFT JOIN (SELECT k FROM p WHERE b = 1) p "
    "ON p.k = g.k",
    "both sides stay": f"SELECT g.k, t FROM {TOTALS} FULL JOIN (SELECT k FROM p WHERE b = 1) p "
    "ON p.k = g.k",
    "without it": "SELECT g.k, t FROM "
    f"{TOTALS} WHERE NOT EXISTS (SELECT 1 FROM p WHERE b = 1 AND p.k = g.k)",
    "no groups": "SELECT p.k, s.t FROM p, (SELECT sum(x) AS t FROM l) s WHERE b = 1 AND p.k = s.t",
    "may fail": f"SELECT p.k, t FROM p JOIN {TOTALS} ON p.k = g.k WHERE 1 / b = 1",
    "a window": "SELECT p.k, n FROM p JOIN (SELECT k, row_number() OVER (ORDER BY t) AS n "
    f"FROM {TOTALS}) w ON p.k = w.k WHERE b = 1",
    "a limit": f"SELECT p.k, t FROM p JOIN (SELECT k, t FROM {TOTALS} ORDER BY t, k LIMIT 2) w "
    "ON p.k = w.k WHERE b = 1",
}


def forms(sql: str) -> tuple[Relation, Relation | None]:
    query = read_query(sql, SOURCES)
    ids = ColumnIds(query.last_id)
    plain = normalize(query.relation, SOURCES, ids)
    return plain, restrict_groups(plain, ids, frozenset(("l", "o")))


def rows(rng: random.Random) -> Inputs:
    def some() -> object:
        return rng.choice([0, 1, 2, 3, None])

    def many(width: int, most: int) -> list[tuple[object, ...]]:
        return [tuple(some() for _ in range(width)) for _ in range(rng.randrange(most))]

    return Inputs(
        {
            "p": SourceData(("k", "b"), many(2, 8)),
            "l": SourceData(("k", "s", "x"), many(3, 12)),
            "o": SourceData(("k", "d"), many(2, 6)),
        }
    )


@pytest.mark.parametrize("sql", LOOKED_UP.values(), ids=LOOKED_UP)
def test_the_same_rows_of_fewer_groups(sql: str) -> None:
    plain, restricted = forms(sql)
    assert restricted is not None
    assert restricted.columns == plain.columns
    groupings = [node for node in walk(restricted) if isinstance(node, Aggregate) and node.keys]
    assert any("p" in sources(node) and is_looked_up(node.input) for node in groupings)
    rng = random.Random(sql)
    found = 0
    for _ in range(120):
        inputs = rows(rng)
        wanted = evaluate(plain, inputs)
        found += any(value is not None for row in wanted for value in row)
        compare_bags(evaluate(restricted, inputs), wanted)
    assert found > 5, "the cases must have rows"


def is_looked_up(relation: Relation) -> bool:
    """Whether some of its rows are looked up in p."""
    joins = [node for node in walk(relation) if isinstance(node, Join)]
    return any(j.kind is JoinKind.SEMI and sources(j.right) == {"p"} for j in joins)


@pytest.mark.parametrize("sql", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(sql: str) -> None:
    assert forms(sql)[1] is None


def test_restricting_twice_changes_nothing_more() -> None:
    query = read_query(LOOKED_UP["joined"], SOURCES)
    ids = ColumnIds(query.last_id)
    once = restrict_groups(normalize(query.relation, SOURCES, ids), ids, frozenset())
    assert once is not None
    assert restrict_groups(once, ids, frozenset()) is None
