"""Says whose field a keyword is that an author has given to the wrong record."""

from __future__ import annotations

import difflib
import functools
from dataclasses import fields
from typing import Any, TypeVar

from forerun.include.reports.values.fields import SpecError

_Record = TypeVar("_Record", bound=type)
_RECORDS: dict[str, frozenset[str]] = {}


def names_its_fields(kind: _Record) -> _Record:
    """Let a dataclass of a report refuse a keyword that is no field of it by a
    :class:`SpecError` that says which record has such a field, or which name is near, in place of
    Python's bare ``TypeError``."""
    own = _RECORDS[kind.__name__] = frozenset(field.name for field in fields(kind) if field.init)
    plain: Any = vars(kind)["__init__"]

    @functools.wraps(plain)
    def init(self: Any, *args: Any, **given: Any) -> None:
        for name in given:
            if name not in own:
                raise SpecError(
                    f"{kind.__name__} has no field {name}", hint=_hint(kind.__name__, name)
                )
        plain(self, *args, **given)

    setattr(kind, "__init__", init)  # noqa: B010 - mypy knows no such attribute of a type
    return kind


def _hint(record: str, name: str) -> str:
    others = sorted(other for other, names in _RECORDS.items() if name in names)
    if others:
        return f"It is a field of {' and of '.join(others)}."
    near = difflib.get_close_matches(name, _RECORDS[record], n=1)
    return f"Did you mean {near[0]}?" if near else f"It has {', '.join(sorted(_RECORDS[record]))}."
