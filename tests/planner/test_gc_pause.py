"""While a plan is made Python looks for no cycles; afterwards as before. A plan's memo is in no
cycle, so it is freed with the plan."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.gc_pause import without_collecting
from forerun.planner.request import PlanRequest, Source, SourceColumn, TimePoint


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    gc.enable()


def test_off_inside_and_on_again_outside() -> None:
    with without_collecting():
        assert not gc.isenabled()
        with without_collecting():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_on_again_after_an_error() -> None:
    with pytest.raises(RuntimeError), without_collecting():
        raise RuntimeError
    assert gc.isenabled()


def test_what_is_off_already_stays_off() -> None:
    gc.disable()
    with without_collecting():
        pass
    assert not gc.isenabled()


def test_a_dropped_plan_is_freed_at_once() -> None:
    columns = ("k", "v")
    source = Source(
        name="t",
        columns=tuple(SourceColumn(name=name, type=parse_type("BIGINT")) for name in columns),
        rows=10_000_000,
        bytes=1_000_000_000,
        changing=True,
    )
    points = (TimePoint(weight=0.3, arrived=0.5), TimePoint(weight=1.0))
    sql = "SELECT k, count(*) AS n FROM t GROUP BY k"
    gc.disable()
    try:
        found = plan(PlanRequest(report="r", sql=sql, sources=(source,), points=points))
        memo = weakref.ref(found.compared.best.explored.memo)
        assert memo() is not None
        del found
        assert memo() is None
    finally:
        gc.enable()
