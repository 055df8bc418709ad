"""Nested values between the interpreter, where all of them are tuples, and the engines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from forerun.planner.algebra.nested import element_type, map_types, struct_fields
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import DataType


def as_tuples(value: Any) -> Any:
    """Return a value of Arrow as the interpreter has it: structs come as dicts, arrays as lists,
    maps as lists of pairs; instants in the time zone of the session."""
    if isinstance(value, dict):
        return tuple(as_tuples(field) for field in value.values())
    if isinstance(value, list | tuple):
        return tuple(as_tuples(one) for one in value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def for_arrow(value: Any, type_: DataType) -> Any:
    """Return a value of the interpreter as Arrow takes it."""
    kind = kind_of(type_)
    if value is None or kind not in ("a", "p", "r"):
        return value
    if kind == "a":
        return [for_arrow(one, element_type(type_)) for one in value]
    if kind == "p":
        key, of_key = map_types(type_)
        return [(for_arrow(one, key), for_arrow(other, of_key)) for one, other in value]
    fields = zip(struct_fields(type_), value, strict=True)
    return {name: for_arrow(one, of_field) for (name, of_field), one in fields}


def as_text(value: Any, type_: DataType) -> str:
    """Return a value of the interpreter as a SQL expression of exactly its type."""
    kind = kind_of(type_)
    if value is None:
        return f"CAST(NULL AS {type_.sql})"
    if kind == "a":
        made = f"array({', '.join(as_text(one, element_type(type_)) for one in value)})"
    elif kind == "p":
        key, of_key = map_types(type_)
        pairs = [part for a, b in value for part in (as_text(a, key), as_text(b, of_key))]
        made = f"map({', '.join(pairs)})"
    elif kind == "r":
        fields = zip(struct_fields(type_), value, strict=True)
        pairs = [
            part
            for (name, of_field), one in fields
            for part in ("'" + name.replace("'", "\\'") + "'", as_text(one, of_field))
        ]
        made = f"named_struct({', '.join(pairs)})"
    elif isinstance(value, timedelta):
        seconds = f"{value.seconds}.{value.microseconds:06}"
        return f"make_dt_interval({value.days}, 0, 0, {seconds})"
    elif kind == "x":
        made = f"X'{bytes(value).hex()}'"
    else:
        instant = "Z" if type_.name == "TIMESTAMP" else ""
        made = "'" + str(value).replace("'", "\\'") + instant + "'"
        if type_.name == "STRING":
            return made
    return f"CAST({made} AS {type_.sql})"
