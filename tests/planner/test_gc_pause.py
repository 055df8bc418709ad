"""While a plan is made Python looks for cycles more seldom; afterwards as before. A plan's memo is
in no cycle, so it is freed with the plan."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from forerun.planner.algebra.types import parse_type
from forerun.planner.api import plan
from forerun.planner.gc_pause import seldom_collecting
from forerun.planner.request import PlanRequest, Source, SourceColumn, TimePoint


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_seldom_inside_and_as_before_outside() -> None:
    gc.set_threshold(700, 9, 8)
    with seldom_collecting():
        inside = gc.get_threshold()
        with seldom_collecting():
            assert gc.get_threshold() == inside
        assert gc.get_threshold() == inside
    assert inside[0] > 700
    assert gc.get_threshold() == (700, 9, 8)


def test_as_before_after_an_error() -> None:
    gc.set_threshold(700, 9, 8)
    with pytest.raises(RuntimeError), seldom_collecting():
        raise RuntimeError
    assert gc.get_threshold() == (700, 9, 8)


@pytest.mark.parametrize("first", [0, 10_000_000])
def test_what_is_more_seldom_already_stays(first: int) -> None:
    gc.set_threshold(first, 9, 8)
    with seldom_collecting():
        assert gc.get_threshold() == (first, 9, 8)
    assert gc.get_threshold() == (first, 9, 8)


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
