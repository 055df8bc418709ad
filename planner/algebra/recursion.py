"""WITH RECURSIVE as an operator: rows that are made of rows made before, until none is new."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from forerun.planner.algebra.expressions import scalars_of
from forerun.planner.algebra.node import Relation, require_distinct, walk
from forerun.planner.algebra.scalar import Scalar
from forerun.planner.algebra.types import Column


@dataclass(frozen=True, slots=True)
class RecursiveSteps:
    """The rows that a recursion begins with, and those that a ``step`` makes of
    the rows of the step before, which it scans by the ``name`` of the recursion and the names of
    its ``columns``. Both scan tables by the names of these."""

    name: str
    columns: tuple[str, ...]
    first: Relation
    step: Relation


@dataclass(frozen=True, eq=False)
class Recursion(Relation):
    """All rows of all steps. The tables that they scan are the inputs (``read``), which no rewrite
    reaches into: what is computed is printed as it was written, and the engine goes on until a step
    makes no rows. It is for tables that do not change during the day; over others, a step more may
    make any row, and nothing is known early."""

    read: tuple[Relation, ...]
    made: tuple[Column, ...]
    steps: RecursiveSteps

    def __post_init__(self) -> None:
        require_distinct("Recursion", self.made)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.made

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.read

    def with_inputs(self, inputs: tuple[Relation, ...]) -> Relation:
        return replace(self, read=inputs)

    def inside(self) -> Iterator[Scalar]:
        """Yield the expressions of its steps."""
        for relation in (self.steps.first, self.steps.step):
            for node in walk(relation):
                yield from scalars_of(node)
