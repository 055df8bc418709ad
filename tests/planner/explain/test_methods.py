"""What each method alone would give beside the chosen plan, why not, and how it was found."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from forerun.planner import api
from forerun.planner.algebra.types import BIGINT
from forerun.planner.cost.constants import MICRO
from forerun.planner.explain import methods, record, steps, tree
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint
from forerun.planner.rules.methods.catalog import METHODS, SINGLE
from tests.datadriven import Block, Case, cases, check
from tests.planner.starts import CHEAP_RUNS

GOLDENS = sorted(Path(__file__).parent.glob("*.test"))
POINTS = tuple(TimePoint(weight=w, arrived=a) for w, a in ((0.1, 0.5), (0.1, 0.8), (1.0, 1.0)))
SOURCES = tuple(
    Source(
        name=name,
        columns=tuple(SourceColumn(name=c, type=BIGINT) for c in columns),
        changing=True,
        rows=rows,
        bytes=100 * rows,
    )
    for name, columns, rows in (
        ("sales", ("o_id", "category", "price"), 60_000_000),
        ("returns", ("o_id", "cost"), 6_000_000),
    )
)
SUMMARY = (
    "SELECT category, sum(coalesce(-cost, price)) AS gross FROM sales LEFT JOIN returns "
    "ON sales.o_id = returns.o_id GROUP BY category"
)


def planned(sql: str, method: str = "auto") -> api.PlanResult:
    return api.plan(
        PlanRequest(
            report="r",
            sql=sql,
            sources=SOURCES,
            points=POINTS,
            method=method,
            settings=Settings(prices=CHEAP_RUNS),
        )
    )


@pytest.fixture(scope="module")
def found() -> api.PlanResult:
    return planned(SUMMARY)


def test_the_tree_has_every_method_with_its_cost_or_its_reason(found):
    text = tree.render(found, api.plans_by_method(found))
    shown = text[text.index("by method") :]
    for name in METHODS:
        assert re.search(rf"^  {name} ", shown, re.MULTILINE), f"{name} is not in\n{shown}"
    assert "joined-before-grouping" in shown
    assert "by method" not in tree.render(found), "planned only where somebody looks at it"


@pytest.mark.parametrize("method", SINGLE, ids=lambda method: method.name)
def test_why_not_says_what_planning_it_alone_gives(found, method):
    text = methods.why_not(found, api.plans_by_method(found))
    head = f"{method.name} alone, {method.title}\n  "
    said = text[text.index(head) + len(head) :].split("\n")[0]
    if said.startswith("does not apply"):
        with pytest.raises(api.MethodError) as caught:
            planned(SUMMARY, method.name)
        assert said.removeprefix("does not apply: ") in caught.value.message
        return
    alone = planned(SUMMARY, method.name).plan
    assert said.startswith(f"{alone.estimated_cost / MICRO:.2f}, ")
    opened = ", ".join(str(run.index) for run in alone.runs if run.opened)
    assert f"runs {opened}:" in said


def test_batch_is_an_alternative_too(found):
    text = methods.why_not(found, ())
    assert f"{planned(SUMMARY, 'batch').plan.estimated_cost / MICRO:.2f}, 1.00 of batch" in text


def test_json_counts_the_work(found):
    said = record.as_json(found, api.plans_by_method(found))
    json.dumps(said)
    search = said["search"]
    assert search["firings"] == len(found.trace.firings) == len(said["steps"]["memo"])
    assert search["firings"] == sum(one["firings"] for one in search["by_rule"].values())
    assert search["tries"] >= search["firings"] > 0
    assert search["expressions"] == len(found.space.memo.expressions) >= search["groups"] > 0
    assert search["evaluations"] >= found.decision.evaluations > 0
    by_name = {one["method"]: one for one in said["methods"]}
    assert by_name["im1"]["weighted_cost"] == planned(SUMMARY, "im1").plan.estimated_cost
    assert by_name["cv"]["weighted_cost"] is None
    assert by_name["cv"]["why_not"]


@pytest.mark.parametrize("case", cases(GOLDENS))
def test_golden(case: Case, accept: bool) -> None:
    def run(block: Block) -> str:
        return steps.render(planned(block.input, block.options["method"]))

    check(case, run, accept=accept)


def test_every_expression_of_the_memo_is_in_a_step(found):
    """Those of the query come first; each later one was made by one step."""
    trace, memo = found.trace, found.space.memo
    ends = [step.end for step in trace.firings]
    firsts = [step.first for step in trace.firings]
    assert firsts[1:] == ends[:-1]
    assert ends[-1] == len(memo.expressions)
    assert {step.rule for step in trace.firings} == {n for n, c in trace.found.items() if c}
