"""Rules of the memo on random trees and random days: every expression gives its group's rows."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from forerun.planner.algebra.aggregates.functions import result_type
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Join,
    JoinKind,
    Project,
    Relation,
)
from forerun.planner.algebra.scalar import Call, Ref, Scalar, conjunction, equals
from forerun.planner.algebra.types import BOOLEAN, Column, ColumnId
from forerun.planner.contract.plan_v1 import ForeignKey, ReliedForeignKey
from forerun.planner.memo.memo import Memo
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.explore.catalog import LastTwoRuns
from forerun.planner.rules.explore.join_orders import add_orders
from forerun.planner.rules.incremental import foreign_key
from forerun.planner.rules.incremental.memo_rules import SOURCE_DELTA, TVR_GENERATING, without
from forerun.planner.rules.join_block import ORDER
from forerun.planner.rules.methods import higher_order, only_partner, pre_aggregation
from forerun.planner.rules.methods.domain import DOMAIN
from forerun.planner.rules.methods.marks import MARKS
from forerun.planner.rules.methods.outer_join_views import OJV
from forerun.planner.rules.methods.unmatched import UNMATCHED
from forerun.planner.search.engine import RuleEngine
from forerun.planner.search.rule import MemoRule
from forerun.planner.stats.estimate import Estimator
from forerun.planner.tvr.signed import ColumnIds
from tests.oracles.interpreter import SourceData
from tests.oracles.values import EvaluationError, Row
from tests.planner.memo.invariants import check_memo
from tests.properties.histories import GROUP, KEY, MONEY, NUMBER, History, random_history
from tests.properties.memo_values import Values
from tests.selection import need_all

CASES = 150


def histories(rng: random.Random, count: int) -> list[History]:
    return [
        random_history(
            rng, f"s{i}", 100 * (i + 1), 2, signed=False, changing=i == 0 or rng.random() < 0.7
        )
        for i in range(count)
    ]


def dense(given: list[History]) -> list[History]:
    """The same with two keys and one group, so that most rows meet, and part again."""
    return [
        replace(
            history,
            deltas=[
                [((row[0] and 1 + row[0] % 2, row[1] and "a", *row[2:]), n) for row, n in delta]
                for delta in history.deltas
            ],
        )
        for history in given
    ]


def random_joins(
    rng: random.Random,
    given: list[History],
    kinds: tuple[JoinKind, ...],
    *,
    residual: float,
    grouped: float = 0.0,
) -> Relation:
    """A random tree of joins over all histories, each on a key of some leaf of both sides, with
    projections between. ``grouped``: the share of leaves that take rows back."""
    trees: list[tuple[Relation, list[History]]] = [
        (best_of_groups(h, place) if rng.random() < grouped else h.scan, [h])
        for place, h in enumerate(given)
    ]
    while len(trees) > 1:
        at = rng.randrange(len(trees) - 1)
        (left, of_left), (right, of_right) = trees[at : at + 2]
        one, other = rng.choice(of_left), rng.choice(of_right)
        parts: list[Scalar] = [equals(_column(one, KEY), _column(other, KEY))]
        if rng.random() < residual:
            numbers = Ref(_column(one, NUMBER)), Ref(_column(other, NUMBER))
            parts.append(Call(rng.choice(("<", "<>")), numbers, BOOLEAN))
        joined: Relation = Join(rng.choice(kinds), left, right, conjunction(tuple(parts)))
        if rng.random() < 0.4:
            dropped = rng.choice((*of_left, *of_right))
            kept = tuple(c for c in joined.columns if c.id != _column(dropped, GROUP).id)
            joined = Project(joined, tuple((c, Ref(c)) for c in kept))
        trees[at : at + 2] = [(joined, of_left + of_right)]
    return trees[0][0]


def best_of_groups(history: History, place: int) -> Relation:
    """The largest or smallest number of each group: when a better one comes, it takes back what it
    was, and with it partners of the other side."""
    keys = (_column(history, KEY), _column(history, GROUP))
    number = _column(history, NUMBER)
    most = Column(ColumnId(8000 + place), "most", number.type)
    call = AggregateCall("min" if place % 2 else "max", (Ref(number),))
    grouped = Aggregate(history.scan, keys, ((most, call),))
    return Project(grouped, (*((key, Ref(key)) for key in keys), (number, Ref(most))))


def _column(history: History, name: str):
    return next(c for c in history.columns if c.name == name)


HOLDS = (
    SOURCE_DELTA.name,
    *(rule.name for rule in OJV),
    higher_order.DELTA.name,
    ORDER,
    pre_aggregation.RULE.name,
    *(rule.name for rule in DOMAIN if rule is not MARKS),
    *(rule.name for rule in UNMATCHED),
    only_partner.RULE.name,
    foreign_key.RULE.name,
)
"""The rules that this file holds against rows."""
_fired: Counter[str] = Counter()


def checked(
    relation: Relation,
    given: list[History],
    rules: tuple[MemoRule, ...],
    last_two_runs: LastTwoRuns | None = None,
    keys: dict[str, tuple[tuple[str, ...], ...]] | None = None,
    form: Relation | None = None,
    foreign_keys: tuple[ReliedForeignKey, ...] = (),
) -> Memo:
    """The explored memo, after its values were compared; with other orders of joins, where there
    are estimates to choose them by; with declared keys; with another form of the relation."""
    changing = frozenset(h.source for h in given if h.changing)
    memo = Memo(changing, keys=keys, foreign_keys=foreign_keys)
    root = memo.add(relation)
    if form is not None:
        memo.equate(root, form, "form")
    if last_two_runs is not None:
        add_orders(memo, last_two_runs)
        check_memo(memo)
    search = RuleEngine(memo, rules, ColumnIds(ColumnId(9000)), 5000)
    trace = search.run()
    assert not trace.spent
    check_memo(memo)
    names = {h.source: tuple(c.name for c in h.columns) for h in given}
    sources = {}
    for history in given:
        old = history.rows(1)
        came = [row for row, weight in history.deltas[1] for _ in range(weight)]
        sources[history.source] = SourceData(names[history.source], old, came)
    Values(memo, sources).check()
    _fired.update({one.origin for one in memo.expressions})
    return memo


def only(*names: str) -> tuple[MemoRule, ...]:
    return tuple(rule for rule in TVR_GENERATING if rule.name in names)


LINEAR = (
    SOURCE_DELTA,
    *only("ProjectDelta", "FilterDelta", "UnionAllDelta", "InnerJoinDelta", "AggregateDelta"),
)
OUTER = (JoinKind.LEFT, JoinKind.LEFT, JoinKind.FULL, JoinKind.INNER)


@pytest.mark.parametrize("leaves", [2, 3, 4])
def test_outer_joins_by_direct_and_indirect_parts(leaves: int) -> None:
    found = 0
    for seed in range(CASES):
        rng = random.Random(f"{leaves}-{seed}")
        given = histories(rng, leaves)
        given = dense(given) if seed % 2 else given
        relation = random_joins(rng, given, OUTER, residual=0.5, grouped=0.4)
        try:
            memo = checked(relation, given, (*LINEAR, *OJV))
        except AssertionError as error:
            raise AssertionError(f"{leaves} leaves, seed {seed}: {error}") from error
        found += any(e.origin == "OuterJoinViewDelta" for e in memo.expressions)
    assert found > CASES // 3


@pytest.mark.parametrize("leaves", [2, 3, 4, 5])
def test_inner_joins_by_update_independent_views(leaves: int) -> None:
    """Outer joins among the leaves take rows back."""
    found = 0
    for seed in range(CASES if leaves < 5 else CASES // 3):
        rng = random.Random(f"views-{leaves}-{seed}")
        given = histories(rng, leaves)
        kinds = (*(JoinKind.INNER,) * 4, JoinKind.LEFT)
        relation = random_joins(rng, given, kinds, residual=0.3)
        try:
            rules = (*without("InnerJoinDelta"), *OJV, higher_order.DELTA)
            memo = checked(relation, given, rules)
        except AssertionError as error:
            raise AssertionError(f"{leaves} leaves, seed {seed}: {error}") from error
        found += any(e.origin == "HigherOrderDelta" for e in memo.expressions)
    assert found > CASES // 6


def random_aggregate(rng: random.Random, given: list[History], below: Relation) -> Aggregate:
    """Grouped by one or two columns of one leaf; any functions, also those that do not merge."""
    history = rng.choice(given)
    names = {column.id for column in below.columns}
    keys = [_column(history, name) for name in (KEY, GROUP)]
    keys = [key for key in keys if key.id in names][rng.choice((0, 0, 1)) :] or keys[:1]
    number, group = (Ref(_column(history, name)) for name in (NUMBER, KEY))
    calls = rng.sample(
        (
            AggregateCall("count", ()),
            AggregateCall("sum", (number,)),
            AggregateCall("sum", (Ref(_column(history, MONEY)),)),
            AggregateCall("min", (number,)),
            AggregateCall("avg", (number,)),
            AggregateCall("count", (number,), distinct=True),
            AggregateCall("max", (group,)),
        ),
        rng.randint(0, 3),
    )
    named = tuple(
        (
            Column(
                ColumnId(7000 + place),
                f"a{place}",
                result_type(call.name, tuple(arg.type for arg in call.args)),
            ),
            call,
        )
        for place, call in enumerate(calls)
    )
    return Aggregate(below, tuple(keys), named)


@pytest.mark.parametrize("rule", ["UnmatchedRowsOfAntiJoin", "UnmatchedRowsOfSemiJoin"])
def test_existence_by_the_rows_that_are_still_alone(rule: str) -> None:
    """On the left also what takes rows back; on any condition on the pair; one below another."""
    found = 0
    for seed in range(CASES * 2):
        rng = random.Random(f"unmatched-{rule}-{seed}")
        given = histories(rng, rng.choice((2, 3)))
        last = JoinKind.ANTI if "Anti" in rule else JoinKind.SEMI
        kinds = (JoinKind.INNER, JoinKind.LEFT, last)
        below = random_joins(rng, given[:-1], kinds, residual=0.3)
        columns = {column.id for column in below.columns}
        outside = [h for h in given[:-1] if _column(h, KEY).id in columns]
        other = given[-1]
        parts: list[Scalar] = [equals(_column(rng.choice(outside), KEY), _column(other, KEY))]
        if rng.random() < 0.4 and _column(outside[0], NUMBER).id in columns:
            numbers = Ref(_column(outside[0], NUMBER)), Ref(_column(other, NUMBER))
            parts.append(Call(rng.choice(("<", "<>")), numbers, BOOLEAN))
        relation = Join(last, below, other.scan, conjunction(tuple(parts)))
        try:
            memo = checked(relation, given, (*TVR_GENERATING, *UNMATCHED))
        except AssertionError as error:
            raise AssertionError(f"{rule}, seed {seed}: {error}") from error
        found += any(e.origin == rule for e in memo.expressions)
    assert found > CASES // 3


def test_inner_joins_with_what_is_distinct() -> None:
    """A key that the query proves is not checked: deltas of what is distinct may bring again, and
    take back, what was there."""
    found = 0
    for seed in range(CASES):
        rng = random.Random(f"distinct-partner-{seed}")
        given = [replace(h, changing=True) for h in histories(rng, 3)]
        one, other = given[0], given[1]
        distinct = Aggregate(other.scan, (_column(other, KEY),), ())
        if rng.random() < 0.3:
            distinct = Aggregate(other.scan, (_column(other, KEY), _column(other, GROUP)), ())
        sides: list[Relation] = [one.scan, distinct]
        parts: list[Scalar] = [equals(_column(one, KEY), _column(other, KEY))]
        if len(distinct.keys) == 2:
            parts.append(equals(_column(one, GROUP), _column(other, GROUP)))
        if rng.random() < 0.5:
            sides.reverse()
        joined: Relation = Join(JoinKind.INNER, *sides, conjunction(tuple(parts)))
        try:
            memo = checked(joined, given, (*TVR_GENERATING, *UNMATCHED, only_partner.RULE))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        found += any(e.origin == only_partner.RULE.name for e in memo.expressions)
    assert found > CASES // 3


def keys_of(rows: list[Row]) -> set[Any]:
    return {row[0] for row in rows if row[0] is not None}


def test_inner_joins_by_the_rows_that_have_not_met_their_only_partner() -> None:
    """Where the declared key of a side holds between the deliveries, all ways give the same; else
    the rule's own way fails. Duplicates within a delivery, and NULLs, are no matter."""
    found = failed = 0
    for seed in range(CASES * 2):
        rng = random.Random(f"only-partner-{seed}")
        given = [replace(h, changing=True) for h in histories(rng, 3)]
        unique = rng.randrange(2)
        one, other = given[unique], given[1 - unique]
        parts: list[Scalar] = [equals(_column(given[0], KEY), _column(given[1], KEY))]
        if rng.random() < 0.4:
            numbers = Ref(_column(one, NUMBER)), Ref(_column(other, NUMBER))
            parts.append(Call(rng.choice(("<", "<>")), numbers, BOOLEAN))
        inputs: list[Relation] = [given[0].scan, given[1].scan]
        if rng.random() < 0.3:  # the other side takes rows back
            inputs[1 - unique] = best_of_groups(given[1 - unique], 1 - unique)
        joined: Relation = Join(JoinKind.INNER, *inputs, conjunction(tuple(parts)))
        if rng.random() < 0.5:
            condition = equals(_column(given[0], KEY), _column(given[2], KEY))
            joined = Join(JoinKind.INNER, joined, given[2].scan, condition)
        came = [row for row, _ in given[unique].deltas[1]]
        again = keys_of(given[unique].rows(1)) & keys_of(came)
        declared = {given[unique].source: ((KEY,),)}
        rules = (*TVR_GENERATING, *UNMATCHED, only_partner.RULE)
        if again:
            with pytest.raises(EvaluationError, match="USER_RAISED"):
                checked(joined, given, rules, keys=declared)
            failed += 1
            continue
        try:
            memo = checked(joined, given, rules, keys=declared)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        found += any(e.origin == only_partner.RULE.name for e in memo.expressions)
    assert found > CASES // 3
    assert failed > CASES // 3


EXISTENCE = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT, JoinKind.INNER)


@pytest.mark.parametrize("rule", ["PartnersOfDomain", "StatesOfDomain", "GroupsOfDomain"])
def test_nested_aggregates_and_existence_by_their_domains(rule: str) -> None:
    found = 0
    for seed in range(CASES * 2):
        rng = random.Random(f"domain-{rule}-{seed}")
        given = histories(rng, rng.choice((1, 2)))
        kinds = (JoinKind.INNER, JoinKind.LEFT)
        below = random_joins(rng, given, kinds, residual=0.3)
        relation: Relation = below
        if rule != "PartnersOfDomain" or rng.random() < 0.6:
            relation = random_aggregate(rng, given, below)
        (outside,) = histories(random.Random(f"outside-{seed}"), 1)
        outer = replace(
            outside, source="t", columns=tuple(replace(c, id=c.id + 900) for c in outside.columns)
        )
        given = [*given, outer]
        key = next((c for c in relation.columns if c.name == KEY), None)
        if key is not None and rng.random() < 0.8:
            parts: list[Scalar] = [equals(_column(outer, KEY), key)]
            if rng.random() < 0.4 and relation.columns[-1].name in ("a0", "a1", NUMBER):
                numbers = Ref(_column(outer, NUMBER)), Ref(relation.columns[-1])
                parts.append(Call("<", numbers, BOOLEAN))
            condition = conjunction(tuple(parts))
            relation = Join(rng.choice(EXISTENCE), outer.scan, relation, condition)
        try:
            memo = checked(relation, given, (*TVR_GENERATING, *DOMAIN))
        except AssertionError as error:
            raise AssertionError(f"{rule}, seed {seed}: {error}") from error
        found += any(e.origin == rule for e in memo.expressions)
    assert found > CASES // 3


@pytest.mark.parametrize("leaves", [2, 3])
def test_deltas_and_views_that_are_aggregated_first(leaves: int) -> None:
    found = 0
    for seed in range(CASES * 2):
        rng = random.Random(f"early-{leaves}-{seed}")
        given = histories(rng, leaves)
        below = random_joins(rng, given, (JoinKind.INNER,), residual=0.3)
        relation: Relation = random_aggregate(rng, given, below)
        try:
            memo = checked(relation, given, (*TVR_GENERATING, pre_aggregation.RULE))
        except AssertionError as error:
            raise AssertionError(f"{leaves} leaves, seed {seed}: {error}") from error
        found += any(e.origin == "PreAggregation" for e in memo.expressions)
    assert found > CASES // 3


def random_moments(rng: random.Random, given: list[History]) -> LastTwoRuns:
    """Sizes that have nothing to do with the data: any order has to be right."""
    sources = [
        Source(
            name=h.source,
            columns=tuple(SourceColumn(name=c.name, type=c.type) for c in h.columns),
            changing=h.changing,
            rows=10 ** rng.randrange(1, 7),
        )
        for h in given
    ]
    early = {s.name: s.rows * (rng.random() if s.changing else 1.0) for s in sources}
    return Estimator(sources, early), Estimator(sources)


@pytest.mark.parametrize("leaves", [3, 4, 5])
def test_inner_joins_in_other_orders(leaves: int) -> None:
    found = 0
    for seed in range(CASES if leaves < 5 else CASES // 3):
        rng = random.Random(f"orders-{leaves}-{seed}")
        given = histories(rng, leaves)
        kinds = (*(JoinKind.INNER,) * 5, JoinKind.LEFT)
        relation = random_joins(rng, given, kinds, residual=0.3)
        try:
            rules = (*LINEAR, *only("JoinDeltaStaticRight"), *OJV, higher_order.DELTA)
            memo = checked(relation, given, rules, random_moments(rng, given))
        except AssertionError as error:
            raise AssertionError(f"{leaves} leaves, seed {seed}: {error}") from error
        found += any(e.origin == ORDER for e in memo.expressions)
    assert found > CASES // 6


def names_by(child: History, parent: History, *columns: str) -> ReliedForeignKey:
    key = ForeignKey(columns=columns, parent=parent.source, parent_columns=columns)
    return ReliedForeignKey(source=child.source, key=key)


def with_parents_first(rng: random.Random, given: list[History], *columns: str) -> list[History]:
    """The same, with other keys for the rows that come and would be named by rows of a source
    before them in the list; rows that come name some of those."""
    found: list[History] = []
    width = len(columns)
    for history in given:
        named = {row[:width] for child in found for row in child.rows(1)}

        def moved(row: Row, named: set[Row] = named) -> Row:
            again = row[:width] in named or rng.random() < 0.3
            return (row[0] + 10, *row[1:]) if again and row[0] is not None else row

        came = [(moved(row), n) for row, n in history.deltas[1]]
        found.append(replace(history, deltas=[history.deltas[0], came], changing=True))
    return found


def again(history: History, first_id: int) -> History:
    """Another alias of the same source."""
    columns = tuple(replace(c, id=ColumnId(first_id + i)) for i, c in enumerate(history.columns))
    return replace(history, columns=columns)


def joined_by(
    kind: JoinKind, left: History, right: History, rng: random.Random, *columns: str
) -> Relation:
    parts: list[Scalar] = [equals(_column(left, c), _column(right, c)) for c in columns]
    if rng.random() < 0.3:
        numbers = Ref(_column(left, NUMBER)), Ref(_column(right, NUMBER))
        parts.append(Call(rng.choice(("<", "<>")), numbers, BOOLEAN))
    return Join(kind, left.scan, right.scan, conjunction(tuple(parts)))


FOREIGN = (*TVR_GENERATING, *OJV, higher_order.DELTA, *DOMAIN, foreign_key.RULE)
ALONG = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


def test_joins_along_foreign_keys_whose_parents_come_first() -> None:
    """In blocks of joins, of several columns, over two aliases of a source, above what takes rows
    back; the same where it does not hold is noticed here, so that the comparison says something."""
    found, wrong = Counter[str](), 0
    for seed in range(CASES * 2):
        rng = random.Random(f"foreign-{seed}")
        columns = (KEY,) if rng.random() < 0.7 else (KEY, GROUP)
        holds = seed % 3 > 0
        given = [replace(h, changing=True) for h in dense(histories(rng, 3))]
        given = with_parents_first(rng, given, *columns) if holds else given
        keys = tuple(names_by(given[a], given[b], *columns) for a, b in ((0, 1), (0, 2), (1, 2)))
        shape = rng.choice(("two", "block", "aliases", "above"))
        relation: Relation = joined_by(rng.choice(ALONG), given[0], given[1], rng, *columns)
        leaves = given
        if shape == "block":
            leaves = rng.sample(given, 3)
            relation = random_joins(
                rng,
                leaves,
                (JoinKind.INNER, JoinKind.INNER, JoinKind.LEFT),
                residual=0.3,
                grouped=0.2,
            )
        elif shape == "aliases":
            leaves = [given[0], given[1], again(given[rng.randrange(2)], 700)]
            relation = random_joins(rng, leaves, (JoinKind.INNER,), residual=0.3)
        elif shape == "above":
            relation = random_aggregate(rng, given[:1], relation)
        try:
            memo = checked(relation, leaves, FOREIGN, foreign_keys=keys)
        except AssertionError as error:
            if holds:
                raise AssertionError(f"{shape}, seed {seed}: {error}") from error
            wrong += 1
            continue
        found[shape] += any(e.origin == foreign_key.RULE.name for e in memo.expressions)
    assert min(found.values()) > CASES // 10, found
    assert wrong > CASES // 20


COUNTED = (
    (test_joins_along_foreign_keys_whose_parents_come_first, 1),
    (test_outer_joins_by_direct_and_indirect_parts, 3),
    (test_inner_joins_by_update_independent_views, 4),
    (test_existence_by_the_rows_that_are_still_alone, 2),
    (test_inner_joins_with_what_is_distinct, 1),
    (test_inner_joins_by_the_rows_that_have_not_met_their_only_partner, 1),
    (test_nested_aggregates_and_existence_by_their_domains, 3),
    (test_deltas_and_views_that_are_aggregated_first, 2),
    (test_inner_joins_in_other_orders, 3),
)
"""The tests that fire rules, and their cases."""


def test_every_rule_named_here_has_made_something(request: pytest.FixtureRequest) -> None:
    """Otherwise the comparisons above say nothing of it."""
    for counted, cases in COUNTED:
        need_all(request, counted, cases)
    assert {name: _fired[name] for name in HOLDS if _fired[name] < 5} == {}
