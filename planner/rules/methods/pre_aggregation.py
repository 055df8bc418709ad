"""Aggregates of joins: deltas and views that are aggregated before they meet.

::

    d agg[g; f(x)](T1 join .. join Tn)  =  merge over t of  C_t
    C_t   agg[g; f(x)](dTt join M ..)                   the rows, then their groups
          merge[g](agg[k; f(x)](dTt) join M ..)         x is of Tt: batch pre-aggregation
          merge[g](dTt join agg[k; f(x)](M) join ..)    x is of a view M, which is kept as states
    k     the columns of that side that conditions or g read

The first is what the delta of the join gives, one updated relation at a time; the second turns a
batch into as many rows as it has keys before anything is looked up for it (Distributed IVM 3.3);
the third is the view of the paper's example, the total cost per order (Tempura 4.2 (3), equation
5). Every ``C_t`` is had in the way that is cheapest for it.

The rows of a side that share k meet the same rows of the others, so what they are merged to meets
them as often: the groups and values are the same for bags. NULL keys meet nothing on either way. A
state holds counts beside sums, so that a sum over NULLs only stays NULL (the paper's ``SUM(cost)``
alone does not tell an order without returns from one whose costs are NULL). Only where nothing is
taken back, and where arguments cannot fail on rows that the join drops. Eager aggregation: Yan and
Larson, VLDB 1995.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Join,
    JoinKind,
    Project,
    Relation,
    UnionAll,
    Version,
)
from planner.algebra.scalar import Ref, Scalar, is_deterministic, references, substitute
from planner.algebra.types import Column, ColumnId
from planner.memo.memo import Expression, GroupId, Memo, Role, Tvr, View
from planner.memo.reference import Reference
from planner.rules.incremental import aggregate
from planner.rules.incremental.rule import View as KeyedView
from planner.rules.methods.join_block import Leaf, tvr_of
from planner.rules.methods.update_chain import InnerBlock, Leaves, Piece, read_inner
from planner.rules.normalize.safety import can_fail
from planner.search.rule import Match, MemoRule
from planner.tvr.signed import ColumnIds, Signed

_SOURCE = "Distributed IVM 3.3; Tempura 4.2 (3), equation 5"
MOST_LEAVES = 6
"""Of a block whose aggregate is looked at: a view for each of them is states of all the others."""


@dataclass(frozen=True, slots=True)
class _Site:
    """An aggregate over inner joins, in the columns of the leaves: ``node`` has no input of its
    own; ``read``: the leaves whose columns its functions read; ``keys``: what its keys are.
    ``change``: the states of its delta. ``items``: what is computed of the joined rows."""

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
    change = tvr.edges.get((Version.DELTA, View.STATES))
    view = aggregate.MERGED.method
    if change is None or not isinstance(view, KeyedView):
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


@dataclass(frozen=True, eq=True)
class _Rows(Relation):
    """Stands for the joined rows where only their columns matter."""

    given: tuple[Column, ...]
    __hash__ = Relation.__hash__

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.given


def _joins_below(
    memo: Memo, node: Aggregate
) -> tuple[tuple[tuple[Column, Scalar], ...], InnerBlock] | None:
    """The inner joins that the aggregate reads, and its input's columns in theirs."""
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
    return AggregateCall(call.name, args, call.distinct, where)


def _may_come_early(call: AggregateCall) -> bool:
    """Whether it may be computed of rows that a join drops later: it cannot fail on them."""
    parts = call.args if call.where is None else (*call.args, call.where)
    overflows = call.name == "sum" and call.args[0].type.name == "BIGINT"
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
    calls = aggregate.merging_calls(site.node, False, columns[len(site.keys) :])
    target = site.memo.group(site.change).columns
    keys = columns[: len(site.keys)]
    merged = aggregate.states_of(keys, union, calls, (*keys, *target[len(keys) :]), site.ids)
    named = dict(zip(target, (*keys, *target[len(keys) :]), strict=True))
    relation = Project(merged, tuple((c, Ref(named[c])) for c in target))
    site.memo.equate(site.change, relation, RULE.name, part=True)
    return True


def _fresh(site: _Site) -> tuple[Column, ...]:
    """New columns for states: keys, then slots."""
    return tuple(site.ids.new(c.name, c) for c in site.memo.group(site.change).columns)


def _side(site: _Site, leaf: Leaf, pieces: tuple[Piece, ...]) -> Leaves | None:
    """The leaves that are aggregated first where a leaf is updated: all that the functions read."""
    if site.read <= {leaf.number}:
        return frozenset({leaf.number})
    return next((piece.leaves for piece in pieces if site.read <= piece.leaves), None)


def _contribution(site: _Site, leaf: Leaf, pieces: tuple[Piece, ...], *, alone: bool) -> Reference:
    """What the update of one leaf adds, as states: a group with its ways."""
    memo, block, ids = site.memo, site.block, site.ids
    others = [(piece.leaves, block.version(piece)) for piece in pieces]
    if alone:
        columns, group = memo.group(site.change).columns, site.change
    else:
        columns = _fresh(site)
        read = frozenset(id_ for _, value in site.items for id_ in references(value))
        rows = block.chain(block.delta(leaf), leaf, others, read, ids)
        joined = Project(rows.relation, site.items)
        calls = aggregate.initial_calls(site.node, None, signed=False)
        keys = site.node.keys
        plain = aggregate.states_of(keys, joined, calls, (*keys, *columns[len(keys) :]), ids)
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
    """One side grouped by what the others and the keys read of it, then joined, then merged."""
    memo, block, ids = site.memo, site.block, site.ids
    wanted = {key.id for key in site.keys}
    keys = block.needed(side, wanted)
    slots = tuple(ids.new(c.name, c) for c in columns[len(site.keys) :])
    calls = aggregate.initial_calls(site.calls, None, signed=False)
    joined: list[tuple[Leaves, Signed]] = []
    start = block.delta(leaf)
    if leaf.number in side:
        relation = aggregate.states_of(keys, start.relation, calls, (*keys, *slots), ids)
        start, joined = Signed(relation), others
    for which, rows in others if leaf.number not in side else ():
        if which == side:
            whole = memo.reference(_group_of(rows))
            states = aggregate.states_of(keys, whole, calls, (*keys, *slots), ids)
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
    merging = aggregate.merging_calls(site.node, False, slots)
    kept = (*outer, *columns[len(site.keys) :])
    merged = aggregate.states_of(outer, rows.relation, merging, kept, ids)
    values: list[tuple[Column, Scalar]] = [
        (new, Ref(old)) for new, old in zip(columns, site.keys, strict=False)
    ]
    values += [(c, Ref(c)) for c in columns[len(site.keys) :]]
    return Project(merged, tuple(values))


def _group_of(rows: Signed) -> GroupId:
    if not isinstance(rows.relation, Reference):
        raise TypeError(f"{rows.relation} is no reference")
    return rows.relation.group


RULE = MemoRule("PreAggregation", Aggregate, _fire, _SOURCE, deltas=True, priority=1)
"""After the states that it gives another way to have."""
