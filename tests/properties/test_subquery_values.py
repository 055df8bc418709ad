"""Subqueries as values, by the rows that a change may concern: every expression of a group gives
its rows."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from forerun.planner.algebra.relational import Join, JoinKind, Relation
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, conjunction, equals
from forerun.planner.algebra.types import BOOLEAN, Column, ColumnId
from forerun.planner.rules.incremental.memo_rules import TVR_GENERATING
from forerun.planner.rules.methods.domain import DOMAIN
from forerun.planner.rules.methods.marks import MARKS
from tests.properties.histories import GROUP, KEY, NUMBER, History
from tests.properties.test_memo_values import (
    CASES,
    best_of_groups,
    checked,
    dense,
    histories,
    random_joins,
)

HOLDS = (MARKS.name,)
"""The rules that only this file holds against rows."""


def _column(history: History, name: str) -> Column:
    return next(c for c in history.columns if c.name == name)


@pytest.mark.parametrize("kind", [JoinKind.MARK, JoinKind.SINGLE])
def test_values_of_subqueries_by_their_domains(kind: JoinKind) -> None:
    """Marks over NULL keys on both sides, further conditions, and rows that are taken back; scalar
    subqueries that find one row at most."""
    found = 0
    for seed in range(CASES * 2):
        rng = random.Random(f"subquery-{kind}-{seed}")
        given = histories(rng, rng.choice((2, 3)))
        if rng.random() < 0.5:
            given = dense(given)
        other = given[-1]
        right: Relation = other.scan
        if kind is JoinKind.SINGLE:
            given[-1] = other = one_by_key(other)
        elif rng.random() < 0.4:
            right = best_of_groups(other, 1)
        kinds = (JoinKind.INNER, JoinKind.LEFT) if kind is JoinKind.MARK else (JoinKind.INNER,)
        left = random_joins(rng, given[:-1], kinds, residual=0.3)
        columns = {column.id for column in left.columns}
        outside = [h for h in given[:-1] if _column(h, KEY).id in columns]
        parts: list[Scalar] = [equals(_column(rng.choice(outside), KEY), _column(other, KEY))]
        if rng.random() < 0.4 and _column(outside[0], GROUP).id in columns:
            parts.append(equals(_column(outside[0], GROUP), _column(other, GROUP)))
        if rng.random() < 0.4 and _column(outside[0], NUMBER).id in columns:
            numbers = Ref(_column(outside[0], NUMBER)), Ref(_column(other, NUMBER))
            parts.append(Call(rng.choice(("<", "<>")), numbers, BOOLEAN))
        mark = Column(ColumnId(7000), "mark", BOOLEAN) if kind is JoinKind.MARK else None
        if mark is not None:
            parts = [
                Call("<=>", (part, Literal("true", BOOLEAN)), BOOLEAN) if sure else part
                for part in parts
                for sure in (rng.random() < 0.5,)
            ]
        relation = Join(kind, left, right, conjunction(tuple(parts)), mark)
        rule = MARKS.name if kind is JoinKind.MARK else "PartnersOfDomain"
        try:
            memo = checked(relation, given, (*TVR_GENERATING, *DOMAIN))
        except AssertionError as error:
            raise AssertionError(f"{kind}, seed {seed}: {error}") from error
        found += any(e.origin == rule for e in memo.expressions)
    assert found > CASES // 3


def one_by_key(history: History) -> History:
    """The same with one row of each key, the first one."""
    seen: set[object] = set()
    deltas = []
    for delta in history.deltas:
        kept = []
        for row, _ in delta:
            if row[0] is None or row[0] not in seen:
                seen.add(row[0])
                kept.append((row, 1))
        deltas.append(kept)
    return replace(history, deltas=deltas)
