"""What explain is given: the plan, and how it was found. It reads these and nothing else."""

from __future__ import annotations

from typing import Protocol

from planner.algebra.relational import Relation
from planner.contract.plan_v1 import Plan
from planner.errors import Reason
from planner.materialize.artifacts import ArtifactFamilies
from planner.materialize.objective import MICRO as MICRO  # noqa: PLC0414 - all of explain uses it
from planner.materialize.opening import Decision
from planner.materialize.portfolio import Compared
from planner.rules.normalize.driver import AppliedRewrite
from planner.search.engine import Trace
from planner.temporal.group_sizes import GroupSizes
from planner.temporal.space import Space


class Found(Protocol):
    """A planning result, see :class:`planner.api.PlanResult`."""

    @property
    def plan(self) -> Plan: ...
    @property
    def relation(self) -> Relation: ...
    @property
    def space(self) -> Space: ...
    @property
    def group_sizes(self) -> GroupSizes: ...
    @property
    def families(self) -> ArtifactFamilies: ...
    @property
    def decision(self) -> Decision: ...
    @property
    def trace(self) -> Trace: ...
    @property
    def compared(self) -> Compared: ...
    @property
    def rewrites(self) -> tuple[AppliedRewrite, ...]: ...


REASONS = {
    Reason.OPERATOR: "there is no delta rule for this operator",
    Reason.INPUT_WAITS: "its input is only there in the final run",
    Reason.RETRACTING_INPUT: "its input takes rows back",
    Reason.AGGREGATE_FUNCTION: "an aggregate function does not merge",
    Reason.DISTINCT_AGGREGATE: "an aggregate counts distinct values",
    Reason.NO_EQUALITY: "the join has no equality to keep rows by",
    Reason.NULLS_MATCH: "an outer join's condition can be true for a row of NULLs",
    Reason.UNKNOWN_TYPE: "the type of a column is not known",
    Reason.NOT_DETERMINISTIC: "it may give another answer each time",
    Reason.ROUNDED: "what is above a floating-point sum is computed once",
    Reason.LIMIT: "ORDER BY and LIMIT need all rows",
    Reason.COST: "early work would cost more than it saves",
    Reason.NOT_IN_USE: "its delta rule is switched off, or is none of the method",
    Reason.NOTHING_GROWS: "no source that is read grows during the day",
    Reason.NO_OUTER_JOIN: "there is no outer join whose partners may still arrive",
    Reason.NO_INNER_JOIN: "no inner join reads a source that grows",
    Reason.UNGROUPED_JOIN: "two growing inputs are joined before both are grouped",
    Reason.BUILD_SIDE: "what grows is on the side of a join that has to be whole",
    Reason.UNGROUPED: "what grows reaches an operator that needs all rows before it is grouped",
}
"""What each reason code means, in words."""


def reason_text(code: str) -> str:
    """The meaning of a reason code; the code itself if a newer planner knows more."""
    known = {reason.value: text for reason, text in REASONS.items()}
    return known.get(code, code)
