"""Pre-aggregation: deltas of aggregates over joins, with one input aggregated before the join.

::

    d agg[g; f(x)](T1 join .. join Tn)  =  merge over t of  C_t
    C_t   agg[g; f(x)](dTt join M ..)                   the rows, then their groups
          merge[g](agg[k; f(x)](dTt) join M ..)         x is of Tt: batch pre-aggregation
          merge[g](dTt join agg[k; f(x)](M) join ..)    x is of a view M, which is kept as states
    k     the columns of that side that conditions or g read

The first is the delta of the join, one updated relation at a time, and then grouped. The second
reduces a batch to one row per key before it is joined (Distributed IVM 3.3). The third is the view
of the paper's example, the total cost per order (Tempura 4.2 (3), equation 5). Cost decides for
each ``C_t`` by itself.

The rows of a side that share k join with the same rows of the others, and so does the one row that
they are merged into: the groups and values are the same for bags. NULL keys match nothing either
way. A state has counts beside sums, so that a sum over only NULLs stays NULL (the paper's
``SUM(cost)`` alone does not tell an order without returns from one whose costs are NULL). The rule
applies only if nothing is taken back, and if arguments cannot fail on rows that the join drops.
Eager aggregation: Yan and Larson, VLDB 1995.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from forerun.planner.algebra.aggregates.functions import function
from forerun.planner.algebra.aggregates.states import states_of
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Join,
    JoinKind,
    Project,
    Relation,
    UnionAll,
    Version,
)
from forerun.planner.algebra.scalar import Ref, Scalar, is_deterministic, references, substitute
from forerun.planner.algebra.types import Column, ColumnId
from forerun.planner.memo.groups import Expression, GroupId, Role, Tvr, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference
from forerun.planner.rules.incremental import aggregate
from forerun.planner.rules.incremental.rule import KeyedState
from forerun.planner.rules.join_block import Leaf, tvr_of
from forerun.planner.rules.methods.update_chain import (
    IndependentPart,
    InnerBlock,
    Leaves,
    read_inner,
)
from forerun.planner.rules.normalize.safety import can_fail
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds, Signed

_SOURCE = "Distributed IVM 3.3; Tempura 4.2 (3), equation 5"
_STATES = (Version.DELTA, View.STATES)
MOST_LEAVES = 6
"""The most leaves of a block below an aggregate that the rule handles; for each of them, states
over all the others may be a view."""


@dataclass(frozen=True, slots=True)
class _Site:
    """An aggregate over a block of inner joins.

    ``node`` is the aggregate, ``calls`` the same in columns of the leaves, ``keys`` its keys in
    these columns, ``items`` the projection between joins and aggregate. ``read`` are the leaves
    whose columns its functions read, ``change`` is the group of the states of its delta."""

    memo: Memo
    tvr: Tvr
    node: Aggregate
    calls: Aggregate
    items: tuple[tuple[Column, Scalar], ...]
    keys: tuple[Column, ...]
    read: Leaves
    block: InnerBlock
    change: GroupId
    ids: ColumnIds


def _site(match: Match) -> _Site | None:
    memo, node = match.memo, match.expression.node
    tvr = memo.tvr_of(match.expression.group)
    if not isinstance(node, Aggregate) or tvr is None:
        return None
    change = tvr.edges[_STATES]
    view = aggregate.MERGED.method
    if not isinstance(view, KeyedState):
        return None
    layout = view.columns(node, False, match.ids)
    if [(c.name, c.type) for c in layout] != [(c.name, c.type) for c in memo.group(change).columns]:
        return None  # signed states, or those of another expression of the group
    found = _joins_below(memo, node)
    if found is None:
        return None
    items, block = found
    names = {column.id: value for column, value in items}
    keys = tuple(names[key.id] for key in node.keys)
    calls = tuple((c, _named(call, names)) for c, call in node.calls)
    if not all(isinstance(key, Ref) for key in keys):
        return None
    if not all(_may_come_early(call) for _, call in calls):
        return None
    columns = tuple(key.column for key in keys if isinstance(key, Ref))
    read = frozenset(block.owner[id_] for _, call in calls for id_ in call.references())
    given = _Rows(tuple(block.columns_of(frozenset(one.number for one in block.leaves)).values()))
    in_leaves = Aggregate(given, tuple(dict.fromkeys(columns)), calls)
    return _Site(memo, tvr, node, in_leaves, items, columns, read, block, change, match.ids)


@dataclass(frozen=True, eq=False)
class _Rows(Relation):
    """A placeholder for the joined rows, used where only their columns matter."""

    given: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.given


def _joins_below(
    memo: Memo, node: Aggregate
) -> tuple[tuple[tuple[Column, Scalar], ...], InnerBlock] | None:
    """Return the block of inner joins below an aggregate, and the projection between them; None if
    the input is not such a block, or the rule does not cover it."""
    expression = _first(memo, node.input)
    items: tuple[tuple[Column, Scalar], ...] = tuple((c, Ref(c)) for c in node.input.columns)
    if isinstance(expression.node, Project):
        items = expression.node.items
        expression = _first(memo, expression.node.input)
    join = expression.node
    if not isinstance(join, Join) or join.kind is not JoinKind.INNER:
        return None
    block = read_inner(memo, expression)
    tvrs = [tvr_of(memo, leaf.given) for leaf in block.changing]
    if not tvrs or len(block.leaves) > MOST_LEAVES:
        return None
    if not all(tvr.has_delta and tvr.weight is None for tvr in tvrs):
        return None
    if not all(is_deterministic(scalar) for scalar in (*block.conditions, *(v for _, v in items))):
        return None
    return items, block


def _first(memo: Memo, given: Relation) -> Expression:
    if not isinstance(given, Reference):
        raise TypeError(f"{given} is no reference")
    return next(memo.alternatives(given.group))


def _named(call: AggregateCall, names: dict[ColumnId, Scalar]) -> AggregateCall:
    args = tuple(substitute(arg, names) for arg in call.args)
    where = None if call.where is None else substitute(call.where, names)
    return replace(call, args=args, where=where)


def _may_come_early(call: AggregateCall) -> bool:
    """Return whether a call may be computed on rows that a join drops later, as it cannot fail."""
    parts = call.args if call.where is None else (*call.args, call.where)
    overflows = function(call.name).overflows(tuple(arg.type for arg in call.args))
    return not overflows and not any(can_fail(part) for part in parts)


def _fire(match: Match) -> bool:
    site = _site(match)
    if site is None:
        return False
    block, changing = site.block, site.block.changing
    pieces = {leaf.number: block.pieces(leaf) for leaf in changing}
    if not any(_side(site, leaf, pieces[leaf.number] or ()) is not None for leaf in changing):
        return False
    contributions = []
    for leaf in reversed(changing):
        others = pieces[leaf.number]
        if others is None:
            return False
        contributions.append(_contribution(site, leaf, others, alone=len(changing) == 1))
    if len(changing) == 1:
        return True
    columns = _fresh(site)
    union = UnionAll(tuple(contributions), columns)
    fold = aggregate.merging(site.node, False, columns[len(site.keys) :], site.ids)
    target = site.memo.group(site.change).columns
    keys = columns[: len(site.keys)]
    merged = states_of(union, keys, fold, (*keys, *target[len(keys) :]))
    named = dict(zip(target, (*keys, *target[len(keys) :]), strict=True))
    relation = Project(merged, tuple((c, Ref(named[c])) for c in target))
    site.memo.equate(site.change, relation, RULE.name, part=True)
    return True


def _fresh(site: _Site) -> tuple[Column, ...]:
    """Return new columns for states: the keys, then the state columns."""
    return tuple(site.ids.new(c.name, c) for c in site.memo.group(site.change).columns)


def _side(site: _Site, leaf: Leaf, pieces: tuple[IndependentPart, ...]) -> Leaves | None:
    """Return the part that is aggregated before the join when ``leaf`` is updated: the leaf itself,
    or one of the pieces, if the functions read no other; else None."""
    if site.read <= {leaf.number}:
        return frozenset({leaf.number})
    return next((piece.leaves for piece in pieces if site.read <= piece.leaves), None)


def _contribution(
    site: _Site, leaf: Leaf, pieces: tuple[IndependentPart, ...], *, alone: bool
) -> Reference:
    """Return C_t for the update of one leaf: a group of states with its alternatives."""
    memo, block, ids = site.memo, site.block, site.ids
    others = [(piece.leaves, block.version(piece)) for piece in pieces]
    if alone:
        columns, group = memo.group(site.change).columns, site.change
    else:
        columns = _fresh(site)
        read = frozenset(id_ for _, value in site.items for id_ in references(value))
        rows = block.chain(block.delta(leaf), leaf, others, read, ids)
        joined = Project(rows.relation, site.items)
        fold = aggregate.initial(site.node, None, False, ids)
        keys = site.node.keys
        plain = states_of(joined, keys, fold, (*keys, *columns[len(keys) :]))
        group = memo.add(_renamed(plain, columns), RULE.name, part=True)
    side = _side(site, leaf, pieces)
    if side is not None:
        early = _early(site, leaf, others, side, columns)
        memo.equate(group, early, RULE.name, part=True)
    return memo.reference(group)


def _renamed(relation: Relation, columns: tuple[Column, ...]) -> Relation:
    pairs = zip(columns, relation.columns, strict=True)
    return Project(relation, tuple((new, Ref(old)) for new, old in pairs))


def _early(
    site: _Site,
    leaf: Leaf,
    others: list[tuple[Leaves, Signed]],
    side: Leaves,
    columns: tuple[Column, ...],
) -> Relation:
    """Return C_t with ``side`` pre-aggregated: grouped by the columns that the other parts and the
    keys read of it, then joined, then merged."""
    memo, block, ids = site.memo, site.block, site.ids
    wanted = {key.id for key in site.keys}
    keys = block.needed(side, wanted)
    slots = tuple(ids.new(c.name, c) for c in columns[len(site.keys) :])
    joined: list[tuple[Leaves, Signed]] = []
    start = block.delta(leaf)
    if leaf.number in side:
        fold = aggregate.initial(site.calls, None, False, ids)
        relation = states_of(start.relation, keys, fold, (*keys, *slots))
        start, joined = Signed(relation), others
    for which, rows in others if leaf.number not in side else ():
        if which == side:
            whole = memo.reference(_group_of(rows))
            fold = aggregate.initial(site.calls, None, False, ids)
            states = states_of(whole, keys, fold, (*keys, *slots))
            view = memo.add(states, RULE.name)
            before = isinstance(rows.relation, Reference) and rows.relation.before
            joined.append((which, Signed(memo.reference(view, before=before))))
            memo.relate(
                site.tvr,
                Role.INDEPENDENT,
                tvr_of(memo, memo.reference(view)).id,
                tvr_of(memo, leaf.given).id,
            )
        else:
            joined.append((which, rows))
    read = frozenset(wanted | {slot.id for slot in slots})
    rows = block.chain(start, leaf, joined, read, ids)
    outer = tuple(dict.fromkeys(site.keys))
    merging = aggregate.merging(site.node, False, slots, ids)
    kept = (*outer, *columns[len(site.keys) :])
    merged = states_of(rows.relation, outer, merging, kept)
    values: list[tuple[Column, Scalar]] = [
        (new, Ref(old)) for new, old in zip(columns, site.keys, strict=False)
    ]
    values += [(c, Ref(c)) for c in columns[len(site.keys) :]]
    return Project(merged, tuple(values))


def _group_of(rows: Signed) -> GroupId:
    if not isinstance(rows.relation, Reference):
        raise TypeError(f"{rows.relation} is no reference")
    return rows.relation.group


RULE = MemoRule(
    "PreAggregation", Aggregate, _fire, _SOURCE, frozenset({_STATES}), deltas=True, priority=1
)
