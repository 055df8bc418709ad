"""An operator that is said to give no rows gives none, whatever its other inputs hold; and those
that need rows of an input are known."""

from __future__ import annotations

from itertools import product

import pytest

from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    SetKind,
    SetOperation,
    UnionAll,
    Version,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref
from forerun.planner.algebra.types import BIGINT, BOOLEAN, Column, ColumnId
from forerun.planner.props.emptiness import is_empty
from tests.oracles.interpreter import Inputs, SourceData, evaluate
from tests.oracles.values import Row


def scan(name: str, number: int) -> Scan:
    return Scan(name, (Column(ColumnId(number), "k", BIGINT),), Version.DELTA)


LEFT, RIGHT = scan("l", 1), scan("r", 2)
MERGED = (Column(ColumnId(3), "k", BIGINT),)
COUNT = (Column(ColumnId(4), "n", BIGINT), AggregateCall("count", ()))
ON = Call("=", (Ref(LEFT.columns[0]), Ref(RIGHT.columns[0])), BOOLEAN)
MARK = Column(ColumnId(5), "m", BOOLEAN)
TWO_INPUTS: dict[str, Relation] = {
    **{
        kind.value: Join(kind, LEFT, RIGHT, ON, MARK if kind is JoinKind.MARK else None)
        for kind in JoinKind
    },
    **{
        f"{kind.value} {every}": SetOperation(kind, every, LEFT, RIGHT, MERGED)
        for kind, every in product(SetKind, (False, True))
    },
    "union": UnionAll((LEFT, RIGHT), MERGED),
}
ROWS: tuple[list[Row], ...] = ([], [(1,)], [(1,), (2,)], [(3,)])


@pytest.mark.parametrize("name", TWO_INPUTS)
@pytest.mark.parametrize("without", [("l",), ("r",), ("l", "r"), ()])
def test_it_is_known_exactly_of_operators_over_two_inputs(
    name: str, without: tuple[str, ...]
) -> None:
    node = TWO_INPUTS[name]
    inputs = tuple(is_empty(one, (), without) for one in node.inputs)
    found = [
        evaluate(
            node,
            Inputs({"l": SourceData(("k",), delta=one), "r": SourceData(("k",), delta=other)}),
        )
        for one, other in product(ROWS, ROWS)
        if not ("l" in without and one) and not ("r" in without and other)
    ]
    assert is_empty(node, inputs, without) == (not any(found))


def test_an_aggregate_without_keys_has_a_row_of_nothing() -> None:
    total = Aggregate(LEFT, (), (COUNT,))
    grouped = Aggregate(LEFT, LEFT.columns, (COUNT,))
    assert evaluate(total, Inputs({"l": SourceData(("k",))})) == [(0,)]
    assert not is_empty(total, (True,), ("l",))
    assert is_empty(grouped, (True,), ("l",))


def test_only_what_has_come_is_empty() -> None:
    assert not is_empty(Scan("l", LEFT.columns), (), ("l",))
    assert not is_empty(LEFT, (), ("r",))
    one = Project(LEFT, ((MERGED[0], Literal("1", BIGINT)),))
    assert is_empty(one, (True,), ())
    assert not is_empty(one, (False,), ())
