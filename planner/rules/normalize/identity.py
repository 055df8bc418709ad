"""Makes column ids unique: each column of the query is computed at one place in the tree."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace

from forerun.planner.algebra.dispatch import operator_pass
from forerun.planner.algebra.recursion import Recursion
from forerun.planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Generate,
    Join,
    Limit,
    Project,
    Relation,
    Repeat,
    Scan,
    SetOperation,
    Sort,
    SortKey,
    StateRead,
    UnionAll,
    Values,
    Window,
    WindowCall,
    walk,
)
from forerun.planner.algebra.scalar import Call, Ref, Scalar, substitute
from forerun.planner.algebra.types import Column, ColumnId
from forerun.planner.rules.normalize.rule import NormalizeContext

Renaming = dict[ColumnId, Column]


@operator_pass("columns that are made")
def made_by(node: Relation) -> tuple[Column, ...]:
    """Return the columns that the node computes; its other columns come unchanged from inputs."""
    raise NotImplementedError


@made_by.register(Scan, StateRead, Values, UnionAll, SetOperation, Recursion)
def _makes_all(node: Relation) -> tuple[Column, ...]:
    return node.columns


@made_by.register(Filter, Sort, Limit, Repeat)
def _makes_nothing(_: Relation) -> tuple[Column, ...]:
    return ()


@made_by.register(Project)
def _made_by_project(node: Project) -> tuple[Column, ...]:
    return tuple(c for c, scalar in node.items if scalar != Ref(c))


@made_by.register(Generate)
def _made_by_generate(node: Generate) -> tuple[Column, ...]:
    return node.made


@made_by.register(Aggregate, Window)
def _made_by_calls(node: Aggregate | Window) -> tuple[Column, ...]:
    return tuple(column for column, _ in node.calls)


@made_by.register(Join)
def _made_by_join(node: Join) -> tuple[Column, ...]:
    return () if node.mark is None else (node.mark,)


def with_unique_columns(relation: Relation, context: NormalizeContext) -> Relation:
    """Return the relation with fresh column ids wherever a column is computed a second time.

    A common table expression that is read twice is one subtree in two places, with the same column
    ids inside. Rules that move columns must tell the two apart; fingerprints later recognize them
    as equal.
    """
    used: set[ColumnId] = set()

    def unless_used(column: Column) -> Column | None:
        if column.id in used:
            return context.fresh(column.name, column.type)
        used.add(column.id)
        return None

    return _with_others(relation, unless_used)


def with_other_columns(
    relation: Relation, context: NormalizeContext, but: Set[ColumnId] = frozenset()
) -> Relation:
    """Return the relation with a fresh id for every column that it computes ``but`` for these. Ids
    are in the order of the old ones: distributions are by columns in the order of their ids, so a
    renaming would lose others."""
    made = {column.id: column for node in walk(relation) for column in made_by(node)}
    others = {i: context.fresh(made[i].name, made[i].type) for i in sorted(made.keys() - but)}
    return _with_others(relation, lambda column: others.get(column.id))


def _with_others(relation: Relation, other: Callable[[Column], Column | None]) -> Relation:
    """Return the relation with other columns for those that it computes, where there is one."""
    results: list[tuple[Relation, Renaming]] = []
    stack: list[tuple[Relation, bool]] = [(relation, False)]
    while stack:
        node, ready = stack.pop()
        if not ready:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.inputs))
            continue
        count = len(node.inputs)
        inputs = results[len(results) - count :]
        del results[len(results) - count :]
        results.append(_renewed(node, inputs, other))
    return results[0][0]


def _renewed(
    node: Relation,
    inputs: list[tuple[Relation, Renaming]],
    other: Callable[[Column], Column | None],
) -> tuple[Relation, Renaming]:
    """Return the node over its renewed inputs, and the renaming of its output columns."""
    inner: Renaming = {}
    for _, renaming in inputs:
        inner |= renaming
    own = {column.id: new for column in made_by(node) if (new := other(column)) is not None}
    below = tuple(child for child, _ in inputs)
    if not inner and not own:
        same = all(a is b for a, b in zip(below, node.inputs, strict=True))
        return (node if same else node.with_inputs(below)), {}
    renewed = rebuilt(node, below, inner, own)
    pairs = zip(node.columns, renewed.columns, strict=True)
    return renewed, {old.id: new for old, new in pairs if old != new}


Below = tuple[Relation, ...]


@operator_pass("renaming")
def rebuilt(node: Relation, below: Below, inner: Renaming, own: Renaming) -> Relation:
    """Return the node over the inputs ``below``. ``inner`` is the renaming of the columns of its
    inputs, ``own`` that of the columns that it computes itself."""
    raise NotImplementedError


@rebuilt.register(Scan)
def _scan(node: Scan, _: Below, __: Renaming, own: Renaming) -> Relation:
    return replace(node, scanned=_called(node.scanned, own))


@rebuilt.register(StateRead)
def _state_read(node: StateRead, _: Below, __: Renaming, own: Renaming) -> Relation:
    return replace(node, read=_called(node.read, own))


@rebuilt.register(Values)
def _values(node: Values, _: Below, __: Renaming, own: Renaming) -> Relation:
    return replace(node, listed=_called(node.listed, own))


@rebuilt.register(UnionAll)
def _union(node: UnionAll, below: Below, _: Renaming, own: Renaming) -> Relation:
    return UnionAll(below, _called(node.merged, own))


@rebuilt.register(Recursion)
def _recursion(node: Recursion, below: Below, _: Renaming, own: Renaming) -> Relation:
    return replace(node, read=below, made=_called(node.made, own))


@rebuilt.register(SetOperation)
def _set_operation(node: SetOperation, below: Below, _: Renaming, own: Renaming) -> Relation:
    left, right = below
    return replace(node, left=left, right=right, merged=_called(node.merged, own))


@rebuilt.register(Join)
def _join(node: Join, below: Below, inner: Renaming, own: Renaming) -> Relation:
    left, right = below
    mark = None if node.mark is None else own.get(node.mark.id, node.mark)
    return Join(node.kind, left, right, substitute(node.condition, _by(inner)), mark)


@rebuilt.register(Filter)
def _filter(node: Filter, below: Below, inner: Renaming, _: Renaming) -> Relation:
    return Filter(below[0], substitute(node.predicate, _by(inner)))


@rebuilt.register(Project)
def _project(node: Project, below: Below, inner: Renaming, own: Renaming) -> Relation:
    return Project(below[0], tuple(_item(c, s, inner, own) for c, s in node.items))


@rebuilt.register(Aggregate)
def _aggregate(node: Aggregate, below: Below, inner: Renaming, own: Renaming) -> Relation:
    calls = tuple((own.get(c.id, c), _call(call, inner)) for c, call in node.calls)
    return Aggregate(below[0], _called(node.keys, inner), calls)


@rebuilt.register(Window)
def _window(node: Window, below: Below, inner: Renaming, own: Renaming) -> Relation:
    windows = tuple((own.get(c.id, c), _window_call(w, inner)) for c, w in node.calls)
    return Window(below[0], windows)


@rebuilt.register(Generate)
def _generate(node: Generate, below: Below, inner: Renaming, own: Renaming) -> Relation:
    args = tuple(substitute(arg, _by(inner)) for arg in node.call.args)
    call = Call(node.call.name, args, node.call.type)
    return Generate(below[0], call, tuple(own.get(c.id, c) for c in node.made), node.outer)


@rebuilt.register(Sort)
def _sort(node: Sort, below: Below, inner: Renaming, _: Renaming) -> Relation:
    return Sort(below[0], _sort_keys(node.keys, inner))


@rebuilt.register(Repeat)
def _repeat(node: Repeat, below: Below, inner: Renaming, _: Renaming) -> Relation:
    return Repeat(below[0], inner.get(node.count.id, node.count))


@rebuilt.register(Limit)
def _limit(node: Limit, below: Below, _: Renaming, __: Renaming) -> Relation:
    return node.with_inputs(below)


def _called(columns: tuple[Column, ...], names: Renaming) -> tuple[Column, ...]:
    return tuple(names.get(column.id, column) for column in columns)


def _by(inner: Renaming) -> dict[ColumnId, Scalar]:
    return {id_: Ref(column) for id_, column in inner.items()}


def _sort_keys(keys: tuple[SortKey, ...], inner: Renaming) -> tuple[SortKey, ...]:
    return tuple(replace(key, column=inner.get(key.column.id, key.column)) for key in keys)


def _item(column: Column, scalar: Scalar, inner: Renaming, own: Renaming) -> tuple[Column, Scalar]:
    if scalar == Ref(column):
        column = inner.get(column.id, column)
        return column, Ref(column)
    return own.get(column.id, column), substitute(scalar, _by(inner))


def _call(call: AggregateCall, inner: Renaming) -> AggregateCall:
    by = _by(inner)
    where = None if call.where is None else substitute(call.where, by)
    return replace(call, args=tuple(substitute(arg, by) for arg in call.args), where=where)


def _window_call(call: WindowCall, inner: Renaming) -> WindowCall:
    by = _by(inner)
    return replace(
        call,
        args=tuple(substitute(arg, by) for arg in call.args),
        partition=tuple(inner.get(column.id, column) for column in call.partition),
        order=_sort_keys(call.order, inner),
    )
