"""Other ids for the columns of a sub-plan."""

from __future__ import annotations

from forerun.planner.algebra.relational import walk
from forerun.planner.rules.normalize.identity import made_by, with_other_columns
from forerun.planner.rules.normalize.rule import NormalizeContext
from forerun.planner.sql.frontend import read_query
from forerun.planner.stats.estimate import Estimator
from forerun.planner.tvr.signed import ColumnIds
from tests.planner.sql.tpch import SOURCES

TEXT = """
SELECT n_name, sum(s_acctbal) AS s, count(*) AS n
FROM supplier JOIN nation ON s_nationkey = n_nationkey GROUP BY n_name
"""


def test_other_ids_are_in_the_order_of_the_old_ones() -> None:
    """Rows are distributed by columns in the order of their ids, on both sides of a renaming."""
    query = read_query(TEXT, SOURCES)
    context = NormalizeContext(ColumnIds(query.last_id), Estimator(SOURCES), {})
    others = with_other_columns(query.relation, context)
    pairs = [
        (old.id, new.id)
        for one, other in zip(walk(query.relation), walk(others), strict=True)
        for old, new in zip(made_by(one), made_by(other), strict=True)
    ]
    old, new = zip(*sorted(pairs), strict=True)
    assert list(new) == sorted(new)
    assert not set(old) & set(new)
