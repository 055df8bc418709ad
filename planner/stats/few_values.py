"""Bounds how many values a call has, whatever it is called with."""

from __future__ import annotations

from forerun.planner.algebra.scalar import Call, Literal
from forerun.planner.stats.values import MANY_DISTINCT

_FEW = {"year": 30.0, "month": 12.0, "day": 31.0, "dayofweek": 7.0, "quarter": 4.0, "hour": 24.0}
"""Distinct answers of calendar functions; 30 years is a guess, the others are facts."""


def most_values(call: Call) -> float:
    """Return the most values that a call has. A remainder has the sign of what is divided, so a
    division by 7 leaves one of thirteen; ``pmod`` leaves one of seven."""
    by = call.args[1] if call.name in ("%", "pmod") and len(call.args) == 2 else None
    if isinstance(by, Literal) and by.type.is_integer and by.text:
        divisor = max(1.0, abs(float(by.text)))
        return divisor if call.name == "pmod" else 2.0 * divisor - 1.0
    return _FEW.get(call.name, MANY_DISTINCT)
