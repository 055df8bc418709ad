"""Takes the values that an author gives the fields of a report as the types that are declared.

A list is taken where a tuple is declared, a mapping where columns or named arguments are, a whole
number where a number is. Anything else of another type is a :class:`SpecError` that says what to
write, raised where the report is built and not hours later.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from forerun.include.reports.values.lengths import LENGTH, length_text
from forerun.planner.contract.plan_v1 import ColumnSpec
from forerun.planner.errors import ForerunError


class SpecError(ForerunError):
    """A report that cannot be run as it is written."""

    code = "report"


_SCALARS: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
}
_MOST_SHOWN = 40
_NOT_NULL = " NOT NULL"


def take_fields(record: Any, what: str) -> None:
    """Check every field of a frozen dataclass that is being built, and put the value in its
    declared type in its place. ``what`` names the record in errors, such as ``source orders``.

    Raises :class:`SpecError` for a value that cannot be taken as the declared type.
    """
    for name, taken in _taken(record, f"{what}: ").items():
        object.__setattr__(record, name, taken)


def label(kind: str, name: object) -> str:
    """Return how errors name a record: by its name, if that is a text; a wrong one is shown by its
    own error."""
    return f"{kind} {name}" if isinstance(name, str) and name else f"a {kind}"


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind, include_extras=True)


def _taken(record: Any, prefix: str) -> dict[str, Any]:
    """The fields of a record whose declared type needed another value, by name."""
    kind: type = type(record)
    hints = _hints(kind)
    given = {f.name: getattr(record, f.name) for f in fields(record)}
    taken = {name: _take(hints[name], value, prefix + name) for name, value in given.items()}
    return {name: value for name, value in taken.items() if value is not given[name]}


def _take(kind: Any, value: Any, where: str) -> Any:
    if LENGTH in getattr(kind, "__metadata__", ()):
        return _take(str, length_text(value, where), where)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return _take_items(kind, args, value, where)
    if origin is typing.Literal:
        if not isinstance(value, str):
            raise _wrong(kind, value, where)
        if value not in args:
            raise SpecError(f"{where} {value!r} is unknown", hint=f"Use {_described(kind)}.")
        return value
    if origin in (types.UnionType, typing.Union):
        return _take_first(kind, args, value, where)
    if is_dataclass(kind):
        return _take_record(kind, value, where)
    return _take_scalar(kind, value, where)


def _take_items(kind: Any, args: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if isinstance(value, Mapping) and args[-1] is Ellipsis:
        if args[0] is ColumnSpec:
            return _columns(value, where)
        if typing.get_origin(args[0]) is tuple:
            value = tuple(value.items())
    if not isinstance(value, list | tuple):
        raise _wrong(kind, value, where)
    if args[-1] is Ellipsis:
        taken = tuple(_take(args[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    elif len(args) == len(value):
        pairs = enumerate(zip(args, value, strict=True))
        taken = tuple(_take(each, item, f"{where}[{i}]") for i, (each, item) in pairs)
    else:
        raise _wrong(kind, value, where)
    if isinstance(value, tuple) and all(a is b for a, b in zip(taken, value, strict=True)):
        return value
    return taken


def _columns(given: Mapping[Any, Any], where: str) -> tuple[ColumnSpec, ...]:
    """Columns from ``{"id": "BIGINT NOT NULL", "shop": "STRING"}``."""
    columns = []
    for name, kind in given.items():
        name, kind = _take(str, name, f"{where}: a name"), _take(str, kind, f"{where}[{name!r}]")
        text = " ".join(kind.split())
        required = text.upper().endswith(_NOT_NULL)
        text = text[: -len(_NOT_NULL)] if required else text
        columns.append(ColumnSpec(name=name, type=text, nullable=not required))
    return tuple(columns)


def _take_first(kind: Any, args: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in args:
        return value
    for each in args:
        if isinstance(each, type) and type(value) is each:
            return _take(each, value, where)
    for each in args:
        if each is type(None):
            continue
        try:
            return _take(each, value, where)
        except SpecError:
            continue
    raise _wrong(kind, value, where)


def _take_record(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, kind):
        raise _wrong(kind, value, where)
    if hasattr(kind, "__post_init__"):
        return value  # it has checked itself
    changes = _taken(value, f"{where}.")
    return replace(value, **changes) if changes else value


def _take_scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise _wrong(kind, value, where) from None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _wrong(kind, value, where)
    if isinstance(value, str) and any("\ud800" <= sign <= "\udfff" for sign in value):
        raise SpecError(
            f"{where} has half of a character (a lone surrogate)", hint="Write it as valid text."
        )
    return value


def _wrong(kind: Any, value: Any, where: str) -> SpecError:
    if isinstance(value, type):
        shown = f"the class {value.__name__}"
        if value in _alternatives(kind):
            return SpecError(f"{where} is {shown}", hint=f"Write {value.__name__}(...).")
    elif value is None or isinstance(value, bool | int | float | str):
        text = repr(value)
        shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
    else:
        shown = f"a {type(value).__name__}"
    return SpecError(f"{where} is {shown}", hint=f"Write {_described(kind)}.")


def _alternatives(kind: Any) -> tuple[Any, ...]:
    args = typing.get_args(kind)
    return args if typing.get_origin(kind) in (types.UnionType, typing.Union) else (kind,)


def _described(kind: Any) -> str:
    """Say in words what an author writes for a declared type."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind is type(None):
        return "None"
    if origin is typing.Literal:
        return f"one of {', '.join(map(str, args))}"
    if origin is tuple and args[-1] is Ellipsis:
        if args[0] is ColumnSpec:
            return 'a list of ColumnSpec(...), or a mapping such as {"id": "BIGINT NOT NULL"}'
        if args[0] is str:
            return 'a list of texts, such as ["id"]'
        return f"a list, each item {_described(args[0])}"
    if origin is tuple:
        return f"a list of {len(args)}: {', '.join(map(_described, args))}"
    if origin in (types.UnionType, typing.Union):
        return " or ".join(map(_described, args))
    return f"{kind.__name__}(...)"
