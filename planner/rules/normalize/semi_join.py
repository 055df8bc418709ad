"""Semi and anti joins move down to the rows they decide about, so that joins above see fewer."""

from __future__ import annotations

from planner.algebra.relational import Filter, Join, JoinKind, Project, Relation
from planner.algebra.scalar import references, substitute
from planner.rules.normalize.rule import Context, Rule, ids_of, is_renaming
from planner.rules.normalize.safety import is_movable

_DECIDING = frozenset({JoinKind.SEMI, JoinKind.ANTI})


def _as_deciding(node: Relation) -> Join | None:
    """The node if it is a semi or anti join that may be evaluated on more rows than now."""
    if isinstance(node, Join) and node.kind in _DECIDING and is_movable(node.condition):
        return node
    return None


def _below_join(node: Relation, _: Context) -> Relation | None:
    """``(A join B) semi[c] X`` = ``(A semi[c] X) join B`` if c reads nothing of B; the same for
    anti, for the other side of an inner join, and for the left side of a left join.

    Whether a pair stays depends on its A row only, so it may be asked of the A row: every copy of
    it gets the same answer, NULLs included. Not for the right side of a left join, whose rows
    would come back as NULLs.
    """
    semi = _as_deciding(node)
    if semi is None or not isinstance(semi.left, Join):
        return None
    join = semi.left
    read = references(semi.condition) & ids_of(join)
    if not read:
        return None
    if join.kind in (JoinKind.INNER, JoinKind.LEFT) and read <= ids_of(join.left):
        left = Join(semi.kind, join.left, semi.right, semi.condition)
        return Join(join.kind, left, join.right, join.condition)
    if join.kind is JoinKind.INNER and read <= ids_of(join.right):
        right = Join(semi.kind, join.right, semi.right, semi.condition)
        return Join(join.kind, join.left, right, join.condition)
    return None


def _below_filter(node: Relation, _: Context) -> Relation | None:
    """``filter[p](A) semi[c] X`` = ``filter[p](A semi[c] X)`` where a join is below the filter.

    Both only drop rows of A, each by the row alone.
    """
    semi = _as_deciding(node)
    if semi is None or not isinstance(semi.left, Filter):
        return None
    kept = semi.left
    if not isinstance(kept.input, Join) or kept.input.kind in _DECIDING:
        return None
    return Filter(Join(semi.kind, kept.input, semi.right, semi.condition), kept.predicate)


def _below_renaming(node: Relation, _: Context) -> Relation | None:
    """``rename(A) semi[c] X`` = ``rename(A semi[c'] X)`` with c in A's own names."""
    semi = _as_deciding(node)
    if semi is None or not isinstance(semi.left, Project) or not is_renaming(semi.left):
        return None
    if not isinstance(semi.left.input, Join | Filter):
        return None
    named = {column.id: value for column, value in semi.left.items}
    condition = substitute(semi.condition, named)
    below = Join(semi.kind, semi.left.input, semi.right, condition)
    return Project(below, semi.left.items)


BELOW_JOIN = Rule("SemiJoinBelowJoin", Join, _below_join)
BELOW_FILTER = Rule("SemiJoinBelowFilter", Join, _below_filter)
BELOW_RENAMING = Rule("SemiJoinBelowRenaming", Join, _below_renaming)
