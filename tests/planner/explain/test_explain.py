"""Explain: says what the plan says, names shared sub-plans once, and never changes by itself."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from forerun.planner import api
from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.contract.plan_v1 import ArtifactOutput
from forerun.planner.errors import Reason
from forerun.planner.explain import flow, record, sql, tree
from forerun.planner.explain.reasons import REASONS, reason_text
from forerun.planner.request import (
    ColumnStats,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    TimePoint,
)
from tests.planner.starts import CHEAP_RUNS

COLUMNS = (
    SourceColumn(name="k", type=BIGINT),
    SourceColumn(name="g", type=STRING),
    SourceColumn(name="v", type=BIGINT),
)
SOURCES = tuple(
    Source(
        name=name,
        columns=COLUMNS,
        changing=True,
        rows=50_000_000,
        bytes=2_000_000_000,
        stats=(("g", ColumnStats(distinct=10.0)),),
    )
    for name in ("t", "u")
)
POINTS = (TimePoint(weight=0.25, arrived=0.6), TimePoint(weight=1.0))


def planned(text: str, **options: object) -> api.PlanResult:
    request = PlanRequest(report="r", sql=text, sources=SOURCES, points=POINTS, **options)
    return api.plan(request)


def test_the_tree_shows_choice_rows_cost_and_what_is_kept() -> None:
    found = planned("SELECT g, SUM(v) AS s FROM t GROUP BY g")
    text = tree.render(found)
    assert found.plan.method == "incremental"
    assert "incremental, 2 of 2 runs opened" in text
    for family in found.plan.families:
        assert f"kept as {family.id}" in text
    assert "weight 0.25" in text
    assert "arrived   60%" in text
    assert tree.render(planned("SELECT g, SUM(v) AS s FROM t GROUP BY g")) == text


def test_auto_is_batch_where_that_is_said_and_explain_says_why() -> None:
    text = "SELECT g, SUM(v) AS s FROM t GROUP BY g"
    found = planned(text, batch_because="it has lost")
    batch = planned(text, method="batch")
    assert replace(found.plan, batch_because="") == batch.plan
    assert "no early work: it has lost" in tree.render(found)
    assert record.as_json(found)["plan"]["batch_because"] == "it has lost"
    by_name = planned(text, method="im1", batch_because="it has lost")
    assert by_name.plan == planned(text, method="im1").plan


def test_batch_is_said_to_be_batch() -> None:
    found = planned("SELECT g, SUM(v) AS s FROM t GROUP BY g", method="batch")
    assert "batch, one run at the end" in tree.render(found)
    assert all(line.mode in ("final", "static") for line in tree.lines(found))
    assert found.plan.sql in sql.render(found.plan)


def test_a_day_that_is_too_small_for_early_work_says_so() -> None:
    small = tuple(replace(source, rows=1000, bytes=40_000) for source in SOURCES)
    text = "SELECT g, SUM(v) AS s FROM t GROUP BY g"
    found = api.plan(PlanRequest(report="r", sql=text, sources=small, points=POINTS))
    assert found.plan.method == "batch"
    assert "no early work looked at: to open one more run costs more" in tree.render(found)


def test_early_work_that_does_not_pay_says_what_it_would_cost() -> None:
    text = "SELECT g, SUM(v) AS s FROM t GROUP BY g"
    middling = tuple(replace(source, rows=5_000_000) for source in SOURCES)
    found = api.plan(
        PlanRequest(
            report="r",
            sql=text,
            sources=middling,
            points=POINTS,
            settings=Settings(prices=CHEAP_RUNS),
        )
    )
    assert found.plan.method == "batch"
    best = min(one.total for one in found.decision.rejected if not one.is_batch)
    said = f"no early work: at best (runs 1, 2) {best / 1e6:.2f} CPU s weighted, "
    assert said in tree.render(found)
    assert "no early work" not in tree.render(planned(text))
    assert "no early work" not in tree.render(planned(text, method="batch"))


def test_every_operator_that_waits_has_its_reason() -> None:
    found = planned("SELECT g, percentile(v, 0.5) AS m FROM t GROUP BY g ORDER BY g LIMIT 3")
    shown = [line.reason for line in tree.lines(found) if line.reason]
    assert sorted(shown) == sorted(item.reason for item in found.plan.not_incremental)
    text = tree.render(found)
    for item in found.plan.not_incremental:
        assert f"{item.operator}: {item.reason} ({reason_text(item.reason)})" in text


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("SELECT (SELECT COUNT(*) FROM t WHERE v < 3), (SELECT SUM(k) FROM t WHERE v > 7)", "Join"),
        ("SELECT a.k FROM t a JOIN t b ON b.v < a.v + 3 AND a.v - 3 < b.v", "Join cross"),
    ],
)  # fmt: skip
def test_what_waits_is_an_operator_of_the_plan(text: str, without: str) -> None:
    found = planned(text, method="batch", settings=Settings(own_batch="always"))
    shown = {line.operator for line in tree.lines(found)}
    waiting = [item.operator for item in found.plan.not_incremental]
    assert set(waiting) <= shown
    assert waiting, "with these rules off, something waits"
    assert len(waiting) == len(set(waiting))
    assert without not in waiting


def test_order_by_and_limit_wait_for_a_reason_of_their_own() -> None:
    found = planned("SELECT g, SUM(v) AS s FROM t GROUP BY g ORDER BY g LIMIT 3")
    reasons = {item.operator: item.reason for item in found.plan.not_incremental}
    assert reasons["Sort"] == reasons["Limit"] == Reason.LIMIT


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_words(reason: Reason) -> None:
    assert REASONS[reason]
    assert reason_text(reason.value) == REASONS[reason]


def test_a_shared_sub_plan_is_printed_once() -> None:
    found = planned(
        "SELECT a.g, a.n + b.n AS n FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g) a "
        "JOIN (SELECT g, COUNT(*) AS n FROM t GROUP BY g) b ON a.g = b.g"
    )
    lines = tree.lines(found)
    again = [line for line in lines if line.again]
    assert again
    for line in again:
        assert sum(one.shared == line.shared and not one.again for one in lines) == 1


def test_the_sql_is_that_of_the_contract() -> None:
    found = planned("SELECT t.g, SUM(u.v) AS s FROM t JOIN u ON t.k = u.k GROUP BY t.g")
    text = sql.render(found.plan)
    for run in found.plan.runs:
        for stage in run.stages:
            assert stage.sql.strip().rstrip(";") in text
            assert f"-- stage {stage.id}: " in text


def test_the_flow_names_every_stage_and_every_input() -> None:
    found = planned("SELECT g, SUM(v) AS s FROM t GROUP BY g")
    first, last = found.plan.runs
    assert "all rows of t" in flow.render(found.plan, first)
    text = flow.render(found.plan, last)
    assert text.startswith("the report\n")
    assert "new rows of t" in text
    assert "kept by run 1: " in text
    kept = [s for s in last.stages if isinstance(s.output, ArtifactOutput)]
    assert sum(node.kind == "stage" for node in flow.nodes(found.plan, last)) >= len(kept) + 1


def test_json_holds_the_contract_and_what_was_rejected() -> None:
    found = planned("SELECT g, SUM(v) AS s FROM t GROUP BY g")
    text = json.loads(json.dumps(record.as_json(found)))
    assert text["plan"]["report"] == "r"
    chosen = [one for one in text["candidates"] if one["chosen"]]
    assert [one["weighted_cost"] for one in chosen] == [found.plan.estimated_cost]
    assert any(one["method"] == "batch" for one in text["candidates"])
    assert len(text["operators"]) == len(tree.lines(found))
