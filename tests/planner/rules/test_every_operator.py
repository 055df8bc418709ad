"""Every operator of the front end is in the space: it has a delta or states, or it is recomputed in
the final run, with a reason, from what is kept below it."""

from __future__ import annotations

import pytest

from forerun.planner.algebra import relational
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import Join, JoinKind, Relation, walk
from forerun.planner.contract import ArtifactOutput, FamilyInput, SourceInput
from forerun.planner.sql.frontend import read_query
from tests.plans.incremental.test_incremental import SOURCES, planned

INCREMENTAL = {
    "Scan": "SELECT id, g FROM sales",
    "Filter": "SELECT id FROM sales WHERE x > 5",
    "Project": "SELECT id + 1 AS i FROM sales",
    "Values": "SELECT id, v.n FROM sales JOIN (VALUES ('a', 1), ('b', 2)) v(g, n) ON sales.g = v.g",
    "Recursion": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) "
    "SELECT i, id FROM n JOIN sales ON sales.id = i",
    "Generate": "SELECT id, explode(split(g, '')) AS letter FROM sales",
    "UnionAll": "SELECT id FROM sales UNION ALL SELECT id FROM returns",
    "Aggregate": "SELECT g, sum(x) AS s, count(DISTINCT id) AS n FROM sales GROUP BY g",
    "SetOperation": "SELECT id FROM sales INTERSECT SELECT id FROM returns",
    "Repeat": "SELECT id FROM sales EXCEPT ALL SELECT id FROM returns",
    "Join inner": "SELECT sales.id, cost FROM sales JOIN returns ON sales.id = returns.id",
    "Join left": "SELECT sales.id, cost FROM sales LEFT JOIN returns ON sales.id = returns.id",
    "Join right": "SELECT returns.id, x FROM sales RIGHT JOIN returns ON sales.id = returns.id",
    "Join full": "SELECT x, cost FROM sales FULL JOIN returns ON sales.id = returns.id",
    "Join semi": "SELECT id FROM sales WHERE id IN (SELECT id FROM returns)",
    "Join anti": "SELECT id FROM sales WHERE NOT EXISTS "
    "(SELECT 1 FROM returns WHERE returns.id = sales.id)",
    "Join mark": "SELECT id FROM sales WHERE x > 9 OR id IN (SELECT id FROM returns)",
    "Join single": "SELECT id, (SELECT cost FROM returns r WHERE r.id = sales.id) AS c FROM sales",
}
RECOMPUTED = {
    "Sort": "SELECT id, x FROM sales WHERE x > 5 ORDER BY x",
    "Limit": "SELECT id, x FROM sales WHERE x > 5 ORDER BY x LIMIT 10",
    "Window": "SELECT id, rank() OVER (ORDER BY x) AS r FROM sales WHERE x > 5",
    "Join inner": "SELECT id FROM sales WHERE x > (SELECT avg(cost) FROM returns)",
    "Aggregate": "SELECT g, median(f) AS m FROM sales WHERE x > 5 GROUP BY g",
    "Join left": "SELECT sales.id, cost FROM sales LEFT JOIN returns ON sales.x < returns.cost",
}
"""Of these nothing is known to be done early, whatever they are above."""
STORED_ONLY = {"StateRead"}


def name_of(node: Relation) -> str:
    return f"Join {node.kind}" if isinstance(node, Join) else type(node).__name__


def test_no_operator_is_left_out() -> None:
    classes = [
        found
        for found in vars(relational).values()
        if isinstance(found, type) and issubclass(found, Relation)
    ]
    names = {c.__name__ for c in classes if c.__module__ == relational.__name__} - STORED_ONLY
    names.add(Recursion.__name__)
    names = (names - {"Join"}) | {f"Join {kind}" for kind in JoinKind}
    assert names <= set(INCREMENTAL) | set(RECOMPUTED)


@pytest.mark.parametrize("name", INCREMENTAL)
def test_has_a_delta_or_states(name: str) -> None:
    result = planned(INCREMENTAL[name])
    written = [*walk(read_query(INCREMENTAL[name], SOURCES).relation), *walk(result.relation)]
    assert name in {name_of(node) for node in written}
    memo = result.space.memo
    for node in walk(result.relation):
        tvr = memo.tvr_of(memo.add(node))
        assert tvr is not None
        assert not tvr.changing or tvr.has_delta, name_of(node)


@pytest.mark.parametrize("name", RECOMPUTED)
def test_is_recomputed_from_what_is_kept(name: str) -> None:
    result = planned(RECOMPUTED[name])
    waiting = [w for w in result.plan.not_incremental if str(w.reason) != "input-waits"]
    assert len(waiting) >= 1, "it waits, and says why"
    memo = result.space.memo
    first = next(n for n in walk(result.relation) if name_of(n) == name)
    tvr = memo.tvr_of(memo.add(first))
    assert tvr is not None
    assert not tvr.has_delta
    *early, last = result.plan.runs
    for run in early:
        assert any(isinstance(stage.output, ArtifactOutput) for stage in run.stages)
    inputs = [given for stage in last.stages for given in stage.inputs]
    assert any(isinstance(given, FamilyInput) for given in inputs)
    scans = [given for given in inputs if isinstance(given, SourceInput)]
    assert all(given.version == "delta" for given in scans), "what came before is not read again"


def test_the_cheapest_of_what_may_be_kept_is_read() -> None:
    """Below a window, groups are kept as states, not the rows that they are of."""
    groups = "SELECT g, sum(x) AS s FROM sales GROUP BY g"
    sql = f"SELECT g, s, rank() OVER (ORDER BY s) AS r FROM ({groups}) q"
    result = planned(sql)
    titles = {family.title for family in result.plan.families}
    assert "states of s by g" in titles
    assert "sales rows" not in titles
