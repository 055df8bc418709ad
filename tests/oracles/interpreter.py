"""A naive row interpreter of the algebra: nested loops over lists of tuples, nothing clever.

It gives the bag a relation stands for over given sources and artifact families, in Spark's type
rules, without any engine. It exists to judge the planner, so it shares with it the value classes
of the algebra and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

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
    Scan,
    SetKind,
    SetOperation,
    Sort,
    StateRead,
    UnionAll,
    Values,
    Version,
    Window,
)
from forerun.planner.algebra.types import DOUBLE, FLOAT, Column
from tests.oracles.aggregates import compile_aggregate
from tests.oracles.casts import cast
from tests.oracles.nested import made_of
from tests.oracles.ordering import sort_key
from tests.oracles.scalars import compile_predicate, compile_scalar, layout_of
from tests.oracles.typing_rules import common_type
from tests.oracles.values import (
    NotInterpretedError,
    Row,
    ScalarSubqueryError,
    row_key,
)
from tests.oracles.windows import evaluate_window

Rows = list[Row]


@dataclass(frozen=True)
class SourceData:
    """The rows of a source: names of its columns, what was there before, and what came since;
    ``new``: what is there now, if it is more than to put both together."""

    columns: tuple[str, ...]
    old: Rows = field(default_factory=list)
    delta: Rows = field(default_factory=list)
    new: Rows | None = None

    def rows(self, version: Version) -> Rows:
        if version is Version.NEW and self.new is not None:
            return self.new
        if version is Version.NEW:
            return self.old + self.delta
        return self.old if version is Version.OLD else self.delta


@dataclass(frozen=True)
class FamilyData:
    """The rows of an artifact family with the run that wrote each."""

    columns: tuple[str, ...]
    rows: list[tuple[int, Row]] = field(default_factory=list)


@dataclass(frozen=True)
class Inputs:
    """All that a relation can read in run ``run``."""

    sources: dict[str, SourceData]
    families: dict[str, FamilyData] = field(default_factory=dict)
    run: int = 1


def evaluate(relation: Relation, inputs: Inputs, known: Mapping[int, Rows] | None = None) -> Rows:
    """The rows of a relation. ``known``: rows of nodes in it, by their identity, whatever the nodes
    are. Raises :class:`EvaluationError` where Spark would fail."""
    done: dict[int, Rows] = dict(known or {})

    def visit(node: Relation) -> Rows:
        if id(node) not in done:
            handler = _HANDLERS.get(type(node))
            if handler is None:
                raise NotInterpretedError(f"operator {type(node).__name__}")
            done[id(node)] = handler(node, visit, inputs)
        return done[id(node)]

    return visit(relation)


Visit = Callable[[Relation], Rows]


def _scan(node: Scan, visit: Visit, inputs: Inputs) -> Rows:
    data = inputs.sources[node.source]
    places = [data.columns.index(column.name) for column in node.scanned]
    return [tuple(row[place] for place in places) for row in data.rows(node.version)]


def _state(node: StateRead, visit: Visit, inputs: Inputs) -> Rows:
    data = inputs.families[node.family]
    # The run that wrote a row is stored with it, as a last column that every family has.
    places = [(*data.columns, "__run").index(name) for name in node.stored]
    current = inputs.run
    wanted: dict[Version, Callable[[int], bool]] = {
        Version.OLD: lambda run: run < current,
        Version.DELTA: lambda run: run == current,
        Version.NEW: lambda run: run <= current,
    }
    keep = wanted[node.version]
    return [tuple((*row, run)[p] for p in places) for run, row in data.rows if keep(run)]


def _values(node: Values, visit: Visit, inputs: Inputs) -> Rows:
    return [tuple(compile_scalar(item, {})(()) for item in row) for row in node.rows]


def _filter(node: Filter, visit: Visit, inputs: Inputs) -> Rows:
    keep = compile_predicate(node.predicate, layout_of(node.input.columns))
    return [row for row in visit(node.input) if keep(row)]


def _project(node: Project, visit: Visit, inputs: Inputs) -> Rows:
    layout = layout_of(node.input.columns)
    items = [compile_scalar(scalar, layout) for _, scalar in node.items]
    return [tuple(item(row) for item in items) for row in visit(node.input)]


def _join(node: Join, visit: Visit, inputs: Inputs) -> Rows:
    left, right = visit(node.left), visit(node.right)
    layout = layout_of(node.left.columns + node.right.columns)
    condition = compile_scalar(node.condition, layout)
    if node.kind is JoinKind.MARK:
        return [(*row, _mark([condition(row + other) for other in right])) for row in left]
    padding = (None,) * len(node.right.columns)
    matched_right: set[int] = set()
    result: Rows = []
    for row in left:
        partners = [i for i, other in enumerate(right) if condition(row + other) is True]
        matched_right.update(partners)
        if node.kind in (JoinKind.SEMI, JoinKind.ANTI):
            if bool(partners) is (node.kind is JoinKind.SEMI):
                result.append(row)
            continue
        if node.kind is JoinKind.SINGLE and len(partners) > 1:
            raise ScalarSubqueryError("more than one row for a scalar subquery")
        result.extend(row + right[i] for i in partners)
        if not partners and node.kind in (JoinKind.LEFT, JoinKind.FULL, JoinKind.SINGLE):
            result.append(row + padding)
    if node.kind in (JoinKind.RIGHT, JoinKind.FULL):
        empty = (None,) * len(node.left.columns)
        result.extend(empty + r for i, r in enumerate(right) if i not in matched_right)
    return result


def _mark(verdicts: list[Any]) -> bool | None:
    if any(verdict is True for verdict in verdicts):
        return True
    return None if any(verdict is None for verdict in verdicts) else False


def _aggregate(node: Aggregate, visit: Visit, inputs: Inputs) -> Rows:
    layout = layout_of(node.input.columns)
    places = [layout[key.id] for key in node.keys]
    calls = [compile_aggregate(call, layout) for _, call in node.calls]
    groups: dict[Any, Rows] = {}
    for row in visit(node.input):
        groups.setdefault(row_key(tuple(row[p] for p in places)), []).append(row)
    if not node.keys and not groups:
        groups[()] = []
    return [
        tuple(rows[0][p] for p in places) + tuple(call(rows) for call in calls)
        for rows in groups.values()
    ]


def _repeat(node: Repeat, visit: Visit, inputs: Inputs) -> Rows:
    place = layout_of(node.input.columns)[node.count.id]
    return [
        row[:place] + row[place + 1 :]
        for row in visit(node.input)
        for _ in range(max(0, row[place] or 0))
    ]


def _generate(node: Generate, visit: Visit, inputs: Inputs) -> Rows:
    layout = layout_of(node.input.columns)
    args = [compile_scalar(arg, layout) for arg in node.call.args]
    rows: Rows = []
    for row in visit(node.input):
        made = made_of(node.call, [arg(row) for arg in args], len(node.made))
        rows += [(*row, *map(_as_made, one, node.made)) for one in made]
        if node.outer and not made:
            rows.append((*row, *(None for _ in node.made)))
    return rows


def _as_made(value: object, column: Column) -> object:
    """A value of an array as the type that it has in common with the others of the array."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and column.type in (DOUBLE, FLOAT) else value


def _aligned(node: UnionAll | SetOperation, visit: Visit) -> list[Rows]:
    """The inputs' rows, every column brought to the type common to all branches."""
    branches = node.inputs
    types = [
        common_type([branch.columns[i].type for branch in branches])
        for i in range(len(node.merged))
    ]
    aligned = []
    for branch in branches:
        own = [column.type for column in branch.columns]
        rows = visit(branch)
        if own != types:
            changes = list(zip(own, types, strict=True))
            rows = [tuple(_to(v, *c) for v, c in zip(row, changes, strict=True)) for row in rows]
        aligned.append(rows)
    return aligned


def _to(value: Any, source: Any, target: Any) -> Any:
    known = source.is_known and target.is_known and source.name != "VOID"
    return cast(value, source, target) if known else value


def _union(node: UnionAll, visit: Visit, inputs: Inputs) -> Rows:
    return [row for rows in _aligned(node, visit) for row in rows]


def _set_operation(node: SetOperation, visit: Visit, inputs: Inputs) -> Rows:
    left, right = _aligned(node, visit)
    budget: dict[Any, int] = {}
    for row in right:
        budget[row_key(row)] = budget.get(row_key(row), 0) + 1
    if not node.all:
        wanted = node.kind is SetKind.INTERSECT
        distinct = {row_key(row): row for row in left}
        return [row for key, row in distinct.items() if (key in budget) is wanted]
    result: Rows = []
    for row in left:
        key = row_key(row)
        matched = budget.get(key, 0) > 0
        if matched:
            budget[key] -= 1
        if matched is (node.kind is SetKind.INTERSECT):
            result.append(row)
    return result


def _sort(node: Sort, visit: Visit, inputs: Inputs) -> Rows:
    return sorted(visit(node.input), key=sort_key(node.keys, layout_of(node.input.columns)))


def _limit(node: Limit, visit: Visit, inputs: Inputs) -> Rows:
    end = None if node.count is None else node.offset + node.count
    return visit(node.input)[node.offset : end]


def _window(node: Window, visit: Visit, inputs: Inputs) -> Rows:
    rows, layout = visit(node.input), layout_of(node.input.columns)
    columns = [evaluate_window(call, rows, layout) for _, call in node.calls]
    return [row + tuple(c[i] for c in columns) for i, row in enumerate(rows)]


def _recursion(node: Recursion, visit: Visit, inputs: Inputs) -> Rows:
    steps = node.steps
    found = step = evaluate(steps.first, inputs)
    while step:
        itself = SourceData(steps.columns, step)
        sources = {**inputs.sources, steps.name: itself}
        step = evaluate(steps.step, replace(inputs, sources=sources))
        found = found + step
    return found


_HANDLERS: dict[type[Relation], Callable[..., Rows]] = {
    Scan: _scan, StateRead: _state, Values: _values, Filter: _filter, Project: _project,
    Join: _join, Aggregate: _aggregate, Repeat: _repeat, UnionAll: _union,
    Generate: _generate, SetOperation: _set_operation, Sort: _sort, Limit: _limit, Window: _window,
    Recursion: _recursion,
}  # fmt: skip
