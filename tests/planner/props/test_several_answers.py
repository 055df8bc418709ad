"""What of a query leaves open which answer is given."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.api import plan
from forerun.planner.explain.tree import render
from forerun.planner.props.several_answers import several_answers
from forerun.planner.request import PlanRequest, Source, SourceColumn, TimePoint
from forerun.planner.sql.frontend import read_query

T = Source(
    name="t",
    columns=(
        SourceColumn(name="id", type=BIGINT),
        SourceColumn(name="k", type=STRING),
        SourceColumn(name="v", type=BIGINT),
    ),
    keys=(("id",),),
    changing=True,
)
OPEN = {
    "SELECT lag(v) OVER (PARTITION BY k ORDER BY v) AS x FROM t": ["lag"],
    "SELECT first_value(id) OVER (PARTITION BY k ORDER BY v) AS x FROM t": ["first"],
    "SELECT row_number() OVER (ORDER BY v) AS x FROM t": ["row_number"],
    "SELECT ntile(4) OVER (ORDER BY k) AS x FROM t": ["ntile"],
    "SELECT sum(v) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS x FROM t": ["sum"],
    "SELECT k, percentile_approx(v, 0.5) AS x FROM t GROUP BY k": ["percentile_approx"],
    "SELECT k, approx_percentile(v, 0.5) AS x FROM t GROUP BY k": ["percentile"],
    "SELECT k, first(v) AS x FROM t GROUP BY k": ["first"],
    "SELECT k, max_by(v, k) AS x, collect_list(v) AS y FROM t GROUP BY k": ["max_by", "collect"],
    "SELECT k FROM (SELECT k, v FROM t ORDER BY v LIMIT 3) s": ["LIMIT"],
    "SELECT k FROM t LIMIT 3": ["LIMIT"],
}
DECIDED = (
    "SELECT rank() OVER (PARTITION BY k ORDER BY v) AS x FROM t",
    "SELECT row_number() OVER (PARTITION BY k ORDER BY v, id) AS x FROM t",
    "SELECT lag(v) OVER (ORDER BY id) AS x FROM t",
    "SELECT sum(v) OVER (PARTITION BY k ORDER BY v) AS x FROM t",
    "SELECT count(*) OVER (PARTITION BY k) AS x FROM t",
    "SELECT k, percentile(v, 0.5) AS x, sum(v) AS s FROM t GROUP BY k",
    "SELECT k, array_sort(collect_set(v)) AS x FROM t GROUP BY k",
    "SELECT k, v FROM t ORDER BY v, id LIMIT 3",
    "SELECT k, count(*) AS n FROM t GROUP BY k ORDER BY n, k LIMIT 3",
    "SELECT DISTINCT k FROM t ORDER BY k LIMIT 3",
)


@pytest.mark.parametrize("sql", OPEN)
def test_what_leaves_the_answer_open_is_named(sql):
    said = several_answers(read_query(sql, [T]).relation, {"t": T.keys})
    assert len(said) == len(OPEN[sql])
    assert all(word in one for word, one in zip(sorted(OPEN[sql]), sorted(said), strict=True))


@pytest.mark.parametrize("sql", DECIDED)
def test_of_a_query_with_one_answer_nothing_is_said(sql):
    assert several_answers(read_query(sql, [T]).relation, {"t": T.keys}) == ()


def test_a_plan_says_what_it_is():
    def shown(sql: str) -> str:
        points = (TimePoint(weight=0.5, arrived=0.5), TimePoint(weight=1.0))
        return render(plan(PlanRequest(report="r", sql=sql, sources=(T,), points=points)))

    assert "several right answers" in shown(next(iter(OPEN)))
    assert "several right answers" not in shown(DECIDED[0])
