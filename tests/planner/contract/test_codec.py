"""Plans as JSON: nothing is lost, and what is not understood whole is refused."""

from __future__ import annotations

import pytest

from forerun.planner import api
from forerun.planner.algebra.types import BIGINT, STRING
from forerun.planner.contract import CONTRACT_VERSION, Plan, decode_plan, encode_plan
from forerun.planner.contract.seal import seal, unseal
from forerun.planner.errors import ContractError
from forerun.planner.request import PlanRequest, Settings, Source, SourceColumn, TimePoint

KEY, TEXT = SourceColumn(name="k", type=BIGINT), SourceColumn(name="g", type=STRING)
SQL = "SELECT s.g, count(*) AS n FROM s JOIN r ON s.k = r.k GROUP BY s.g ORDER BY n"


def plan(method: str = "auto") -> Plan:
    request = PlanRequest(
        report="r",
        sql=SQL,
        sources=(
            Source(name="s", columns=(KEY, TEXT), changing=True, rows=10**7),
            Source(name="r", columns=(KEY,), changing=True, rows=10**7),
        ),
        points=(TimePoint(weight=0.25, arrived=0.5), TimePoint(weight=1.0)),
        method=method,
        settings=Settings(temporal="early"),
    )
    return api.plan(request).plan


def changed(**values: object) -> bytes:
    """A plan with other values for top-level fields, sealed again; ``...`` drops one."""
    raw, _ = unseal(encode_plan(plan()), "the plan")
    return seal({k: v for k, v in {**raw, **values}.items() if v is not ...})


@pytest.mark.parametrize("method", ["auto", "batch"])
def test_a_plan_comes_back_as_it_was(method):
    written = plan(method)
    data = encode_plan(written)
    assert decode_plan(data) == written
    assert encode_plan(decode_plan(data)) == data


@pytest.mark.parametrize("version", [CONTRACT_VERSION + 1, CONTRACT_VERSION - 1, "1", None, ...])
def test_a_plan_of_another_version_is_refused_whatever_else_is_in_it(version):
    """The version is read first: a newer plan may have fields that mean anything."""
    with pytest.raises(ContractError) as caught:
        decode_plan(changed(version=version, invented={"later": True}))
    shown = None if version is ... else version
    assert f"has contract version {shown!r}" in str(caught.value)
    assert f"this program reads {CONTRACT_VERSION}" in str(caught.value)
    assert "plan the run again" in caught.value.hint
    assert caught.value.code == "contract"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed(invented=1), "unknown fields: invented"),
        (changed(sql=...), "lacks sql"),
        (changed(current="1"), r"plan\.current should be int"),
        (changed(method="magic"), r"plan\.method should be one of"),
        (changed(runs={}), r"plan\.runs should be a list"),
        (b'{"version": 1', "is not JSON"),
        (b"", "is not JSON"),
        (b"[1]", "should be a JSON object, not a list of 1"),
        (encode_plan(plan()).replace(b"early", b"earlz", 1), "does not match its checksum"),
    ],
)
def test_reading_is_strict(data, message):
    with pytest.raises(ContractError, match=message) as caught:
        decode_plan(data)
    assert caught.value.hint
