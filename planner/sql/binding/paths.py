"""Dots and brackets after a value, and what Spark calls a column with fields."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from forerun.planner.algebra.nested import element_type, map_types, struct_fields
from forerun.planner.algebra.scalar import Literal, Scalar
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import STRING, DataType
from forerun.planner.sql.binding.binder import Binder
from forerun.planner.sql.binding.calls import call
from forerun.planner.sql.binding.extraction import element_of, field_of
from forerun.planner.sql.binding.scope import Scope, parts_of
from forerun.planner.sql.binding.shown import FIELD, OF_MAP, PATH


def dot(binder: Binder, node: exp.Expr) -> Scalar:
    """``value.name``. Parentheses around a column make no value of it: ``(t).x`` is ``t.x``."""
    if (parts := _path(node)) is not None:
        return binder.column(node, parts)
    name = node.args["expression"]
    if not isinstance(name, exp.Identifier):
        raise binder.text.unsupported(node, f"{name.sql(dialect='spark')} after a dot")
    value = binder.bind(node.this)
    node.meta[OF_MAP] = kind_of(value.type) == "p"
    return field_of(binder.text, node, value, name.name)


def _path(node: exp.Expr) -> tuple[str, ...] | None:
    """The names of a value that is written with names and dots only; None of another one."""
    inner = node.unnest()
    if isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star):
        return parts_of(inner)
    if isinstance(inner, exp.Dot) and isinstance(inner.args["expression"], exp.Identifier):
        before = _path(inner.this)
        return None if before is None else (*before, inner.args["expression"].name)
    return None


def bracket(binder: Binder, node: exp.Expr) -> Scalar:
    """``value[index]``."""
    indexes = node.expressions
    if node.args.get("json_access"):
        raise binder.text.unsupported(node, _STEP, _STEPS)
    if len(indexes) != 1 or isinstance(indexes[0], exp.Slice | exp.Star):
        raise binder.text.error(node, "brackets take one place of an array, or one key of a map")
    value = binder.bind(node.this)
    node.meta[OF_MAP] = kind_of(value.type) == "p"
    return element_of(binder.text, node, value, binder.bind(indexes[0]))


_STEP = "this step of a path after a colon"
_STEPS = "a step is a name, a whole number or a text in single quotes: value:name[0]['name']"


def in_variant(binder: Binder, node: exp.Expr) -> Scalar:
    """Bind ``value:name.name[0]['name']``, which Spark reads as ``variant_get``."""
    value = binder.bind(node.this)
    if kind_of(value.type):
        hint = "write parse_json(text):name, or get_json_object(text, '$.name') for a text"
        raise binder.text.error(
            node, f"a path after a colon needs a VARIANT, not {value.type}", hint
        )
    path = "$" + "".join(map(partial(_step, binder, node), node.expression.expressions[1:]))
    return call(
        binder, node, "variant_get", (value, Literal(path, STRING), Literal("variant", STRING))
    )


def _step(binder: Binder, node: exp.Expr, part: exp.Expr) -> str:
    """Return a step of a path, as Spark's paths have it."""
    if isinstance(part, exp.JSONPathKey) and isinstance(part.this, str):
        if "'" in part.this:
            raise binder.text.error(node, "a quote in a path after a colon", "use variant_get")
        return f"['{part.this}']" if part.args.get("quoted") else f".{part.this}"
    if isinstance(part, exp.JSONPathSubscript) and isinstance(part.this, int) and part.this >= 0:
        return f"[{part.this}]"
    raise binder.text.unsupported(node, _STEP, _STEPS)


def note_path(scope: Scope, node: exp.Column) -> None:
    """Write on a column with fields what Spark calls it inside of an expression: ``geo.city``, and
    ``m[k]`` of a map; without the table before it. Names that are not in reach, and of outer
    queries, are left as they are."""
    parts = parts_of(node)
    found, fields = scope.meaning(parts)
    if not found:
        return
    shown, type_ = parts[len(parts) - len(fields) - 1], found[0].column.type
    for name in fields:
        shown, type_ = _named(shown, type_, name)
    node.meta[PATH], node.meta[FIELD] = shown, bool(fields)


def _named(shown: str, type_: DataType, name: str) -> tuple[str, DataType]:
    """Return what a part of a value is called, and its type; that of the value where it has
    none."""
    if kind_of(type_) == "p":
        return f"{shown}[{name}]", map_types(type_)[1]
    inside = element_type(type_) if kind_of(type_) == "a" else type_
    types = {field.lower(): of_field for field, of_field in struct_fields(inside)}
    return f"{shown}.{name}", types.get(name.lower(), type_)
