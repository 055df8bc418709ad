"""The sub-plans that reports of a group have in common, which a stage reads in place of computing
them."""

from __future__ import annotations

from dataclasses import dataclass

from forerun.planner.algebra.relational import Project, Relation, Scan
from forerun.planner.contract.plan_v1 import CommonSubplan, FamilyInput, SourceInput
from forerun.planner.materialize.computed_parts import Part


@dataclass(frozen=True, slots=True)
class CommonPart:
    """A part of a plan that is to be read as a common sub-plan. ``first``: this plan's run computes
    it and holds it for the others."""

    part: Part
    subplan: CommonSubplan
    first: bool


@dataclass(frozen=True, slots=True)
class CommonRead:
    """A common sub-plan as a run reads it: a leaf that has the columns of the part which it stands
    for. Each time it is read spares ``each``; the run that computes and holds it for the others
    pays ``once`` for that. Both are in millionths of a CPU second."""

    subplan: CommonSubplan
    leaf: Scan
    each: float
    once: float


class CommonReads:
    """The common sub-plans that one stage reads."""

    def __init__(self, paid: set[str]) -> None:
        """``paid``: the views that the run has paid for by then; it is added to."""
        self._paid = paid
        self._read: dict[str, CommonRead] = {}
        self.spared = 0.0

    def read(self, one: CommonRead) -> Scan:
        """Return the leaf that reads a common sub-plan, and count what it spares."""
        view = one.subplan.view
        self._read[view] = one
        self.spared += one.each
        if view not in self._paid:
            self._paid.add(view)
            self.spared -= one.once
        return one.leaf

    def is_read_by(self, relation: Relation) -> bool:
        """Return whether a relation is one of these views as it lies, or columns of it."""
        while isinstance(relation, Project):
            relation = relation.input
        return isinstance(relation, Scan) and relation.source in self._read

    @property
    def subplans(self) -> tuple[CommonSubplan, ...]:
        """The sub-plans, by name."""
        return tuple(self._read[view].subplan for view in sorted(self._read))

    @property
    def inputs(self) -> dict[str, SourceInput | FamilyInput]:
        """The views that they read, by name."""
        return {item.view: item for one in self._read.values() for item in one.subplan.inputs}
