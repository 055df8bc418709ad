"""What the groups of a memo stand for, by every expression that rules have found for them.

No plan, no engine: an expression is evaluated by the row interpreter over what its inputs stand
for, in a day of two runs. All expressions of a group must give the same bag, whatever rule made
them; and OLD + DELTA must be NEW for every time-varying relation.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from forerun.planner.algebra.relational import Relation, Scan, Version
from forerun.planner.memo.groups import Expression, GroupId, Tvr, View
from forerun.planner.memo.memo import Memo
from forerun.planner.memo.reference import Kept, Reference, Stamped
from forerun.planner.memo.relying import Relying
from forerun.planner.stages.build import in_run
from tests.oracles.interpreter import Inputs, SourceData, evaluate
from tests.oracles.values import Row, row_key

BASE, RUN = 1, 2
WEIGHT = "__w"


@dataclass
class Values:
    """``sources``: rows of each by the first and by the second run."""

    memo: Memo
    sources: dict[str, SourceData]
    _done: dict[tuple[GroupId, int], list[Row]] = field(default_factory=dict)
    _doing: set[tuple[GroupId, int]] = field(default_factory=set)
    _evaluated: dict[tuple[int, int], list[Row]] = field(default_factory=dict)

    def check(self) -> int:
        """Compare all expressions of all groups; how many there were."""
        compared = 0
        for group in list(self.memo.live_groups()):
            for run in (RUN,) if group.step else (BASE, RUN):
                rows = self.of(group.id, run)
                expected = self._bag(group.id, rows)
                for expression in self.memo.alternatives(group.id):
                    compared += 1
                    if (others := self.of_expression(expression, run)) is rows:
                        continue
                    found = self._bag(group.id, others)
                    assert found == expected, (
                        f"run {run}, expression {expression.id} of group {group.id} by "
                        f"{expression.origin!r}: {+(found - expected)} more, "
                        f"{+(expected - found)} less"
                    )
        for tvr in self.memo.tvrs:
            if self.memo.tvr_of(tvr.new) is tvr and tvr.has_delta:
                self._check_delta(tvr)
        return compared

    def _check_delta(self, tvr: Tvr) -> None:
        group = tvr.edges[Version.DELTA, View.ROWS]
        delta = self._bag(group, self.of(group, RUN))
        if tvr.weight is None:
            assert all(count > 0 for count in delta.values())
        old, new = (self._bag(tvr.new, self.of(tvr.new, run)) for run in (BASE, RUN))
        for row, count in delta.items():
            old[row] += count
        assert Counter({row: n for row, n in old.items() if n}) == new, f"TVR {tvr.id}"

    def of(self, group: GroupId, run: int) -> list[Row]:
        """The rows of a group, by the first expression that does not need the group itself."""
        group = self.memo.leader(group)
        at = (group, run)
        if at in self._done:
            return self._done[at]
        if at in self._doing:
            raise RecursionError(f"group {group} is made of itself")
        self._doing.add(at)
        try:
            for expression in self.memo.alternatives(group):
                try:
                    self._done[at] = self.of_expression(expression, run)
                    return self._done[at]
                except RecursionError:
                    continue
        finally:
            self._doing.discard(at)
        raise RecursionError(f"group {group} is only made of itself")

    def know(self, group: GroupId, run: int, rows: list[Row]) -> None:
        """Take these rows for those of a group, as where it is read from what runs have kept."""
        self._done[self.memo.leader(group), run] = rows

    def of_expression(self, expression: Expression, run: int) -> list[Row]:
        """The rows of an expression, evaluated once."""
        known = (expression.id, run)
        if known not in self._evaluated:
            self._evaluated[known] = self._evaluate(expression.node, run)
        return self._evaluated[known]

    def _evaluate(self, node: Relation, run: int) -> list[Row]:
        if isinstance(node, Stamped):
            return self._stamped(node)
        if isinstance(node, Kept):
            return self.of(node.group, BASE)
        if isinstance(node, Scan):
            data = self.sources[node.source]
            if node.version is Version.DELTA:
                return evaluate(node, Inputs({node.source: data}))
            rows = data.old + (data.delta if run == RUN else [])
            return evaluate(node, Inputs({node.source: SourceData(data.columns, rows)}))
        if isinstance(node, Relying):
            return self.of(node.inputs[0].group, run)
        given = {}
        for below in node.inputs:
            assert isinstance(below, Reference)
            given[id(below)] = self.of(below.group, BASE if below.before else run)
        return evaluate(in_run(node, RUN), Inputs({}, {}, RUN), given)

    def _stamped(self, node: Stamped) -> list[Row]:
        """What two runs have kept: the whole as of the first, and what the second added."""
        edges = next(
            (tvr, view)
            for tvr in self.memo.tvrs
            for (version, view), group in tvr.edges.items()
            if version is Version.NEW and self.memo.leader(group) == self.memo.leader(node.group)
        )
        tvr, view = edges
        first = [(*row, BASE) for row in self.of(node.group, BASE)]
        return first + [(*row, RUN) for row in self.of(tvr.edges[Version.DELTA, view], RUN)]

    def _bag(self, group: GroupId, rows: list[Row]) -> Counter[Any]:
        """Consolidated, where there is a weight."""
        names = [column.name for column in self.memo.group(group).columns]
        total: Counter[Any] = Counter()
        weight = names.index(WEIGHT) if names.count(WEIGHT) == 1 else None
        for row in rows:
            data = row if weight is None else row[:weight] + row[weight + 1 :]
            total[row_key(data)] += 1 if weight is None else row[weight]
        return Counter({row: n for row, n in total.items() if n})
