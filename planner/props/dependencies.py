"""Functional dependencies, and with them keys and not-null columns: all that is known of a relation
whatever the data.

A dependency ``X -> Y`` says: two rows that have the same values in all of X have them in all of Y.
Values are the same as GROUP BY takes them: NULLs are, and so are 0.0 and -0.0, and NaNs. Hence a
value that is computed of floating-point columns depends on nothing (1/0.0 is not 1/-0.0). ``{} ->
Y`` says that Y is constant.

Where they come from: a key determines its row; ``a = b`` makes each determine the other; a constant
column is determined by nothing; a computed column by the columns it reads; what is aggregated by
the group. A dependency outlives the key it came of: an inner join repeats rows, but the order key
of a line still determines the customer of the order.

Outer joins: a null-extended row has NULL in all columns of the side. A dependency of that side
goes on to hold only if X has a column that was not NULL there, since a row of the side may look
like no row in X but not in Y. But what a left row is joined with, be it nothing, depends on what
the condition reads of the left side: so that determines all that the equalities of the condition
determine on the other side.

Source: Darwen (1988), "The role of functional dependence in query decomposition"; Paulley (2000),
"Exploiting functional dependence in query optimization", for NULLs and outer joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from planner.algebra.predicates import equality, split_condition
from planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Repeat,
    SetKind,
    SetOperation,
    UnionAll,
    fold,
)
from planner.algebra.scalar import Literal, Ref, Scalar, conjuncts, is_deterministic, walk
from planner.algebra.types import ColumnId, DataType
from planner.props.keys import (
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
from planner.props.nullability import NONE, Nullability

ColumnIds = frozenset[ColumnId]


@dataclass(frozen=True, slots=True)
class Dependency:
    """Rows with the same values in ``given`` have the same values in ``determined``."""

    given: ColumnIds
    determined: ColumnIds


Dependencies = tuple[Dependency, ...]

MAX_DEPENDENCIES = 64
"""Kept per node, in the order in which they are found; the tables of a wide join have fewer."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What holds of a relation whatever the data, as far as it is found."""

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
    """What follows from the keys and the NOT NULL columns of the sources, by name. Conservative:
    more may hold than is found."""
    deriver = Deriver(source_keys, source_not_null, ansi=ansi)
    return fold(relation, deriver.of_node)


def closure(columns: Iterable[ColumnId], dependencies: Dependencies) -> ColumnIds:
    """All columns that these determine, themselves among them."""
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
    """The columns without those that the others determine. What is to go is looked for in the order
    given: where two determine each other, the first one goes."""
    kept = list(columns)
    for column in tuple(kept):
        others = [other for other in kept if other != column]
        if column in closure(others, dependencies):
            kept = others
    return tuple(kept)


class Deriver:
    """What is known of a node, from what is known of its inputs."""

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
        not_null = self._nullability.of_node(node, tuple(given.not_null for given in inputs))
        if not inputs:
            found = keys_of_leaf(node, self._source_keys, {})
            return Facts(found, _of_keys(node, found), not_null)
        if isinstance(node, Join):
            dependencies = _of_join(node, *inputs)
            determined = _closed_sides(node, *inputs)
            found = keys_of_node(node, tuple(given.keys for given in inputs), determined)
        else:
            found = keys_of_node(node, tuple(given.keys for given in inputs))
            dependencies = (*_of_keys(node, found), *_of_other(node, inputs))
        dependencies = _tidy(dependencies, node.column_ids)
        return Facts(_shrunk(found, dependencies), dependencies, not_null)


def _of_keys(node: Relation, found: Keys) -> Dependencies:
    return tuple(Dependency(key, node.column_ids) for key in sorted(found, key=sorted))


def _shrunk(found: Keys, dependencies: Dependencies) -> Keys:
    """A column that the others of a key determine tells no rows apart."""
    return minimal(frozenset(essential(sorted(key, reverse=True), dependencies)) for key in found)


def _tidy(dependencies: Iterable[Dependency], columns: ColumnIds) -> Dependencies:
    """Those that say something of the columns, each once."""
    useful: dict[Dependency, None] = {}
    for one in dependencies:
        determined = (one.determined & columns) - one.given
        if one.given <= columns and determined:
            useful[Dependency(one.given, determined)] = None
    return tuple(useful)[:MAX_DEPENDENCIES]


def _of_other(node: Relation, inputs: tuple[Facts, ...]) -> Dependencies:
    """Of nodes with one input, and of those that put rows of several together."""
    below = inputs[0].dependencies
    if isinstance(node, Filter):
        return (*below, *_of_condition(node.predicate))
    if isinstance(node, Project):
        return _of_project(node, below)
    if isinstance(node, Aggregate):
        return _projected(below, {key.id: key.id for key in node.keys})
    if isinstance(node, Repeat):
        return _projected(below, {c.id: c.id for c in node.columns})
    if isinstance(node, SetOperation):
        if node.kind is SetKind.EXCEPT:
            return _renamed(node, 0, below)
        return (*_renamed(node, 0, below), *_renamed(node, 1, inputs[1].dependencies))
    if isinstance(node, UnionAll):
        return _renamed(node, 0, below) if len(inputs) == 1 else ()
    # Window, Sort, Limit and what else hands on rows of its one input.
    return below if len(inputs) == 1 and node.inputs[0].column_ids <= node.column_ids else ()


def _of_condition(predicate: Scalar) -> Iterable[Dependency]:
    """What holds of rows for which a predicate is true."""
    nothing: ColumnIds = frozenset()
    for part in conjuncts(predicate):
        if (constant := constant_column(part)) is not None:
            yield Dependency(nothing, frozenset({constant}))
        elif (pair := equality(part)) is not None and same_values(pair[0].type, pair[1].type):
            one, other = frozenset({pair[0].id}), frozenset({pair[1].id})
            yield Dependency(one, other)
            yield Dependency(other, one)


def _of_project(node: Project, below: Dependencies) -> Dependencies:
    """Computed columns are determined by what they read, which need not be handed on itself."""
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
    """Whether its value is one of the values of the columns that it reads, as GROUP BY takes
    them."""
    exact = all(_is_exact(n.type) for n in walk(scalar) if isinstance(n, Ref))
    return exact and is_deterministic(scalar)


def _is_exact(type_: DataType) -> bool:
    """Whether values that GROUP BY takes for one are one."""
    return type_.is_known and not type_.is_floating and "<" not in type_.name


def _projected(below: Dependencies, names: Mapping[ColumnId, ColumnId]) -> Dependencies:
    """On the columns that are handed on, by their new names. A column that is not, but is
    determined by one that is, is replaced by that one."""
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
    """Of a branch; a value that is cast to the type of other branches may become another one's."""
    pairs = zip(node.inputs[side].columns, node.columns, strict=True)
    return _projected(below, {a.id: b.id for a, b in pairs if a.type == b.type})


# -- joins ---------------------------------------------------------------------------------------


def _of_join(node: Join, left: Facts, right: Facts) -> Dependencies:
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
    """What still holds of a side once rows of NULLs have been added."""
    return tuple(one for one in side.dependencies if one.given & side.not_null)


def _read(node: Join, side: int) -> Iterable[ColumnIds]:
    """What the condition reads of a side, if that decides what a row of it is joined with."""
    columns = node.inputs[side].column_ids
    read = [n for n in walk(node.condition) if isinstance(n, Ref) and n.column.id in columns]
    if is_deterministic(node.condition) and all(_is_exact(n.type) for n in read):
        yield frozenset(n.column.id for n in read)


def _matched(node: Join, kept: int, other: Facts) -> Iterable[Dependency]:
    """What a row of the side that is kept determines of its partners, or of the NULLs in place of
    them."""
    condition = split_condition(node)
    equal = (condition.left, condition.right)[1 - kept]
    reached = closure((column.id for column in equal), other.dependencies)
    return (Dependency(read, reached) for read in _read(node, kept))


def _closed_sides(node: Join, left: Facts, right: Facts) -> tuple[bool, bool]:
    """Whether the equalities of a condition determine a row of the left side, of the right side."""
    condition = split_condition(node)
    one = closure((column.id for column in condition.left), left.dependencies)
    other = closure((column.id for column in condition.right), right.dependencies)
    return is_key(one, left.keys), is_key(other, right.keys)
