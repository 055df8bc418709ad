"""Derives the types of what nested types hold: fields of structs, elements of arrays, keys and
values of maps, and the types of functions that make such values or take them apart.

Two calls take a part of a value: :data:`FIELD` with the name of a field, :data:`ELEMENT` with the
place in an array or the key of a map. A field of an array of structs is the array of that field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import (
    STRING,
    UNKNOWN,
    DataType,
    field_text,
    is_looked_into,
    parse_type,
    split_field,
    split_type,
)

FIELD = "."
"""The call ``value.name``: the value, and the name of the field as a text."""
ELEMENT = "[]"
"""The call ``value[index]``: an array and a place from 0, or a map and a key."""


TIME_WINDOW = DataType("STRUCT<start:TIMESTAMP,end:TIMESTAMP>")
"""What ``window()`` and ``session_window()`` give."""


def array_of(element: DataType) -> DataType:
    """Return the type of an array; UNKNOWN of elements whose type is not known."""
    return DataType(f"ARRAY<{element.sql}>") if element.is_known else UNKNOWN


def map_of(key: DataType, value: DataType) -> DataType:
    """Return the type of a map; UNKNOWN where that of its keys or its values is."""
    known = key.is_known and value.is_known
    return DataType(f"MAP<{key.sql},{value.sql}>") if known else UNKNOWN


def struct_of(fields: Sequence[tuple[str, DataType]]) -> DataType:
    """Return the type of a struct; UNKNOWN where that of a field is."""
    if not all(type_.is_known for _, type_ in fields):
        return UNKNOWN
    inside = ",".join(field_text(name, type_.sql) for name, type_ in fields)
    return DataType(f"STRUCT<{inside}>")


def struct_fields(type_: DataType) -> tuple[tuple[str, DataType], ...]:
    """Return the names and types of the fields of a struct; none of any other type."""
    if kind_of(type_) != "r":
        return ()
    parts = (split_field(part) for part in _inside(type_))
    return tuple((name, parse_type(text)) for name, text in parts)


def element_type(type_: DataType) -> DataType:
    """Return the type of the elements of an array; UNKNOWN of any other type."""
    inside = _inside(type_) if kind_of(type_) == "a" else ()
    return parse_type(inside[0]) if len(inside) == 1 else UNKNOWN


def map_types(type_: DataType) -> tuple[DataType, DataType]:
    """Return the types of the keys and values of a map; UNKNOWN of any other type."""
    inside = _inside(type_) if kind_of(type_) == "p" else ()
    if len(inside) != 2:
        return UNKNOWN, UNKNOWN
    return parse_type(inside[0]), parse_type(inside[1])


def without_names(type_: DataType) -> DataType:
    """Return a type with the fields of structs, wherever they are nested, called by their places
    alone."""
    if kind_of(type_) == "a":
        return array_of(without_names(element_type(type_)))
    if kind_of(type_) == "p":
        return map_of(*map(without_names, map_types(type_)))
    fields = enumerate(struct_fields(type_))
    named = [(f"f{place}", without_names(inner)) for place, (_, inner) in fields]
    return struct_of(named) if named else type_


def _inside(type_: DataType) -> tuple[str, ...]:
    return split_type(type_.name)[1] if is_looked_into(type_) else ()


Types = tuple[DataType, ...]
Texts = tuple[str | None, ...]


def _named_struct(types: Types, texts: Texts) -> DataType:
    names = texts[::2]
    if len(types) % 2 or not all(names):
        return UNKNOWN
    return struct_of([(name or "", t) for name, t in zip(names, types[1::2], strict=True)])


def _same_map(types: Types, _: Texts) -> DataType:
    keys, values = set(types[::2]), set(types[1::2])
    return map_of(*keys, *values) if len(keys) == len(values) == 1 else UNKNOWN


def _part(types: Types, _: Texts) -> DataType:
    """An element of an array, or the value of a key."""
    return map_types(types[0])[1] if kind_of(types[0]) == "p" else element_type(types[0])


def _entries(types: Types, _: Texts) -> DataType:
    key, value = map_types(types[0])
    return array_of(struct_of([("key", key), ("value", value)]))


def _of_entries(types: Types, _: Texts) -> DataType:
    fields = struct_fields(element_type(types[0]))
    return map_of(fields[0][1], fields[1][1]) if len(fields) == 2 else UNKNOWN


def _if_array(types: Types, _: Texts) -> DataType:
    return types[0] if kind_of(types[0]) == "a" else UNKNOWN


def _if_it_holds(place: int) -> Callable[[Types, Texts], DataType]:
    """An array into which a value of its elements' type goes."""

    def found(types: Types, _: Texts) -> DataType:
        fits = len(types) > place and element_type(types[0]) == types[place]
        return types[0] if fits else UNKNOWN

    return found


def _if_same(types: Types, _: Texts) -> DataType:
    return types[0] if kind_of(types[0]) in ("a", "p") and len(set(types)) == 1 else UNKNOWN


def _steps(types: Types, _: Texts) -> DataType:
    ends = types[:2]
    counted = ends[0].is_integer and len(set(types)) == 1
    moments = ends[0].name in ("DATE", "TIMESTAMP") and len(set(ends)) == 1
    return array_of(ends[0]) if counted or moments else UNKNOWN


def _of_schema(_: Types, texts: Texts) -> DataType:
    """The type that a constant schema names: of an array, a map or a struct, or the fields of a
    struct as a table's columns are written."""
    schema = "".join(text or "" for text in texts[1:2]).strip()
    if not schema or _MORE_THAN_TYPES.search(schema):
        return UNKNOWN
    try:
        return parse_type(schema if _NESTED.match(schema) else f"STRUCT<{schema}>")
    except ValueError:
        return UNKNOWN


_NESTED = re.compile(r"(ARRAY|MAP|STRUCT)\s*<", re.IGNORECASE)
_MORE_THAN_TYPES = re.compile(r"^\{|\b(NOT\s+NULL|COMMENT|COLLATE)\b", re.IGNORECASE)
"""A schema as JSON, or one that says more of a field than its type."""

_TYPES: Mapping[str, Callable[[Types, Texts], DataType]] = {
    "named_struct": _named_struct,
    "array": lambda types, _: array_of(types[0]) if len(set(types)) == 1 else UNKNOWN,
    "map": _same_map,
    "map_from_arrays": lambda types, _: map_of(element_type(types[0]), element_type(types[1])),
    "map_from_entries": _of_entries,
    "map_concat": _if_same,
    "map_entries": _entries,
    "map_keys": lambda types, _: array_of(map_types(types[0])[0]),
    "map_values": lambda types, _: array_of(map_types(types[0])[1]),
    "str_to_map": lambda *_: map_of(STRING, STRING),
    **dict.fromkeys(("element_at", "try_element_at", "get"), _part),
    **dict.fromkeys(("array_min", "array_max"), lambda types, _: element_type(types[0])),
    "flatten": lambda types, _: _if_array((element_type(types[0]),), ()),
    **dict.fromkeys(
        ("array_distinct", "array_sort", "sort_array", "array_compact", "slice", "shuffle"),
        _if_array,
    ),
    **dict.fromkeys(("array_append", "array_prepend", "array_remove"), _if_it_holds(1)),
    "array_insert": _if_it_holds(2),
    **dict.fromkeys(("array_union", "array_intersect", "array_except", "concat"), _if_same),
    "array_repeat": lambda types, _: array_of(types[0]),
    "sequence": _steps,
    "from_json": _of_schema,
}
"""By function: its type, by the types of its arguments and the texts of those that are literals."""


def nested_type(name: str, types: Types, texts: Texts) -> DataType:
    """Return the type Spark gives a function that makes nested values or takes them apart; UNKNOWN
    for any other, and where a type that it depends on is not known."""
    known = _TYPES.get(name)
    if known is None or not types or not all(type_.is_known for type_ in types):
        return UNKNOWN
    return known(types, texts)


def has_name_twice(type_: DataType) -> bool:
    """Return whether a struct in a type calls two fields alike, whatever the case: Parquet files
    that Spark writes or reads cannot."""
    if "<" not in type_.name:
        return False
    fields = struct_fields(type_)
    names = [name.lower() for name, _ in fields]
    inside = [inner for _, inner in fields]
    if not fields:
        inside = [element_type(type_), *map_types(type_)]
    return len(set(names)) < len(names) or any(map(has_name_twice, inside))
