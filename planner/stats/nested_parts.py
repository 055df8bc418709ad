"""Estimates parts of nested values, and how many rows a generator makes of them.

What is known of a leaf of a column (:class:`forerun.planner.request.ColumnStats`) is known of it
wherever the column is taken apart: of a field, of an element, of the rows of ``explode``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from forerun.planner.algebra.nested import ELEMENT, FIELD, element_type, struct_fields
from forerun.planner.algebra.parts import ELEMENTS, KEYS, VALUES, Path, field_step
from forerun.planner.algebra.relational import Generate
from forerun.planner.algebra.scalar import Call, Literal, Ref, Scalar
from forerun.planner.algebra.type_kinds import kind_of
from forerun.planner.algebra.types import Column, ColumnId, DataType
from forerun.planner.request import ColumnStats
from forerun.planner.stats.fan_out import rows_of_one
from forerun.planner.stats.sample import distinct_values
from forerun.planner.stats.values import ColumnEstimate, Estimate, of_source, resized

Columns = Mapping[ColumnId, ColumnEstimate]
Parts = Mapping[Path, ColumnEstimate]
_REPEATED = (ELEMENTS, KEYS, VALUES)
_SAME_ELEMENTS = frozenset({
    "array_compact", "array_distinct", "array_sort", "filter", "map_filter", "shuffle", "slice",
    "sort_array",
})  # fmt: skip
"""Functions of an array, or of a map, that make one of some or all of its elements."""


def parts_of(scalar: Scalar, columns: Columns) -> Parts:
    """Return what is known of the leaves of a value, by their paths: the empty path for the value
    itself. Empty where nothing is known."""
    if isinstance(scalar, Ref):
        return columns[scalar.column.id].parts
    if not isinstance(scalar, Call) or not scalar.args:
        return {}
    if scalar.name in _SAME_ELEMENTS:
        return parts_of(scalar.args[0], columns)
    zipped = scalar.args[0] if scalar.name == "cast" else scalar  # a cast gives the fields names
    if isinstance(zipped, Call) and zipped.name == "arrays_zip":
        return _of_zipped(zipped, scalar.type, columns)
    taken = _TAKEN.get(scalar.name)
    return taken(scalar, parts_of(scalar.args[0], columns)) if taken else {}


def _below(parts: Parts, *steps: str, under: Path = ()) -> Parts:
    """The parts behind some steps, ``under`` another path."""
    count = len(steps)
    return {(*under, *path[count:]): one for path, one in parts.items() if path[:count] == steps}


def _of_field(call: Call, parts: Parts) -> Parts:
    name = call.args[1]
    step = field_step(name.text or "") if isinstance(name, Literal) else ""
    if kind_of(call.args[0].type) == "a":
        return _below(parts, ELEMENTS, step, under=(ELEMENTS,))
    return _below(parts, step)


def _of_element(call: Call, parts: Parts) -> Parts:
    return _below(parts, VALUES if kind_of(call.args[0].type) == "p" else ELEMENTS)


def _of_zipped(call: Call, type_: DataType, columns: Columns) -> Parts:
    """The parts of arrays that are zipped, as fields of the elements of an array of this type."""
    fields = struct_fields(element_type(type_))
    return {
        path: one
        for (name, _), array in zip(fields, call.args, strict=True)
        for path, one in _below(
            parts_of(array, columns), ELEMENTS, under=(ELEMENTS, field_step(name))
        ).items()
    }


_TAKEN: Mapping[str, Callable[[Call, Parts], Parts]] = {
    FIELD: _of_field,
    **dict.fromkeys((ELEMENT, "get", "element_at", "try_element_at"), _of_element),
    "map_keys": lambda _, parts: _below(parts, KEYS, under=(ELEMENTS,)),
    "map_values": lambda _, parts: _below(parts, VALUES, under=(ELEMENTS,)),
}
"""Functions that take a value apart: what is known of their result."""


def part_estimate(
    scalar: Scalar, column: Column, columns: Columns, rows: float
) -> ColumnEstimate | None:
    """Return the estimate of a part of a nested value over so many rows; None where nothing is
    known of it."""
    if not isinstance(scalar, Call) or not (parts := parts_of(scalar, columns)):
        return None
    leaf = parts.get(())
    if leaf is not None:
        distinct = min(leaf.distinct, max(1.0, rows))
        return leaf._replace(distinct=distinct, width=float(column.type.width), entries=1.0)
    most = min(max(one.distinct for one in parts.values()), max(1.0, rows))
    return ColumnEstimate(distinct=most, width=float(column.type.width), parts=parts)


def of_drawn(node: Generate, below: Estimate) -> Estimate | None:
    """Return the estimate of the elements of an array that is computed of each row, by a sample of
    the rows: how many there are, and how many different ones. The guess counts as much as one more
    row. None where files say more of it, or a sample nothing."""
    array, drawn = node.call.args[0], below.sample
    if node.call.name != "explode" or drawn is None or parts_of(array, below.columns):
        return None
    (made,) = node.made
    elements = drawn.elements(array, made.id, outer=node.outer)
    if elements is None:
        return None
    rows = below.rows * (elements.size + rows_of_one(node.call)) / (drawn.size + 1.0)
    values = distinct_values(elements.columns[made.id], rows) or 0.0  # 0: not known
    element = of_source(ColumnStats(distinct=values), made.type, rows, unique=False)
    columns = {**resized(below.columns, below.rows, rows), made.id: element}
    return Estimate(rows=rows, columns=columns, sample=elements)


def made_rows(node: Generate, columns: Columns) -> float:
    """Return how many rows a generator makes of one in the mean: by the leaves of what it takes
    apart, else by its constants. An array with nothing in it has one entry, which is NULL: so it
    makes no row where the fewest entries of a leaf are NULL."""
    parts = parts_of(node.call.args[0], columns) if _takes_apart(node) else {}
    if not parts:
        return rows_of_one(node.call)
    return max(0.0, _entries(parts) - _nothing(node, parts))


def _nothing(node: Generate, parts: Parts) -> float:
    """The mean entries of a row that stand for nothing, and make no row."""
    return 0.0 if node.outer else min(one.entries * one.nulls for one in parts.values())


def _entries(parts: Parts) -> float:
    """The mean entries of an array or a map: those of its leaves that lie in no other one."""
    repeated = {path: sum(step in _REPEATED for step in path) for path in parts}
    least = min(repeated.values())
    return min(one.entries for path, one in parts.items() if repeated[path] == least)


def made_columns(
    node: Generate, columns: Columns, rows: float, unknown: Callable[[Column], ColumnEstimate]
) -> dict[ColumnId, ColumnEstimate]:
    """Return the estimates of what a generator makes, over ``rows`` rows."""
    parts = parts_of(node.call.args[0], columns) if _takes_apart(node) else {}
    found = {column.id: unknown(column) for column in node.made}
    if not parts:
        return found
    mean = _entries(parts)
    made = node.made
    if node.call.name == "posexplode":
        place, *made_rest = made
        found[place.id] = ColumnEstimate(
            distinct=max(1.0, min(rows, 2.0 * mean)), low=0.0, high=2.0 * mean, width=4.0
        )
        made = tuple(made_rest)
    nothing = _nothing(node, parts)
    for column, steps in zip(made, _steps(node, made), strict=True):
        here = {
            path: _as_row(one, mean, nothing, rows) for path, one in _below(parts, *steps).items()
        }
        if leaf := here.get(()):
            found[column.id] = leaf._replace(width=found[column.id].width)
        elif here:
            found[column.id] = found[column.id]._replace(parts=here)
    return found


def _as_row(part: ColumnEstimate, mean: float, nothing: float, rows: float) -> ColumnEstimate:
    """A part of an element where the element is a row of its own, of ``mean`` less ``nothing`` of
    one row before."""
    left = max(part.entries - nothing, 1e-9)
    return part._replace(
        entries=left / max(mean - nothing, 1e-9),
        nulls=max(0.0, part.entries * part.nulls - nothing) / left,
        distinct=min(part.distinct, max(1.0, rows)),
    )


def _takes_apart(node: Generate) -> bool:
    return node.call.name in ("explode", "posexplode", "inline")


def _steps(node: Generate, made: tuple[Column, ...]) -> list[Path]:
    """The paths of the columns that a generator makes of the elements of its argument."""
    kind = node.call.args[0].type
    if node.call.name == "inline":
        return [(ELEMENTS, field_step(name)) for name, _ in struct_fields(element_type(kind))]
    return [(KEYS,), (VALUES,)] if kind_of(kind) == "p" else [(ELEMENTS,)] * len(made)
