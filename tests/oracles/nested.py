"""Functions of nested values: an array and a struct are tuples, a map is a tuple of pairs."""

from __future__ import annotations

from collections import Counter
from functools import cmp_to_key
from itertools import zip_longest

from forerun.planner.algebra.nested import ELEMENT, FIELD, element_type, struct_fields
from forerun.planner.algebra.scalar import Call
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import DataType
from tests.oracles.functions import Function, Types, Values
from tests.oracles.values import EvaluationError, NotInterpretedError, Value, compare, order_key


class ArrayIndexError(EvaluationError):
    condition = "INVALID_ARRAY_INDEX"


def _field(values: Values, types: Types, result: DataType) -> Value:
    value, name = values
    in_array = kind_of(types[0]) == "a"
    fields = struct_fields(element_type(types[0]) if in_array else types[0])
    place = [field for field, _ in fields].index(name)
    if not in_array:
        return value[place]
    return tuple(None if one is None else one[place] for one in value)


def _element(values: Values, types: Types, result: DataType) -> Value:
    value, index = values
    if kind_of(types[0]) == "p":
        return next((found for key, found in value if compare(key, index) == 0), None)
    if not 0 <= index < len(value):
        raise ArrayIndexError
    return value[index]


def _get(values: Values, types: Types, result: DataType) -> Value:
    value, index = values
    return value[index] if 0 <= index < len(value) else None


def _holds(values: Values, types: Types, result: DataType) -> Value:
    value, wanted = values
    if any(one is not None and compare(one, wanted) == 0 for one in value):
        return True
    return None if None in value else False


def _extreme(sign: int) -> Function:
    def function(values: Values, types: Types, result: DataType) -> Value:
        best = None
        for one in values[0]:
            if one is not None and (best is None or sign * compare(one, best) > 0):
                best = one
        return best

    return function


def _in_order(values: Values, types: Types, result: DataType) -> Value:
    """A list in order; the lists that are sorted here hold no NULL."""
    value, rising = values[0], values[1] if len(values) > 1 else True
    if None in value:
        raise NotInterpretedError("an order with NULL in it")
    return tuple(sorted(value, key=cmp_to_key(compare), reverse=not rising))


def _each_once(values: Values, types: Types, result: DataType) -> Value:
    found: list[Value] = []
    for one in values[0]:
        if not any(compare(one, other) == 0 for other in found):
            found.append(one)
    return tuple(found)


def top_items(bag: Values, most: int) -> Value:
    """The values of a bag that come most often, with how often they come."""
    found = sorted(Counter(bag).items(), key=lambda pair: (-pair[1], order_key(pair[0])))
    return tuple(found[:most])


NESTED: dict[str, tuple[Function, bool]] = {
    FIELD: (_field, True),
    ELEMENT: (_element, True),
    "get": (_get, True),
    "size": (lambda values, types, result: len(values[0]), True),
    "array_contains": (_holds, True),
    "map_keys": (lambda values, types, result: tuple(key for key, _ in values[0]), True),
    "map_values": (lambda values, types, result: tuple(value for _, value in values[0]), True),
    "array_max": (_extreme(1), True),
    "array_min": (_extreme(-1), True),
    "array_size": (lambda values, types, result: len(values[0]), True),
    "array_sort": (_in_order, True),
    "sort_array": (_in_order, True),
    "array_distinct": (_each_once, True),
    "array_compact": (
        lambda values, types, result: tuple(one for one in values[0] if one is not None),
        True,
    ),
    "flatten": (
        lambda values, types, result: tuple(one for part in values[0] for one in part),
        True,
    ),
    "array_join": (lambda values, types, result: values[1].join(values[0]), True),
    "arrays_zip": (lambda values, types, result: tuple(zip_longest(*values)), True),
    "array": (lambda values, types, result: tuple(values), False),
    "approx_top_k_estimate": (lambda values, types, result: top_items(*values), True),
    "named_struct": (lambda values, types, result: tuple(values[1::2]), False),
    "map": (
        lambda values, types, result: tuple(zip(values[::2], values[1::2], strict=True)),
        False,
    ),
}
"""By name: the function, and whether it is NULL as soon as an argument is."""


def made_of(call: Call, values: Values, width: int) -> list[tuple[Value, ...]]:
    """Return the rows that a generator makes of the values of its arguments."""
    first = values[0]
    if call.name == "stack":
        cells = values[1:] + [None] * (first * width - len(values[1:]))
        return [tuple(cells[at : at + width]) for at in range(0, first * width, width)]
    if call.name == "range":
        ends = values[:3] if len(values) > 1 else [0, first]
        return [(number,) for number in range(*ends)]
    if first is None:
        return []
    if call.name == "inline":
        return [(None,) * width if one is None else one for one in first]
    if call.name not in ("explode", "posexplode"):
        raise NotInterpretedError(f"generator {call.name}")
    is_map = kind_of(call.args[0].type) == "p"
    rows = [one if is_map else (one,) for one in first]
    return rows if call.name == "explode" else [(at, *one) for at, one in enumerate(rows)]
