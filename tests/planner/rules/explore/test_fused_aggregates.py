"""Aggregates without groups that are fused, against the row interpreter."""

from __future__ import annotations

import random

import pytest

from forerun.planner.algebra.relational import Aggregate, Relation, Scan, walk
from forerun.planner.algebra.types import INT, STRING
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.explore.fused_aggregates import fuse_aggregates
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.sql.frontend import read_query
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.bags import compare_bags
from tests.oracles.interpreter import Inputs, SourceData, evaluate

SOURCES = tuple(
    Source(
        name=name,
        columns=(
            SourceColumn(name="k", type=INT),
            SourceColumn(name="j", type=INT),
            SourceColumn(name="g", type=STRING),
        ),
        changing=True,
    )
    for name in ("l", "r")
)
RANGES = ", ".join(
    f"(SELECT {call} FROM l WHERE k {test}) AS c{i}"
    for i, (call, test) in enumerate(
        (
            ("count(*)", "= 1"),
            ("sum(j)", "= 1"),
            ("min(j)", "BETWEEN 2 AND 3"),
            ("count(DISTINCT j)", "> 1"),
            ("count(j) FILTER (WHERE g = 'a')", "> 1"),
        )
    )
)
"""Several ranges of one column, some of them twice."""
N = "(SELECT count(*) AS n FROM"
BY_K, BY_J = (
    "(SELECT k, count(*) AS n FROM l GROUP BY k)",
    "(SELECT j, count(*) AS n FROM l GROUP BY j)",
)
CASES = "CASE WHEN j = 4 THEN 'x' ELSE g END"
ONE_SCAN = {
    "ranges": f"SELECT {RANGES}",
    "beside rows": f"SELECT t.g, {RANGES} FROM (SELECT DISTINCT g FROM r) t",
    "one unfiltered": "SELECT (SELECT count(*) FROM l) AS n, (SELECT max(j) FROM l WHERE k = 1) m",
    "in FROM": f"""SELECT * FROM {N} l WHERE k < 2) a,
        (SELECT count(*) AS m, max(g) AS g FROM l WHERE k >= 2) b""",
    "joins": f"""SELECT a.n, b.n AS m FROM {N} l JOIN r ON l.k = r.k WHERE r.j = 4) a,
        {N} l JOIN r ON l.k = r.k WHERE r.j = 5 AND l.g = 'a') b""",
    "values": f"""SELECT (SELECT max({CASES}) FROM l WHERE k = 1) AS a,
        (SELECT min({CASES}) FROM l WHERE k = 2) AS b""",
    "a ratio": f"SELECT a.n / b.n AS s FROM {N} l WHERE k < 2) a JOIN {N} l) b WHERE b.n > 0",
    "with HAVING": f"""SELECT * FROM {N} l WHERE k < 3 HAVING count(*) > 2) a,
        (SELECT coalesce(max(j), 0) + 1 AS j FROM l WHERE k > 1) b""",
    "groups below": f"""SELECT (SELECT sum(n) FROM {BY_K} WHERE n > 1) AS a,
        (SELECT count(*) FROM {BY_K}) AS b""",
    "some of the groups": f"""SELECT (SELECT sum(n) FROM {BY_K} WHERE k = 1) AS a,
        (SELECT max(m) FROM (SELECT k, min(j) AS m FROM l GROUP BY k) WHERE k > 1) AS b""",
}
LEFT_ALONE = {
    "other tables": "SELECT (SELECT count(*) FROM l) AS a, (SELECT count(*) FROM r) AS b",
    "other joins": f"""SELECT a.n, b.n AS m FROM {N} l JOIN r ON l.k = r.k) a,
        {N} l JOIN r ON l.j = r.j) b""",
    "groups": f"SELECT * FROM {BY_K} a, (SELECT count(*) AS m FROM l) b",
    "what can fail": f"""SELECT a.n, b.n AS m FROM
        (SELECT sum(10 / j) AS n FROM l WHERE j <> 0) a, {N} l) b""",
    "rows of a group": f"""SELECT (SELECT sum(n) FROM {BY_K}) AS a,
        (SELECT sum(n) FROM (SELECT k, count(*) AS n FROM l WHERE j = 4 GROUP BY k)) AS b""",
    "a test that can fail": f"SELECT a.n, b.n AS m FROM {N} l WHERE 10 / j > 1) a, {N} l) b",
    "what is drawn": f"""SELECT a.n, b.n AS m FROM
        {N} l WHERE rand() < 0.5) a, {N} l WHERE rand() < 0.5) b""",
    "other groups": f"SELECT (SELECT sum(n) FROM {BY_K}) AS a, (SELECT max(n) FROM {BY_J}) AS b",
}


def rows(rng: random.Random) -> Inputs:
    def table(most: int) -> list[tuple[object, ...]]:
        values = ([1, 2, 3, None], [4, 5, None], ["a", "b", None])
        return [tuple(map(rng.choice, values)) for _ in range(rng.randrange(most))]

    return Inputs({name: SourceData(("k", "j", "g"), table(8)) for name in ("l", "r")})


def plans(sql: str) -> tuple[Relation, Relation | None]:
    query = read_query(sql, SOURCES)
    plain = normalize(query.relation, SOURCES, ColumnIds(query.last_id))
    return plain, fuse_aggregates(plain)


def scans(relation: Relation, source: str) -> int:
    return sum(isinstance(node, Scan) and node.source == source for node in walk(relation))


@pytest.mark.parametrize("name", ONE_SCAN)
def test_one_scan_gives_the_same_rows(name: str) -> None:
    plain, fused = plans(ONE_SCAN[name])
    assert fused is not None
    assert fused.columns == plain.columns
    assert scans(plain, "l") > scans(fused, "l") == 1
    assert sum(isinstance(n, Aggregate) and not n.keys for n in walk(fused)) == 1
    found = set()
    for seed in range(100):
        inputs = rows(random.Random(seed))
        wanted = evaluate(plain, inputs)
        compare_bags(evaluate(fused, inputs), wanted)
        found.add(repr(wanted))
    assert len(found) > 8, "the cases must differ"


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_left_alone(name: str) -> None:
    assert plans(LEFT_ALONE[name])[1] is None


def test_rows_that_none_of_them_has_are_still_left_out() -> None:
    """All filter the scan, so the one scan is filtered, by what they have together."""
    _, fused = plans(f"SELECT {RANGES}")
    assert fused is not None
    assert str(fused).count("Filter") == 1
