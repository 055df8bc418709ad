"""The types of values that a file has as texts: those that every value of a column is of, and of
which each is written as that type is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from forerun.first_report.layout import NoTableError
from forerun.planner.algebra.types import field_text

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})\Z")
_POINT = re.compile(r"-?(0|[1-9][0-9]{0,14})\.([0-9]{1,8})\Z")
_FLOAT = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
    r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?\Z"
)
_ROOM = 4
"""Digits that a DECIMAL has before the point beyond those that are there."""


@dataclass(slots=True)
class Scalars:
    """The types that the texts of a column so far let it be. A number with leading zeros is a
    text."""

    kinds: tuple[str, ...] = ("BIGINT", "DECIMAL", "DOUBLE", "DATE", "BOOLEAN")
    whole: int = 1
    scale: int = 0
    seen: bool = False

    @property
    def type(self) -> str:
        """The narrowest of them; STRING where there is none, and of a column without values."""
        if not self.seen or not self.kinds:
            return "STRING"
        if self.kinds[0] != "DECIMAL":
            return self.kinds[0]
        return f"DECIMAL({self.whole + _ROOM + self.scale},{self.scale})"

    def take(self, text: str) -> None:
        """Look at one more value."""
        self.seen = True
        point = _POINT.match(text)
        if _WHOLE.match(text):
            digits = len(text.lstrip("-"))
            fits = {"BIGINT", "DECIMAL", "DOUBLE"} if digits <= 15 else {"BIGINT"}
            self.whole = max(self.whole, digits)
        elif point:
            fits = {"DECIMAL", "DOUBLE"}
            self.whole, self.scale = max(self.whole, len(point[1])), max(self.scale, len(point[2]))
        elif _FLOAT.match(text) and not text.lstrip("-").startswith("00"):
            fits = {"DOUBLE"} if "." in text or "e" in text.lower() else set()
        elif _DATE.match(text):
            fits = {"DATE"}
        else:
            fits = {"BOOLEAN"} if text in ("true", "false") else set()
        if not fits.issuperset(self.kinds):
            self.kinds = tuple(kind for kind in self.kinds if kind in fits)


class Number(str):
    """The text of a number of JSON, which a text in quotes is none of."""

    __slots__ = ()


@dataclass(slots=True)
class Json:
    """The values of JSON that stood in one place so far, and those inside of them."""

    forms: set[str] = field(default_factory=set)
    numbers: Scalars = field(default_factory=Scalars)
    times: set[str] = field(default_factory=set)
    inside: dict[str, Json] = field(default_factory=dict)

    def take(self, value: Any) -> None:
        """Look at one more value, as Python's reader gives it, numbers as :class:`Number`."""
        match value:
            case None:
                return
            case bool():
                self.forms.add("truths")
            case Number():
                self.forms.add("numbers")
                self.numbers.take(value)
            case str():
                self.forms.add("texts")
                self.times.add(_time(value))
            case list():
                self.forms.add("arrays")
                for each in value:
                    self.inside.setdefault("", Json()).take(each)
            case dict():
                self.forms.add("objects")
                for name, each in value.items():
                    self.inside.setdefault(name, Json()).take(each)

    @property
    def type(self) -> str:
        """The type that all of them are of. Raises :class:`NoTableError` where there is none."""
        match sorted(self.forms):
            case []:
                return "STRING"
            case ["truths"]:
                return "BOOLEAN"
            case ["texts"]:
                return self.times.copy().pop() if len(self.times) == 1 else "STRING"
            case ["arrays"]:
                return f"ARRAY<{self.inside.get('', Json()).type}>"
            case ["objects"] if self.inside:
                fields = (field_text(name, each.type) for name, each in self.inside.items())
                return f"STRUCT<{', '.join(fields)}>"
            case ["numbers"] if (kind := self.numbers.type) != "STRING":
                return kind
            case ["numbers"]:
                raise NoTableError("it has numbers that no type of Spark holds together")
            case forms:
                raise NoTableError(f"it is {' and '.join(forms)} in different places")


def _time(text: str) -> str:
    """The type of a time by its text, STRING for any other text."""
    if _DATE.match(text):
        return "DATE"
    moment = _MOMENT.match(text)
    if not moment:
        return "STRING"
    return "TIMESTAMP" if moment["zone"] else "TIMESTAMP_NTZ"
