"""Functions that take functions, on rows of Python: Spark's ``ArrayTransform`` and its kin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cmp_to_key
from itertools import combinations
from typing import Any

from forerun.planner.algebra.higher_order import LAMBDA, VARIABLE
from forerun.planner.algebra.scalar import Call, Literal, Scalar
from tests.oracles.values import Evaluate, EvaluationError, Row, Value, compare

Body = Callable[..., Value]
"""A lambda for one row: from the values of its variables to that of its body."""
Compile = Callable[[Scalar, Mapping[Any, Any]], Evaluate]


def _transform(body: Body, xs: Value) -> Value:
    return tuple(body(x, at) for at, x in enumerate(xs))


def _filter(body: Body, xs: Value) -> Value:
    return tuple(x for at, x in enumerate(xs) if body(x, at) is True)


def _exists(body: Body, xs: Value) -> Value:
    found = [body(x) for x in xs]
    return True if True in found else None if None in found else False


def _forall(body: Body, xs: Value) -> Value:
    found = [body(x) for x in xs]
    return False if False in found else None if None in found else True


def _aggregate(*given: Any) -> Value:
    *bodies, xs, value = given
    for x in xs:
        value = bodies[0](value, x)
    return bodies[1](value) if len(bodies) > 1 else value


def _zip_with(body: Body, xs: Value, ys: Value) -> Value:
    width = max(len(xs), len(ys))
    left, right = ((*one, *[None] * (width - len(one))) for one in (xs, ys))
    return tuple(body(x, y) for x, y in zip(left, right, strict=True))


def _array_sort(body: Body, xs: Value) -> Value:
    def order(left: Value, right: Value) -> int:
        found = body(left, right)
        if found is None:
            raise EvaluationError("a comparison gives NULL")
        return int(found)

    return tuple(sorted(xs, key=cmp_to_key(order)))


def _map_filter(body: Body, entries: Value) -> Value:
    return tuple((key, value) for key, value in entries if body(key, value) is True)


def _transform_values(body: Body, entries: Value) -> Value:
    return tuple((key, body(key, value)) for key, value in entries)


def _transform_keys(body: Body, entries: Value) -> Value:
    made = tuple((body(key, value), value) for key, value in entries)
    keys = [key for key, _ in made]
    twice = any(compare(*pair) == 0 for pair in combinations(keys, 2) if None not in pair)
    if None in keys or twice:
        raise EvaluationError("a key of a map is NULL, or there twice")
    return made


_HIGHER: Mapping[str, Callable[..., Value]] = {
    "transform": _transform, "filter": _filter, "exists": _exists, "forall": _forall,
    "aggregate": _aggregate, "reduce": _aggregate, "zip_with": _zip_with,
    "array_sort": _array_sort, "map_filter": _map_filter, "transform_values": _transform_values,
    "transform_keys": _transform_keys,
}  # fmt: skip


def variable(call: Call, layout: Mapping[Any, Any]) -> Evaluate:
    cell = layout[_name(call)]
    return lambda row: cell[0]


def higher_order(call: Call, layout: Mapping[Any, Any], compile_: Compile) -> Evaluate | None:
    """Return how a call with lambdas is computed; None for one without."""
    lambdas = [arg for arg in call.args if isinstance(arg, Call) and arg.name == LAMBDA]
    if not lambdas or call.name not in _HIGHER:
        return None
    function = _HIGHER[call.name]
    given = [compile_(arg, layout) for arg in call.args if arg not in lambdas]
    bodies = [_body(arg, layout, compile_) for arg in lambdas]

    def evaluate(row: Row) -> Value:
        values = [arg(row) for arg in given]
        # What is folded may start from NULL.
        strict = values[:1] if call.name in ("aggregate", "reduce") else values
        if any(value is None for value in strict):
            return None
        return function(*(body(row) for body in bodies), *values)

    return evaluate


def _body(made: Call, layout: Mapping[Any, Any], compile_: Compile) -> Callable[[Row], Body]:
    cells: list[list[Value]] = [[None] for _ in made.args[1:]]
    names = [_name(one) for one in made.args[1:]]
    evaluate = compile_(made.args[0], {**layout, **dict(zip(names, cells, strict=True))})

    def on(row: Row) -> Body:
        def body(*values: Value) -> Value:
            for cell, value in zip(cells, values, strict=False):
                cell[0] = value
            return evaluate(row)

        return body

    return on


def _name(one: Scalar) -> str:
    assert isinstance(one, Call)
    assert one.name == VARIABLE
    (name,) = one.args
    assert isinstance(name, Literal)
    return f"lambda {name.text}"
