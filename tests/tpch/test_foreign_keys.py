"""What TPC-H's foreign keys are worth at scale 10: the terms that each of the 22 plans leaves out,
and the estimated cost with and without.

A ``day`` is planned as ``progressive`` three times: without foreign keys; with keys that ascend as
they arrive, whose lookup costs nothing; with keys at random, whose lookup reads all that was there.
Of a plan that relies on a foreign key, each line is what it says is matched by nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.planner.algebra.describe import words_of
from forerun.planner.api import PlanResult, plan
from forerun.planner.cost.constants import MICRO
from forerun.planner.memo.relying import Relying
from forerun.planner.memo.tree import original
from forerun.planner.request import PlanRequest, Settings, Source, TimePoint
from forerun.simulation.declared import Declared, parse_foreign_key
from tests.datadriven import Block, Case, cases, check
from tests.planner.chosen_rules import chosen_expressions
from tests.planner.sql.tpch import SOURCES
from tests.planner.starts import OPEN
from tests.selection import few
from tests.tpch.at_scale_10 import at_scale_10
from tests.tpch.days import ARRIVED, WEIGHTS

HERE = Path(__file__).parent
GROWING = ("customer", "orders", "lineitem")
KEYS = ("lineitem.l_orderkey=orders.o_orderkey", "orders.o_custkey=customer.c_custkey")
"""Those whose child and parent both grow: what comes of any other parent is nothing."""
OVERLAPS = {"keys that ascend": 0.0, "keys at random": 1.0}


def planned(query: str, overlap: float | None) -> PlanResult:
    """The day of a query; ``overlap`` is that of the foreign keys, None without any."""
    found = tuple(at_scale_10(replace(one, changing=one.name in GROWING)) for one in SOURCES)
    if overlap is not None:
        declared = Declared(foreign_keys=tuple(map(parse_foreign_key, KEYS))).of(found)
        found = tuple(_overlapping(source, overlap) for source in declared)
    return plan(
        PlanRequest(
            report=query,
            sql=(HERE / f"{query}.sql").read_text(),
            sources=found,
            points=tuple(
                TimePoint(weight=weight, arrived=share)
                for weight, share in zip(WEIGHTS, ARRIVED, strict=True)
            ),
            method="progressive",
            settings=Settings(prices=OPEN),
        )
    )


def _overlapping(source: Source, overlap: float) -> Source:
    keys = tuple(replace(one, overlap=overlap) for one in source.foreign_keys)
    return replace(source, foreign_keys=keys)


def left_out(result: PlanResult) -> Iterator[str]:
    """A line for each delta that a foreign key makes shorter: its run, the key, what it is of."""
    memo, words = result.space.memo, words_of(result.relation)
    for index, expression in chosen_expressions(result):
        if not isinstance(expression.node, Relying):
            continue
        run = result.plan.runs[index].index
        delta = words.of(original(memo, expression.inputs[0].group))
        for one in expression.node.on:
            yield f"  run {run}, {one.source} names {one.key.parent}: change is {delta}"


def run(block: Block) -> str:
    without = planned(block.input, None)
    lines = [f"without: {_cost(without)}"]
    for name, overlap in OVERLAPS.items():
        found = planned(block.input, overlap)
        lines += [f"{name}: {_cost(found)}", *sorted(set(left_out(found)))]
    return "\n".join(lines)


def _cost(result: PlanResult) -> str:
    return f"{result.plan.estimated_cost / MICRO:.2f}"


@pytest.mark.search
@pytest.mark.parametrize("case", few(cases([HERE / "foreign_keys.test"]), 7))
def test_what_foreign_keys_are_worth_at_scale_10(case: Case, accept: bool) -> None:
    check(case, run, accept=accept)
