"""Every column has one place where it is made."""

from __future__ import annotations

from dataclasses import replace

from planner.algebra.relational import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
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
)
from planner.algebra.scalar import Ref, Scalar, substitute
from planner.algebra.types import Column, ColumnId
from planner.rules.normalize.rule import Context

Renaming = dict[ColumnId, Column]


def made_by(node: Relation) -> tuple[Column, ...]:
    """The columns whose values the node makes; the others come from its inputs as they are."""
    if isinstance(node, Scan | StateRead | Values | UnionAll | SetOperation):
        return node.columns
    if isinstance(node, Project):
        return tuple(c for c, scalar in node.items if scalar != Ref(c))
    if isinstance(node, Aggregate | Window):
        return tuple(column for column, _ in node.calls)
    if isinstance(node, Join) and node.mark is not None:
        return (node.mark,)
    return ()


def with_unique_columns(relation: Relation, context: Context) -> Relation:
    """The relation with fresh columns wherever a column is made a second time.

    A common table expression that is read twice is one sub-tree in two places, with the same
    column ids inside. Rules that move columns about need to tell the two apart; fingerprints find
    out again that they are equal.
    """
    used: set[ColumnId] = set()
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
        results.append(_renewed(node, inputs, used, context))
    return results[0][0]


def _renewed(
    node: Relation, inputs: list[tuple[Relation, Renaming]], used: set[ColumnId], context: Context
) -> tuple[Relation, Renaming]:
    """The node over its renewed inputs, and how its output columns are called now."""
    inner: Renaming = {}
    for _, renaming in inputs:
        inner |= renaming
    own: Renaming = {}
    for column in made_by(node):
        if column.id in used:
            own[column.id] = context.fresh(column.name, column.type)
        else:
            used.add(column.id)
    below = tuple(child for child, _ in inputs)
    if not inner and not own:
        same = all(a is b for a, b in zip(below, node.inputs, strict=True))
        return (node if same else node.with_inputs(below)), {}
    renewed = _rebuilt(node, below, inner, own)
    pairs = zip(node.columns, renewed.columns, strict=True)
    return renewed, {old.id: new for old, new in pairs if old != new}


def _rebuilt(
    node: Relation, below: tuple[Relation, ...], inner: Renaming, own: Renaming
) -> Relation:
    def made(column: Column) -> Column:
        return own.get(column.id, column)

    match node:
        case Scan():
            return replace(node, scanned=tuple(map(made, node.scanned)))
        case StateRead():
            return replace(node, read=tuple(map(made, node.read)))
        case Values():
            return replace(node, listed=tuple(map(made, node.listed)))
        case UnionAll():
            return UnionAll(below, tuple(map(made, node.merged)))
        case SetOperation():
            left, right = below
            return replace(node, left=left, right=right, merged=tuple(map(made, node.merged)))
        case Join():
            left, right = below
            condition = substitute(node.condition, _by(inner))
            mark = None if node.mark is None else made(node.mark)
            return Join(node.kind, left, right, condition, mark)
        case _:
            return _rebuilt_unary(node, below[0], inner, own)


def _rebuilt_unary(node: Relation, below: Relation, inner: Renaming, own: Renaming) -> Relation:
    def read(column: Column) -> Column:
        return inner.get(column.id, column)

    match node:
        case Filter():
            return Filter(below, substitute(node.predicate, _by(inner)))
        case Project():
            return Project(below, tuple(_item(c, s, inner, own) for c, s in node.items))
        case Aggregate():
            calls = tuple((own.get(c.id, c), _call(call, inner)) for c, call in node.calls)
            return Aggregate(below, tuple(map(read, node.keys)), calls)
        case Window():
            windows = tuple((own.get(c.id, c), _window_call(w, inner)) for c, w in node.calls)
            return Window(below, windows)
        case Sort():
            return Sort(below, _sort_keys(node.keys, inner))
        case Repeat():
            return Repeat(below, read(node.count))
        case _:
            return node.with_inputs((below,))


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
