"""Delta rules of linear operators (filter, project, generate, repeat, UNION ALL): the operator is
applied to the delta, and nothing is kept."""

from __future__ import annotations

from forerun.planner.algebra.relational import (
    Filter,
    Generate,
    Project,
    Relation,
    Repeat,
    UnionAll,
)
from forerun.planner.algebra.scalar import Call, Ref, Scalar, is_deterministic
from forerun.planner.algebra.types import BIGINT, BOOLEAN, Column
from forerun.planner.errors import Reason
from forerun.planner.rules.incremental.rule import Applies, DeltaRule, Input, Versions
from forerun.planner.tvr.signed import ColumnIds, Signed, integer, plus


def _row_by_row(scalars: tuple[Scalar, ...], inputs: tuple[Input, ...]) -> Applies | Reason:
    if not all(is_deterministic(scalar) for scalar in scalars):
        return Reason.NOT_DETERMINISTIC
    return Applies(signed=inputs[0].signed)


def _filter_applies(node: Relation, inputs: tuple[Input, ...]) -> Applies | Reason:
    if not isinstance(node, Filter):
        raise TypeError(node)
    return _row_by_row((node.predicate,), inputs)


def _filter_delta(node: Relation, inputs: tuple[Versions, ...], ids: ColumnIds) -> Signed:
    if not isinstance(node, Filter):
        raise TypeError(node)
    delta = inputs[0].delta()
    return Signed(Filter(delta.relation, node.predicate), delta.weight)


def _project_applies(node: Relation, inputs: tuple[Input, ...]) -> Applies | Reason:
    if not isinstance(node, Project):
        raise TypeError(node)
    return _row_by_row(tuple(scalar for _, scalar in node.items), inputs)


def _project_delta(node: Relation, inputs: tuple[Versions, ...], ids: ColumnIds) -> Signed:
    if not isinstance(node, Project):
        raise TypeError(node)
    delta = inputs[0].delta()
    if delta.weight is None:
        return Signed(Project(delta.relation, node.items))
    weight = delta.weight
    if not node.column_ids & node.input.column_ids:
        # Above a sub-plan that has several readers, and which may be joined: see ShareRepeated.
        weight = Column(ids.next_id(), weight.name, weight.type)
    items = (*node.items, (weight, Ref(delta.weight)))
    return Signed(Project(delta.relation, items), weight)


def _generate_applies(node: Relation, inputs: tuple[Input, ...]) -> Applies | Reason:
    if not isinstance(node, Generate):
        raise TypeError(node)
    return _row_by_row((node.call,), inputs)


def _generate_delta(node: Relation, inputs: tuple[Versions, ...], ids: ColumnIds) -> Signed:
    if not isinstance(node, Generate):
        raise TypeError(node)
    delta = inputs[0].delta()
    made = Generate(delta.relation, node.call, node.made, node.outer)
    if delta.weight is None:
        return Signed(made)
    items = tuple((column, Ref(column)) for column in (*node.columns, delta.weight))
    return Signed(Project(made, items), delta.weight)


def _union_applies(node: Relation, inputs: tuple[Input, ...]) -> Applies | Reason:
    return Applies(signed=any(i.signed for i in inputs))


def _union_delta(node: Relation, inputs: tuple[Versions, ...], ids: ColumnIds) -> Signed:
    if not isinstance(node, UnionAll):
        raise TypeError(node)
    parts = tuple(branch.delta() for branch in inputs if branch.changing)
    return plus(parts, node.merged, ids)


def _repeat_delta(node: Relation, inputs: tuple[Versions, ...], ids: ColumnIds) -> Signed:
    if not isinstance(node, Repeat):
        raise TypeError(node)
    delta = inputs[0].delta()
    if delta.weight is None:
        return Signed(Repeat(delta.relation, node.count))
    some = Filter(delta.relation, Call(">", (Ref(node.count), integer(0)), BOOLEAN))
    times: Scalar = Ref(node.count)
    if node.count.type != BIGINT:
        times = Call("cast", (times,), BIGINT)
    weight = ids.weight()
    items: list[tuple[Column, Scalar]] = [(column, Ref(column)) for column in node.columns]
    items.append((weight, Call("*", (Ref(delta.weight), times), BIGINT)))
    return Signed(Project(some, tuple(items)), weight)


FILTER = DeltaRule(
    "FilterDelta",
    Filter,
    _filter_applies,
    "Tempura 4.1: d(filter(R)) = filter(dR). The predicate reads one row, so equal rows stay or go "
    "together, whatever their weight.",
    _filter_delta,
)
PROJECT = DeltaRule(
    "ProjectDelta",
    Project,
    _project_applies,
    "Tempura 4.1: d(project(R)) = project(dR). Rows that become equal add up their weights.",
    _project_delta,
)
GENERATE = DeltaRule(
    "GenerateDelta",
    Generate,
    _generate_applies,
    "Tempura 4.1, as for a projection: d(generate(R)) = generate(dR). What a row is taken apart "
    "into comes and goes with its weight.",
    _generate_delta,
)
UNION_ALL = DeltaRule(
    "UnionAllDelta",
    UnionAll,
    _union_applies,
    "Tempura 4.1: d(R + S) = dR + dS. A static branch came in whole with the first run.",
    _union_delta,
)
REPEAT = DeltaRule(
    "RepeatDelta",
    Repeat,
    _union_applies,
    "Tempura 4.1, as for a projection: a row that stands for n rows comes and goes with n times "
    "its weight; for less than one it stands for none.",
    _repeat_delta,
)
