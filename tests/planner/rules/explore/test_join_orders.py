"""Which orders of a block of inner joins the memo gets, and which blocks are left alone."""

from __future__ import annotations

from itertools import pairwise

import pytest

from forerun.planner.algebra.relational import (
    Filter,
    Join,
    JoinKind,
    Relation,
    Scan,
    rewrite,
    sources,
)
from forerun.planner.algebra.scalar import TRUE, Call, Literal, Ref, conjunction, equals
from forerun.planner.algebra.types import BIGINT, BOOLEAN, Column, ColumnId
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference
from forerun.planner.memo.tree import original
from forerun.planner.request import Source, SourceColumn
from forerun.planner.rules.explore.join_orders import add_orders
from forerun.planner.rules.join_block import ORDER
from forerun.planner.stats.estimate import Estimator
from tests.planner.memo.invariants import check_memo

PLACES = 12


def columns(name: str) -> tuple[Column, ...]:
    number = ord(name) - ord("a") + 1
    return tuple(Column(ColumnId(100 * number + j), f"k{j}", BIGINT) for j in range(PLACES))


def scan(name: str) -> Scan:
    return Scan(name, columns(name))


def joined(edges: dict[str, str]) -> Relation:
    """Left-deep, each leaf with the one it is a child of, by a column of its own there: a key."""
    names = list(edges)
    relation: Relation = scan(names[0])
    for name in names[1:]:
        one, other = columns(edges[name])[ord(name) - ord("a")], columns(name)[0]
        relation = Join(JoinKind.INNER, relation, scan(name), equals(one, other))
    return relation


def explored(relation: Relation, rows: dict[str, int], late: dict[str, float]) -> Memo:
    """With what comes with the last run, as shares of the rows."""
    given = [
        Source(
            name=name,
            columns=tuple(SourceColumn(name=c.name, type=c.type) for c in columns(name)),
            rows=count,
            keys=(("k0",),),
        )
        for name, count in rows.items()
    ]
    early = {name: count * (1 - late.get(name, 0.0)) for name, count in rows.items()}
    memo = Memo(frozenset(late))
    memo.add(relation)
    add_orders(memo, (Estimator(given, early), Estimator(given)))
    check_memo(memo)
    return memo


def splits(memo: Memo) -> set[frozenset[str]]:
    """The joins that were added, as the sources of both sides."""
    found = set()
    for expression in memo.expressions:
        if expression.origin == ORDER and isinstance(expression.node, Join):
            sides = (original(memo, i.group) for i in expression.inputs)
            found.add(frozenset("".join(sorted(sources(side))) for side in sides))
    return found


SNOW = {"a": "", "b": "a", "c": "b", "d": "a"}
"""b has a parent c; a is the fact table."""


def test_what_does_not_grow_is_joined_once() -> None:
    memo = explored(joined(SNOW), {"a": 10**6, "b": 10**4, "c": 10, "d": 10}, {"a": 0.3})
    assert frozenset(("b", "c")) in splits(memo)


def test_what_comes_late_is_joined_late() -> None:
    rows = {"a": 10**6, "b": 10**6, "c": 10**6, "d": 10**6}
    late = {"a": 0.01, "b": 0.5, "c": 0.01, "d": 0.01}
    chain = {"b": "", "a": "b", "c": "a", "d": "c"}
    assert frozenset(("acd", "b")) in splits(explored(joined(chain), rows, late))


def test_two_trees_share_the_sets_they_have_in_common() -> None:
    rows = {"a": 10**6, "b": 10**4, "c": 10, "d": 10}
    memo = explored(joined(SNOW), rows, {"a": 0.3, "b": 0.1})
    made: dict[frozenset[str], set[int]] = {}
    for expression in memo.expressions:
        if isinstance(expression.node, Join):
            below = frozenset(sources(original(memo, expression.group)))
            made.setdefault(below, set()).add(memo.leader(expression.group))
    assert frozenset("ab") in made
    # A group of joins, and one of the projections of them that are read above.
    read = {g for e in memo.expressions if not isinstance(e.node, Scan) for g in _groups(e.inputs)}
    for leaves in made:
        assert len({g for g in read if set(sources(original(memo, g))) == leaves}) <= 2, leaves


def _groups(inputs: tuple[Reference, ...]) -> set[int]:
    return {given.group for given in inputs}


def test_a_large_star_is_joined_in_the_best_linear_order() -> None:
    """Too many sets for all of them: where all dimensions are alike, the order of the query is as
    good as any; a selective one comes first, wherever the query has it."""
    star = {"a": "", **dict.fromkeys("bcdefghijkl", "a")}
    assert splits(explored(joined(star), dict.fromkeys(star, 1000), {"a": 0.3})) == set()
    found = explored(filtered(joined(star), "l"), dict.fromkeys(star, 1000), {"a": 0.3})
    assert frozenset(("a", "l")) in splits(found)


def filtered(relation: Relation, name: str) -> Relation:
    """With few rows left of a source."""
    test = Call("<", (Ref(columns(name)[7]), Literal("1", BIGINT)), BOOLEAN)

    def below(node: Relation) -> Relation:
        return Filter(node, test) if isinstance(node, Scan) and node.source == name else node

    return rewrite(relation, below)


def long_chain(count: int) -> tuple[list[str], Relation]:
    names = [chr(ord("a") + n) for n in range(count)]
    relation: Relation = scan(names[0])
    for one, other in pairwise(names):
        pair = equals(columns(one)[1], columns(other)[0])
        relation = Join(JoinKind.INNER, relation, scan(other), pair)
    return names, relation


@pytest.mark.parametrize("count", [22, 40, 90])
def test_a_long_chain_gets_neighbours(count: int) -> None:
    names, relation = long_chain(count)
    late = {names[0]: 0.5, names[1]: 0.2}
    assert splits(explored(relation, dict.fromkeys(names, 1000), late))


def test_conditions_above_their_place_are_left_where_they_are() -> None:
    """A tree of part of the leaves would lose them."""
    below = joined({"a": "", "b": "a"})
    own = equals(columns("a")[5], columns("b")[5])
    condition = conjunction((equals(columns("b")[2], columns("c")[0]), own))
    late = Join(JoinKind.INNER, below, scan("c"), condition)
    rows = {"a": 10**6, "b": 10**4, "c": 10}
    assert splits(explored(late, rows, {"a": 0.3})) == set()
    in_place = Join(JoinKind.INNER, below, scan("c"), equals(columns("b")[2], columns("c")[0]))
    assert splits(explored(in_place, rows, {"a": 0.3})) != set()


def test_cross_products_are_left_alone() -> None:
    cross = Join(JoinKind.INNER, joined({"a": "", "b": "a"}), scan("c"), TRUE)
    assert splits(explored(cross, dict.fromkeys("abc", 10), {"a": 0.3})) == set()
