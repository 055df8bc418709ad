"""The views of HOV: which parts are made, for whose update, and theirs in turn."""

from __future__ import annotations

import pytest

from forerun.planner.algebra.relational import Join, JoinKind, Relation, Scan, sources
from forerun.planner.algebra.scalar import conjunction, equals
from forerun.planner.algebra.types import BIGINT, Column, ColumnId
from forerun.planner.memo.groups import Role
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.tree import original
from forerun.planner.rules.methods.catalog import METHODS
from forerun.planner.rules.methods.higher_order import MOST_LEAVES
from forerun.planner.search.engine import RuleEngine
from forerun.planner.tvr.signed import ColumnIds

K = {
    name: tuple(Column(ColumnId(100 * i + j), f"k{j}", BIGINT) for j in range(4))
    for i, name in enumerate("abcd", 1)
}


def join(left: Relation, right: Relation, *pairs: tuple[Column, Column]) -> Relation:
    condition = conjunction(tuple(equals(one, other) for one, other in pairs))
    return Join(JoinKind.INNER, left, right, condition)


def scan(name: str) -> Scan:
    return Scan(name, K[name])


def chain() -> Relation:
    """a - b - c - d"""
    relation: Relation = scan("a")
    for one, other in ("ab", "bc", "cd"):
        relation = join(relation, scan(other), (K[one][1], K[other][0]))
    return relation


def star() -> Relation:
    """b, c and d around a."""
    relation: Relation = scan("a")
    for place, name in enumerate("bcd", 1):
        relation = join(relation, scan(name), (K["a"][place], K[name][0]))
    return relation


def views(relation: Relation, growing: str) -> dict[str, set[str]]:
    """By the updated source the sources of each view of the whole join."""
    memo = Memo(frozenset(growing))
    root = memo.add(relation)
    RuleEngine(memo, METHODS["hov"].rules, ColumnIds(ColumnId(9000)), 5000).run()
    tvr = memo.tvr_of(root)
    assert tvr is not None
    found: dict[str, set[str]] = {}
    for (role, updated), others in tvr.roles.items():
        assert role is Role.INDEPENDENT
        assert updated is not None
        (source,) = sources(original(memo, memo.tvrs[updated].new))
        parts = (original(memo, memo.tvrs[other].new) for other in others)
        found.setdefault(source, set()).update("".join(sorted(sources(part))) for part in parts)
        for other in others:
            view = memo.tvrs[other]
            assert view.has_delta is view.changing, "a view is maintained likewise"
    return found


def test_a_chain_falls_apart_where_it_is_updated() -> None:
    assert views(chain(), "abcd") == {"a": {"bcd"}, "b": {"cd"}, "c": {"ab"}, "d": {"abc"}}


def test_a_view_holds_only_what_is_of_one_version() -> None:
    """In a star around a, where b has been updated last: c sees b and a old and d new, which is no
    neighbour of theirs; a sees three single relations, and b has a between d, c and itself."""
    assert views(star(), "abcd") == {"c": {"ab"}, "d": {"abc"}}


@pytest.mark.parametrize(
    ("growing", "expected"),
    [("a", {}), ("d", {"d": {"abc"}}), ("bd", {"b": {"acd"}, "d": {"abc"}})],
)
def test_what_does_not_grow_is_of_any_version(growing: str, expected: dict[str, set[str]]) -> None:
    assert views(star(), growing) == expected


def test_the_views_of_a_large_block_are_not_looked_for() -> None:
    memo = Memo(frozenset("abcd"))
    relation: Relation = scan("a")
    for number in range(MOST_LEAVES):
        columns = tuple(Column(ColumnId(1000 + 10 * number + j), f"k{j}", BIGINT) for j in (0, 1))
        relation = join(relation, Scan("b", columns), (K["a"][0], columns[0]))
    root = memo.add(relation)
    RuleEngine(memo, METHODS["hov"].rules, ColumnIds(ColumnId(9000)), 5000).run()
    tvr = memo.tvr_of(root)
    assert tvr is not None
    assert tvr.has_delta
    assert not tvr.roles
