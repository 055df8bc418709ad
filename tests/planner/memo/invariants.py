"""What must hold of every memo, whatever rules have fired."""

from __future__ import annotations

from forerun.planner.algebra.relational import Version
from forerun.planner.memo.groups import View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Reference


def check_memo(memo: Memo) -> None:
    """Raises ``AssertionError`` that names the group or TVR."""
    seen: dict[object, int] = {}
    for group in memo.live_groups():
        live = list(memo.alternatives(group.id))
        assert live, f"group {group.id} has no expression"
        for expression in live:
            what = f"expression {expression.id} of group {group.id}, by {expression.origin!r}"
            assert memo.leader(expression.group) == group.id, what
            assert expression.node.columns == group.columns, what
            assert expression.node not in seen, f"{what} is expression {seen[expression.node]}"
            seen[expression.node] = expression.id
            for given in expression.node.inputs:
                assert isinstance(given, Reference), what
                below = memo.group(given.group)
                assert below.id == given.group, f"{what} reads a group that was merged"
                assert below.columns == given.given, what
                assert not (below.step and given.before), f"{what} reads a step as of before"
                assert below.id != group.id or given.before, f"{what} reads its own group"
                assert expression.id in below.parents, f"{what} is no parent of {below.id}"
                if not group.step:
                    assert not below.step, f"{what}: a snapshot is made of a step"
                    assert not given.before, f"{what}: a snapshot is made of two instants"
    for tvr in memo.tvrs:
        if memo.tvr_of(tvr.new) is not tvr:
            continue
        rows = memo.group(tvr.new).columns
        weighted = rows if tvr.weight is None else (*rows, tvr.weight)
        wanted = {
            (Version.NEW, View.ROWS): rows,
            (Version.DELTA, View.ROWS): weighted,
            (Version.NEW, View.WEIGHTED): weighted,
        }
        for edge, group in tvr.edges.items():
            version, view = edge
            step = version is Version.DELTA or view is View.SPLIT
            assert memo.group(group).step == step, f"TVR {tvr.id} {edge}"
            if edge in wanted:
                assert memo.group(group).columns == wanted[edge], f"TVR {tvr.id} {edge}"
            elif (Version.NEW, view) in tvr.edges:
                whole = memo.group(tvr.edges[Version.NEW, view]).columns
                assert memo.group(group).columns == whole, f"TVR {tvr.id} {edge}"
        assert tvr.changing or not tvr.has_delta, f"TVR {tvr.id} is static and has a delta"
