"""Scalars in few words, for tests of relations."""

from __future__ import annotations

from forerun.planner.algebra.scalar import Call, Literal, Scalar
from forerun.planner.algebra.types import BIGINT, BOOLEAN, DataType


def literal(text: str | None, type_: DataType = BIGINT) -> Literal:
    return Literal(text, type_)


def call(name: str, *args: Scalar) -> Call:
    """A predicate."""
    return Call(name, args, BOOLEAN)
