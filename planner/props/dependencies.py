"""Functional dependencies of relations, derived together with their keys and not-null columns.

A dependency ``X -> Y`` says that two rows with the same values in all of X have the same values in
all of Y. "The same" is as in GROUP BY: NULLs are the same, and so are NaNs, and 0.0 and -0.0. Hence
no dependency is derived for a value computed from floating-point columns (1/0.0 is not 1/-0.0).
``{} -> Y`` says that Y is constant.

Sources of dependencies: a key determines its row; ``a = b`` makes each determine the other; a
constant column is determined by the empty set, a computed column by the columns that it reads, an
aggregate by its group. A dependency outlives the key that it came from: an inner join repeats rows,
but the order key of a line still determines the customer of the order.

Outer joins: a null-extended row has NULL in all columns of the side. A dependency of that side
survives only if X has a column that was never NULL there; otherwise a row of the side may agree
with the null-extended row in X but not in Y. What a row of the kept side is joined with, possibly
nothing, depends on the columns of it that the condition reads. So these determine all that the
equalities of the condition determine on the other side.

Source: Darwen (1988), "The role of functional dependence in query decomposition"; Paulley (2000),
"Exploiting functional dependence in query optimization", for NULLs and outer joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

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
    SetKind,
    SetOperation,
    Sort,
    UnionAll,
    Window,
    fold,
)
from forerun.planner.algebra.scalar import Literal, Ref, Scalar, conjuncts, is_deterministic, walk
from forerun.planner.algebra.types import ColumnId, DataType
from forerun.planner.props.keys import (
    NO_KEYS,
    Keys,
    NamedKeys,
    constant_column,
    is_key,
    keys_of_leaf,
    keys_of_node,
    minimal,
    same_values,
)
from forerun.planner.props.nullability import NONE, Nullability

ColumnIds = frozenset[ColumnId]


@dataclass(frozen=True, slots=True)
class Dependency:
    """Rows with the same values in ``given`` have the same values in ``determined``."""

    given: ColumnIds
    determined: ColumnIds


Dependencies = tuple[Dependency, ...]

MAX_DEPENDENCIES = 64
"""The most dependencies that are kept per node, in the order in which they are found."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The properties of a relation that were derived; they hold whatever the data is."""

    keys: Keys = NO_KEYS
    dependencies: Dependencies = ()
    not_null: ColumnIds = NONE


def facts(
    relation: Relation,
    source_keys: NamedKeys,
    source_not_null: Mapping[str, AbstractSet[str]],
    *,
    ansi: bool = True,
) -> Facts:
    """Derive the properties of a relation from the keys and NOT NULL columns of its sources, given
    by source name and column names. ``ansi`` is the engine's ANSI mode. Conservative: a property
    may hold without being found."""
    deriver = Deriver(source_keys, source_not_null, ansi=ansi)
    return fold(relation, deriver.of_node)


def closure(columns: Iterable[ColumnId], dependencies: Dependencies) -> ColumnIds:
    """Return all columns that the given ones determine, including themselves."""
    known = set(columns)
    waiting = list(dependencies)
    while True:
        later = []
        for one in waiting:
            if one.given <= known:
                known |= one.determined
            else:
                later.append(one)
        if len(later) == len(waiting):
            return frozenset(known)
        waiting = later


def essential(columns: Iterable[ColumnId], dependencies: Dependencies) -> tuple[ColumnId, ...]:
    """Return the columns without those that the remaining ones determine. Columns are tried for
    removal in the given order, so where two determine each other, the first one is removed."""
    kept = list(columns)
    for column in tuple(kept):
        others = [other for other in kept if other != column]
        if column in closure(others, dependencies):
            kept = others
    return tuple(kept)


class Deriver:
    """Derives the properties of a node from those of its inputs."""

    def __init__(
        self,
        source_keys: NamedKeys,
        source_not_null: Mapping[str, AbstractSet[str]],
        *,
        ansi: bool = True,
    ) -> None:
        self._source_keys = source_keys
        self._nullability = Nullability(source_not_null, {}, ansi)

    def of_node(self, node: Relation, inputs: tuple[Facts, ...]) -> Facts:
        """Return the properties of a node, given those of its inputs."""
        not_null = self._nullability.of_node(node, tuple(given.not_null for given in inputs))
        if not inputs:
            found = keys_of_leaf(node, self._source_keys, {})
            return Facts(found, _of_keys(node, found), not_null)
        unique = _closed_sides(node, *inputs) if isinstance(node, Join) else None
        found = keys_of_node(node, tuple(given.keys for given in inputs), unique)
        of_keys = () if isinstance(node, Join) else _of_keys(node, found)
        dependencies = (*of_keys, *dependencies_of(node, inputs))
        dependencies = _tidy(dependencies, node.column_ids)
        return Facts(_shrunk(found, dependencies), dependencies, not_null)


def _of_keys(node: Relation, found: Keys) -> Dependencies:
    return tuple(Dependency(key, node.column_ids) for key in sorted(found, key=sorted))


def _shrunk(found: Keys, dependencies: Dependencies) -> Keys:
    """Remove from each key the columns that its other columns determine."""
    return minimal(frozenset(essential(sorted(key, reverse=True), dependencies)) for key in found)


def _tidy(dependencies: Iterable[Dependency], columns: ColumnIds) -> Dependencies:
    """Restrict dependencies to the given columns, and drop trivial and repeated ones."""
    useful: dict[Dependency, None] = {}
    for one in dependencies:
        determined = (one.determined & columns) - one.given
        if one.given <= columns and determined:
            useful[Dependency(one.given, determined)] = None
    return tuple(useful)[:MAX_DEPENDENCIES]


@operator_pass("dependencies")
def dependencies_of(node: Relation, inputs: tuple[Facts, ...]) -> Dependencies:
    """Return the dependencies among the columns of a node with inputs, except those that its keys
    imply."""
    raise NotImplementedError


@dependencies_of.register(Filter)
def _of_filter(node: Filter, inputs: tuple[Facts, ...]) -> Dependencies:
    return (*inputs[0].dependencies, *_of_condition(node.predicate))


@dependencies_of.register(Aggregate)
def _of_aggregate(node: Aggregate, inputs: tuple[Facts, ...]) -> Dependencies:
    return _projected(inputs[0].dependencies, {key.id: key.id for key in node.keys})


@dependencies_of.register(Repeat)
def _of_repeat(node: Repeat, inputs: tuple[Facts, ...]) -> Dependencies:
    return _projected(inputs[0].dependencies, {c.id: c.id for c in node.columns})


@dependencies_of.register(SetOperation)
def _of_set_operation(node: SetOperation, inputs: tuple[Facts, ...]) -> Dependencies:
    left = _renamed(node, 0, inputs[0].dependencies)
    if node.kind is SetKind.EXCEPT:
        return left
    return (*left, *_renamed(node, 1, inputs[1].dependencies))


@dependencies_of.register(UnionAll)
def _of_union(node: UnionAll, inputs: tuple[Facts, ...]) -> Dependencies:
    return _renamed(node, 0, inputs[0].dependencies) if len(inputs) == 1 else ()


@dependencies_of.register(Recursion)
def _of_steps(*_: object) -> Dependencies:
    return ()


@dependencies_of.register(Generate, Window, Sort, Limit)
def _of_handed_on(_: Relation, inputs: tuple[Facts, ...]) -> Dependencies:
    return inputs[0].dependencies


def _of_condition(predicate: Scalar) -> Iterable[Dependency]:
    """Yield the dependencies that hold for rows on which a predicate is true."""
    nothing: ColumnIds = frozenset()
    for part in conjuncts(predicate):
        if (constant := constant_column(part)) is not None:
            yield Dependency(nothing, frozenset({constant}))
        elif (pair := equality(part)) is not None and same_values(pair[0].type, pair[1].type):
            one, other = frozenset({pair[0].id}), frozenset({pair[1].id})
            yield Dependency(one, other)
            yield Dependency(other, one)


@dependencies_of.register(Project)
def _of_project(node: Project, inputs: tuple[Facts, ...]) -> Dependencies:
    """A computed column is determined by the columns it reads, even if those are projected away."""
    below = inputs[0].dependencies
    names: dict[ColumnId, ColumnId] = {}
    computed: list[Dependency] = []
    outside: list[Dependency] = []
    for column, scalar in node.items:
        made = frozenset({column.id})
        if isinstance(scalar, Ref):
            first = names.setdefault(scalar.column.id, column.id)
            if first != column.id:
                outside += [Dependency(frozenset({first}), made)]
                outside += [Dependency(made, frozenset({first}))]
        elif isinstance(scalar, Literal):
            outside.append(Dependency(frozenset(), made))
        elif _is_function(scalar) and column.id not in node.input.column_ids:
            read = frozenset(part.column.id for part in walk(scalar) if isinstance(part, Ref))
            computed.append(Dependency(read, made))
    names |= {id_: id_ for one in computed for id_ in one.determined}
    return (*outside, *_projected((*below, *computed), names))


def _is_function(scalar: Scalar) -> bool:
    """Return whether equal inputs, as GROUP BY compares them, give an expression equal values."""
    exact = all(_is_exact(n.type) for n in walk(scalar) if isinstance(n, Ref))
    return exact and is_deterministic(scalar)


def _is_exact(type_: DataType) -> bool:
    """Return whether values of the type that GROUP BY puts together are identical."""
    return type_.is_known and not type_.is_floating and "<" not in type_.name


def _projected(below: Dependencies, names: Mapping[ColumnId, ColumnId]) -> Dependencies:
    """Translate dependencies to the output columns of a node; ``names`` maps input to output ids.

    A determining column that is projected away is replaced by an output column that determines it;
    if there is none, the dependency is lost."""
    stands: dict[ColumnId, ColumnId] = dict(names)
    for inner in sorted(names):
        for column in sorted(closure((inner,), below)):
            stands.setdefault(column, names[inner])
    found = []
    for one in below:
        if all(column in stands for column in one.given):
            reached = closure(one.given, below)
            found.append(
                Dependency(
                    frozenset(stands[column] for column in one.given),
                    frozenset(names[column] for column in reached if column in names),
                )
            )
    return tuple(found)


def _renamed(node: Relation, side: int, below: Dependencies) -> Dependencies:
    """Translate the dependencies of one branch to the output columns of a set operation. Columns
    that are cast to another type are left out, since a cast may make different values equal."""
    pairs = zip(node.inputs[side].columns, node.columns, strict=True)
    return _projected(below, {a.id: b.id for a, b in pairs if a.type == b.type})


# -- joins ---------------------------------------------------------------------------------------


@dependencies_of.register(Join)
def _of_join(node: Join, inputs: tuple[Facts, ...]) -> Dependencies:
    left, right = inputs
    kind = node.kind
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left.dependencies
    if kind is JoinKind.INNER:
        return (*left.dependencies, *right.dependencies, *_of_condition(node.condition))
    if kind is JoinKind.FULL:
        return (*_extended(left), *_extended(right))
    if kind is JoinKind.RIGHT:
        return (*_extended(left), *right.dependencies, *_matched(node, 1, left))
    if kind is JoinKind.MARK:
        mark = frozenset({node.mark.id}) if node.mark is not None else frozenset()
        return (*left.dependencies, *(Dependency(read, mark) for read in _read(node, 0)))
    if kind is JoinKind.SINGLE:  # one row at most, so all of it
        all_of = node.right.column_ids
        return (*left.dependencies, *(Dependency(read, all_of) for read in _read(node, 0)))
    return (*left.dependencies, *_extended(right), *_matched(node, 0, right))


def _extended(side: Facts) -> Dependencies:
    """Return the dependencies of a side that still hold once null-extended rows are added."""
    return tuple(one for one in side.dependencies if one.given & side.not_null)


def _read(node: Join, side: int) -> Iterable[ColumnIds]:
    """Yield the columns of a side that the condition reads, if their values (as GROUP BY compares
    them) decide which rows a row of that side is joined with."""
    columns = node.inputs[side].column_ids
    read = [n for n in walk(node.condition) if isinstance(n, Ref) and n.column.id in columns]
    if is_deterministic(node.condition) and all(_is_exact(n.type) for n in read):
        yield frozenset(n.column.id for n in read)


def _matched(node: Join, kept: int, other: Facts) -> Iterable[Dependency]:
    """Yield the dependency from the kept side of an outer join to the other side: the columns that
    the condition reads determine the partners' columns, or the NULLs in their place."""
    condition = split_condition(node)
    equal = (condition.left, condition.right)[1 - kept]
    reached = closure((column.id for column in equal), other.dependencies)
    return (Dependency(read, reached) for read in _read(node, kept))


def _closed_sides(node: Join, left: Facts, right: Facts) -> tuple[bool, bool]:
    """Return whether the equalities of a condition determine a whole row of the left side, and
    whether they do of the right side."""
    condition = split_condition(node)
    one = closure((column.id for column in condition.left), left.dependencies)
    other = closure((column.id for column in condition.right), right.dependencies)
    return is_key(one, left.keys), is_key(other, right.keys)
