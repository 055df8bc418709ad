"""Plans of former versions are read, and refused by name where they would have to be executed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forerun.include.runs.stored_plan import StoredPlan
from forerun.include.state.layout import Generation
from forerun.include.stores.file_store import FileStore
from forerun.planner.contract import CommonSubplan, Plan, decode_plan, encode_plan
from forerun.planner.errors import ContractError

GOLDEN = Path(__file__).parents[2] / "goldens" / "v2" / "Plan.json"
HELD = CommonSubplan(view="__common_1", sql="SELECT 1 AS c0", inputs=(), columns=())


def stored(folder: Path, plan: Plan) -> str:
    store, key = FileStore(folder), Generation("r", "2026-01-01", "1").plan(1, "0123456789ab")
    store.put(key, encode_plan(plan))
    return store.uri(key)


def of_common_subplans(plan: Plan) -> Plan:
    first, *rest = plan.run.stages
    run = replace(plan.run, stages=(replace(first, common=(HELD,)), *rest))
    runs = tuple(run if one.index == run.index else one for one in plan.runs)
    return replace(plan, runs=runs)


def test_a_plan_with_common_subplans_is_read_and_not_executed(tmp_path: Path) -> None:
    plan = replace(decode_plan(GOLDEN.read_bytes()), shared=())
    assert StoredPlan.read(stored(tmp_path / "now", plan)).plan == plan
    former = of_common_subplans(plan)
    assert decode_plan(encode_plan(former)) == former
    with pytest.raises(ContractError, match="reads the common sub-plan __common_1") as caught:
        StoredPlan.read(stored(tmp_path / "then", former))
    assert "Plan the run again" in caught.value.hint
