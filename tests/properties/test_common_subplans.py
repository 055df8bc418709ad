"""Reports of a group that share sub-plans: whatever they have in common, each result is that of its
own query over its own sources.

Pairs of random queries, the second over the rows of the first or some of its parts, planned as a
group at every run of a day, with prices at which holding rows costs nothing.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from forerun.planner.contract import decode_plan, encode_plan
from forerun.planner.contract.plan_v1 import ArtifactOutput
from forerun.planner.cost import operators
from forerun.planner.cost.prices import SPARK
from forerun.planner.errors import ForerunError
from forerun.planner.report_group import plan_group, whole_days
from forerun.planner.request import Committed
from forerun.planner.result import PlanResult
from tests.properties.cases import Case
from tests.properties.chunks import starts
from tests.properties.engines import PlainSailEngine
from tests.properties.execute import (
    Day,
    RefusedError,
    check_rows,
    expected_rows,
    request_of,
    run_stages,
)
from tests.properties.generate import random_case
from tests.properties.sessions import sail_session

PAIRS, FAST, CHUNK = 400, 80, 20
HOLDS_FOR_NOTHING = replace(
    SPARK, stage_start=0.0, scan_row=0.0, scan_byte=0.0, write_row=0.0, write_byte=0.0
)
OVER = (
    "SELECT count(*) AS c0 FROM ({0}) AS whole",
    "SELECT c0, count(*) AS c1 FROM ({0}) AS whole GROUP BY c0",
    "SELECT * FROM ({0}) AS whole WHERE c0 IS NOT NULL",
    "SELECT x.c0 AS c0, y.c0 AS c1 FROM ({0}) AS x JOIN ({0}) AS y ON x.c0 = y.c0",
)


@pytest.fixture(scope="module")
def sail() -> PlainSailEngine:
    return PlainSailEngine(sail_session())


def pair(seed: int) -> tuple[Case, Case]:
    """Two reports over the same tables, the second of which is over what the first one gives."""
    case = random_case(seed, for_sail=True)
    query = replace(case.query, order="", limit=None, sort_keys=())
    one = replace(case, name="one", query=query)
    rng = random.Random(seed)
    outer = rng.choice(OVER).replace("{0}", query.outer)
    return one, replace(case, name="two", query=replace(query, outer=outer))


def one_day(pair: tuple[Case, Case], engine: PlainSailEngine) -> int:
    """Do the days of both; return how often a run has read a common sub-plan."""
    days, shared = (Day(), Day()), 0
    expected = [expected_rows(case, engine, case.runs) for case in pair]
    for run in range(1, pair[0].runs + 1):
        requests = [
            request_of(case, run, case.runs, day, case.early)
            for case, day in zip(pair, days, strict=True)
        ]
        requests = [
            replace(one, settings=replace(one.settings, prices=HOLDS_FOR_NOTHING))
            for one in requests
        ]
        for case, day, wanted, found in zip(
            pair, days, expected, plan_group(whole_days(requests)).results, strict=True
        ):
            if isinstance(found, ForerunError):
                raise found
            assert decode_plan(encode_plan(found.plan)) == found.plan, "a plan that can be stored"
            shared += sum(len(stage.common) for stage in found.plan.run.stages)
            rows = run_stages(found.plan, case, engine, day)
            if run == case.runs:
                check_rows(case, wanted, rows)
            elif found.plan.run.opened:
                day.committed.append(Committed(index=run, families=written(found)))
    return shared


def written(found: PlanResult) -> tuple:
    outputs = (stage.output for stage in found.plan.run.stages)
    return tuple(found.plan.family(o.family) for o in outputs if isinstance(o, ArtifactOutput))


@pytest.fixture(autouse=True)
def _held_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "HOLD_START", 0.0)


@pytest.mark.parametrize("start", starts(0, PAIRS, CHUNK, fast=FAST))
def test_each_report_of_a_group_gets_its_own_result(sail, start):
    shared, done = 0, 0
    for seed in range(start, start + CHUNK):
        both = pair(seed)
        try:
            shared += one_day(both, sail) > 0
        except RefusedError:
            continue
        done += 1
    assert done >= 0.8 * CHUNK
    assert shared >= 0.2 * done, "so few pairs share anything that nothing is tried"
