"""The rule engine: it works off a queue of (rule, expression) pairs by priority, until the queue is
empty or the budget is spent. After a spent budget the memo is incomplete but correct, because every
rule preserves the meaning of the groups."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from planner.algebra.relational import Relation, Version
from planner.memo.memo import Expression, Memo
from planner.search.rule import Match, MemoRule
from planner.tvr.signed import ColumnIds

Observer = Callable[[MemoRule, Expression], None]
"""A callback after each rule that found something; tests check the memo's invariants with it."""


_Pattern = tuple[int, ...]
"""The expressions that match a rule, the upper one first."""


@dataclass(frozen=True, slots=True)
class RuleFiring:
    """A rule that found something: the expression it matched (``at``), and the range of ids of the
    expressions that it added, from ``first`` up to but not including ``end``."""

    rule: str
    at: int
    first: int
    end: int


@dataclass(slots=True)
class Trace:
    """A record of the search: how often each rule was tried and found something, the successful
    firings in order, and whether a ``spent`` budget ended the search."""

    tried: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    found: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    firings: list[RuleFiring] = field(default_factory=list)
    spent: bool = False

    def note(self, rule: str, at: int, first: int, end: int, *, found: bool) -> None:
        """Record that a rule was tried at expression ``at``, and which expressions it added."""
        self.tried[rule] += 1
        if found:
            self.found[rule] += 1
            self.firings.append(RuleFiring(rule, at, first, end))


class RuleEngine:
    """Applies rules to the expressions of a memo, each at most once per pattern.

    ``budget`` limits rule applications plus the expressions that they add, since memory and the
    work of the temporal search grow with the latter. A rule that has begun runs to its end, so the
    budget may be overdrawn by what one rule adds."""

    def __init__(
        self,
        memo: Memo,
        rules: Iterable[MemoRule],
        ids: ColumnIds,
        budget: int,
        observer: Observer | None = None,
    ) -> None:
        self._memo = memo
        self._ids = ids
        self._budget = budget
        self._observer = observer
        self._by_operator: dict[type[Relation], list[MemoRule]] = defaultdict(list)
        for rule in rules:
            self._by_operator[rule.operator].append(rule)
        self._waiting: list[tuple[int, int, _Pattern, MemoRule]] = []
        self._tried: set[tuple[str, _Pattern]] = set()
        self._count = 0
        self.trace = Trace()

    def run(self) -> Trace:
        """Apply rules until none matches or the budget is spent."""
        self._notice()
        while self._waiting:
            if self._budget <= 0:
                self.trace.spent = True
                break
            self._budget -= 1
            _, _, pattern, rule = heapq.heappop(self._waiting)
            matched = [self._memo.expressions[number] for number in pattern]
            if any(one.dropped for one in matched):
                continue
            if rule.deltas and not self._has_deltas(matched[0]):
                continue
            if (rule.name, pattern) in self._tried:
                continue
            self._tried.add((rule.name, pattern))
            first = len(self._memo.expressions)
            found = rule.fire(Match(self._memo, matched[0], self._ids, *matched[1:]))
            end = len(self._memo.expressions)
            self._budget -= end - first
            self.trace.note(rule.name, matched[0].id, first, end, found=found)
            if found and self._observer is not None:
                self._observer(rule, matched[0])
            self._notice()
        return self.trace

    def _notice(self) -> None:
        """Queue the patterns that new expressions and new deltas may have completed."""
        for expression in self._memo.take_new_expressions():
            self._queue(expression, by_edge=False)
            self._queue_parents(expression)
        for tvr, version in self._memo.take_new_edges():
            if version is Version.DELTA:
                for number in self._memo.group(tvr.new).parents:
                    self._queue(self._memo.expressions[number], by_edge=True)

    def _queue(self, expression: Expression, *, by_edge: bool) -> None:
        if self._memo.tvr_of(expression.group) is None:
            return
        for rule in self._by_operator[type(expression.node)]:
            if by_edge and not rule.deltas:
                continue
            if rule.below is not None:
                for below in self._memo.alternatives(expression.inputs[0].group):
                    if isinstance(below.node, rule.below):
                        self._push(rule, (expression.id, below.id))
            elif not rule.deltas or self._has_deltas(expression):
                self._push(rule, (expression.id,))

    def _queue_parents(self, below: Expression) -> None:
        """Queue the two-operator patterns in which a new expression is the lower operator."""
        for number in self._memo.group(below.group).parents:
            parent = self._memo.expressions[number]
            if self._memo.tvr_of(parent.group) is None:
                continue
            if self._memo.leader(parent.inputs[0].group) != self._memo.leader(below.group):
                continue  # it reads the group, but not first
            for rule in self._by_operator[type(parent.node)]:
                if rule.below is not None and isinstance(below.node, rule.below):
                    self._push(rule, (parent.id, below.id))

    def _push(self, rule: MemoRule, pattern: _Pattern) -> None:
        if (rule.name, pattern) not in self._tried:
            self._count += 1
            heapq.heappush(self._waiting, (rule.priority, self._count, pattern, rule))

    def _has_deltas(self, expression: Expression) -> bool:
        for given in expression.inputs:
            tvr = self._memo.tvr_of(given.group)
            if tvr is None or (tvr.changing and not tvr.has_delta):
                return False
        return True
