"""Estimates how many rows a generator makes of one."""

from __future__ import annotations

from forerun.planner.algebra.functions import RANGE
from forerun.planner.algebra.scalar import Call, Literal, Scalar

FAN_OUT = 4.0
"""So many rows are taken to be made of one, where the call does not say."""


def rows_of_one(call: Call) -> float:
    """Return how many rows a generator makes of one: by its constants where they say it, else
    :data:`FAN_OUT`."""
    said = [_number(arg) for arg in call.args]
    if call.name == "stack":
        return float(said[0])
    if call.name == "json_tuple":
        return 1.0
    if call.name == "explode" and isinstance(of := call.args[0], Call) and of.name == "array":
        return float(len(of.args))
    if call.name != RANGE:
        return FAN_OUT
    if len(said) == 1:
        return float(max(0, said[0]))
    return float(len(range(said[0], said[1], said[2] if len(said) > 2 and said[2] else 1)))


def _number(arg: Scalar) -> int:
    whole = isinstance(arg, Literal) and arg.type.is_integer
    return int(arg.text or 0) if isinstance(arg, Literal) and whole else 0
