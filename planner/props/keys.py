"""Candidate keys of relations.

A key is a set of columns of which no two rows have the same values (NULLs counted as equal); the
empty key says that there is at most one row. Keys hold at one instant: every snapshot of a source
has the keys that its author declared, and so has every delta of an append-only source. A delta of a
changelog has no keys, because an updated row is taken back and added again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.predicates import equality, split_condition
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetKind,
    SetOperation,
    Sort,
    StateRead,
    UnionAll,
    Values,
    Window,
    fold,
)
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar, conjuncts
from forerun.planner.algebra.types import ColumnId, DataType

Key = frozenset[ColumnId]
Keys = frozenset[Key]
NamedKeys = Mapping[str, Sequence[Sequence[str]]]

MAX_KEYS = 8
"""The most keys that are kept per node, smallest first; joins would multiply their number."""

ONE_ROW: Keys = frozenset({frozenset()})
NO_KEYS: Keys = frozenset()


def keys(relation: Relation, source_keys: NamedKeys, state_keys: NamedKeys | None = None) -> Keys:
    """Return the minimal candidate keys of a relation that follow from the keys of its leaves.

    ``source_keys`` has the column names of each key per source, ``state_keys`` the stored column
    names per artifact family. Conservative: a key may hold without being found.
    """

    def of_any(node: Relation, inputs: tuple[Keys, ...]) -> Keys:
        if inputs:
            return keys_of_node(node, inputs)
        return keys_of_leaf(node, source_keys, state_keys or {})

    return fold(relation, of_any)


def is_key(columns: Iterable[ColumnId], of: Keys) -> bool:
    """Return whether the columns contain one of the keys."""
    given = frozenset(columns)
    return any(key <= given for key in of)


@operator_pass("keys of leaves")
def keys_of_leaf(node: Relation, sources: NamedKeys, states: NamedKeys) -> Keys:
    """Return the keys of an operator without inputs, given those of sources and families."""
    raise NotImplementedError


@keys_of_leaf.register(Scan)
def _of_scan(node: Scan, sources: NamedKeys, _: NamedKeys) -> Keys:
    names = {column.name: column.id for column in node.scanned}
    return _named(sources.get(node.source, ()), names)


@keys_of_leaf.register(StateRead)
def _of_state_read(node: StateRead, _: NamedKeys, states: NamedKeys) -> Keys:
    stored = {name: c.id for name, c in zip(node.stored, node.read, strict=True)}
    return _named(states.get(node.family, ()), stored)


@keys_of_leaf.register(Recursion)
def _of_series(*_: object) -> Keys:
    return NO_KEYS


@keys_of_leaf.register(Values)
def _of_values(node: Values, *_: NamedKeys) -> Keys:
    return ONE_ROW if len(node.rows) <= 1 else NO_KEYS


@operator_pass("keys")
def keys_of_node(
    node: Relation, inputs: tuple[Keys, ...], unique: tuple[bool, bool] | None = None
) -> Keys:
    """Return the keys of a node, given those of its inputs. For a join, ``unique`` may say whether
    its equality columns are a key of the left side and of the right side; without it, that is
    decided from the keys alone."""
    raise NotImplementedError


@keys_of_node.register(Filter)
def _of_filter(node: Filter, inputs: tuple[Keys, ...], *_: object) -> Keys:
    return _reduced(inputs[0], node.predicate)


@keys_of_node.register(Aggregate)
def _of_aggregate(node: Aggregate, inputs: tuple[Keys, ...], *_: object) -> Keys:
    grouped = frozenset(key.id for key in node.keys)
    return minimal([grouped, *(key for key in inputs[0] if key <= grouped)])


@keys_of_node.register(Sort)
def _of_sort(_: Sort, inputs: tuple[Keys, ...], *__: object) -> Keys:
    return inputs[0]


@keys_of_node.register(Limit)
def _of_limit(node: Limit, inputs: tuple[Keys, ...], *_: object) -> Keys:
    return ONE_ROW if node.count is not None and node.count <= 1 else inputs[0]


@keys_of_node.register(Repeat, Recursion)
def _of_repeat(*_: object) -> Keys:
    return NO_KEYS


@keys_of_node.register(UnionAll)
def _of_union(node: UnionAll, inputs: tuple[Keys, ...], *_: object) -> Keys:
    return _renamed(node, 0, inputs[0]) if len(inputs) == 1 else NO_KEYS


def minimal(found: Iterable[Key]) -> Keys:
    """Return the keys that contain no other key, at most MAX_KEYS of them. The order by size and
    column ids makes that cut deterministic."""
    kept: list[Key] = []
    for key in sorted(set(found), key=lambda k: (len(k), sorted(k))):
        if not any(smaller <= key for smaller in kept):
            kept.append(key)
    return frozenset(kept[:MAX_KEYS])


def _named(declared: Sequence[Sequence[str]], columns: Mapping[str, ColumnId]) -> Keys:
    return minimal(
        frozenset(columns[name] for name in names)
        for names in declared
        if names and all(name in columns for name in names)
    )


def _reduced(before: Keys, predicate: Scalar) -> Keys:
    """Return the keys of a filtered relation. A filter keeps all keys; a column that it equates to
    a constant can be left out of a key, and one that it equates to another column can be replaced
    by it."""
    result = set(before)
    for part in conjuncts(predicate):
        if (constant := constant_column(part)) is not None:
            result |= {key - {constant} for key in result}
        elif (pair := equality(part)) is not None and same_values(pair[0].type, pair[1].type):
            one, other = pair[0].id, pair[1].id
            result |= {key - {other} for key in result if one in key}
            result |= {(key - {other}) | {one} for key in result if other in key}
            result |= {(key - {one}) | {other} for key in result if one in key}
    return minimal(result)


def constant_column(part: Scalar) -> ColumnId | None:
    """Return the column of a conjunct ``column = literal`` or ``column is null``, else None."""
    if isinstance(part, Call) and part.name in ("=", "<=>"):
        one, other = part.args
        if isinstance(one, Literal):
            one, other = other, one
        if (
            isinstance(one, Ref)
            and isinstance(other, Literal)
            and same_values(one.type, other.type)
        ):
            return one.column.id
    if isinstance(part, Call) and part.name == "isnull" and isinstance(part.args[0], Ref):
        return part.args[0].column.id
    return None


def same_values(one: DataType, other: DataType) -> bool:
    """Return whether values of the two types that compare as equal are the same value. That fails
    where a comparison converts: it casts a string for a number, and rounds a BIGINT for a DOUBLE,
    so several values equal one."""
    exact = (one.is_integer or one.name == "DECIMAL") and (
        other.is_integer or other.name == "DECIMAL"
    )
    return one == other or exact


@keys_of_node.register(Project)
def _of_project(node: Project, inputs: tuple[Keys, ...], *_: object) -> Keys:
    (before,) = inputs
    outputs: dict[ColumnId, ColumnId] = {}
    for column, scalar in node.items:
        if isinstance(scalar, Ref):
            outputs.setdefault(scalar.column.id, column.id)
    return minimal(
        frozenset(outputs[part] for part in key)
        for key in before
        if all(part in outputs for part in key)
    )


@keys_of_node.register(Join)
def _of_join(node: Join, inputs: tuple[Keys, ...], unique: tuple[bool, bool] | None = None) -> Keys:
    left, right = inputs
    if node.kind in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.MARK, JoinKind.SINGLE):
        return left
    condition = split_condition(node)
    one_left, one_right = unique or (
        is_key((column.id for column in condition.left), left),
        is_key((column.id for column in condition.right), right),
    )
    found: list[Key] = []
    if node.kind in (JoinKind.INNER, JoinKind.LEFT) and one_right:
        found.extend(left)
    if node.kind in (JoinKind.INNER, JoinKind.RIGHT) and one_left:
        found.extend(right)
    if node.kind is not JoinKind.FULL:
        # The null-extended row of a left row is its only row. With FULL, two null-extended rows
        # of both sides may look the same when the keys are NULL.
        found.extend(a | b for a in left for b in right)
    if node.kind is JoinKind.INNER:
        return _reduced(minimal(found), node.condition)
    return minimal(found)


def _renamed(node: Relation, side: int, found: Keys) -> Keys:
    """Translate the keys of one branch to the output columns of a set operation. Keys with a column
    that is cast to another type are left out, since a cast may make different values equal."""
    pairs = zip(node.inputs[side].columns, node.columns, strict=True)
    names = {inner.id: outer.id for inner, outer in pairs if inner.type == outer.type}
    return minimal(
        frozenset(names[part] for part in key)
        for key in found
        if all(part in names for part in key)
    )


@keys_of_node.register(SetOperation)
def _of_set_operation(node: SetOperation, inputs: tuple[Keys, ...], *_: object) -> Keys:
    left, right = inputs
    found = list(_renamed(node, 0, left))
    if node.kind is SetKind.INTERSECT:
        found.extend(_renamed(node, 1, right))
    if not node.all:
        found.append(frozenset(column.id for column in node.merged))
    return minimal(found)


@keys_of_node.register(Generate)
def _of_generate(node: Generate, inputs: tuple[Keys, ...], *_: object) -> Keys:
    """A position beside the key of a row tells what is made of it apart."""
    if node.call.name != "posexplode":
        return NO_KEYS
    return minimal(key | {node.made[0].id} for key in inputs[0])


@keys_of_node.register(Window)
def _of_window(node: Window, inputs: tuple[Keys, ...], *_: object) -> Keys:
    numbered = (
        frozenset({column.id, *(part.id for part in call.partition)})
        for column, call in node.calls
        if call.name == "row_number"
    )
    return minimal([*inputs[0], *numbered])
