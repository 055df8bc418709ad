"""Makes equal sub-plans one: a common table expression is planned once, however many read it.

Rules of this phase see one sub-plan for each reader, and may push into each what its reader alone
needs. Those that are still equal after it become one subtree here, in as many places. Each reader
gets a projection above it that gives the columns back the ids that the reader knows: no column of
the subtree is seen outside, so two readers may be joined.
"""

from __future__ import annotations

from collections import Counter

from forerun.planner.algebra.fingerprint import node_text
from forerun.planner.algebra.relational import (
    Aggregate,
    Join,
    Project,
    Relation,
    UnionAll,
    Window,
    fold,
    walk,
)
from forerun.planner.algebra.scalar import Ref
from forerun.planner.algebra.types import ColumnId
from forerun.planner.rules.normalize.identity import made_by, with_other_columns
from forerun.planner.rules.normalize.rule import NormalizeContext

NAME = "ShareRepeated"
JOINS = 2
"""Sub-plans with so many joins are shared. A copy of one with fewer is planned in no time, and
rules find more in it than in a reader's projection."""

_SHARED = (Aggregate, UnionAll, Window)
"""What a shared sub-plan ends with: above others, joins that may be reordered go on."""


class _Alike:
    """Numbers the nodes of a tree: two have one number if they differ in column ids only."""

    def __init__(self, relation: Relation) -> None:
        self._numbers: dict[int, int] = {}
        self._joins: dict[int, int] = {}
        known: dict[tuple[object, ...], int] = {}

        def numbered(node: Relation, below: tuple[int, ...]) -> int:
            number = known.setdefault((node_text(node), *below), len(known))
            self._joins[number] = isinstance(node, Join) + sum(self._joins[one] for one in below)
            return number

        fold(relation, numbered, self._numbers)
        self._readers = self._counted(relation)

    @property
    def are_some(self) -> bool:
        """Return whether any sub-plan is read in more than one place."""
        return any(count > 1 for count in self._readers.values())

    def number(self, node: Relation) -> int:
        """Return the number of a node of the tree."""
        return self._numbers[id(node)]

    def is_shared(self, node: Relation) -> bool:
        """Return whether more than one place reads what this node of the tree gives."""
        return self._readers[self.number(node)] > 1

    def _counted(self, relation: Relation) -> Counter[int]:
        """Count the places that read each of the sub-plans that may be shared: those within a
        shared one once, however often it is read."""
        readers: Counter[int] = Counter()
        stack = [relation]
        while stack:
            node = stack.pop()
            number = self.number(node)
            if isinstance(node, _SHARED) and self._joins[number] >= JOINS:
                readers[number] += 1
            if readers[number] <= 1:
                stack.extend(node.inputs)
        return readers


def share_repeated(relation: Relation, context: NormalizeContext) -> Relation:
    """Return the relation with equal sub-plans as one object each, below a projection for each
    place that reads it."""
    if sum(isinstance(node, Join) for node in walk(relation)) < 2 * JOINS:
        return relation  # too few for two copies
    alike = _Alike(relation)
    if not alike.are_some:
        return relation
    shared: dict[int, Relation] = {}
    within: set[ColumnId] = set()

    def built(node: Relation, inputs: tuple[Relation, ...]) -> Relation:
        above = node.with_inputs(inputs) if inputs else node
        if not alike.is_shared(node):
            return above
        number = alike.number(node)
        if number not in shared:
            rows = shared[number] = with_other_columns(above, context, within)
            within.update(column.id for one in walk(rows) for column in made_by(one))
        pairs = zip(node.columns, shared[number].columns, strict=True)
        return Project(shared[number], tuple((old, Ref(new)) for old, new in pairs))

    return fold(relation, built)
