"""The values of named parameters, as Python values that Spark gives the type that is declared.

``spark.sql(text, args=...)`` takes Python values and gives each the type of its Spark literal: an
integer is INT if it fits, otherwise BIGINT; a Decimal has the digits that it is written with. So a
declared type must be the one that Spark will give, and is checked here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

from forerun.planner.contract.plan_v1 import Parameter
from forerun.planner.errors import ParameterError

Value = str | bool | int | float | Decimal | date | datetime
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?", re.ASCII)


def value_of(parameter: Parameter) -> Value:
    """The value that Spark is given. Raises :class:`forerun.planner.errors.ParameterError` for a
    type that parameters do not have, and for a text that is no value of its type."""
    read = _READERS.get(parameter.type)
    if read is None:
        raise ParameterError(
            f"parameter {parameter.name} has the type {parameter.type!r}",
            hint=f"A parameter has one of the types {', '.join(TYPES)}.",
        )
    try:
        return read(parameter.value)
    except ValueError as error:
        raise ParameterError(
            f"parameter {parameter.name}: {parameter.value!r} is no {parameter.type}"
            + (f" ({error})" if str(error) else ""),
            hint="Write the value as Spark prints it, such as 2026-01-31, 2026-01-31 14:00:00 (in "
            "UTC), 12.50 or true.",
        ) from None


def _matching(pattern: str, text: str) -> str:
    if not re.fullmatch(pattern, text, re.ASCII):
        raise ValueError
    return text


def _boolean(text: str) -> bool:
    return _matching("true|false", text) == "true"


def _int(text: str) -> int:
    number = int(_matching(r"-?\d{1,20}", text))
    if not -(2**31) <= number < 2**31:
        raise ValueError("it needs a BIGINT")
    return number


def _bigint(text: str) -> int:
    number = int(_matching(r"-?\d{1,20}", text))
    if -(2**31) <= number < 2**31:
        raise ValueError("Spark takes a number of this size for an INT: declare it so")
    if not -(2**63) <= number < 2**63:
        raise ValueError("it has more than 64 bits")
    return number


def _double(text: str) -> float:
    number = float(_matching(r"-?\d+(\.\d+)?([eE][+-]?\d{1,3})?", text))
    if not math.isfinite(number):
        raise ValueError("it is out of range")
    return number


def _decimal(text: str) -> Decimal:
    number = Decimal(_matching(r"-?\d+(\.\d+)?", text))
    if len(number.as_tuple().digits) > 38:
        raise ValueError("it has more than 38 digits")
    return number


def _date(text: str) -> date:
    return date.fromisoformat(_matching(r"\d{4}-\d\d-\d\d", text))


def _timestamp(text: str) -> datetime:
    if not _MOMENT.fullmatch(text):
        raise ValueError
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


_READERS: Mapping[str, Callable[[str], Value]] = {
    "STRING": str,
    "BOOLEAN": _boolean,
    "INT": _int,
    "BIGINT": _bigint,
    "DOUBLE": _double,
    "DECIMAL": _decimal,
    "DATE": _date,
    "TIMESTAMP": _timestamp,
}
TYPES = tuple(_READERS)
"""The types that a parameter may have."""
