"""Columns that determine others, for estimates: the number of groups is that of the columns that no
others determine (``GROUP BY c_custkey, c_name`` has as many groups as ``c_custkey``).

For estimates, a key is what the author declares, and what looks like one: a column with as many
values as there are rows. And a column has no NULLs where none were counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from forerun.planner.algebra.relational import Aggregate, Relation
from forerun.planner.algebra.types import ColumnId
from forerun.planner.props.dependencies import Deriver, Facts, closure, essential
from forerun.planner.props.keys import is_key
from forerun.planner.request import ColumnStats, Source
from forerun.planner.stats.containment import looks_unique
from forerun.planner.stats.values import ColumnEstimate

_FEW = 0.5
"""Values per row: a column that has fewer tells rows apart in no estimate."""

Expand = Callable[[Relation], Relation | None]
"""The operator that a leaf stands for; None if it stands for itself."""


class Determined:
    """Facts of relations over these sources, memoized by node. ``expand``: in a memo, leaves stand
    for other operators."""

    def __init__(self, sources: Iterable[Source], expand: Expand | None = None) -> None:
        self._sources = tuple(sources)
        self._expand = expand
        self._deriver: Deriver | None = None
        # The node is kept with its facts, so that its identity is not used again.
        self._done: dict[int, tuple[Relation, Facts]] = {}

    def grouped_by(
        self, node: Aggregate, rows: float, columns: Mapping[ColumnId, ColumnEstimate]
    ) -> tuple[tuple[ColumnId, ...], bool]:
        """The keys of an aggregate that no others determine; and whether no two of its input rows
        are in one group. ``rows`` and ``columns``: as they are estimated of the input."""
        if not node.keys:
            return (), False
        if len(node.keys) == 1 and columns[node.keys[0].id].distinct < _FEW * rows:
            return (node.keys[0].id,), False  # nothing to find out
        below = self.facts(node.input)
        by_values = sorted(node.keys, key=lambda key: (-columns[key.id].distinct, key.id))
        found = essential((key.id for key in by_values), below.dependencies)
        return found, is_key(closure(found, below.dependencies), below.keys)

    def facts(self, relation: Relation) -> Facts:
        """Iterative, so depth is no limit. Of what is made of itself, nothing is known there."""
        stack = [(relation, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                self._done[id(node)] = (node, self._of_node(node, self._inputs(node)))
            elif id(node) not in self._done:
                self._done[id(node)] = (node, Facts())
                stack.append((node, True))
                stack.extend((child, False) for child in self._inputs(node))
        return self._done[id(relation)][1]

    def _inputs(self, node: Relation) -> tuple[Relation, ...]:
        stands_for = self._expand(node) if self._expand is not None and not node.inputs else None
        return node.inputs if stands_for is None else (stands_for,)

    def _of_node(self, node: Relation, inputs: tuple[Relation, ...]) -> Facts:
        known = tuple(self._done[id(child)][1] for child in inputs)
        if inputs and not node.inputs:
            return known[0]
        if self._deriver is None:
            self._deriver = _deriver(self._sources)
        return self._deriver.of_node(node, known)


def _deriver(sources: Iterable[Source]) -> Deriver:
    given = tuple(sources)
    return Deriver(
        {source.name: _keys(source) for source in given},
        {source.name: _not_null(source) for source in given},
    )


def _keys(source: Source) -> tuple[tuple[str, ...], ...]:
    apparent = ((column.name,) for column in source.columns if looks_unique(source, column))
    return tuple(dict.fromkeys((*source.keys, *apparent)))


def _not_null(source: Source) -> frozenset[str]:
    counted = {name for name, stats in source.stats if _is_full(stats)}
    return frozenset(c.name for c in source.columns if not c.nullable or c.name in counted)


def _is_full(stats: ColumnStats) -> bool:
    """Footers that count NULLs have bounds, too."""
    return stats.nulls == 0.0 and stats.minimum is not None
