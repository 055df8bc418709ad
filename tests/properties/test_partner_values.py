"""Partners in outer joins that are grouped first, over relations that take rows back, too: every
expression of a group gives its rows, whatever the method."""

from __future__ import annotations

import random

import pytest

from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Relation,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, conjunction, equals
from forerun.planner.algebra.types import BIGINT, BOOLEAN, INT, STRING, Column, ColumnId
from forerun.planner.rules.explore.grouped_partners import group_partners
from forerun.planner.rules.explore.reduced_partners import reduce_partners
from forerun.planner.rules.methods.catalog import SINGLE
from forerun.planner.rules.methods.method import Method
from forerun.planner.tvr.signed import ColumnIds
from tests.properties.histories import GROUP, KEY, NUMBER, History
from tests.properties.test_memo_values import CASES, best_of_groups, checked, dense, histories
from tests.selection import few

METHODS = [method for method in SINGLE if method.name in ("im1", "hov", "im2", "ojv")]
CHANGED = {
    JoinKind.LEFT: METHODS,
    JoinKind.FULL: [method for method in METHODS if method.name in ("im2", "ojv")],
}
"""The methods that have a delta of such a join."""


def _ref(history: History, name: str) -> Ref:
    return Ref(next(column for column in history.columns if column.name == name))


def _calls(one: History, other: History) -> tuple[tuple[Column, AggregateCall], ...]:
    """A sum and a count of values of either side."""
    missing = Call("isnull", (_ref(other, NUMBER),), BOOLEAN)
    texts = tuple(_ref(side, GROUP) for side in (one, other))
    lengths = tuple(Call("length", (text,), INT) for text in texts)
    large = Call(">", (_ref(one, NUMBER), Literal("1", BIGINT)), BOOLEAN)
    total = Call("case", (missing, lengths[0], large, lengths[1], Literal("5", INT)), INT)
    text = Call("case", (large, texts[1], missing, texts[0], Literal(None, STRING)), STRING)
    return (
        (Column(ColumnId(6001), "total", BIGINT), AggregateCall("sum", (total,))),
        (Column(ColumnId(6002), "texts", BIGINT), AggregateCall("count", (text,))),
    )


@pytest.mark.parametrize("kind", [JoinKind.SEMI, JoinKind.ANTI], ids=str)
def test_partners_that_are_reduced_first(kind: JoinKind) -> None:
    """Rows of both sides come and go; the conditions have more than equalities, too."""
    (im1,) = (method for method in METHODS if method.name == "im1")
    found = 0
    for seed in range(CASES // 3):
        rng = random.Random(f"reduced-{kind}-{seed}")
        given = dense(histories(rng, 2))
        large = Call(">", (_ref(given[0], NUMBER), Literal("0", BIGINT)), BOOLEAN)
        parts = [equals(*(_ref(one, KEY).column for one in given))]
        if rng.random() < 0.4:
            numbers = tuple(_ref(one, NUMBER) for one in given)
            parts.append(Call("<>", numbers, BOOLEAN))
        join = Join(kind, Filter(given[0].scan, large), given[1].scan, conjunction(tuple(parts)))
        form = reduce_partners(join)
        assert form is not None
        try:
            memo = checked(join, given, im1.rules, form=form)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        found += any(tvr.has_delta and tvr.weight is not None for tvr in memo.tvrs)
    assert found > CASES // 9


@pytest.mark.parametrize(
    ("kind", "method"),
    few(((kind, method) for kind, methods in CHANGED.items() for method in methods), 1),
    ids=lambda given: getattr(given, "name", str(given)),
)
def test_partners_that_are_grouped_first(kind: JoinKind, method: Method) -> None:
    found = 0
    for seed in range(CASES):
        rng = random.Random(f"partners-{seed}")
        given = histories(rng, 2)
        if rng.random() < 0.6:
            given = dense(given)
        sides: list[Relation] = [
            best_of_groups(one, place) if rng.random() < 0.3 else one.scan
            for place, one in enumerate(given)
        ]
        keys = (_ref(one, KEY).column for one in given)
        join = Join(kind, sides[0], sides[1], equals(*keys))
        group = tuple(_ref(one, GROUP).column for one in given if rng.random() < 0.5)
        relation = Aggregate(join, group, _calls(*given))
        form = group_partners(relation, ColumnIds(ColumnId(8500)))
        assert form is not None
        try:
            memo = checked(relation, given, method.rules, form=form)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        found += any(tvr.has_delta and tvr.weight is not None for tvr in memo.tvrs)
    assert found > CASES // 3
