"""A mark is a value in three-valued logic: NULL must not become FALSE."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.relational import Join, JoinKind, Scan
from forerun.planner.algebra.scalar import Literal, Ref, Scalar
from forerun.planner.algebra.types import BOOLEAN, INT, Column, ColumnId
from forerun.planner.rules.normalize.driver import normalize
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.interpreter import Inputs, SourceData, evaluate
from tests.planner.rules.normalize.trees import SOURCES
from tests.planner.scalars import call

V = Column(ColumnId(1), "v", INT)
W = Column(ColumnId(2), "w", INT)
MARK = Column(ColumnId(3), "m", BOOLEAN)
NULL = Literal(None, BOOLEAN)
ROWS = Inputs(
    {
        "r": SourceData(("k", "v", "t"), [], [(1, 1, None), (1, None, None), (1, 2, None)]),
        "s": SourceData(("k", "w", "u"), [], [(1, 1, None), (1, 3, None), (1, None, None)]),
    }
)


SAME = call("=", Ref(V), Ref(W))
BIG = call(">", Ref(W), Literal("1", INT))


@pytest.mark.parametrize(
    "condition",
    [
        call("and", NULL, SAME),
        call("and", SAME, BIG),
        call("or", call("and", SAME, NULL), call("and", SAME, BIG)),
        call("and", SAME, call("not", call("not", NULL))),
    ],
    ids=["null", "right-side", "factored", "negated"],
)
def test_marks_stay(condition: Scalar) -> None:
    join = Join(JoinKind.MARK, Scan("r", (V,)), Scan("s", (W,)), condition, MARK)
    expected = evaluate(join, ROWS)
    assert {mark for _, mark in expected} >= {None}
    assert evaluate(normalize(join, SOURCES, ColumnIds(9)), ROWS) == expected
