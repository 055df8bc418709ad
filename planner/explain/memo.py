"""The memo as text: every group with its expressions, every TVR with its versions and roles."""

from __future__ import annotations

from collections.abc import Iterator

from forerun.planner.algebra.describe import label
from forerun.planner.memo.groups import Expression, Tvr
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference, Stamped
from forerun.planner.result import PlanResult


def render(found: PlanResult) -> str:
    """The whole memo of a plan, and what the search did to make it."""
    trace = found.trace
    tried, made = sum(trace.tried.values()), sum(trace.found.values())
    ended = "; the budget was spent" if trace.spent else ""
    memo = found.space.memo
    groups = sum(1 for _ in memo.live_groups())
    return "\n".join(
        [
            f"{groups} groups, {len(memo.expressions)} expressions, {len(memo.tvrs)} TVRs",
            f"{tried} tries of rules, {made} found something{ended}",
            *(f"  {name}: {trace.found.get(name, 0)} of {n}" for name, n in trace.tried.items()),
            f"{found.decision.evaluations} ways evaluated",
            "",
            text(memo),
        ]
    )


def text(memo: Memo) -> str:
    """Groups and TVRs, without figures."""
    return "\n".join([*_groups(memo), "", *_tvrs(memo)]) + "\n"


def _groups(memo: Memo) -> Iterator[str]:
    for group in memo.live_groups():
        kind = "step" if group.step else "snapshot"
        for number, expression in enumerate(memo.alternatives(group.id)):
            head = f"G{group.id} {kind}" if number == 0 else ""
            yield f"{head:<14} {expression_text(memo, expression)}"


def expression_text(memo: Memo, expression: Expression) -> str:
    """An operator over groups, and the rule that made it."""
    inputs = ", ".join(
        f"G{memo.leader(i.group)}{' before' if i.before else ''}"
        for i in expression.node.inputs
        if isinstance(i, Reference)
    )
    node = expression.node
    name = f"Stamped G{memo.leader(node.group)}" if isinstance(node, Stamped) else label(node)
    made = f"  by {expression.origin}" if expression.origin else ""
    return f"{name}{f' [{inputs}]' if inputs else ''}{made}"


def _tvrs(memo: Memo) -> Iterator[str]:
    for tvr in memo.tvrs:
        if memo.tvr_of(tvr.new) is not tvr:
            continue  # merged into another one
        yield f"TVR-{tvr.id} {_kind(tvr)}: {', '.join(_edges(memo, tvr))}"


def _kind(tvr: Tvr) -> str:
    if not tvr.changing:
        return "static"
    return "signed" if tvr.weight is not None else "append-only" if tvr.has_delta else "no delta"


def _edges(memo: Memo, tvr: Tvr) -> Iterator[str]:
    for (version, view), group in tvr.edges.items():
        yield f"{version.value} {view.value} G{memo.leader(group)}"
    for (role, updated), others in tvr.roles.items():
        of = "" if updated is None else f" for TVR-{updated}"
        yield f"{role.value}{of} {' '.join(f'TVR-{other}' for other in others)}"
