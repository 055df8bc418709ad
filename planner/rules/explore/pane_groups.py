"""Groups by the panes of rolling sources first, where a function cannot take rows back.

::

    agg[g; f(x)](R)  =  agg[g; merge f](agg[g, p; state of f(x)](R'))

``p`` are the panes, such as days, of all sources in R of which some go, and R' is R with them. The
groups of the inner aggregate go as a whole or not at all, so their states are kept without the rows
that they were made of (:mod:`forerun.planner.rules.incremental.panes`); there are as many of them
as there are panes with rows of a group. The outer aggregate merges them anew each time, which is
the merging of a sliding window's panes.

Bags: a row of R is in one group of the inner aggregate, by grouping with NULLs as values. R is made
of rolling sources by projections, filters, generators, inner joins, and semi, anti and left joins
with what does not change on their right: so a row of R has one row of each rolling source, comes
with the last of them and goes with the first. Functions over DISTINCT values have no states, and
those that look at a whole group before its rows cannot be split.
Source: Li, Maier, Tufte, Papadimos and Tucker, "No pane, no gain", SIGMOD Record 2005.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from forerun.planner.algebra.aggregates.functions import partial_state, state_by_pane
from forerun.planner.algebra.aggregates.states import State, finished, folded, together
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Generate,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    rewrite,
    sources,
)
from forerun.planner.algebra.scalar import TRUE, Ref, is_deterministic
from forerun.planner.algebra.types import DATE, Column
from forerun.planner.contract.plan_v1 import PANE_COLUMN
from forerun.planner.errors import Reason
from forerun.planner.tvr.signed import ColumnIds

_ONE_SIDED = frozenset({JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI})


def group_by_pane(
    relation: Relation,
    ids: ColumnIds,
    *,
    growing: AbstractSet[str],
    retracting: AbstractSet[str],
    paned: AbstractSet[str],
) -> Relation | None:
    """Rewrite every aggregate over sources that are ``paned`` and have rows taken back, which it
    has a function for that cannot follow; return None if there is none."""
    if not paned:
        return None
    panes = _Panes(ids, growing, retracting, paned)
    result = rewrite(relation, lambda node: _grouped(node, panes) or node)
    return None if result is relation else result


@dataclass(frozen=True, slots=True)
class _Panes:
    """The sources of a query, by what becomes of their rows."""

    ids: ColumnIds
    growing: AbstractSet[str]
    retracting: AbstractSet[str]
    paned: AbstractSet[str]

    def of_rows(self, node: Relation) -> tuple[Relation, tuple[Column, ...]] | None:
        """Return a relation with the panes of its rows as further columns, and these; None if a row
        of it may come or go otherwise than with rows of its sources."""
        if not sources(node) & self.retracting:
            return node, ()
        match node:
            case Scan() if node.source in self.paned:
                pane = self.ids.of_type(PANE_COLUMN, DATE)
                return Scan(node.source, (*node.scanned, pane)), (pane,)
            case Filter() if is_deterministic(node.predicate):
                return self._over(node)
            case Generate() if is_deterministic(node.call):
                return self._over(node)
            case Project() if all(is_deterministic(value) for _, value in node.items):
                below = self.of_rows(node.input)
                if below is None:
                    return None
                inner, panes = below
                return Project(inner, (*node.items, *((p, Ref(p)) for p in panes))), panes
            case Join() if is_deterministic(node.condition):
                return self._of_join(node)
        return None

    def _over(self, node: Filter | Generate) -> tuple[Relation, tuple[Column, ...]] | None:
        below = self.of_rows(node.input)
        return None if below is None else (node.with_inputs((below[0],)), below[1])

    def _of_join(self, node: Join) -> tuple[Relation, tuple[Column, ...]] | None:
        only_left = node.kind in _ONE_SIDED and not sources(node.right) & self.growing
        if node.kind is not JoinKind.INNER and not only_left:
            return None
        left, right = self.of_rows(node.left), self.of_rows(node.right)
        if left is None or right is None:
            return None
        return node.with_inputs((left[0], right[0])), (*left[1], *right[1])


def _grouped(node: Relation, known: _Panes) -> Relation | None:
    if not isinstance(node, Aggregate) or not sources(node.input) & known.retracting:
        return None
    if not any(isinstance(partial_state(call, signed=True), Reason) for _, call in node.calls):
        return None
    found = [(column, state_by_pane(call)) for column, call in node.calls]
    states = {column: state for column, state in found if isinstance(state, State)}
    plain = all(
        is_deterministic(part)
        for _, call in node.calls
        for part in (*call.args, call.where or TRUE)
    )
    rows = known.of_rows(node.input)
    if len(states) < len(found) or not plain or rows is None:
        return None
    of_type = known.ids.of_type
    made = together([state.of_rows(None, of_type) for state in states.values()])
    columns = {
        column: tuple(of_type(f"{column.name}_{one.name}", one.type) for one in state.columns)
        for column, state in states.items()
    }
    merged = together(
        [state.merge(tuple(map(Ref, columns[c])), of_type) for c, state in states.items()]
    )
    if made.totals or merged.totals:
        return None
    by_pane = Aggregate(rows[0], (*node.keys, *rows[1]), made.calls)
    kept = Project(by_pane, (
        *((key, Ref(key)) for key in node.keys),
        *zip((c for group in columns.values() for c in group), made.values, strict=True),
    ))  # fmt: skip
    values = zip(states, finished(states.values(), merged.values), strict=True)
    keys = ((key, Ref(key)) for key in node.keys)
    return Project(folded(kept, node.keys, merged), (*keys, *values))
