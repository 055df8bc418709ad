"""The expressions of an operator, which it evaluates over the rows of its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from forerun.planner.algebra.relational import (
    Aggregate,
    Filter,
    Generate,
    Join,
    Project,
    Relation,
    Values,
    Window,
)
from forerun.planner.algebra.scalar import Call, Scalar


def scalars_of(node: Relation) -> tuple[Scalar, ...]:
    """The expressions of one operator (not of its inputs)."""
    match node:
        case Filter():
            return (node.predicate,)
        case Project():
            return tuple(scalar for _, scalar in node.items)
        case Join():
            return (node.condition,)
        case Aggregate():
            where = tuple(call.where for _, call in node.calls if call.where is not None)
            return where + tuple(arg for _, call in node.calls for arg in call.args)
        case Generate():
            return (node.call,)
        case Window():
            return tuple(arg for _, call in node.calls for arg in call.args)
        case Values():
            return tuple(scalar for row in node.rows for scalar in row)
    return ()


def with_scalars(node: Relation, change: Callable[[Scalar], Scalar]) -> Relation:
    """The operator with each of its expressions changed, over the same inputs."""

    def each(scalars: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
        return tuple(map(change, scalars))

    match node:
        case Filter():
            return Filter(node.input, change(node.predicate))
        case Project():
            return Project(node.input, tuple((column, change(one)) for column, one in node.items))
        case Join():
            return replace(node, condition=change(node.condition))
        case Aggregate():
            calls = tuple(
                (c, replace(call, args=each(call.args), where=call.where and change(call.where)))
                for c, call in node.calls
            )
            return Aggregate(node.input, node.keys, calls)
        case Generate():
            call = Call(node.call.name, each(node.call.args), node.call.type)
            return replace(node, call=call)
        case Window():
            windows = tuple((c, replace(call, args=each(call.args))) for c, call in node.calls)
            return Window(node.input, windows)
        case Values():
            return replace(node, rows=tuple(map(each, node.rows)))
    return node
