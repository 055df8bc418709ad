"""Functions that take functions: ``transform(xs, x -> x + 1)`` and its kin.

A function that is an argument is a call :data:`LAMBDA` of its body and its variables; a variable is
a call :data:`VARIABLE` with its name, so that it is no reference to a column. Names are given from
the outermost lambda on: two that differ by names only are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from forerun.planner.algebra.nested import array_of, element_type, map_of, map_types
from forerun.planner.algebra.types import BOOLEAN, INT, DataType

LAMBDA = "lambda"
"""The call that stands for a function: its body, then its variables."""
VARIABLE = "variable"
"""The call that stands for a variable: its name."""
Types = tuple[DataType, ...]


class HigherOrder(NamedTuple):
    """A function that takes lambdas after ``given`` other arguments, the first of them of the kind
    ``of``: an array or a map. ``variables`` gives the types of each lambda's variables by those of
    the other arguments; the ``optional`` last ones may be left out, as may all lambdas after the
    first. ``result`` gives the type by those of the arguments and of the lambdas' bodies;
    ``tests``: a body is a condition; ``body`` gives the type that the first one has to have, where
    Spark takes no other."""

    variables: Callable[[Types], tuple[Types, ...]]
    result: Callable[[Types, Types], DataType]
    of: str = "a"
    given: int = 1
    optional: int = 0
    tests: bool = False
    body: Callable[[Types], DataType] | None = None


def _with_place(types: Types) -> tuple[Types, ...]:
    return ((element_type(types[0]), INT),)


def _of_element(types: Types) -> tuple[Types, ...]:
    return ((element_type(types[0]),),)


def _of_two(types: Types) -> tuple[Types, ...]:
    return ((element_type(types[0]), element_type(types[-1])),)


def _of_entry(types: Types) -> tuple[Types, ...]:
    return (map_types(types[0]),)


def _of_entries(types: Types) -> tuple[Types, ...]:
    key, value = map_types(types[0])
    return ((key, value, map_types(types[1])[1]),)


def _folded(types: Types) -> tuple[Types, ...]:
    return (types[1], element_type(types[0])), (types[1],)


def _first(types: Types, _: Types) -> DataType:
    return types[0]


def _values(types: Types, bodies: Types) -> DataType:
    return map_of(map_types(types[0])[0], bodies[0])


_EACH = HigherOrder(_with_place, lambda _, bodies: array_of(bodies[0]), optional=1)
_ANY = HigherOrder(_of_element, lambda *_: BOOLEAN, tests=True)
_FOLD = HigherOrder(
    _folded,
    lambda types, bodies: (types[1:] + bodies[1:])[-1],
    given=2,
    body=lambda types: types[1],
)
HIGHER_ORDER: Mapping[str, HigherOrder] = {
    "transform": _EACH,
    "filter": HigherOrder(_with_place, _first, optional=1, tests=True),
    "exists": _ANY,
    "forall": _ANY,
    "aggregate": _FOLD,
    "reduce": _FOLD,
    "array_sort": HigherOrder(_of_two, _first, body=lambda _: INT),
    "zip_with": HigherOrder(_of_two, lambda _, bodies: array_of(bodies[0]), given=2),
    "map_filter": HigherOrder(_of_entry, _first, of="p", tests=True),
    "transform_keys": HigherOrder(
        _of_entry, lambda types, bodies: map_of(bodies[0], map_types(types[0])[1]), of="p"
    ),
    "transform_values": HigherOrder(_of_entry, _values, of="p"),
    "map_zip_with": HigherOrder(_of_entries, _values, of="p", given=2),
}
"""The functions that take lambdas. Their other arguments come first."""
