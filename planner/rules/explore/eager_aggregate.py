"""Eager aggregation: group one side of a join by the join key before the join.

::

    agg[g; f(R.x)](L join[k] R)  =  agg[g; merge f](L join[k] agg[k and g of R; f(x)](R))

The rows of R that share a key meet the same rows of L, so they may be added up first: every row of
L then meets one row that stands for all of them, as often as before. A left row without a partner
meets NULL, which is what the aggregates skip; where it would have been counted, a count of rows is
1, a count of values 0. Source: Yan and Larson, "Eager aggregation and lazy aggregation", VLDB 1995;
for us it makes states of a join from states of one input, which arrive and merge on their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.algebra.aggregates import result_type
from planner.algebra.predicates import split_condition
from planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Join,
    JoinKind,
    Project,
    Relation,
    rewrite,
)
from planner.algebra.scalar import TRUE, Call, Literal, Ref, Scalar, is_deterministic, substitute
from planner.algebra.types import BIGINT, Column, ColumnId
from planner.rules.normalize.safety import can_fail
from planner.tvr.signed import ColumnIds

MERGED_BY = {"sum": "sum", "count": "sum", "min": "min", "max": "max"}
"""By which function the values of an aggregate over parts are merged into that over all."""


def aggregate_eagerly(relation: Relation, ids: ColumnIds) -> Relation | None:
    """The relation with every aggregate pushed below its join that can be; None if none can."""
    changed = False

    def rule(node: Relation) -> Relation:
        nonlocal changed
        pushed = _push(node, ids) if isinstance(node, Aggregate) else None
        changed = changed or pushed is not None
        return node if pushed is None else pushed

    result = rewrite(relation, rule)
    return result if changed else None


@dataclass(frozen=True, slots=True)
class _Match:
    """An aggregate over (a renaming of) a join, in the join's own columns."""

    join: Join
    keys: tuple[Column, ...]
    calls: tuple[tuple[Column, AggregateCall], ...]


def _match(node: Aggregate) -> _Match | None:
    below = node.input
    names: dict[ColumnId, Scalar] = {c.id: Ref(c) for c in below.columns}
    if isinstance(below, Project):
        names = {column.id: value for column, value in below.items}
        below = below.input
    if not isinstance(below, Join) or below.kind not in (JoinKind.INNER, JoinKind.LEFT):
        return None
    pairs, residual = split_condition(below)
    if not pairs or residual != TRUE:
        return None
    keys = []
    for key in node.keys:
        value = names[key.id]
        if not isinstance(value, Ref):
            return None
        keys.append(value.column)
    calls = []
    for column, call in node.calls:
        args = tuple(substitute(arg, names) for arg in call.args)
        if not is_mergeable(call, args):
            return None
        calls.append((column, AggregateCall(call.name, args)))
    return _Match(below, tuple(keys), tuple(calls))


def is_mergeable(call: AggregateCall, args: tuple[Scalar, ...]) -> bool:
    """Merges, and may be computed for rows that the join drops: it cannot fail on them."""
    if call.name not in MERGED_BY or call.distinct or call.where is not None or len(args) > 1:
        return False
    if call.name == "sum" and args[0].type.name == "BIGINT":
        return False
    known = result_type(call.name, tuple(arg.type for arg in args)).is_known
    return known and all(is_deterministic(arg) and not can_fail(arg) for arg in args)


def _push(node: Aggregate, ids: ColumnIds) -> Relation | None:
    found = _match(node)
    if found is None or not found.calls:
        return None
    join = found.join
    pairs, _ = split_condition(join)
    for side in (1, 0) if join.kind is JoinKind.INNER else (1,):
        given = join.inputs[side]
        mine = {column.id for column in given.columns}
        read = {c for _, call in found.calls for c in call.references()}
        if not read or not read <= mine:
            continue
        joined = tuple(pair[side] for pair in pairs)
        grouped = tuple(key for key in found.keys if key.id in mine)
        keys = tuple(dict.fromkeys((*joined, *grouped)))
        return _eager(node, found, side, keys, ids)
    return None


def _eager(
    node: Aggregate, found: _Match, side: int, keys: tuple[Column, ...], ids: ColumnIds
) -> Relation:
    join = found.join
    partial: list[tuple[Column, AggregateCall]] = []
    merged: list[tuple[Column, AggregateCall]] = []
    outer = {old.id: new for old, new in zip(node.keys, found.keys, strict=True)}
    items: list[tuple[Column, Scalar]] = [(key, Ref(outer[key.id])) for key in node.keys]
    for column, call in found.calls:
        kept = Column(ids.next_id(), column.name, column.type)
        partial.append((kept, call))
        value: Scalar = Ref(kept)
        if call.name == "count" and join.kind is JoinKind.LEFT:
            alone = "0" if call.args else "1"
            value = Call("coalesce", (value, Literal(alone, BIGINT)), BIGINT)
        again = AggregateCall(MERGED_BY[call.name], (value,))
        type_ = result_type(again.name, (value.type,))
        total = Column(ids.next_id(), column.name, type_)
        merged.append((total, again))
        items.append((column, settled(call, Ref(total), column)))
    inputs = list(join.inputs)
    inputs[side] = Aggregate(inputs[side], keys, tuple(partial))
    below = Join(join.kind, inputs[0], inputs[1], join.condition)
    return Project(Aggregate(below, found.keys, tuple(merged)), tuple(items))


def settled(call: AggregateCall, value: Scalar, column: Column) -> Scalar:
    """The merged value in the type it had: sums of sums grow, a count is never NULL."""
    if call.name == "count":
        return Call("coalesce", (value, Literal("0", BIGINT)), BIGINT)
    return value if value.type == column.type else Call("cast", (value,), column.type)
