"""Looks for the partners of a few rows among theirs alone.

::

    L semi[c] R  =  L semi[c] (R semi[k] L)        and so for anti joins
    c            k, the equalities between L and R, and perhaps more

A row of R that has no row of L by ``k`` is nobody's partner, so it may be left out before the join
that tells which rows of L have a partner. An engine sends only the *right* side of a semi or anti
join to all workers. Where L is small and R is large, it moves all of R by ``k``; here it sends L to
where R lies, and moves what is left of R. TPC-H Q4 so moves the lines of a quarter's orders in
place of all lines.

Bags: whether a row has a partner does not depend on how often a partner comes; R semi L keeps the
rows of R as often as they come. NULLs: a NULL in ``k`` makes no partner in either join. The
condition may have more than ``k``: only rows that already fail ``k`` are left out. Retractions: the
law holds for every version of L and R. ``k`` compares columns of one type as they are, so nothing
can fail on the rows that are compared, nor be another value the second time.
Source: semi-join reduction (Bernstein and Chiu, "Using semi-joins to solve relational queries",
JACM 1981).
"""

from __future__ import annotations

from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import (
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    rewrite,
    walk,
)
from forerun.planner.algebra.scalar import Ref, conjunction, equals

_KINDS = frozenset({JoinKind.SEMI, JoinKind.ANTI})


def reduce_partners(relation: Relation) -> Relation | None:
    """Reduce the right side of every semi and anti join whose left side is filtered; return None if
    there is none."""
    result = rewrite(relation, lambda node: _reduced(node) or node)
    return None if result is relation else result


def _reduced(node: Relation) -> Relation | None:
    if not isinstance(node, Join) or node.kind not in _KINDS:
        return None
    pairs = split_condition(node).pairs
    if not pairs or not any(isinstance(below, Filter) for below in walk(node.left)):
        return None
    keys = tuple(dict.fromkeys(left for left, _ in pairs))
    few = Project(node.left, tuple((key, Ref(key)) for key in keys))
    same = conjunction(tuple(equals(right, left) for left, right in pairs))
    partners = Join(JoinKind.SEMI, node.right, few, same)
    return Join(node.kind, node.left, partners, node.condition)
