"""Plans to JSON and back: canonical bytes out, strict on the way in.

The shape is read off the dataclasses, so a field cannot be forgotten. A record that is one of
several kinds carries ``"kind_of"``, the class name. Unknown fields, missing fields, wrong types,
numbers out of range and other versions are errors: a plan that is half understood must not run.
Only a field that was added to a shape later (:func:`forerun.planner.contract.plan_v1.later`) may be
missing: it then has the value that documents without it have always meant.
"""

from __future__ import annotations

import functools
import math
import re
import types
import typing
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from forerun.planner.contract.plan_v1 import CONTRACT_VERSION, LARGEST, LATER, Plan
from forerun.planner.contract.seal import naming_writer, seal, shown, unseal
from forerun.planner.errors import ContractError

_TAG = "kind_of"
_SURROGATE = re.compile("[\ud800-\udfff]")


def encode_plan(plan: Plan) -> bytes:
    """Canonical JSON with a checksum; the same plan gives the same bytes."""
    return seal(to_json(plan))


def decode_plan(data: bytes) -> Plan:
    """Read a plan. Raises :class:`ContractError` for anything this version does not know."""
    with naming_writer(data):
        raw, _ = unseal(data, "the plan")
        version = raw.get("version")
        if type(version) is not int or version != CONTRACT_VERSION:
            raise ContractError(
                f"the plan has contract version {version!r:.60}, this program reads "
                f"{CONTRACT_VERSION}",
                hint="Run the same Forerun version that planned it, or plan the run again.",
            )
        return typing.cast(Plan, from_json(Plan, raw, "plan"))


# What is known of a type is looked up once: to ask `typing` for every value took most of the time.


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """The types of a record's fields."""
    return typing.get_type_hints(kind)


@functools.cache
def _written(kind: type) -> tuple[tuple[str, bool], ...] | None:
    """Return (field, writes a kind tag?) pairs of a dataclass, or None if the type is not one."""
    if not is_dataclass(kind):
        return None
    return tuple((f.name, _is_union(_hints(kind)[f.name])) for f in fields(kind))


@functools.cache
def _is_record(kind: type) -> bool:
    return is_dataclass(kind)


def _shape(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """The generic type that a type is made of, if any, and its arguments; of a record itself. (Not
    cached: unions are equal whatever the order of what they are made of, which counts here.)"""
    if isinstance(kind, type):
        return kind if _is_record(kind) else None, ()
    return getattr(kind, "__origin__", types.UnionType), kind.__args__


@functools.cache
def _read(kind: type, defaults: bool) -> tuple[dict[str, Any], frozenset[str]]:
    """The fields of a record with their types, and those that may not be missing."""
    hints = _hints(kind)
    required = (f.name for f in fields(kind) if not _may_lack(f, defaults))
    return {f.name: hints[f.name] for f in fields(kind)}, frozenset(required)


@functools.cache
def _plain(kind: type) -> tuple[tuple[str, Any, type | None, bool], ...]:
    """The fields of a record with their types; of those that hold a text, or a whole number, the
    plain type, and whether they may be NULL."""
    found = []
    for name, hint in _hints(kind).items():
        origin, args = _shape(hint)
        is_union = origin in (types.UnionType, typing.Union)
        held = [each for each in args if each is not type(None)] if is_union else [hint]
        plain = held[0] if len(held) == 1 and held[0] in (str, int) else None
        found.append((name, hint, plain, plain is not None and len(held) < len(args)))
    return tuple(found)


def to_json(value: Any, *, tagged: bool = False) -> Any:
    """A contract value as plain JSON values. ``tagged`` adds the class name."""
    kind: type = type(value)
    written = _written(kind)
    if written is not None:
        record = {name: to_json(getattr(value, name), tagged=tag) for name, tag in written}
        return {_TAG: kind.__name__, **record} if tagged else record
    if isinstance(value, tuple):
        return [to_json(item, tagged=tagged) for item in value]
    return value


def from_json(kind: Any, raw: Any, path: str, *, defaults: bool = False) -> Any:
    """Build a value of type ``kind`` from JSON values; ``path`` is for error messages.

    Raises :class:`ContractError` for anything else than that: no kind is converted to another,
    but for whole numbers where a float is wanted. Numbers are counts, sizes, costs and times, so
    they are finite and not negative; only where a field takes values of several kinds, as the
    arguments of an expectation do, may they be. With ``defaults``, for what people write by hand,
    every field that has a default may be left out, and numbers are for the type to check.
    """
    origin, args = _shape(kind)
    if origin is None:
        return _scalar(kind, raw, path, least=None if defaults else 0)
    if origin is kind:
        return _record(kind, raw, path, defaults)
    if origin is tuple:
        if not isinstance(raw, list):
            raise _wrong(path, "a list", raw)
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(
                from_json(args[0], item, f"{path}[{i}]", defaults=defaults)
                for i, item in enumerate(raw)
            )
        if len(raw) != len(args):
            raise _wrong(path, f"{len(args)} items", raw)
        pairs = zip(args, raw, strict=True)
        return tuple(
            from_json(a, r, f"{path}[{i}]", defaults=defaults) for i, (a, r) in enumerate(pairs)
        )
    if origin is typing.Literal:
        if not isinstance(raw, str) or raw not in args:
            raise _wrong(path, f"one of {', '.join(map(str, args))}", raw)
        return raw
    if origin in (types.UnionType, typing.Union):
        return _union(args, raw, path, defaults)
    raise _wrong(path, str(kind), raw)


def _scalar(kind: Any, raw: Any, path: str, *, least: int | None) -> Any:
    """A text, a truth value, or a number from ``least`` (if any) to what 64 bits hold."""
    if kind in (int, float) and type(raw) is int:
        if least is not None and not least <= raw <= LARGEST:
            raise _wrong(path, f"a number from {least} to {LARGEST}", raw)
        try:
            return kind(raw)
        except OverflowError:
            raise _wrong(path, "a number that a float can hold", raw) from None
    if type(raw) is not kind:
        raise _wrong(path, kind.__name__, raw)
    if kind is float and least is not None and not (math.isfinite(raw) and raw >= least):
        raise _wrong(path, f"a finite number from {least}", raw)
    if kind is str and not raw.isascii() and _SURROGATE.search(raw):
        raise _wrong(path, "text in Unicode", raw)
    return raw


def _union(args: tuple[Any, ...], raw: Any, path: str, defaults: bool) -> Any:
    if raw is None and type(None) in args:
        return None
    records = {a.__name__: a for a in args if _shape(a)[0] is a}
    if not records:
        return _first_fit([a for a in args if a is not type(None)], raw, path, defaults)
    if len(records) == 1:  # optional: not tagged either, see _is_union
        return _record(next(iter(records.values())), raw, path, defaults)
    tag = raw.get(_TAG) if isinstance(raw, dict) else None
    if not isinstance(tag, str) or tag not in records:
        raise _wrong(path, f"a record of kind {' or '.join(sorted(records))}", raw)
    named = {name: value for name, value in raw.items() if name != _TAG}
    return _record(records[tag], named, path, defaults)


def _first_fit(kinds: list[Any], raw: Any, path: str, defaults: bool) -> Any:
    if len(kinds) == 1:
        return from_json(kinds[0], raw, path, defaults=defaults)
    for kind in kinds:
        try:
            if kind in (int, float):
                return _scalar(kind, raw, path, least=-LARGEST - 1)
            return from_json(kind, raw, path, defaults=defaults)
        except ContractError:
            continue
    names = (getattr(kind, "__name__", str(kind)) for kind in kinds)
    raise _wrong(path, " or ".join(names), raw)


def _record(kind: type, raw: Any, path: str, defaults: bool) -> Any:
    if not isinstance(raw, dict):
        raise _wrong(path, "an object", raw)
    known, required = _read(kind, defaults)
    if not raw.keys() <= known.keys():
        unknown = sorted(raw.keys() - known.keys())
        raise ContractError(
            f"{path} has unknown fields: {', '.join(ascii(name)[1:-1] for name in unknown)[:200]}",
            hint="It was written by another version; plan the run again.",
        )
    if not raw.keys() >= required:
        missing = ", ".join(sorted(required - raw.keys()))
        raise ContractError(f"{path} lacks {missing}", hint="Plan the run again.")
    values = dict[str, Any]()
    for name, type_, plain, may_be_null in _plain(kind):
        if name not in raw:
            continue
        value = raw[name]
        # Most values of a large document, a pin of thousands of files, need no closer look.
        if value is None:
            is_right = may_be_null
        elif type(value) is plain:
            is_right = value.isascii() if isinstance(value, str) else _is_count(value)
        else:
            is_right = False
        values[name] = (
            value if is_right else from_json(type_, value, f"{path}.{name}", defaults=defaults)
        )
    return kind(**values)


def _is_count(value: Any) -> bool:
    """Return whether a number is one that a document may have where it may not be negative."""
    return bool(0 <= value <= LARGEST)


def _may_lack(field: Field[Any], defaults: bool) -> bool:
    if defaults:
        return field.default is not MISSING or field.default_factory is not MISSING
    return bool(field.metadata.get(LATER))


def _is_union(hint: Any) -> bool:
    hint = typing.get_args(hint)[0] if typing.get_origin(hint) is tuple else hint
    return sum(is_dataclass(a) for a in typing.get_args(hint)) > 1


def _wrong(path: str, wanted: str, raw: Any) -> ContractError:
    return ContractError(f"{path} should be {wanted}, not {shown(raw)}", hint="Plan the run again.")
