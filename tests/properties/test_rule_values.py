"""Every rule of the memo that is no delta law of its own, on random trees and random days: each
expression that it makes gives the rows of its group."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from forerun.planner.algebra.aggregates.functions import result_type
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
)
from forerun.planner.algebra.scalar import TRUE, Call, Literal, Ref, conjunction, equals
from forerun.planner.algebra.types import BIGINT, BOOLEAN, DOUBLE, Column, ColumnId
from forerun.planner.rules.explore import (
    banded_joins,
    counted_values,
    distinct,
    interval_joins,
)
from forerun.planner.rules.incremental.memo_rules import SPLIT_JOIN, TVR_GENERATING, without
from forerun.planner.rules.methods import continuous_view, positive_negative
from forerun.planner.search.rule import MemoRule
from tests.properties.histories import GROUP, KEY, MONEY, NUMBER, History
from tests.properties.test_memo_values import checked, histories

CASES = 60
SPLIT = (JoinKind.LEFT, JoinKind.FULL)
IM2 = positive_negative.METHOD.rules
Tree = Callable[[random.Random, list[History]], Relation]


def column(history: History, name: str) -> Column:
    return next(c for c in history.columns if c.name == name)


def joined(rng: random.Random, given: list[History], *kinds: JoinKind) -> Relation:
    """One join, sometimes with more than its equality."""
    left, right = given[:2]
    condition: Call = equals(column(left, KEY), column(right, KEY))
    if rng.random() < 0.3:
        numbers = Ref(column(left, NUMBER)), Ref(column(right, NUMBER))
        condition = Call("and", (condition, Call("<", numbers, BOOLEAN)), BOOLEAN)
    return Join(rng.choice(kinds), left.scan, right.scan, condition)


def projected(rng: random.Random, given: list[History]) -> Relation:
    below = joined(rng, given, *SPLIT)
    kept = rng.sample(below.columns, 4)
    total = Column(ColumnId(900), "total", BIGINT)
    numbers = tuple(Ref(column(h, NUMBER)) for h in given[:2])
    picked = Call("coalesce", numbers, BIGINT)
    return Project(below, (*((c, Ref(c)) for c in kept), (total, picked)))


def filtered(rng: random.Random, given: list[History]) -> Relation:
    side = rng.choice(given[:2])
    one = Literal("1", BIGINT)
    is_some = rng.choice(
        (Call("<=", (Ref(column(side, NUMBER)), one), BOOLEAN),
         Call("isnull", (Ref(column(side, KEY)),), BOOLEAN))
    )  # fmt: skip
    return Filter(joined(rng, given, *SPLIT), is_some)


def joined_again(rng: random.Random, given: list[History]) -> Relation:
    kinds = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
    below = joined(rng, given, *SPLIT)
    mine = rng.choice(given[:2])
    condition = equals(column(mine, KEY), column(given[2], KEY))
    return Join(rng.choice(kinds), below, given[2].scan, condition)


def grouped(rng: random.Random, given: list[History], below: Relation | None = None) -> Relation:
    relation = joined(rng, given, *SPLIT) if below is None else below
    sides = given[:2] if below is None else given[:1]
    keys = rng.choice(((), (column(sides[0], GROUP),), (column(sides[-1], KEY),)))
    of = rng.choice(sides)
    calls = [("count", ()), ("count", (NUMBER,)), ("sum", (MONEY,)), ("min", (NUMBER,))]
    made = []
    for number, (name, args) in enumerate(rng.sample([*calls, ("max", (KEY,))], 3)):
        call = AggregateCall(name, tuple(Ref(column(of, arg)) for arg in args))
        type_ = result_type(name, tuple(arg.type for arg in call.args))
        made.append((Column(ColumnId(950 + number), name, type_), call))
    return Aggregate(relation, keys, tuple(made))


def grouped_rows(rng: random.Random, given: list[History]) -> Relation:
    return grouped(rng, given, given[0].scan)


def counted_once(rng: random.Random, given: list[History]) -> Relation:
    """DISTINCT arguments, of FILTER too, beside functions that count every row."""
    history = given[0]
    relation = history.scan if rng.random() < 0.5 else joined(rng, given, *SPLIT)
    keys = rng.choice(((), (column(history, GROUP),), (column(history, KEY),)))
    where = Call("isnotnull", (Ref(column(history, KEY)),), BOOLEAN)
    number, money = (Ref(column(history, name)) for name in (NUMBER, MONEY))
    choices = [
        AggregateCall("count", (number,), distinct=True),
        AggregateCall("count", (number, money), distinct=True),
        AggregateCall("count", (money,), distinct=True, where=where),
        AggregateCall("sum", (money,), distinct=True),
        AggregateCall("avg", (number,), distinct=True),
        AggregateCall("max", (number,), distinct=True),
        AggregateCall("count", ()),
        AggregateCall("count", (), where=where),
        AggregateCall("sum", (money,)),
        AggregateCall("min", (number,)),
    ]
    first = rng.choice(choices[:5])
    made = []
    for number_, call in enumerate((first, *rng.sample(choices, rng.randint(0, 3)))):
        type_ = result_type(call.name, tuple(arg.type for arg in call.args))
        made.append((Column(ColumnId(950 + number_), f"a{number_}", type_), call))
    return Aggregate(relation, keys, tuple(made))


def counted_places(rng: random.Random, given: list[History]) -> Relation:
    """Percentiles of one expression, with FILTER or without, beside aggregates that have states."""
    history = given[0]
    relation = history.scan if rng.random() < 0.5 else joined(rng, given, *SPLIT)
    keys = rng.choice(((), (column(history, GROUP),), (column(history, KEY),)))
    where = rng.choice((None, Call("isnotnull", (Ref(column(history, KEY)),), BOOLEAN)))
    number, money = (Ref(column(history, name)) for name in (NUMBER, MONEY))
    value = rng.choice((number, money))
    places = [Literal(text, DOUBLE) for text in ("0.0", "0.5", "0.9", "1.0")]
    calls = [
        AggregateCall("percentile", (value, place), where=where)
        for place in rng.sample(places, rng.randint(1, 2))
    ]
    way, place = rng.choice(("ASC", "DESC")), rng.choice(places)
    if rng.random() < 0.7:
        calls.append(AggregateCall("percentile_disc", (place, value), where=where, within=way))
    choices = [
        AggregateCall("percentile_cont", (place, value), where=where, within="DESC"),
        AggregateCall("median", (value,), where=where),
        AggregateCall("mode", (value, TRUE), where=where),
        AggregateCall("mode", (value,), where=where, within="DESC"),
        AggregateCall("count", ()),
        AggregateCall("count", (money,)),
        AggregateCall("sum", (money,)),
        AggregateCall("avg", (number,)),
        AggregateCall("max", (number,)),
    ]
    made = []
    for number_, call in enumerate((*calls, *rng.sample(choices, rng.randint(0, 3)))):
        type_ = result_type(call.name, tuple(arg.type for arg in call.args))
        made.append((Column(ColumnId(950 + number_), f"a{number_}", type_), call))
    return Aggregate(relation, keys, tuple(made))


def split(rng: random.Random, given: list[History]) -> Relation:
    return joined(rng, given, *SPLIT)


def near(rng: random.Random, given: list[History]) -> Relation:
    """A join by a band, sometimes with a condition more, of rows or of their groups' numbers."""
    left, right = given[:2]
    one, other = (Ref(column(history, NUMBER)) for history in given[:2])
    down, up = (Literal(str(rng.randint(0, 2)), BIGINT) for _ in range(2))
    parts = [
        Call(">=", (other, Call("-", (one, down), BIGINT)), BOOLEAN),
        Call("<=", (other, Call("+", (one, up), BIGINT)), BOOLEAN),
    ]
    if rng.random() < 0.3:
        money = (Ref(column(left, MONEY)), Ref(column(right, MONEY)))
        parts.append(Call("<>", money, BOOLEAN))
    kinds = (JoinKind.INNER, JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
    return Join(rng.choice(kinds), left.scan, right.scan, conjunction(tuple(parts)))


def between(rng: random.Random, given: list[History]) -> Relation:
    """A join of rows with the intervals that they lie in, of either side."""
    sides = rng.sample(given[:2], 2)
    spans, points = sides
    low, high = Ref(column(spans, KEY)), Ref(column(spans, NUMBER))
    point = Ref(column(points, NUMBER))
    below, above = (rng.choice((">", ">=")) for _ in range(2))
    upper = Call(above, (high, point), BOOLEAN)
    if rng.random() < 0.3:
        upper = Call("or", (upper, Call("isnull", (high,), BOOLEAN)), BOOLEAN)
    parts = [Call(below, (point, low), BOOLEAN), upper]
    if rng.random() < 0.3:
        money = (Ref(column(points, MONEY)), Ref(column(spans, MONEY)))
        parts.append(Call("<>", money, BOOLEAN))
    kinds = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
    return Join(rng.choice(kinds), given[0].scan, given[1].scan, conjunction(tuple(parts)))


def any_join(rng: random.Random, given: list[History]) -> Relation:
    return joined(rng, given, JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


RULES: tuple[tuple[MemoRule, Tree, tuple[MemoRule, ...]], ...] = (
    (positive_negative.DECOMPOSE, split, IM2),
    (positive_negative.PROJECT, projected, IM2),
    (positive_negative.FILTER, filtered, IM2),
    (positive_negative.JOIN, joined_again, IM2),
    (positive_negative.AGGREGATE, grouped, IM2),
    (SPLIT_JOIN, any_join, TVR_GENERATING),
    (distinct.RULE, counted_once, TVR_GENERATING),
    (counted_values.RULE, counted_places, TVR_GENERATING),
    (banded_joins.RULE, near, TVR_GENERATING),
    (interval_joins.RULE, between, TVR_GENERATING),
    (continuous_view.STATES, grouped_rows, without("AggregateDelta")),
)


@pytest.mark.parametrize(("rule", "tree", "others"), RULES, ids=[r.name for r, *_ in RULES])
def test_what_a_rule_makes_is_what_the_group_holds(rule, tree, others):
    found = 0
    for seed in range(CASES):
        rng = random.Random(f"{rule.name}-{seed}")
        given = histories(rng, 3)
        relation = tree(rng, given)
        rules = (*(other for other in others if other.name != rule.name), rule)
        try:
            memo = checked(relation, given, rules)
        except AssertionError as error:
            raise AssertionError(f"{rule.name}, seed {seed}: {error}") from error
        found += any(one.origin == rule.name for one in memo.expressions)
    assert found >= CASES // 4, f"only {found} of {CASES} trees reached the rule"
