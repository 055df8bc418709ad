"""Plans to JSON and back: canonical bytes out, strict on the way in.

The shape is read off the dataclasses, so a field cannot be forgotten. A record that is one of
several kinds carries ``"kind_of"``, the class name. Unknown fields, missing fields, wrong types and
other versions are errors: a plan that is half understood must not run.
"""

from __future__ import annotations

import functools
import json
import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from planner.contract.plan_v1 import CONTRACT_VERSION, Plan
from planner.errors import ContractError

_TAG = "kind_of"


def encode_plan(plan: Plan) -> bytes:
    """Canonical JSON: sorted keys, no spaces to spare; the same plan gives the same bytes."""
    text = json.dumps(to_json(plan), sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


def decode_plan(data: bytes) -> Plan:
    """Read a plan. Raises :class:`ContractError` for anything this version does not know."""
    try:
        raw = json.loads(data)
    except ValueError as error:
        raise ContractError(
            f"the plan is not JSON: {error}",
            hint="It was truncated or overwritten; plan the run again.",
        ) from None
    version = raw.get("version") if isinstance(raw, dict) else None
    if version != CONTRACT_VERSION:
        raise ContractError(
            f"the plan has contract version {version!r}, this program reads {CONTRACT_VERSION}",
            hint="Run the same Forerun version that planned it, or plan the run again.",
        )
    return typing.cast(Plan, from_json(Plan, raw, "plan"))


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    """The types of a record's fields. To evaluate them for every record took most of the time."""
    return typing.get_type_hints(kind)


def to_json(value: Any, *, tagged: bool = False) -> Any:
    """A contract value as plain JSON values. ``tagged`` adds the class name."""
    if is_dataclass(value) and not isinstance(value, type):
        hints = _hints(type(value))
        record = {
            f.name: to_json(getattr(value, f.name), tagged=_is_union(hints[f.name]))
            for f in fields(value)
        }
        return {_TAG: type(value).__name__, **record} if tagged else record
    if isinstance(value, tuple):
        return [to_json(item, tagged=tagged) for item in value]
    return value


def from_json(kind: Any, raw: Any, path: str) -> Any:
    """Build a value of type ``kind`` from JSON values; ``path`` is for error messages."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        return _record(kind, raw, path)
    if origin is tuple:
        if not isinstance(raw, list):
            raise _wrong(path, "a list", raw)
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(from_json(args[0], item, f"{path}[{i}]") for i, item in enumerate(raw))
        if len(raw) != len(args):
            raise _wrong(path, f"{len(args)} items", raw)
        pairs = zip(args, raw, strict=True)
        return tuple(from_json(a, r, f"{path}[{i}]") for i, (a, r) in enumerate(pairs))
    if origin is typing.Literal:
        if raw not in args:
            raise _wrong(path, f"one of {', '.join(map(str, args))}", raw)
        return raw
    if origin in (types.UnionType, typing.Union):
        return _union(args, raw, path)
    if kind is float and isinstance(raw, int) and not isinstance(raw, bool):
        return float(raw)
    if not isinstance(raw, kind) or (kind is int and isinstance(raw, bool)):
        raise _wrong(path, kind.__name__, raw)
    return raw


def _union(args: tuple[Any, ...], raw: Any, path: str) -> Any:
    if raw is None and type(None) in args:
        return None
    records = {a.__name__: a for a in args if isinstance(a, type) and is_dataclass(a)}
    if not records:
        return _first_fit([a for a in args if a is not type(None)], raw, path)
    if len(records) == 1:  # optional: not tagged either, see _is_union
        return _record(next(iter(records.values())), raw, path)
    if not isinstance(raw, dict) or raw.get(_TAG) not in records:
        raise _wrong(path, f"a record of kind {' or '.join(sorted(records))}", raw)
    return _record(records[raw[_TAG]], {k: v for k, v in raw.items() if k != _TAG}, path)


def _first_fit(kinds: list[Any], raw: Any, path: str) -> Any:
    for kind in kinds[:-1]:
        try:
            return from_json(kind, raw, path)
        except ContractError:
            continue
    return from_json(kinds[-1], raw, path)


def _record(kind: type, raw: Any, path: str) -> Any:
    if not isinstance(raw, dict):
        raise _wrong(path, "an object", raw)
    hints = _hints(kind)
    known = {f.name: f for f in fields(kind)}
    if unknown := sorted(set(raw) - set(known)):
        raise ContractError(
            f"{path} has unknown fields: {', '.join(unknown)}",
            hint="It was written by another version; plan the run again.",
        )
    required = {
        n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING
    }
    if missing := sorted(required - set(raw)):
        raise ContractError(f"{path} lacks {', '.join(missing)}", hint="Plan the run again.")
    return kind(**{n: from_json(hints[n], raw[n], f"{path}.{n}") for n in known if n in raw})


def _is_union(hint: Any) -> bool:
    hint = typing.get_args(hint)[0] if typing.get_origin(hint) is tuple else hint
    return sum(is_dataclass(a) for a in typing.get_args(hint)) > 1


def _wrong(path: str, wanted: str, raw: Any) -> ContractError:
    shown = json.dumps(raw)[:60]
    return ContractError(f"{path} should be {wanted}, not {shown}", hint="Plan the run again.")
