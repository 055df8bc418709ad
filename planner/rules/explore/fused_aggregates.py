"""Reads once what several aggregates without groups read, each with filters of its own.

::

    agg[; f(a)](filter[p](R)) join agg[; h(b)](filter[q](R))
        =  agg[; f(a) where p, h(b) where q](filter[p or q](R))

Scalar subqueries beside one another often count and average the same rows in several ranges: TPC-DS
Q9 has fifteen of them over the sales of all stores, Q88 eight over the same four tables. Each has
one row, so their cross product has one row, and one aggregate over the rows of all of them has it,
too. ``p`` may be a filter of any input of an inner join in ``R``: it is pulled up to the aggregate,
with the columns that it reads, and what all of them leave out is still filtered where it was.

Bags: each call takes the rows that its own input had, as often as they came; joins and projections
pass them on one by one. Without groups there is one row, over no rows as well. NULLs: FILTER takes
the rows for which a condition is true, as a filter does. Retractions: the law holds for every
version of R. What can fail is never computed on rows that only another one of the aggregates reads.
Source: query fusion (Bruno et al., "Computation reuse via fusion in Amazon Athena", ICDE 2022).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from forerun.planner.algebra.fingerprint import canonical
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    rewrite,
)
from forerun.planner.algebra.scalar import (
    TRUE,
    Ref,
    Scalar,
    conjunction,
    conjuncts,
    connected,
    references,
    substitute,
)
from forerun.planner.algebra.types import Column, ColumnId
from forerun.planner.props.repeatable import Repeats, repeats
from forerun.planner.rules.join_block import only_drops
from forerun.planner.rules.normalize.safety import is_movable

Same = dict[ColumnId, Ref]


@dataclass(frozen=True, slots=True)
class Fused:
    """The rows of several relations in one, the members. Member ``i`` is ``relation`` filtered by
    ``own[i]``, and ``same[i]`` has the column of ``relation`` that each column of it is."""

    relation: Relation
    own: tuple[Scalar, ...]
    same: tuple[Same, ...]


def fuse_aggregates(relation: Relation) -> Relation | None:
    """Fuse the aggregates without groups in every cross product; return None if none can be."""
    result = _product(rewrite(relation, _over_products))
    return None if result is relation else result


def _over_products(node: Relation) -> Relation:
    """A node whose inputs are whole products, each with its aggregates fused."""
    if _is_product(node):
        return node
    inputs = tuple(map(_product, node.inputs))
    same = all(one is other for one, other in zip(inputs, node.inputs, strict=True))
    return node if same else node.with_inputs(inputs)


def _is_product(node: Relation) -> bool:
    """Return whether a node is a cross product, or drops columns of one."""
    while isinstance(node, Project) and only_drops(node):
        node = node.input
    return isinstance(node, Join) and node.kind is JoinKind.INNER and node.condition == TRUE


def _factors(product: Relation) -> tuple[Relation, ...]:
    """Return the relations that are multiplied, from left to right."""
    found, stack = [], [product]
    while stack:
        node = stack.pop()
        if _is_product(node):
            stack.extend(reversed(node.inputs))
        else:
            found.append(node)
    return tuple(found)


def _product(node: Relation) -> Relation:
    """A product with its aggregates fused; the same node if it is none or has none to fuse."""
    if not _is_product(node):
        return node
    factors = [_taken_off(factor) for factor in _factors(node)]
    alike: dict[str, list[Aggregate]] = {}
    for factor, _ in factors:
        if isinstance(factor, Aggregate) and not factor.keys:
            alike.setdefault(_shape(factor.input), []).append(factor)
    instead: dict[Relation, Relation | None] = {}
    for members in alike.values():
        one = _one_aggregate(members) if len(members) > 1 else None
        if one is not None:
            instead |= {members[0]: one, **dict.fromkeys(members[1:])}
    if not instead:
        return node
    left = (instead.get(factor, factor) for factor, _ in factors)
    joined = reduce(_times, (factor for factor in left if factor is not None))
    for _, above in factors:
        joined = reduce(_put_on, reversed(above), joined)
    return Project(joined, tuple((column, Ref(column)) for column in node.columns))


def _taken_off(factor: Relation) -> tuple[Relation, list[Filter | Project]]:
    """An aggregate without groups and what stands above it, from the top; any other factor as it
    is."""
    below, above = factor, []
    while isinstance(below, Filter | Project):
        above.append(below)
        below = below.input
    return (below, above) if isinstance(below, Aggregate) and not below.keys else (factor, [])


def _times(one: Relation, other: Relation) -> Relation:
    return Join(JoinKind.INNER, one, other, TRUE)


def _put_on(product: Relation, node: Filter | Project) -> Relation:
    """A filter or projection of one factor over the product, which keeps all of its columns."""
    if isinstance(node, Filter):
        return Filter(product, node.predicate)
    given = tuple((column, Ref(column)) for column in product.columns)
    made = ((column, value) for column, value in node.items if column.id not in product.column_ids)
    return Project(product, (*given, *made))


def _shape(relation: Relation) -> str:
    """The sources and joins of a relation as text, without filters and projections."""
    match relation:
        case Filter() | Project():
            return _shape(relation.input)
        case Scan():
            return repr(relation.source)
        case Aggregate() if relation.keys:
            return f"groups of {_shape(relation.input)}"
        case Join(kind=JoinKind.INNER):
            return f"({_shape(relation.left)} {_shape(relation.right)})"
    return canonical(relation)


def _one_aggregate(members: Sequence[Aggregate]) -> Aggregate | None:
    """Return the aggregates of all members in one, None if their inputs cannot be one."""
    if any(repeats(member.input) is Repeats.CHOSEN for member in members):
        return None  # what each of them drew is its own
    fused = fuse([member.input for member in members])
    if fused is None:
        return None
    calls = []
    for member, own, same in zip(members, fused.own, fused.same, strict=True):
        for column, given in member.calls:
            call = _in_columns_of(given, same)
            if own != TRUE and not all(map(is_movable, call.args)):
                return None
            wanted = conjunction((*conjuncts(own), *conjuncts(call.where or TRUE)))
            calls.append((column, replace(call, where=None if wanted == TRUE else wanted)))
    return Aggregate(fused.relation, (), tuple(calls))


def _in_columns_of(call: AggregateCall, same: Same) -> AggregateCall:
    where = None if call.where is None else substitute(call.where, same)
    return replace(call, args=tuple(substitute(arg, same) for arg in call.args), where=where)


def fuse(members: Sequence[Relation]) -> Fused | None:
    """Return the relations in one, None if they cannot be."""
    first = members[0]
    if any(isinstance(member, Project) for member in members):
        return _projects(members)
    if any(isinstance(member, Filter) for member in members):
        return _filters(members)
    scans = [member for member in members if isinstance(member, Scan)]
    joins = [m for m in members if isinstance(m, Join) and m.kind is JoinKind.INNER]
    if len(scans) == len(members):
        return _scans(scans)
    if len(joins) == len(members):
        return _joins(joins)
    groups = [member for member in members if isinstance(member, Aggregate) and member.keys]
    if len(groups) == len(members):
        return _groups(groups)
    if len({canonical(member) for member in members}) > 1:
        return None
    same = tuple(_renamed(member.columns, first.columns) for member in members)
    return Fused(first, (TRUE,) * len(members), same)


def _scans(scans: Sequence[Scan]) -> Fused | None:
    """One scan with the columns of all."""
    if len({(scan.source, scan.version) for scan in scans}) > 1:
        return None
    named = {column.name: column for scan in reversed(scans) for column in scan.scanned}
    found = [[named[column.name] for column in scan.scanned] for scan in scans]
    one = replace(scans[0], scanned=tuple(named.values()))
    same = map(_renamed, (scan.scanned for scan in scans), found)
    return Fused(one, (TRUE,) * len(scans), tuple(same))


def _renamed(columns: Iterable[Column], to: Iterable[Column]) -> Same:
    return {column.id: Ref(other) for column, other in zip(columns, to, strict=True)}


def _projects(members: Sequence[Relation]) -> Fused | None:
    """One projection that computes what any member computes, and hands on what tells whose a row
    is. Only movable values: each is computed on the rows of all."""
    below = fuse([m.input if isinstance(m, Project) else m for m in members])
    if below is None:
        return None
    made: dict[Scalar, Column] = {}
    renamed = []
    for member, known in zip(members, below.same, strict=True):
        same: Same = {}
        for column, value in _items(member):
            wanted = substitute(value, known)
            if not is_movable(wanted):
                return None
            same[column.id] = Ref(made.setdefault(wanted, column))
        renamed.append(same)
    needed = frozenset[ColumnId]().union(*map(references, below.own))
    by: Same = {
        column.id: Ref(made.setdefault(Ref(column), column))
        for column in below.relation.columns
        if column.id in needed
    }
    items = tuple((column, value) for value, column in made.items())
    own = tuple(substitute(predicate, by) for predicate in below.own)
    return Fused(Project(below.relation, items), own, tuple(renamed))


def _items(member: Relation) -> tuple[tuple[Column, Scalar], ...]:
    if isinstance(member, Project):
        return member.items
    return tuple((column, Ref(column)) for column in member.columns)


def _filters(members: Sequence[Relation]) -> Fused | None:
    """One filter for what all members leave out. Predicates that differ have to be movable."""
    below = fuse([m.input if isinstance(m, Filter) else m for m in members])
    if below is None:
        return None
    predicates = [
        substitute(member.predicate, same) if isinstance(member, Filter) else TRUE
        for member, same in zip(members, below.same, strict=True)
    ]
    if len(set(predicates)) == 1:
        return replace(below, relation=Filter(below.relation, predicates[0]))
    if not all(map(is_movable, predicates)):
        return None
    own = tuple(
        conjunction((*conjuncts(one), *conjuncts(predicate)))
        for one, predicate in zip(below.own, predicates, strict=True)
    )
    kept = below.relation
    if TRUE not in predicates:
        kept = Filter(kept, connected("or", tuple(dict.fromkeys(predicates))))
    return Fused(kept, own, below.same)


def _joins(joins: Sequence[Join]) -> Fused | None:
    """One join of the fused sides, if all members join by the same condition."""
    left, right = fuse([join.left for join in joins]), fuse([join.right for join in joins])
    if left is None or right is None:
        return None
    same = tuple(one | other for one, other in zip(left.same, right.same, strict=True))
    conditions = {
        frozenset(conjuncts(substitute(join.condition, known)))
        for join, known in zip(joins, same, strict=True)
    }
    if len(conditions) > 1:
        return None
    condition = substitute(joins[0].condition, same[0])
    if not is_movable(condition):
        return None
    own = tuple(
        conjunction((*conjuncts(one), *conjuncts(other)))
        for one, other in zip(left.own, right.own, strict=True)
    )
    return Fused(Join(JoinKind.INNER, left.relation, right.relation, condition), own, same)


def _groups(members: Sequence[Aggregate]) -> Fused | None:
    """One aggregate with the calls of all, if all have the same groups, and what tells whose a row
    is takes or leaves a whole group."""
    below = fuse([member.input for member in members])
    if below is None:
        return None
    made: dict[AggregateCall, Column] = {}
    found: list[Same] = []
    for member, own, known in zip(members, below.own, below.same, strict=True):
        same = {key.id: known[key.id] for key in member.keys}
        for column, given in member.calls:
            call = _in_columns_of(given, known)
            if own != TRUE and not all(map(is_movable, call.args)):
                return None
            same[column.id] = Ref(made.setdefault(call, column))
        found.append(same)
    keys = [
        tuple(same[key.id] for key in member.keys)
        for member, same in zip(members, found, strict=True)
    ]
    told = frozenset[ColumnId]().union(*map(references, below.own))
    if len(set(map(frozenset, keys))) > 1 or not told <= {key.column.id for key in keys[0]}:
        return None
    calls = tuple((column, call) for call, column in made.items())
    by = tuple(dict.fromkeys(key.column for key in keys[0]))
    return Fused(Aggregate(below.relation, by, calls), below.own, tuple(found))
