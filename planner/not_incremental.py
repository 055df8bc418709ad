"""Find the operators of a query that wait for the final run, and say why."""

from __future__ import annotations

from collections.abc import Mapping

from forerun.planner.algebra.describe import label
from forerun.planner.algebra.relational import Relation, walk
from forerun.planner.contract.plan_v1 import NotIncremental
from forerun.planner.errors import Reason
from forerun.planner.materialize.candidate import Candidate
from forerun.planner.memo.groups import GroupId, Role
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.tree import groups_of
from forerun.planner.rules.incremental.memo_rules import reason


def not_incremental(
    relation: Relation, memo: Memo, candidate: Candidate, in_use: frozenset[str]
) -> tuple[NotIncremental, ...]:
    """Operators of the chosen plan that wait for the final run, each with its reason: those of the
    query, parents first, then those that the plan has in their place. ``in_use``: the rules that
    there were."""
    waiting = []
    early = _worked(memo, candidate, early=True)
    planned = early | _worked(memo, candidate)
    reasons: dict[int, Reason | None] = {}
    nodes = list(walk(relation))
    groups = groups_of(memo, relation)
    early |= _below_whole(nodes, groups, memo, candidate)
    for node in reversed(nodes):
        tvr = memo.tvr_of(groups[id(node)])
        if tvr is None or not tvr.changing or not node.inputs:
            continue
        below = any(reasons.get(id(child)) is not None for child in node.inputs)
        own = None if tvr.has_delta else reason(memo, next(memo.alternatives(tvr.new)).node, in_use)
        reasons[id(node)] = own or (Reason.INPUT_WAITS if below and not tvr.has_delta else None)
    for node in nodes:
        tvr = memo.tvr_of(groups[id(node)])
        if tvr is None or not tvr.changing or not node.inputs:
            continue
        if candidate.extracted is not None and tvr.id not in planned:
            continue
        if tvr.id in early or not early.isdisjoint(tvr.roles.get((Role.CONTENDERS, None), ())):
            continue
        why = reasons[id(node)] or Reason.COST
        waiting.append(NotIncremental(operator=label(node), reason=why))
    known = {tvr.id for tvr in map(memo.tvr_of, groups.values()) if tvr is not None}
    for tvr in memo.tvrs:
        if tvr.changing and tvr.id in planned - early - known:
            node = next(memo.alternatives(tvr.new)).node
            own = None if tvr.has_delta else reason(memo, node, in_use) or Reason.INPUT_WAITS
            if node.inputs:
                waiting.append(NotIncremental(operator=label(node), reason=own or Reason.COST))
    return tuple(dict.fromkeys(waiting))


def _below_whole(
    nodes: list[Relation], groups: Mapping[int, GroupId], memo: Memo, candidate: Candidate
) -> set[int]:
    """TVRs of what an earlier run has kept whole, and of all that it was made of."""
    if candidate.extracted is None or not candidate.extracted.gone_on:
        return set()
    whole = {memo.leader(group) for group in candidate.extracted.gone_on}
    tops = (node for node in nodes if memo.leader(groups[id(node)]) in whole)
    below = (memo.tvr_of(groups[id(node)]) for top in tops for node in walk(top))
    return {tvr.id for tvr in below if tvr is not None}


def _worked(memo: Memo, candidate: Candidate, *, early: bool = False) -> set[int]:
    """TVRs of which the plan computes some version, with ``early`` before the final run."""
    if candidate.extracted is None:
        return set()
    last = len(candidate.extracted.solution.spans) - 1
    groups = {group for index, group in candidate.extracted.worked if not early or index < last}
    return {
        tvr.id
        for tvr in memo.tvrs
        if any(memo.leader(group) in groups for group in tvr.edges.values())
    }
