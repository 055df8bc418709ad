"""Paths of the parts of nested values: how a leaf of a column is reached from the column."""

from __future__ import annotations

from forerun.planner.algebra.nested import element_type, map_types, struct_fields
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import UNKNOWN, DataType

Path = tuple[str, ...]
"""Steps from a value to a part of it: ``.name`` to a field of a struct, in small letters as Spark
ignores case, or one of the others below."""
ELEMENTS = "[]"
"""The step to the elements of an array."""
KEYS, VALUES = "{key}", "{value}"
"""The steps to the keys and to the values of a map."""


def field_step(name: str) -> str:
    """Return the step to a field of a struct."""
    return f".{name.lower()}"


def part_type(type_: DataType, path: Path) -> DataType:
    """Return the type of a part of a value; UNKNOWN where the type has no such part."""
    for step in path:
        if step == ELEMENTS:
            type_ = element_type(type_)
        elif step in (KEYS, VALUES):
            pair = map_types(type_) if kind_of(type_) == "p" else (UNKNOWN, UNKNOWN)
            type_ = pair[step == VALUES]
        else:
            fields = {field_step(name): kind for name, kind in struct_fields(type_)}
            type_ = fields.get(step, UNKNOWN)
    return type_
