"""The columns of a Delta table, by the schema that its log has as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from forerun.planner.algebra.types import field_text
from forerun.planner.contract import ColumnSpec

if TYPE_CHECKING:
    from forerun.include.sources.tables.other_names import OtherNames, Path

Schema = Mapping[str, Any]
_PHYSICAL = "delta.columnMapping.physicalName"
_WORDS = {"long": "BIGINT", "integer": "INT", "short": "SMALLINT", "byte": "TINYINT"}
"""The types that SQL calls otherwise than the log."""


def columns_of(schema: Schema) -> tuple[ColumnSpec, ...]:
    """Return the columns as Spark would declare them."""
    return tuple(
        ColumnSpec(name=field["name"], type=_type(field["type"]), nullable=field["nullable"])
        for field in schema["fields"]
    )


def _type(kind: Any) -> str:
    match kind:
        case {"type": "struct", "fields": fields}:
            inside = (field_text(field["name"], _type(field["type"])) for field in fields)
            return f"STRUCT<{', '.join(inside)}>"
        case {"type": "array", "elementType": element}:
            return f"ARRAY<{_type(element)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"MAP<{_type(key)}, {_type(value)}>"
    return _WORDS.get(kind, str(kind).upper())


def names_in_log(schema: Schema) -> dict[str, str]:
    """Return the columns by the names that the log has for them, where it has column mapping."""
    return {field["metadata"].get(_PHYSICAL, field["name"]): field["name"]
            for field in schema["fields"]}  # fmt: skip


def other_names(schema: Schema) -> OtherNames | None:
    """Return the names of a table with column mapping; None if its files have them, too."""
    called = dict(_called(schema, ()))
    if all(path[-1] == name for path, name in called.items()):
        return None
    from forerun.include.sources.tables.other_names import OtherNames

    by_column = {
        name: repr(sorted(pair for pair in called.items() if pair[0][0] == path[0]))
        for path, name in called.items()
        if len(path) == 1
    }
    return OtherNames(by_column, lambda path, _: called.get(path), everywhere=True)


def _called(kind: Any, above: Path) -> Iterator[tuple[Path, str]]:
    """Yield the fields of a type, nested ones too: the path by which data files have them, and the
    name of the table."""
    match kind:
        case {"type": "struct", "fields": fields}:
            for field in fields:
                inside = field["metadata"].get(_PHYSICAL, field["name"])
                yield (*above, inside), field["name"]
                yield from _called(field["type"], (*above, inside))
        case {"type": "array", "elementType": element}:
            yield from _called(element, (*above, "element"))
        case {"type": "map", "keyType": key, "valueType": value}:
            yield from _called(key, (*above, "key"))
            yield from _called(value, (*above, "value"))
