"""Functions that take arguments whose types go together: an array and an element, a map and a key.

What a function takes by kinds alone is in :mod:`forerun.planner.algebra.signatures`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from forerun.planner.algebra.nested import TIME_WINDOW, element_type, map_types, struct_fields
from forerun.planner.algebra.scalar import Scalar
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import INTEGER_DIGITS, NULL, STRING, DataType
from forerun.planner.sql.binding.coercion import arithmetic, common_type, compare, unify

Arguments = tuple[Scalar, ...]
_PLACES = ("TINYINT", "SMALLINT", "INT")
"""Types of a place in an array."""


def _holds(args: Arguments) -> bool:
    """Return whether the array that the first argument is may hold the second, which is no NULL."""
    if len(args) != 2 or kind_of(args[0].type) != "a":
        return True
    return args[1].type != NULL and _without_texts(element_type(args[0].type), args[1].type)


def _takes_element(args: Arguments) -> bool:
    """Return whether the second argument is of the type of the elements, or one of the two is wide
    enough for both: a DECIMAL for whole numbers only if it has room for all of them."""
    if len(args) != 2 or kind_of(args[0].type) != "a":
        return True
    element, value = element_type(args[0].type), args[1].type
    if "DECIMAL" in (element.name, value.name) and element.is_numeric and value.is_numeric:
        return _is_room(element, value) or _is_room(value, element)
    return _without_texts(element, value)


def _is_room(wide: DataType, narrow: DataType) -> bool:
    digits = INTEGER_DIGITS.get(narrow.name, narrow.precision - narrow.scale)
    known = narrow.name == "DECIMAL" or narrow.name in INTEGER_DIGITS
    return (
        wide.name == "DECIMAL"
        and known
        and (wide.precision - wide.scale >= digits and wide.scale >= narrow.scale)
    )


def _without_texts(one: DataType, other: DataType) -> bool:
    """Return whether two types have a common one that is no text, unless both are."""
    mixed = (one == STRING) is not (other == STRING) and NULL not in (one, other)
    known = one.is_known and other.is_known
    return not (mixed and known) and common_type(one, other) is not None


def _has_key(args: Arguments) -> bool:
    """Return whether the second argument may be a key of the map that the first one is."""
    if len(args) != 2 or kind_of(args[0].type) != "p":
        return True
    return args[1].type != NULL and _without_texts(map_types(args[0].type)[0], args[1].type)


def _has_part(args: Arguments) -> bool:
    """Return whether the second argument may be a place in an array, or a key of a map."""
    if len(args) == 2 and kind_of(args[0].type) == "a" and args[1].type.is_known:
        return args[1].type.name in _PLACES
    return args[1:] == () or args[1].type == NULL or _has_key(args)


def _of_arrays(args: Arguments) -> bool:
    """Return whether all are arrays whose elements have a common type."""
    known = [arg for arg in args if arg.type.is_known]
    return all(kind_of(arg.type) == "a" for arg in known) and unify(args) is not None


def _nested(args: Arguments) -> bool:
    """Return whether it is an array of arrays."""
    kind = args[0].type if len(args) == 1 else NULL
    return kind_of(kind) != "a" or kind_of(element_type(kind)) in ("a", "")


def _of_entries(args: Arguments) -> bool:
    """Return whether it is an array of structs of two fields."""
    kind = args[0].type if len(args) == 1 else NULL
    if kind_of(kind) != "a" or not kind_of(element_type(kind)):
        return True
    return len(struct_fields(element_type(kind))) == 2


def _is_stepped(args: Arguments) -> bool:
    """Return whether ``sequence`` goes in whole numbers between such, or in intervals between
    moments."""
    kinds = [kind_of(arg.type) for arg in args]
    if NULL in (arg.type for arg in args) or any(kind in ("", "s") for kind in kinds):
        return True
    counted = all(arg.type.is_integer for arg in args)
    return counted or (set(kinds[:2]) <= set("dtn") and set(kinds[2:]) <= set("mw"))


GOING_TOGETHER: Mapping[str, Callable[[Arguments], bool]] = {
    "mod": lambda args: arithmetic("%", *args) is not None,
    "pmod": lambda args: arithmetic("%", *args) is not None,
    "div": lambda args: arithmetic("div", *args) is not None,
    "nullif": lambda args: compare("=", *args) is not None,
    "equal_null": lambda args: compare("<=>", *args) is not None,
    "nvl2": lambda args: unify(args[1:]) is not None,
    "array": lambda args: unify(args) is not None,
    "flatten": _nested,
    "sequence": _is_stepped,
    "map_from_entries": _of_entries,
    "map_contains_key": _has_key,
    "window_time": lambda args: len(args) != 1 or args[0].type == TIME_WINDOW,
    **dict.fromkeys(("element_at", "try_element_at"), _has_part),
    "array_contains": _holds,
    **dict.fromkeys(
        ("array_append", "array_position", "array_prepend", "array_remove"), _takes_element
    ),
    **dict.fromkeys(
        ("array_except", "array_intersect", "array_union", "arrays_overlap"), _of_arrays
    ),
}
"""By function: whether its arguments go together; of what is not known, true."""
