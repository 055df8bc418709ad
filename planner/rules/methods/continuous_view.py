"""CV: early runs maintain the states of the first grouping; the final run computes all operators
above it (continuous views, Winter et al., "Meet Me Halfway", VLDB 2020).

::

    lower pipelines     scan, filter, project, join with what is static, into a grouping: its states
    upper pipelines     all else, from the merged states, in the final run

So only states are kept, never rows, and nothing is ever taken back: the states of a group merge,
and operators above a grouping are not maintained. That restricts the queries: the first operator
that needs all rows must be a grouping whose functions merge, two growing inputs may be joined only
if both are grouped, and a growing input may not be the side of a join that must be complete before
the other side is read (the build side).
"""

from __future__ import annotations

from enum import Enum

from forerun.planner.algebra.describe import label
from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
    fold,
)
from forerun.planner.algebra.scalar import Scalar, is_deterministic
from forerun.planner.errors import Reason
from forerun.planner.memo.groups import View
from forerun.planner.rules.incremental import aggregate, join, linear
from forerun.planner.rules.incremental.memo_rules import SOURCE_DELTA, memo_rule
from forerun.planner.rules.incremental.rule import Applies, DeltaRule, Input, KeyedState
from forerun.planner.rules.methods.method import Method, WhyNot

_GROUPED = aggregate.MERGED.method
if not isinstance(_GROUPED, KeyedState):
    raise TypeError("the rule of mergeable aggregates keeps states")

STATES = memo_rule(
    DeltaRule(
        "AggregateStates",
        Aggregate,
        aggregate.MERGED.applies,
        "Split maintenance of continuous views, 4.2: states of what arrives, merged when the view "
        "is read; of the output no delta is made.",
        KeyedState(
            _GROUPED.keys,
            _GROUPED.columns,
            _GROUPED.partial,
            _GROUPED.merge,
            None,
            _GROUPED.singles,
        ),
    )
)
"""AggregateDelta without the delta of the output; methods with AggregateDelta do not need it."""


class _Rows(Enum):
    """The dependence of an operator's rows on growing sources: none (STATIC), as rows that arrive
    (GROWING), or through a grouping with states (GROUPED)."""

    STATIC = "static"
    GROWING = "growing"
    GROUPED = "grouped"


_Found = _Rows | WhyNot


def _why_not(relation: Relation, growing: frozenset[str]) -> WhyNot | None:
    found = fold(relation, lambda node, below: _of(node, below, growing))
    if isinstance(found, WhyNot):
        return found
    if found is _Rows.GROWING:
        return WhyNot(Reason.UNGROUPED, "the rows of the result are not grouped")
    return None


def _of(node: Relation, below: tuple[_Found, ...], growing: frozenset[str]) -> _Found:
    """Classify the rows of an operator from those of its inputs, or return why the method does not
    apply, which is passed on from an input if it fails there."""
    for found in below:
        if isinstance(found, WhyNot):
            return found
    if isinstance(node, Scan):
        return _Rows.GROWING if node.source in growing else _Rows.STATIC
    if isinstance(node, Join):
        return _join(node, below)
    if _Rows.GROWING not in below:
        return _Rows.GROUPED if _Rows.GROUPED in below else _Rows.STATIC
    if isinstance(node, Aggregate):
        applies = aggregate.MERGED.applies(node, (Input(node.input, True, False),))
        if isinstance(applies, Applies):
            return _Rows.GROUPED
        return WhyNot(applies, f"the first grouping has no states that merge: {label(node)}")
    if isinstance(node, Filter | Project | UnionAll):
        return _row_by_row(node, below)
    return WhyNot(Reason.UNGROUPED, f"rows reach this before they are grouped: {label(node)}")


def _row_by_row(node: Relation, below: tuple[_Found, ...]) -> _Found:
    scalars: tuple[Scalar, ...] = ()
    if isinstance(node, Filter):
        scalars = (node.predicate,)
    elif isinstance(node, Project):
        scalars = tuple(scalar for _, scalar in node.items)
    if not all(is_deterministic(scalar) for scalar in scalars):
        return WhyNot(Reason.NOT_DETERMINISTIC, f"it gives other rows each time: {label(node)}")
    if _Rows.GROUPED in below:
        return WhyNot(Reason.UNGROUPED_JOIN, f"grouped rows meet others here: {label(node)}")
    return _Rows.GROWING


def _join(node: Join, below: tuple[_Found, ...]) -> _Found:
    left, right = below
    if _Rows.GROWING not in below:
        return _Rows.GROUPED if _Rows.GROUPED in below else _Rows.STATIC
    if _Rows.STATIC not in below:
        what = f"inputs that grow meet before both are grouped: {label(node)}"
        return WhyNot(Reason.UNGROUPED_JOIN, what)
    if not is_deterministic(node.condition):
        return WhyNot(Reason.NOT_DETERMINISTIC, f"it gives other rows each time: {label(node)}")
    probes_left = left is _Rows.GROWING and node.kind in join.LEFT_LINEAR
    probes_right = right is _Rows.GROWING and node.kind is JoinKind.INNER
    if not (probes_left or probes_right):
        what = f"the side that grows has to be whole: {label(node)}"
        return WhyNot(Reason.BUILD_SIDE, what)
    return _Rows.GROWING


METHOD = Method(
    "cv",
    "continuous views: states of the first grouping early, all above it at the end",
    (
        SOURCE_DELTA,
        memo_rule(linear.FILTER),
        memo_rule(linear.PROJECT),
        memo_rule(linear.UNION_ALL),
        memo_rule(join.STATIC_RIGHT),
        memo_rule(join.INNER),
        STATES,
    ),
    _why_not,
    "Winter et al., Meet Me Halfway: Split Maintenance of Continuous Views, VLDB 2020, 4.2",
    keeps=frozenset({View.STATES}),
)
