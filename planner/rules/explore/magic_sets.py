"""Makes only the groups that the rest of a query can look up, where a filtered table says which.

::

    (filter[p](S) join[s = x] B) join[x = k] agg[k, ..](A)
        =  (filter[p](S) join[s = x] B) join[x = k] agg[k, ..](A semi[k = s] filter[p](S))

Every value of ``x`` that the join sees is one that some row of the filtered S has. So other groups
find no partner, and are not made: a group is made of all rows of its key or of none, and a NULL is
no partner of anything. What is known of ``x`` may come from far: values are followed through
equalities of inner joins, from the left side of left, semi and anti joins to their right side, and
through filters, projections and groupings. S is looked up in a copy, at the leaf that has the key.

Only tables that do not grow during the day: then a run keeps and merges the states of those groups
alone. TPC-H Q17 so keeps rows of 2,000 parts, not averages of 2 million.

Source: magic sets (Mumick, Finkelstein, Pirahesh and Ramakrishnan, "Magic is relevant", SIGMOD
1990), here with a filtered table as the magic set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from forerun.planner.algebra.predicates import equality, split_condition
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    sources,
)
from forerun.planner.algebra.scalar import Ref, Scalar, conjuncts, equals, substitute
from forerun.planner.algebra.types import Column, ColumnId
from forerun.planner.rules.normalize.safety import is_movable
from forerun.planner.tvr.signed import ColumnIds

_TO_RIGHT = frozenset({JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI})


@dataclass(frozen=True, slots=True)
class MagicSet:
    """The values that count: those of ``column`` in a filtered table."""

    table: Scan
    predicate: Scalar
    column: Column


MagicSets = dict[ColumnId, MagicSet]
"""Of some columns of a relation, which values count; rows with others may be left out."""


def restrict_groups(
    relation: Relation, ids: ColumnIds, growing: AbstractSet[str]
) -> Relation | None:
    """Return the query with fewer groups, or None if nothing says which ones are wanted."""
    found = _Restriction(ids, growing).within(relation, {})
    return None if found is relation else found


@dataclass(frozen=True, slots=True)
class _Restriction:
    """One pass from the root to the leaves."""

    ids: ColumnIds
    growing: AbstractSet[str]

    def within(self, node: Relation, sets: MagicSets) -> Relation:
        """Return the node without groups that are not wanted; the node itself if there are none.
        ``sets`` are of its columns."""
        if isinstance(node, Aggregate):
            return self._aggregate(node, sets)
        below = self._of_inputs(node, sets)
        inputs = tuple(self.within(i, a) for i, a in zip(node.inputs, below, strict=True))
        same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
        return node if same else node.with_inputs(inputs)

    def _aggregate(self, node: Aggregate, sets: MagicSets) -> Relation:
        keys = {key.id for key in node.keys}
        mine = {column: wanted for column, wanted in sets.items() if column in keys}
        below = self.within(node.input, mine)
        for column in node.keys:
            wanted = mine.get(column.id)
            if wanted is not None and wanted.table.source not in sources(below):
                below = self._looked_up(below, column, wanted)
        return node if below is node.input else Aggregate(below, node.keys, node.calls)

    def _of_inputs(self, node: Relation, sets: MagicSets) -> tuple[MagicSets, ...]:
        if isinstance(node, Filter):
            return (sets | self._through(conjuncts(node.predicate), sets),)
        if isinstance(node, Project):
            handed = [(value, sets[column.id]) for column, value in node.items if column.id in sets]
            return ({v.column.id: wanted for v, wanted in handed if isinstance(v, Ref)},)
        if isinstance(node, Join) and node.kind in _TO_RIGHT:
            return self._of_sides(node, sets)
        return tuple({} for _ in node.inputs)

    def _of_sides(self, node: Join, sets: MagicSets) -> tuple[MagicSets, MagicSets]:
        """A right row is wanted by left rows; in an inner join a left row by right ones, too."""
        sides = [{c.id for c in side.columns} for side in node.inputs]
        left, right = ({c: a for c, a in sets.items() if c in side} for side in sides)
        if node.kind is not JoinKind.INNER:
            right = {}
        pairs = split_condition(node).pairs
        said_left = {**self._said_by(node.left), **left}
        said_right = {**self._said_by(node.right), **right}
        for one, other in pairs:
            if one.id in said_left:
                right.setdefault(other.id, said_left[one.id])
            if node.kind is JoinKind.INNER and other.id in said_right:
                left.setdefault(one.id, said_right[other.id])
        return left, right

    def _said_by(self, node: Relation) -> MagicSets:
        """Of which columns every row of the node has a value of some filtered table."""
        if isinstance(node, Filter) and isinstance(node.input, Scan):
            table = node.input
            if table.source in self.growing or not is_movable(node.predicate):
                return {}
            return {c.id: MagicSet(table, node.predicate, c) for c in table.columns}
        if isinstance(node, Filter):
            said = self._said_by(node.input)
            return said | self._through(conjuncts(node.predicate), said)
        if isinstance(node, Project):
            said = self._said_by(node.input)
            refs = [(c, v.column.id) for c, v in node.items if isinstance(v, Ref)]
            return {column.id: said[old] for column, old in refs if old in said}
        if isinstance(node, Aggregate):
            said = self._said_by(node.input)
            return {key.id: said[key.id] for key in node.keys if key.id in said}
        if isinstance(node, Join) and node.kind in _TO_RIGHT:
            return self._said_by_join(node)
        return {}

    def _said_by_join(self, node: Join) -> MagicSets:
        said = self._said_by(node.left)
        if node.kind in (JoinKind.INNER, JoinKind.SEMI):
            both = said | self._said_by(node.right)
            said = both | self._through(conjuncts(node.condition), both)
        given = {column.id for column in node.columns}
        return {column: wanted for column, wanted in said.items() if column in given}

    @staticmethod
    def _through(parts: Iterable[Scalar], said: MagicSets) -> MagicSets:
        """Return the magic sets of columns that are equal to a column with one."""
        return dict(_equated(parts, said))

    def _looked_up(self, node: Relation, key: Column, wanted: MagicSet) -> Relation:
        """Keep the rows whose key is wanted, as far down as it can be told."""
        if isinstance(node, Filter):
            return Filter(self._looked_up(node.input, key, wanted), node.predicate)
        if isinstance(node, Project):
            value = {column.id: scalar for column, scalar in node.items}[key.id]
            if isinstance(value, Ref):
                return Project(self._looked_up(node.input, value.column, wanted), node.items)
        if isinstance(node, Join) and node.kind in _TO_RIGHT:
            for side in (0, 1) if node.kind is JoinKind.INNER else (0,):
                if key.id in {column.id for column in node.inputs[side].columns}:
                    inputs = list(node.inputs)
                    inputs[side] = self._looked_up(inputs[side], key, wanted)
                    return node.with_inputs(tuple(inputs))
        table, column = self._copy(wanted)
        return Join(JoinKind.SEMI, node, table, equals(key, column))

    def _copy(self, wanted: MagicSet) -> tuple[Relation, Column]:
        """The filtered table once more, under columns of its own."""
        fresh = {c.id: self.ids.new(c.name, c) for c in wanted.table.columns}
        scan = Scan(wanted.table.source, tuple(fresh.values()), wanted.table.version)
        predicate = substitute(wanted.predicate, {old: Ref(new) for old, new in fresh.items()})
        column = fresh[wanted.column.id]
        return Project(Filter(scan, predicate), ((column, Ref(column)),)), column


def _equated(parts: Iterable[Scalar], said: MagicSets) -> Iterator[tuple[ColumnId, MagicSet]]:
    for part in parts:
        pair = equality(part)
        if pair is not None and pair[0].type == pair[1].type:
            one, other = pair
            if one.id in said and other.id not in said:
                yield other.id, said[one.id]
            elif other.id in said and one.id not in said:
                yield one.id, said[other.id]
