"""Eager aggregation: groups one side of a join by the join key before the join.

::

    agg[g; f(R.x)](L join[k] R)  =  agg[g; merge f](L join[k] agg[k and g of R; f(x)](R))

The rows of R that share a key join with the same rows of L, so they can be aggregated first: each
row of L then meets one row that stands for all of them. A left row without a partner meets NULL,
which the aggregates skip; a count of rows is 1 there, a count of values 0. So arguments over a left
join must be NULL where R's columns are: ``sum(coalesce(x, 0))`` over such a row is 0, not NULL.
Source: Yan and Larson, "Eager aggregation and lazy aggregation", VLDB 1995. In Forerun, the
aggregate of a join is so made from states of one input, which can be kept and merged run by run.

A sum of BIGINT over rows that the join drops could overflow where the query's own does not. Unless
its values are known to be small (:mod:`forerun.planner.rules.explore.small_values`), it is computed
as one of DECIMALs, which holds any sum, and cast back above: that fails where the query's own sum
fails in whatever order the rows come.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from types import MappingProxyType

from forerun.planner.algebra.aggregates.functions import function, type_of
from forerun.planner.algebra.aggregates.record import Empty
from forerun.planner.algebra.predicates import null_strict, split_condition
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Join,
    JoinKind,
    Project,
    Relation,
    rewrite,
)
from forerun.planner.algebra.scalar import (
    TRUE,
    Call,
    Literal,
    Ref,
    Scalar,
    is_deterministic,
    substitute,
)
from forerun.planner.algebra.types import BIGINT, Column, ColumnId, DataType, decimal
from forerun.planner.props.keys import is_key, keys
from forerun.planner.rules.explore.small_values import (
    CHOICES,
    Magnitudes,
    has_small_sums,
    may_fail,
    values_of,
)
from forerun.planner.tvr.signed import ColumnIds


def aggregate_eagerly(
    relation: Relation, ids: ColumnIds, known: Magnitudes = MappingProxyType({})
) -> Relation | None:
    """Push every aggregate below its join where that is possible; return None if none can be.
    ``known`` are the magnitudes of columns of whole numbers."""
    result = rewrite(relation, lambda node: _push(node, ids, known) or node)
    return None if result is relation else result


_KINDS = frozenset({JoinKind.INNER, JoinKind.LEFT})
_LONG = decimal(20, 0)
"""The DECIMAL that Spark takes a BIGINT for."""


@dataclass(frozen=True, slots=True)
class OverJoin:
    """An aggregate over a join (perhaps with a projection between), in columns of the join."""

    join: Join
    keys: tuple[Column, ...]
    calls: tuple[tuple[Column, AggregateCall], ...]


def aggregate_over_join(
    node: Aggregate, kinds: frozenset[JoinKind], known: Magnitudes
) -> OverJoin | None:
    """Return an aggregate over a join of one of the kinds and by equalities alone, whose calls can
    be merged from values over parts of the rows; None if it is no such aggregate."""
    below = node.input
    names: dict[ColumnId, Scalar] = {c.id: Ref(c) for c in below.columns}
    if isinstance(below, Project):
        names = {column.id: value for column, value in below.items}
        below = below.input
    if not isinstance(below, Join) or below.kind not in kinds:
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
        if not is_mergeable(call, args, known):
            return None
        calls.append((column, AggregateCall(call.name, args)))
    return OverJoin(below, tuple(keys), tuple(calls))


def is_mergeable(
    call: AggregateCall, args: tuple[Scalar, ...], known: Magnitudes = MappingProxyType({})
) -> bool:
    """Return whether values of a call over parts can be merged, and whether it may be computed for
    rows that the join drops, which requires that it cannot fail on them. ``args`` are the call's
    arguments in columns of the join's inputs."""
    known_function = function(call.name)
    if call.distinct or call.where is not None or len(args) > 1:
        return False
    given = tuple(arg.type for arg in args)
    if known_function.merged_by is None:
        return False
    if known_function.overflows(given) and not has_small_sums(args[0], known):
        return False
    typed = known_function.result(given).is_known
    return typed and all(is_deterministic(arg) and not may_fail(arg, known) for arg in args)


def with_wide_sums(node: Aggregate, ids: ColumnIds, known: Magnitudes) -> Aggregate:
    """Return the aggregate with its sums that can overflow as sums of DECIMALs; the same one if it
    has none."""
    below = node.input
    named = {c.id: value for c, value in below.items} if isinstance(below, Project) else {}

    def is_wide(call: AggregateCall) -> bool:
        if not function(call.name).overflows(tuple(arg.type for arg in call.args)):
            return False
        return not has_small_sums(substitute(call.args[0], named), known)

    wide = tuple(
        _wide(column, call, ids) if is_wide(call) else (column, call) for column, call in node.calls
    )
    return node if wide == node.calls else Aggregate(node.input, node.keys, wide)


def with_columns_of(node: Aggregate, relation: Relation) -> Relation:
    """Return a relation that has the values of an aggregate, in its order, with its columns."""
    if tuple(relation.columns) == tuple(node.columns):
        return relation
    pairs = zip(node.columns, relation.columns, strict=True)
    return Project(relation, tuple((to, _cast(Ref(column), to.type)) for to, column in pairs))


def _wide(column: Column, call: AggregateCall, ids: ColumnIds) -> tuple[Column, AggregateCall]:
    wide = replace(call, args=(_as_decimal(call.args[0]), *call.args[1:]))
    return Column(ids.next_id(), column.name, type_of(wide)), wide


def _as_decimal(scalar: Scalar) -> Scalar:
    """Return a BIGINT as a DECIMAL; of a choice the values, whose conditions stay in sight."""
    if not isinstance(scalar, Call) or scalar.name not in CHOICES:
        return _cast(scalar, _LONG)
    values = values_of(scalar)
    args = (_as_decimal(arg) if any(arg is one for one in values) else arg for arg in scalar.args)
    return Call(scalar.name, tuple(args), _LONG)


def _cast(scalar: Scalar, to: DataType) -> Scalar:
    return scalar if scalar.type == to else Call("cast", (scalar,), to)


def _push(node: Relation, ids: ColumnIds, known: Magnitudes) -> Relation | None:
    if not isinstance(node, Aggregate):
        return None
    pushed = _pushed(with_wide_sums(node, ids, known), ids, known)
    return None if pushed is None else with_columns_of(node, pushed)


def _pushed(node: Aggregate, ids: ColumnIds, known: Magnitudes) -> Relation | None:
    found = aggregate_over_join(node, _KINDS, known)
    if found is None or not found.calls:
        return None
    join = found.join
    pairs, _ = split_condition(join)
    for side in (1, 0):
        given = join.inputs[side]
        mine = {column.id for column in given.columns}
        read = {c for _, call in found.calls for c in call.references()}
        if not read or not read <= mine:
            continue
        may_miss = side == 1 and join.kind is JoinKind.LEFT
        if may_miss and not all(_skips_nulls_of(mine, call) for _, call in found.calls):
            continue
        joined = tuple(pair[side] for pair in pairs)
        grouped = tuple(key for key in found.keys if key.id in mine)
        by = tuple(dict.fromkeys((*joined, *grouped)))
        if is_key({key.id for key in by}, keys(given, {})):
            continue
        return _eager(node, found, side, by, ids)
    return None


def _skips_nulls_of(columns: AbstractSet[ColumnId], call: AggregateCall) -> bool:
    """Return whether a call skips the rows in which all these columns are NULL; count(*), which
    does not, is settled by itself."""
    return not call.args or not null_strict(call.args[0]).isdisjoint(columns)


def _eager(
    node: Aggregate, found: OverJoin, side: int, by: tuple[Column, ...], ids: ColumnIds
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
        if function(call.name).empty is Empty.ZERO and side == 1 and join.kind is JoinKind.LEFT:
            alone = "0" if call.args else "1"
            value = Call("coalesce", (value, Literal(alone, BIGINT)), BIGINT)
        again = merged_by(call, value)
        total = Column(ids.next_id(), column.name, type_of(again))
        merged.append((total, again))
        items.append((column, settled(call, Ref(total), column)))
    inputs = list(join.inputs)
    inputs[side] = Aggregate(inputs[side], by, tuple(partial))
    below = Join(join.kind, inputs[0], inputs[1], join.condition)
    return Project(Aggregate(below, found.keys, tuple(merged)), tuple(items))


def merged_by(call: AggregateCall, value: Scalar) -> AggregateCall:
    """Return the call that merges the values of a call over parts into its value over the whole.
    Raises ValueError if its values do not merge."""
    name = function(call.name).merged_by
    if name is None:
        raise ValueError(f"values of {call.name} do not merge")
    return AggregateCall(name, (value,))


def settled(call: AggregateCall, value: Scalar, column: Column) -> Scalar:
    """Return the merged value in the type of the original: a sum of sums is cast back, and a count
    over no parts is 0 instead of NULL."""
    if function(call.name).empty is Empty.ZERO:
        return Call("coalesce", (value, Literal("0", BIGINT)), BIGINT)
    return value if value.type == column.type else Call("cast", (value,), column.type)
