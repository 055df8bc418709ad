"""A report in one file: its SQL, and above it in a comment the fields of its spec, in YAML.

::

    /*---
    deadline: "30:00"
    sources:
      orders:
        path: s3://shop/orders/{ds}
        columns: {id: BIGINT NOT NULL, total: "DECIMAL(12,2)"}
        complete_when: {MarkerFile: {}}
    policy: {runs: [{at: "12:00", weight: 0.3}, {at: "24:00"}]}
    ---*/
    SELECT ...

The fields are those of :class:`forerun.include.reports.spec.ReportSpec`; a record of one of several
kinds is written under the name of its class. A report without a name has that of its file.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

from forerun.include.reports.spec import ReportSpec
from forerun.include.reports.values.fields import SpecError
from forerun.planner.errors import ForerunError

_BLOCK = re.compile(r"\s*/\*---[ \t]*\n(.*?)\n---\*/", re.DOTALL)
_OPTIONS = "dag"
"""The key of what is no field of the report: options of the DAG and its tasks."""

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report as its file says it, with the ``options`` of its DAG."""

    spec: ReportSpec
    options: Mapping[str, Any] = field(default_factory=dict)


def has_front_matter(path: Path) -> bool:
    """Return whether a SQL file begins with the fields of a report; not if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").lstrip().startswith("/*---")
    except (OSError, UnicodeDecodeError):
        return False


def read_report_file(path: Path) -> ReportFile:
    """Read a report from a SQL file with front matter.

    Raises :class:`SpecError` that names the file, the line and the field of what is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path} cannot be read: {error}", hint="Look at the file.") from None
    found = _BLOCK.match(text)
    if found is None:
        raise SpecError(
            f"{path} does not begin with the fields of a report",
            hint="Begin it with /*--- and end them with ---*/, each on a line of its own.",
        )
    first = text.count("\n", 0, found.start(1)) + 1
    given, lines = _parse(path, found[1], first)
    options = given.pop(_OPTIONS, None) or {}
    given.setdefault("name", path.stem)
    # The text keeps its lines, so that an error of the SQL names the line of the file.
    given["sql"] = "\n" * text.count("\n", 0, found.end()) + text[found.end() :]
    return ReportFile(build_report(given, str(path), lines), options)


def build_report(
    given: dict[str, Any], where: str, lines: Mapping[Place, int] | None = None
) -> ReportSpec:
    """Build a report from its fields as YAML or JSON has them: records of one of several kinds
    under the name of their class, sources by their names. ``where`` names what the fields stand in,
    and ``lines`` on which line of it each does.

    Raises :class:`SpecError` that names all of that.
    """
    path, lines = where, dict(lines or {})
    if isinstance(given.get("sources"), Mapping):
        for number, name in enumerate(given["sources"]):
            own = {place: line for place, line in lines.items() if place[:2] == ("sources", name)}
            lines |= {("sources", number, *place[2:]): line for place, line in own.items()}
        given["sources"] = [{"name": name, **one} for name, one in given["sources"].items()]
    try:
        return typing.cast(ReportSpec, _build(ReportSpec, given, (), path, lines))
    except _LocatedError:
        raise
    except ForerunError as error:
        raise SpecError(f"{path}: {error.message}", hint=error.hint) from None


class _LocatedError(SpecError):
    """An error that names its place already."""


def _parse(path: Path, text: str, first: int) -> tuple[dict[str, Any], dict[Place, int]]:
    """The fields, and on which line of the file each stands."""
    import yaml

    try:
        node, given = yaml.compose(text, Loader=yaml.SafeLoader), yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = first + mark.line if mark else first
        what = getattr(error, "problem", None) or "it is no YAML"
        raise SpecError(f"{path}, line {line}: {what}", hint="Correct the YAML there.") from None
    if not isinstance(given, dict):
        raise SpecError(f"{path}, line {first}: there are no fields", hint="Write name: value.")
    lines: dict[Place, int] = {}
    todo: list[tuple[Place, Any, Any]] = [((), node, node)]
    while todo:
        place, named, node = todo.pop()
        lines[place] = first + named.start_mark.line
        if isinstance(node, yaml.MappingNode):
            todo += [((*place, key.value), key, value) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            todo += [((*place, number), one, one) for number, one in enumerate(node.value)]
    return given, lines


def _build(kind: Any, given: Any, place: Place, path: str, lines: Mapping[Place, int]) -> Any:
    """A value of a declared type, records built from mappings."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _build(args[0], given, place, path, lines)
    if origin in (types.UnionType, typing.Union):
        return _build_one_of(args, given, place, path, lines)
    if origin is tuple and isinstance(given, list) and is_dataclass(args[0]):
        return [
            _build(args[0], one, (*place, number), path, lines) for number, one in enumerate(given)
        ]
    if not is_dataclass(kind) or not isinstance(given, Mapping):
        return given
    hints = typing.get_type_hints(kind, include_extras=True)
    values = {
        name: _build(hints[name], value, (*place, name), path, lines) if name in hints else value
        for name, value in given.items()
    }
    try:
        return typing.cast(type, kind)(**values)
    except _LocatedError:
        raise
    except TypeError as error:
        raise _located(path, lines, place, str(error), "Look at the names of the fields.") from None
    except ForerunError as error:
        named = next((name for name in values if f" {name}" in f" {error.message}"), None)
        at = (*place, named) if named else place
        raise _located(path, lines, at, error.message, error.hint) from None


def _build_one_of(
    kinds: tuple[Any, ...], given: Any, place: Place, path: str, lines: Mapping[Place, int]
) -> Any:
    records = {
        kind.__name__: kind for kind in kinds if is_dataclass(kind) and isinstance(kind, type)
    }
    if isinstance(given, str) and given in records:
        return _build(records[given], {}, place, path, lines)
    if isinstance(given, Mapping) and len(given) == 1 and next(iter(given)) in records:
        (name, values), *_ = given.items()
        return _build(records[name], values or {}, (*place, name), path, lines)
    if isinstance(given, Mapping) and records:
        if len(records) == 1:
            return _build(next(iter(records.values())), given, place, path, lines)
        raise _located(
            path, lines, place, f"{place[-1]} is none of its kinds",
            f"Write one of {', '.join(sorted(records))}, such as {min(records)}: {{}}.",
        )  # fmt: skip
    return given


def _located(
    path: str, lines: Mapping[Place, int], place: Place, message: str, hint: str
) -> _LocatedError:
    lined = (lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in lines)
    line, named = next(lined, None), ".".join(map(str, place))
    parts = (path, f"line {line}" if line else "", named)
    return _LocatedError(f"{', '.join(filter(None, parts))}: {message}", hint=hint)
