"""The reason codes of a plan, in words."""

from __future__ import annotations

from forerun.planner.errors import Reason

REASONS = {
    Reason.OPERATOR: "there is no delta rule for this operator",
    Reason.INPUT_WAITS: "its input is only there in the final run",
    Reason.RETRACTING_INPUT: "its input takes rows back",
    Reason.AGGREGATE_FUNCTION: "an aggregate function does not merge",
    Reason.DISTINCT_AGGREGATE: "an aggregate counts distinct values",
    Reason.NO_EQUALITY: "the join has no equality to keep rows by",
    Reason.NULLS_MATCH: "an outer join's condition can be true for a row of NULLs",
    Reason.MANY_JOINS: "outer joins of more than 12 relations, for the method ojv",
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
