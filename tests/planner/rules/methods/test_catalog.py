"""The methods by name: what they are made of, what they do not apply to, and what they keep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forerun.planner import api
from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.errors import ForerunError, MethodError, Reason, RequestError
from forerun.planner.memo.groups import View
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint
from forerun.planner.rules.explore.catalog import EXPLORE
from forerun.planner.rules.methods.catalog import AUTO, METHODS, SINGLE, method_of, rule_names
from tests.planner.starts import OPEN

POINTS = tuple(TimePoint(weight=w, arrived=a) for w, a in ((0.25, 0.5), (0.3, 0.8), (1.0, 1.0)))


def table(name: str, *columns: str, changing: bool = True) -> Source:
    typed = tuple(
        SourceColumn(name=c, type=STRING if c in ("g", "label") else BIGINT) for c in columns
    )
    return Source(name=name, columns=typed, changing=changing, rows=10**7, bytes=10**9)


SOURCES = (
    table("sales", "id", "g", "v"),
    table("returns", "id", "cost"),
    table("names", "g", "label", changing=False),
)
GROUPED = "SELECT g, min(v) AS lo FROM sales GROUP BY g"
OUTER = "SELECT sales.id, cost FROM sales LEFT JOIN returns ON sales.id = returns.id"
OF_13 = (
    "SELECT s1.id FROM sales s1 "
    + " ".join(f"JOIN sales s{i} ON s{i}.id = s1.id" for i in range(2, 13))
    + " LEFT JOIN returns r ON r.id = s1.id"
)


def planned(sql: str, method: str, **settings: object) -> api.PlanResult:
    given = Settings(**settings)
    return api.plan(
        PlanRequest(
            report="r", sql=sql, sources=SOURCES, points=POINTS, method=method, settings=given
        )
    )


def why_not(sql: str, method: str) -> str:
    with pytest.raises(MethodError) as caught:
        planned(sql, method)
    return caught.value.message


def test_auto_has_every_rule_of_every_method_but_what_another_one_says_too():
    assert {name for one in SINGLE for name in one.rule_names} - set(AUTO.rule_names) == {
        "AggregateStates"
    }


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_method_is_named_once_and_says_where_it_is_from(method):
    assert method_of(method.name) is method
    assert method.title
    assert method.source or method.name == "batch"
    assert len(set(method.rule_names)) == len(method.rules)


def test_a_method_that_is_not_there():
    with pytest.raises(RequestError, match="no method ivm") as caught:
        planned(GROUPED, "ivm")
    assert "im1" in caught.value.hint


@pytest.mark.parametrize(
    ("sql", "method"),
    [(GROUPED, "im1"), (OUTER, "im2"), (OUTER, "ojv"), (OUTER, "hov"), (GROUPED, "cv")],
)
def test_a_method_that_is_asked_for_is_what_is_planned(sql, method):
    """Although opening a run costs far more here than there is to save."""
    for prices in (OPEN, replace(OPEN, run_start=1e10)):
        found = planned(sql, method, prices=prices)
        assert found.plan.method == "incremental"
        rewrites = {rule.name for rule in EXPLORE}
        assert set(found.trace.tried) - rewrites <= set(method_of(method).rule_names)


@pytest.mark.parametrize(
    ("sql", "method", "reason"),
    [
        ("SELECT label FROM names", "im1", Reason.NOTHING_GROWS),
        (GROUPED, "im2", Reason.NO_OUTER_JOIN),
        (
            "SELECT s.g FROM sales s LEFT JOIN names n ON s.g = n.g",
            "im2",
            Reason.NO_OUTER_JOIN,
        ),
        (GROUPED, "ojv", Reason.NO_OUTER_JOIN),
        ("SELECT s.g FROM sales s LEFT JOIN names n ON s.g = n.g", "ojv", Reason.NO_OUTER_JOIN),
        (f"{OUTER} AND rand() < 0.5", "ojv", Reason.NOT_DETERMINISTIC),
        (OF_13, "ojv", Reason.MANY_JOINS),
        ("SELECT s.id FROM sales s FULL JOIN returns r ON s.v < r.cost", "ojv", Reason.NO_EQUALITY),
        (GROUPED, "hov", Reason.NO_INNER_JOIN),
        ("SELECT s.g FROM sales s LEFT JOIN names n ON s.g = n.g", "hov", Reason.NO_INNER_JOIN),
        ("SELECT s.id FROM sales s JOIN returns r ON s.id = r.id OR s.v = r.cost", "hov",
         Reason.NO_EQUALITY),
        ("SELECT s.id FROM sales s LEFT JOIN returns r ON s.id < r.id", "hov", Reason.NO_EQUALITY),
        ("SELECT s.id FROM sales s JOIN returns r ON s.id + rand() = r.id", "hov",
         Reason.NOT_DETERMINISTIC),
        ("SELECT id FROM sales", "cv", Reason.UNGROUPED),
        ("SELECT g, v FROM sales ORDER BY v LIMIT 3", "cv", Reason.UNGROUPED),
        (f"SELECT g, count(*) AS n FROM ({OUTER}) t JOIN names ON true GROUP BY g", "cv",
         Reason.UNGROUPED_JOIN),
        ("SELECT g, count(DISTINCT v) AS n FROM sales GROUP BY g", "cv", Reason.DISTINCT_AGGREGATE),
        ("SELECT g, median(v) AS m FROM sales GROUP BY g", "cv", Reason.AGGREGATE_FUNCTION),
        (
            "SELECT n.g, count(v) AS c FROM names n LEFT JOIN sales s ON s.g = n.g GROUP BY n.g",
            "cv",
            Reason.BUILD_SIDE,
        ),
        ("SELECT sum(v) AS s FROM sales WHERE rand() < 0.5", "cv", Reason.NOT_DETERMINISTIC),
    ],
)  # fmt: skip
def test_a_method_that_does_not_apply_says_why(sql, method, reason):
    assert f"({reason})" in why_not(sql, method)


def test_twelve_relations_are_not_too_many():
    assert planned(OF_13.replace("JOIN sales s12 ON s12.id = s1.id", ""), "ojv").plan


def test_continuous_views_keep_states_and_nothing_else():
    sql = (
        "SELECT n.label, t.s FROM names n JOIN "
        "(SELECT s.g, sum(v) AS s FROM sales s JOIN names m ON s.g = m.g GROUP BY s.g) t "
        "ON n.g = t.g WHERE t.s > (SELECT avg(cost) FROM returns)"
    )
    found = planned(sql, "cv", temporal="early", prices=OPEN)
    assert {slot.view for slot in found.space.slots} == {View.STATES}
    assert len(found.plan.families) == 2  # of the sums by g, and of the average


def test_im2_splits_what_im1_maintains_whole():
    one, two = planned(OUTER, "im1"), planned(OUTER, "im2")
    assert one.trace.found["OuterJoinDeltaByKey"]
    assert "OuterJoinDeltaByKey" not in two.trace.tried
    assert two.trace.found["PositiveAndNegativePart"]
    assert not one.trace.found.get("PositiveAndNegativePart")


def test_rules_are_switched_off_by_name():
    with pytest.raises(ForerunError, match="no rule 'Nonsense'") as caught:
        planned(GROUPED, "auto", rules_off=("Nonsense",))
    assert "AggregateDelta" in caught.value.hint
    found = planned(GROUPED, "im1", rules_off=("AggregateDelta", "GroupsOfDomain"))
    assert "AggregateDelta" not in found.trace.tried
    waiting = {item.operator: item.reason for item in found.plan.not_incremental}
    assert Reason.NOT_IN_USE in waiting.values()
    assert len(rule_names()) == len(set(rule_names()))


def test_a_day_without_early_runs_is_batch_by_any_method():
    request = PlanRequest(report="r", sql=GROUPED, sources=SOURCES, points=POINTS, method="im1")
    last = replace(request, points=POINTS[2:])
    assert api.plan(last).plan.method == "batch"
