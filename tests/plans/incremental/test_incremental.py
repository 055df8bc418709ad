"""Golden plans of the delta rules: which rule covers what, what is kept, what the SQL is.

``fires`` prints how often the expected rules found anything; ``rules`` every operator with its
rule or the reason why it has none; ``stages`` what run 2
writes and reads with everything early that can be; ``sql`` the text of its stages.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from forerun.planner.algebra.describe import label
from forerun.planner.algebra.relational import Version
from forerun.planner.algebra.types import parse_type
from forerun.planner.api import PlanResult, plan
from forerun.planner.contract import FamilyInput, Stage
from forerun.planner.contract.plan_v1 import ForeignKey
from forerun.planner.errors import Reason
from forerun.planner.memo.groups import Tvr, View
from forerun.planner.memo.memo import Memo
from forerun.planner.request import (
    Method,
    PlanRequest,
    Settings,
    Source,
    SourceColumn,
    SourceForeignKey,
    TimePoint,
)
from forerun.planner.rules.incremental.memo_rules import reason
from forerun.planner.rules.methods.catalog import AUTO
from tests.datadriven import Block, Case, cases, check
from tests.planner.starts import OPEN

FILES = sorted(Path(__file__).parent.glob("*.test"))
POINTS = (
    TimePoint(weight=0.25, arrived=0.5),
    TimePoint(weight=0.3, arrived=0.8),
    TimePoint(weight=1.0),
)


def table(
    name: str,
    columns: str,
    *,
    changing: bool,
    rows: int,
    key: tuple[str, ...] = (),
    foreign_keys: tuple[ForeignKey, ...] = (),
    ordered_by: str = "",
    panes: int = 0,
) -> Source:
    parsed = tuple(part.split(" ", 1) for part in columns.split(", "))
    return Source(
        name=name,
        columns=tuple(SourceColumn(name=c, type=parse_type(t)) for c, t in parsed),
        changing=changing,
        rows=rows,
        keys=(key,) if key else (),
        foreign_keys=tuple(SourceForeignKey(key=key) for key in foreign_keys),
        ordered_by=ordered_by,
        change="changelog" if panes else "append_only",
        retracted=0.1 if panes else 0.0,
        proven=bool(panes),
        panes=panes,
    )


SOURCES = (
    table("sales", "id bigint, g string, x decimal(12,2), f double", changing=True, rows=10**7),
    table("returns", "id bigint, cost decimal(12,2), n int", changing=True, rows=10**6),
    table("names", "g string, label string", changing=False, rows=100),
    table("buyers", "buyer bigint, town string", changing=True, rows=10**6, key=("buyer",)),
    table("orders", "o bigint, shop bigint, day date", changing=True, rows=10**6),
    table(
        "lines",
        "l bigint, at bigint, price bigint",
        changing=True,
        rows=10**7,
        foreign_keys=(
            ForeignKey(columns=("l",), parent="orders", parent_columns=("o",)),
            ForeignKey(columns=("l", "at"), parent="orders", parent_columns=("o", "shop")),
        ),
    ),
    table(
        "parcels",
        "l bigint, at bigint, kg bigint",
        changing=True,
        rows=10**7,
        foreign_keys=(
            ForeignKey(columns=("l", "at"), parent="orders", parent_columns=("o", "shop")),
        ),
    ),
    table(
        "clicks",
        "visitor bigint, at timestamp, seconds int, ratio double",
        changing=True,
        rows=10**7,
        ordered_by="at",
    ),
    table(
        "readings",
        "sensor bigint, at timestamp, value int",
        changing=True,
        rows=10**7,
        key=("sensor", "at"),
        ordered_by="at",
    ),
    table(
        "visits",
        "town string, page bigint, seconds int, score double",
        changing=True,
        rows=10**7,
        panes=28,
    ),
    table("pages", "page bigint, topic string", changing=False, rows=1000),
)


def planned(sql: str, method: Method = "auto") -> PlanResult:
    settings = Settings(temporal="early", prices=OPEN)
    return plan(
        PlanRequest(
            report="golden",
            sql=sql,
            sources=SOURCES,
            points=POINTS,
            method=method,
            settings=settings,
        )
    )


def fired(memo: Memo, tvr: Tvr) -> list[str]:
    """The rules that found versions of a TVR, in the order in which they did."""
    found: dict[str, None] = {}
    for (version, view), group in tvr.edges.items():
        if version is Version.DELTA or view in (View.STATES, View.LOSSES):
            found |= dict.fromkeys(e.origin for e in memo.alternatives(group))
    return list(found)


def rules(result: PlanResult) -> list[str]:
    lines = []
    memo = result.space.memo
    stack = [(result.relation, 0)]
    while stack:
        node, depth = stack.pop()
        tvr = memo.tvr_of(memo.add(node))
        assert tvr is not None
        how = "static"
        if tvr.changing:
            how = ", ".join(fired(memo, tvr))
            why = reason(memo, next(memo.alternatives(tvr.new)).node, AUTO.rule_names)
            how = how or str(why or Reason.INPUT_WAITS)
        lines.append(f"{'  ' * depth}{label(node)}: {how}")
        stack.extend((i, depth + 1) for i in reversed(node.inputs))
    return lines


def run(block: Block) -> str:
    result = planned(block.input, cast(Method, block.options.get("method", "auto")))
    found = {name for name, count in result.trace.found.items() if count}
    assert set(block.listed("expect")) <= found, f"line {block.line}: {sorted(found)}"
    assert not set(block.listed("expect-not")) & found, f"line {block.line}: {sorted(found)}"
    if block.directive == "fires":
        counts = (f"{n}: {result.trace.found[n]}" for n in block.listed("expect"))
        return "\n".join(counts) or "nothing of these"
    if block.directive == "rules":
        return "\n".join(rules(result))
    stages = result.plan.runs[int(block.options.get("run", "2")) - 1].stages
    if block.directive == "sql":
        return "\n".join(f"-- {stage.title}\n{_sides(stage)}{stage.sql}" for stage in stages)
    assert block.directive == "stages", block.directive
    titles = {family.id: family.title for family in result.plan.families}
    lines = []
    for stage in stages:
        lines.append(stage.title)
        for given in stage.inputs:
            what = titles[given.family] if isinstance(given, FamilyInput) else given.view
            lines.append(f"  from {what}")
    return "\n".join(lines)


@pytest.mark.parametrize("case", cases(FILES))
def test_golden(case: Case, accept: bool) -> None:
    check(case, run, accept=accept)


def _sides(stage: Stage) -> str:
    return "".join(f"{side.view} IS\n{side.sql}\n" for side in stage.small_sides)
