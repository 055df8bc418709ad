"""Delta rules of left outer, semi and anti joins; a left or anti join takes rows back when a
partner arrives.

All three depend on whether the key of a left row has a partner. With R append-only, that changes
exactly for the keys of R that *appear* in this run::

    d(L left R)  =  dL left R_new  +  L_old join dR  -  nulls(L_old semi appeared)
    d(L semi R)  =  dL semi R_new  +  L_old semi appeared
    d(L anti R)  =  dL anti R_new  -  L_old semi appeared
    appeared     =  keys of R_new whose first run is this one

``nulls`` extends rows by NULLs. If the condition has more than equalities, the key alone does not
decide, and the left rows whose key is touched are recomputed::

    A            =  L_old semi keys(dR)
    d(L left R)  =  dL left R_new  -  A left R_old  +  A left R_new

R must not take rows back: "has a partner" would then need a consolidated R, which is left to
another rule (:mod:`forerun.planner.rules.methods.domain`). L may, since all three are linear in it.
"""

from __future__ import annotations

from collections.abc import Callable

from forerun.planner.algebra.predicates import split_condition
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
)
from forerun.planner.algebra.scalar import (
    TRUE,
    Call,
    Literal,
    Ref,
    Scalar,
    conjunction,
    equals,
    is_deterministic,
)
from forerun.planner.algebra.types import BOOLEAN, Column
from forerun.planner.errors import Reason
from forerun.planner.rules.incremental.join import as_join, has_key, weighted_join
from forerun.planner.rules.incremental.rule import Applies, DeltaRule, Input, Versions
from forerun.planner.tvr.signed import ColumnIds, Signed, plus, with_weight

_OUTER = frozenset({JoinKind.LEFT})
_SEMI = frozenset({JoinKind.SEMI, JoinKind.ANTI})
_Look = Callable[[Relation, tuple[Input, ...]], Applies | Reason]


def _common(
    node: Relation, inputs: tuple[Input, ...], kinds: frozenset[JoinKind]
) -> Applies | Reason:
    join = as_join(node)
    if join.kind not in kinds or not inputs[1].changing:
        return Reason.OPERATOR  # over a static right side, the delta of the left one says it all
    if not is_deterministic(join.condition):
        return Reason.NOT_DETERMINISTIC
    if inputs[1].signed:
        return Reason.RETRACTING_INPUT
    if not has_key(join):
        return Reason.NO_EQUALITY
    signed = inputs[0].signed or join.kind is not JoinKind.SEMI
    return Applies(signed=signed)


def _by_key(kinds: frozenset[JoinKind]) -> _Look:
    def applies(node: Relation, inputs: tuple[Input, ...]) -> Applies | Reason:
        _, residual = split_condition(as_join(node))
        return _common(node, inputs, kinds) if residual == TRUE else Reason.OPERATOR

    return applies


def _by_key_delta(node: Relation, inputs: tuple[Versions, ...], ids: ColumnIds) -> Signed:
    join, (left, right) = as_join(node), inputs
    parts = []
    if left.changing:
        parts.append(weighted_join(join, left.delta(), right.new(), ids))
    if join.kind is JoinKind.LEFT:
        inner = Join(JoinKind.INNER, join.left, join.right, join.condition)
        parts.append(weighted_join(inner, left.old(), right.delta(), ids))
    touched = _left_rows_with(join, left.old(), _appeared(join, right, ids))
    if join.kind is JoinKind.LEFT:
        parts.append(with_weight(_extend_by_nulls(join, touched), ids, sign=-1))
    elif join.kind is JoinKind.SEMI:
        parts.append(touched)  # nothing goes, so without L's own weights there are none
    else:
        parts.append(with_weight(touched, ids, sign=-1))
    return plus(tuple(parts), join.columns, ids)


def _appeared(join: Join, right: Versions, ids: ColumnIds) -> tuple[Relation, tuple[Column, ...]]:
    """Return the keys of R_new that R_old does not have, with their columns.

    It groups the stamped rows of R by key; a key has appeared now if no earlier run wrote it.
    """
    kept = right.stamped()
    relation, run, current = kept.relation, kept.run, kept.current
    keys = tuple(key for _, key in split_condition(join)[0])
    columns = tuple(ids.new(key.name, key) for key in keys)
    stamped = Project(relation, (*_renamed(keys, columns), (run, Ref(run))))
    first = Column(ids.next_id(), "__first", run.type)
    grouped = Aggregate(stamped, columns, ((first, AggregateCall("min", (Ref(run),))),))
    now = Filter(grouped, Call("=", (Ref(first), current), BOOLEAN))
    return Project(now, tuple((c, Ref(c)) for c in columns)), columns


def _renamed(
    columns: tuple[Column, ...], names: tuple[Column, ...]
) -> tuple[tuple[Column, Scalar], ...]:
    return tuple((new, Ref(old)) for old, new in zip(columns, names, strict=True))


def _left_rows_with(join: Join, left: Signed, keys: tuple[Relation, tuple[Column, ...]]) -> Signed:
    """Return the rows of L whose key is among the given keys (a relation and its columns)."""
    relation, columns = keys
    pairs, _ = split_condition(join)
    condition = conjunction(
        tuple(equals(mine, key) for (mine, _), key in zip(pairs, columns, strict=True))
    )
    return Signed(Join(JoinKind.SEMI, left.relation, relation, condition), left.weight)


def _extend_by_nulls(join: Join, left: Signed) -> Signed:
    nulls = tuple((c, Literal(None, c.type)) for c in join.right.columns)
    items: tuple[tuple[Column, Scalar], ...] = tuple((c, Ref(c)) for c in left.relation.columns)
    return Signed(Project(left.relation, (*items, *nulls)), left.weight)


def _touched(kinds: frozenset[JoinKind]) -> _Look:
    def applies(node: Relation, inputs: tuple[Input, ...]) -> Applies | Reason:
        found = _common(node, inputs, kinds)
        if isinstance(found, Reason):
            return found
        return Applies(signed=True)

    return applies


def _touched_delta(node: Relation, inputs: tuple[Versions, ...], ids: ColumnIds) -> Signed:
    join, (left, right) = as_join(node), inputs
    parts = []
    if left.changing:
        parts.append(weighted_join(join, left.delta(), right.new(), ids))
    pairs, _ = split_condition(join)
    keys = tuple(key for _, key in pairs)
    columns = tuple(ids.new(key.name, key) for key in keys)
    changed = Aggregate(Project(right.delta().relation, _renamed(keys, columns)), columns, ())
    touched = _left_rows_with(join, left.old(), (changed, columns))
    parts.append(with_weight(weighted_join(join, touched, right.old(), ids), ids, sign=-1))
    parts.append(weighted_join(join, touched, right.new(), ids))
    return plus(tuple(parts), join.columns, ids)


_BY_KEY_SOURCE = (
    "Tempura 4.1 (outer and semi joins by their affected keys), under the convention of tvr. "
    "Duplicates on the left each have their own NULL row to take back; a NULL key never appears, "
    "since it equals nothing."
)
_TOUCHED_SOURCE = (
    "Distributed IVM 3.2, domain of the affected rows: what was there for them goes, what is there "
    "now comes; right for any condition that contains an equality."
)
BY_KEY = DeltaRule("OuterJoinDeltaByKey", Join, _by_key(_OUTER), _BY_KEY_SOURCE, _by_key_delta)
TOUCHED = DeltaRule(
    "OuterJoinDeltaTouchedRows", Join, _touched(_OUTER), _TOUCHED_SOURCE, _touched_delta
)
SEMI_BY_KEY = DeltaRule("SemiJoinDeltaByKey", Join, _by_key(_SEMI), _BY_KEY_SOURCE, _by_key_delta)
SEMI_TOUCHED = DeltaRule(
    "SemiJoinDeltaTouchedRows", Join, _touched(_SEMI), _TOUCHED_SOURCE, _touched_delta
)
