"""Rule patterns: what completes one queues it, whether an expression, an edge or a merge of groups
came last, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from forerun.planner.algebra.relational import Filter, Project, Relation, Scan, UnionAll, Version
from forerun.planner.algebra.scalar import Call, Literal, Ref
from forerun.planner.algebra.types import BIGINT, BOOLEAN, Column, ColumnId
from forerun.planner.memo.groups import Expression, Role, View
from forerun.planner.memo.memo import Memo
from forerun.planner.rules.methods.catalog import AUTO
from forerun.planner.rules.methods.positive_negative import FILTER
from forerun.planner.search.engine import RuleEngine
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds
from tests.planner.memo.test_memo import QUERIES, TABLES, explored

A, B = (Column(ColumnId(i), name, BIGINT) for i, name in enumerate("ab", 1))
PARTS = frozenset({Role.POSITIVE, Role.NEGATIVE})
Fired = list[tuple[int, tuple[Role, ...]]]


def above(column: Column, bound: int, relation: Relation) -> Relation:
    return Filter(relation, Call(">", (Ref(column), Literal(str(bound), BIGINT)), BOOLEAN))


def halves() -> UnionAll:
    """Two halves of a table, to which no rule has given a role."""
    return UnionAll((above(A, 0, Scan("t", (A,))), above(A, 9, Scan("t", (A,)))), (A,))


def run(memo: Memo, *rules: MemoRule) -> None:
    trace = RuleEngine(memo, rules, ColumnIds(ColumnId(100)), 1000).run()
    assert not trace.spent


def noting(fired: Fired) -> Callable[[Match], bool]:
    def fire(match: Match) -> bool:
        fired.append((match.expression.id, match.roles))
        return False

    return fire


def giving(roles: tuple[Role, ...], to: Relation) -> MemoRule:
    """A rule that gives the inputs of a union their roles, after all other rules."""

    def fire(match: Match) -> bool:
        memo = match.memo
        tvr = memo.tvr_of(match.expression.group)
        assert tvr is not None
        if match.expression.group != memo.add(to):
            return False
        for role, given in zip(roles, match.expression.inputs, strict=False):
            part = memo.tvr_of(given.group)
            assert part is not None
            memo.relate(tvr, role, part.id)
        return True

    return MemoRule("Giving", UnionAll, fire, "", priority=9)


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ((Role.NEGATIVE, Role.POSITIVE), [(Role.NEGATIVE, Role.POSITIVE)]),
        ((Role.POSITIVE,), []),
        ((Role.POSITIVE, Role.DIRECT), []),
        ((), []),
    ],
)
def test_an_operand_is_reached_over_role_edges(
    roles: tuple[Role, ...], expected: list[tuple[Role, ...]]
) -> None:
    """The edges come last, and each input of the union has to have one that the rule names."""
    memo, fired = Memo(frozenset({"t"})), Fired()
    memo.add(above(A, 5, halves()))
    carry = MemoRule("Carry", Filter, noting(fired), "", below=UnionAll, parts=PARTS)
    run(memo, carry, giving(roles, halves()))
    assert [found for _, found in fired] == expected


def test_a_role_for_one_update_is_no_part_of_the_whole() -> None:
    memo, fired, whole = Memo(frozenset({"t"})), Fired(), Fired()
    memo.add(above(A, 5, halves()))
    union = memo.add(halves())
    tvr = memo.tvr_of(union)
    assert tvr is not None
    for branch in halves().branches:
        part = memo.tvr_of(memo.add(branch))
        assert part is not None
        memo.relate(tvr, Role.POSITIVE, part.id, updated=0)
    of_parts = MemoRule("Carry", Filter, noting(fired), "", below=UnionAll, parts=PARTS)
    run(memo, of_parts, MemoRule("OfTvr", UnionAll, noting(whole), "", PARTS - {Role.NEGATIVE}))
    assert not fired
    assert whole == [(next(memo.alternatives(union)).id, ())], "the edge is there for an update"


@pytest.mark.parametrize("roles", [(), (Role.POSITIVE, Role.NEGATIVE)])
def test_the_parts_of_a_union_of_the_query_are_not_carried(roles: tuple[Role, ...]) -> None:
    memo = Memo(frozenset({"t"}))
    group = memo.add(above(A, 5, halves()))
    run(memo, FILTER, giving(roles, halves()))
    assert [one.origin for one in memo.alternatives(group)] == ["", FILTER.name][: 1 + bool(roles)]


@pytest.mark.parametrize("linked", [False, True])
def test_a_version_completes_a_pattern(linked: bool) -> None:
    """A rule that reads the weighted rows of a TVR waits for them."""
    memo, fired = Memo(frozenset({"t"})), Fired()
    group = memo.add(above(A, 0, Scan("t", (A,))))
    edge = (Version.NEW, View.WEIGHTED)

    def link(match: Match) -> bool:
        tvr = match.memo.tvr_of(group)
        assert tvr is not None
        items = ((A, Ref(A)), (B, Literal("1", BIGINT)))
        if linked:
            match.memo.link(tvr, *edge, Project(match.memo.reference(group), items), "link")
        return linked

    waiting = MemoRule("Waiting", Filter, noting(fired), "", frozenset({edge}))
    run(memo, waiting, MemoRule("Link", Scan, link, "", priority=9))
    assert fired == [(next(memo.alternatives(group)).id, ())] * linked


def test_a_merge_of_groups_completes_a_pattern() -> None:
    """One group has the reader and the other one the operator below; then they are the same."""
    memo, fired = Memo(frozenset({"t"})), Fired()
    one, other = above(A, 0, Scan("t", (A,))), Project(Scan("t", (A,)), ((A, Ref(A)),))
    reader = memo.add(Project(one, ((B, Ref(A)),)))
    memo.add(Project(other, ((B, Call("neg", (Ref(A),), BIGINT)),)))

    def merge(match: Match) -> bool:
        if match.memo.leader(match.memo.add(one)) == match.memo.leader(match.memo.add(other)):
            return False
        match.memo.equate(match.memo.add(one), other, "merge")
        return True

    over = MemoRule("Over", Project, noting(fired), "", below=Project)
    run(memo, over, MemoRule("Merge", Scan, merge, "", priority=9))
    assert next(memo.alternatives(reader)).id in [at for at, _ in fired]


def complete(memo: Memo, rule: MemoRule) -> Iterator[tuple[int, ...]]:
    """The patterns of a rule in a memo, found by looking at every pair of expressions."""
    for upper in memo.expressions:
        tvr = memo.tvr_of(upper.group)
        if upper.dropped or tvr is None or not isinstance(upper.node, rule.operator):
            continue
        named = {role for role, _ in tvr.roles}
        if not all(edge in tvr.edges or edge in named for edge in rule.edges):
            continue
        below = [memo.tvr_of(given.group) for given in upper.inputs]
        if rule.deltas and not all(one and (one.has_delta or not one.changing) for one in below):
            continue
        if rule.below is None:
            yield (upper.id,)
            continue
        for lower in memo.alternatives(upper.inputs[0].group):
            if isinstance(lower.node, rule.below) and _has_roles(memo, rule, lower):
                yield (upper.id, lower.id)


def _has_roles(memo: Memo, rule: MemoRule, lower: Expression) -> bool:
    tvr = memo.tvr_of(lower.group)
    assert tvr is not None
    edges = [
        (role, other) for (role, of), others in tvr.roles.items() if of is None for other in others
    ]
    parts = {memo.leader(memo.tvrs[other].new) for role, other in edges if role in rule.parts}
    return not rule.parts or all(memo.leader(given.group) in parts for given in lower.inputs)


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_every_complete_pattern_was_tried_once(path: Path) -> None:
    tried: list[tuple[str, tuple[int, ...]]] = []

    def watched(rule: MemoRule) -> MemoRule:
        def fire(match: Match) -> bool:
            matched = [match.expression, *([match.below] if match.below else [])]
            tried.append((rule.name, tuple(one.id for one in matched)))
            return rule.fire(match)

        return replace(rule, fire=fire)

    rules = tuple(watched(rule) for rule in AUTO.rules)
    memo = explored(path.read_text(), TABLES, rules)
    assert len(set(tried)) == len(tried)
    wanted = {(rule.name, pattern) for rule in rules for pattern in complete(memo, rule)}
    assert wanted <= set(tried)
    live = {one.id for one in memo.expressions if not one.dropped}
    assert {one for one in tried if live.issuperset(one[1])} == wanted, "and no other"
