"""Expectations as data: what must hold of a delivery or of a result.

The names and arguments are those of Great Expectations (``expect_column_values_to_not_be_null``,
``column="id"``). This module only carries them; the Spark job evaluates them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from planner.errors import ForerunError

Scalar = str | int | float | bool | None
Argument = str | int | float | bool | tuple[Scalar, ...] | None
Severity = Literal["critical", "warning"]

_NAME = re.compile(r"^expect_[a-z0-9_]+$")


class ExpectationError(ForerunError):
    """An expectation that cannot be read: its name, an argument or its severity."""

    code = "expectation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One expectation. ``critical`` stops publishing, ``warning`` publishes and says so."""

    type: str
    arguments: tuple[tuple[str, Argument], ...] = ()
    severity: Severity = "critical"

    def __post_init__(self) -> None:
        if not _NAME.match(self.type):
            raise ExpectationError(
                f"{self.type!r} is not the name of an expectation",
                hint="Write it as Great Expectations does, such as "
                "expect_column_values_to_not_be_null.",
            )
        if self.severity not in ("critical", "warning"):
            raise ExpectationError(
                f"{self.type}: severity {self.severity!r} is unknown",
                hint="Use critical (stops publishing) or warning (publishes and says so).",
            )

    def argument(self, name: str) -> Argument:
        """The value of an argument, None when it is not given."""
        return dict(self.arguments).get(name)


def expect(name: str, /, *, severity: Severity = "critical", **arguments: object) -> Expectation:
    """Write an expectation as a call: ``expect("expect_column_to_exist", column="id")``.

    Raises :class:`ExpectationError` for an argument that is not a JSON scalar or a list of them.
    """
    return Expectation(
        type=name,
        arguments=tuple((key, _argument(name, key, arguments[key])) for key in sorted(arguments)),
        severity=severity,
    )


def _argument(name: str, key: str, value: object) -> Argument:
    if isinstance(value, list | tuple):
        return tuple(_scalar(name, key, item) for item in value)
    return _scalar(name, key, value)


def _scalar(name: str, key: str, value: object) -> Scalar:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise ExpectationError(
        f"{name}: argument {key} is a {value.__class__.__name__}",
        hint="Arguments are texts, numbers, booleans, None, or lists of these.",
    )
