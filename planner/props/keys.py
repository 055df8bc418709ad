"""Candidate keys of relations.

A key is a set of columns of which no two rows have the same values (NULLs counted as equal); the
empty key says that there is at most one row. Keys hold of bags at one instant: the snapshot of a
source has the keys its author declared, and so have its earlier snapshots and, of an append-only
source, its deltas. Of a changelog a delta has none: an updated row is taken back and comes anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from planner.algebra.predicates import equality, split_condition
from planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetKind,
    SetOperation,
    StateRead,
    UnionAll,
    Values,
    Window,
    fold,
)
from planner.algebra.scalar import Call, Literal, Ref, Scalar, conjuncts
from planner.algebra.types import ColumnId, DataType

Key = frozenset[ColumnId]
Keys = frozenset[Key]
NamedKeys = Mapping[str, Sequence[Sequence[str]]]

MAX_KEYS = 8
"""Keys kept per node, smallest first: the number of keys of joins multiplies else."""

ONE_ROW: Keys = frozenset({frozenset()})
NO_KEYS: Keys = frozenset()


def keys(relation: Relation, source_keys: NamedKeys, state_keys: NamedKeys | None = None) -> Keys:
    """Minimal candidate keys of the relation that follow from the keys of its leaves.

    ``source_keys``: per source the column names of each key; ``state_keys``: per family the stored
    names. Conservative: there may be keys that are not found.
    """

    def of_any(node: Relation, inputs: tuple[Keys, ...]) -> Keys:
        if inputs:
            return keys_of_node(node, inputs)
        return keys_of_leaf(node, source_keys, state_keys or {})

    return fold(relation, of_any)


def is_key(columns: Iterable[ColumnId], of: Keys) -> bool:
    """True if the columns contain one of the keys."""
    given = frozenset(columns)
    return any(key <= given for key in of)


def keys_of_leaf(node: Relation, sources: NamedKeys, states: NamedKeys) -> Keys:
    """Keys of what has no inputs."""
    if isinstance(node, Scan):
        names = {column.name: column.id for column in node.scanned}
        return _named(sources.get(node.source, ()), names)
    if isinstance(node, StateRead):
        stored = {name: c.id for name, c in zip(node.stored, node.read, strict=True)}
        return _named(states.get(node.family, ()), stored)
    if isinstance(node, Values):
        return ONE_ROW if len(node.rows) <= 1 else NO_KEYS
    return NO_KEYS


def keys_of_node(
    node: Relation, inputs: tuple[Keys, ...], unique: tuple[bool, bool] | None = None
) -> Keys:
    """Keys of a node from those of its inputs. ``unique``: of a join, whether its equalities are
    known to tell the rows of the left side apart, and those of the right side."""
    if isinstance(node, Filter):
        return _reduced(inputs[0], node.predicate)
    if isinstance(node, Project):
        return _of_project(node, inputs[0])
    if isinstance(node, Join):
        return _of_join(node, inputs[0], inputs[1], unique)
    if isinstance(node, Aggregate):
        grouped = frozenset(key.id for key in node.keys)
        return minimal([grouped, *(key for key in inputs[0] if key <= grouped)])
    if isinstance(node, Limit):
        return ONE_ROW if node.count is not None and node.count <= 1 else inputs[0]
    if isinstance(node, Repeat):
        return NO_KEYS
    if isinstance(node, UnionAll):
        return _renamed(node, 0, inputs[0]) if len(inputs) == 1 else NO_KEYS
    if isinstance(node, SetOperation):
        return _of_set_operation(node, *inputs)
    if isinstance(node, Window):
        return _of_window(node, inputs[0])
    # Sort, and whatever else keeps the rows of one input.
    return inputs[0] if len(inputs) == 1 and node.columns == node.inputs[0].columns else NO_KEYS


def minimal(found: Iterable[Key]) -> Keys:
    """The keys that contain no other, the first few by size and ids (so the cut is stable)."""
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
    """A filter keeps keys; a column that it sets to a constant, or to be equal to another column
    of the key, adds nothing to a key."""
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
    """The column of ``column = literal`` or ``column is null``."""
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
    """True if values that compare as equal are one value. A string that is compared with a number
    is cast, and a BIGINT that is compared with a DOUBLE is rounded: many values equal one then."""
    exact = (one.is_integer or one.name == "DECIMAL") and (
        other.is_integer or other.name == "DECIMAL"
    )
    return one == other or exact


def _of_project(node: Project, before: Keys) -> Keys:
    outputs: dict[ColumnId, ColumnId] = {}
    for column, scalar in node.items:
        if isinstance(scalar, Ref):
            outputs.setdefault(scalar.column.id, column.id)
    return minimal(
        frozenset(outputs[part] for part in key)
        for key in before
        if all(part in outputs for part in key)
    )


def _of_join(node: Join, left: Keys, right: Keys, unique: tuple[bool, bool] | None) -> Keys:
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
    """Of a branch. Where its values are cast to the type of the other one, several may be one."""
    pairs = zip(node.inputs[side].columns, node.columns, strict=True)
    names = {inner.id: outer.id for inner, outer in pairs if inner.type == outer.type}
    return minimal(
        frozenset(names[part] for part in key)
        for key in found
        if all(part in names for part in key)
    )


def _of_set_operation(node: SetOperation, left: Keys, right: Keys) -> Keys:
    found = list(_renamed(node, 0, left))
    if node.kind is SetKind.INTERSECT:
        found.extend(_renamed(node, 1, right))
    if not node.all:
        found.append(frozenset(column.id for column in node.merged))
    return minimal(found)


def _of_window(node: Window, before: Keys) -> Keys:
    numbered = (
        frozenset({column.id, *(part.id for part in call.partition)})
        for column, call in node.calls
        if call.name == "row_number"
    )
    return minimal([*before, *numbered])
