"""Parts of values: ``s.field``, ``a[0]``, ``m['key']``, as Spark's ``ExtractValue`` reads them."""

from __future__ import annotations

from sqlglot import exp

from forerun.planner.algebra.nested import (
    ELEMENT,
    FIELD,
    array_of,
    element_type,
    map_types,
    struct_fields,
)
from forerun.planner.algebra.scalar import Call, Literal, Scalar
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import NULL, STRING, UNKNOWN
from forerun.planner.sql.binding.coercion import cast, common_type
from forerun.planner.sql.syntax.text import QueryText


def field_of(text: QueryText, node: exp.Expr, value: Scalar, name: str) -> Scalar:
    """``value.name``: a field of a struct, whatever its case; of an array of structs the array of
    that field; of a map the value of that key."""
    type_ = value.type
    if kind_of(type_) == "p":
        return element_of(text, node, value, Literal(name, STRING))
    if not type_.is_known:
        return Call(FIELD, (value, Literal(name, STRING)), UNKNOWN)
    inner = element_type(type_) if kind_of(type_) == "a" else type_
    if kind_of(inner) != "r":
        raise text.error(
            node, f"{name} is not a part of a value of type {type_}", "a struct has fields"
        )
    fields = struct_fields(inner)
    found = [field for field in fields if field[0].lower() == name.lower()]
    if not found:
        raise text.unknown(node, "field", name, [known for known, _ in fields])
    if len(found) > 1:
        raise text.error(node, f"field {name} is ambiguous", "rename one where the struct is made")
    spelled, of_field = found[0]
    result = array_of(of_field) if inner is not type_ else of_field
    return Call(FIELD, (value, Literal(spelled, STRING)), result)


def element_of(text: QueryText, node: exp.Expr, value: Scalar, index: Scalar) -> Scalar:
    """``value[index]``: an element of an array by its place from 0, the value of a map's key, or
    the field of that name."""
    kind = kind_of(value.type)
    if kind == "p":
        return _of_key(text, node, value, index)
    structs = "r" in (kind, kind_of(element_type(value.type)))
    if structs and isinstance(index, Literal) and index.type == STRING and index.text:
        return field_of(text, node, value, index.text)
    if kind == "a":
        if index.type.is_known and not index.type.is_integer and index.type != NULL:
            hint = "an array's elements have places 0, 1, 2, ..."
            raise text.error(node, f"an element of an array by a {index.type}", hint)
        return Call(ELEMENT, (value, index), element_type(value.type))
    if value.type.is_known:
        hint = "write struct.field" if kind == "r" else "only arrays and maps have elements"
        raise text.error(node, f"an element of a value of type {value.type}", hint)
    return Call(ELEMENT, (value, index), UNKNOWN)


def _of_key(text: QueryText, node: exp.Expr, value: Scalar, index: Scalar) -> Scalar:
    key, of_key = map_types(value.type)
    common = common_type(key, index.type)
    if common != key and common is not UNKNOWN:
        hint = f"cast the key to {key}"
        raise text.error(node, f"a map with keys of type {key} by a {index.type}", hint)
    return Call(ELEMENT, (value, cast(index, key)), of_key)
