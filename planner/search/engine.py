"""The rule engine: it works off a queue of (rule, expression) pairs by priority, until the queue is
empty or the budget is spent. After a spent budget the memo is incomplete but correct, because every
rule preserves the meaning of the groups."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from forerun.planner.algebra.relational import Relation
from forerun.planner.memo.groups import Edge, Expression, Role
from forerun.planner.memo.memo import Memo
from forerun.planner.search.rule import Match, MemoRule
from forerun.planner.tvr.signed import ColumnIds

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
        self._by_edge: dict[tuple[type[Relation], Edge], list[MemoRule]] = defaultdict(list)
        self._by_input_edge: dict[tuple[type[Relation], Edge], list[MemoRule]] = defaultdict(list)
        for rule in rules:
            self._by_operator[rule.operator].append(rule)
            for edge in rule.edges:
                self._by_edge[rule.operator, edge].append(rule)
            for edge in rule.edges_of_inputs:
                self._by_input_edge[rule.operator, edge].append(rule)
        self._waiting: list[tuple[int, int, _Pattern, MemoRule]] = []
        self._queued: set[tuple[str, _Pattern]] = set()
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
            below = matched[1] if rule.below is not None else None
            roles = () if below is None else self._roles(rule, below) or ()
            first = len(self._memo.expressions)
            found = rule.fire(Match(self._memo, matched[0], self._ids, below, roles))
            end = len(self._memo.expressions)
            self._budget -= end - first
            self.trace.note(rule.name, matched[0].id, first, end, found=found)
            if found and self._observer is not None:
                self._observer(rule, matched[0])
            self._notice()
        return self.trace

    def _notice(self) -> None:
        """Queue the patterns that new expressions and new edges may have completed. What completed
        a pattern stays true of it: edges are added, and merged TVRs have those of both."""
        for expression in self._memo.take_new_expressions():
            self._queue(expression, self._by_operator[type(expression.node)])
            self._queue_parents(expression)
        for tvr, edge in self._memo.take_new_edges():
            group = self._memo.group(tvr.new)
            for index, numbers in (
                (self._by_edge, group.expressions),
                (self._by_input_edge, group.parents),
            ):
                for number in numbers:
                    expression = self._memo.expressions[number]
                    self._queue(expression, index.get((type(expression.node), edge), ()))

    def _queue(self, expression: Expression, rules: Iterable[MemoRule]) -> None:
        """Queue the complete patterns of the rules in which an expression is the upper operator."""
        for rule in rules:
            if not self._is_upper(rule, expression):
                continue
            if rule.below is None:
                self._push(rule, (expression.id,))
                continue
            for below in self._memo.alternatives(expression.inputs[0].group):
                if self._is_below(rule, below):
                    self._push(rule, (expression.id, below.id))

    def _queue_parents(self, below: Expression) -> None:
        """Queue the two-operator patterns in which a new expression is the lower operator."""
        for number in self._memo.group(below.group).parents:
            parent = self._memo.expressions[number]
            if self._memo.leader(parent.inputs[0].group) != self._memo.leader(below.group):
                continue  # it reads the group, but not first
            for rule in self._by_operator[type(parent.node)]:
                if self._is_below(rule, below) and self._is_upper(rule, parent):
                    self._push(rule, (parent.id, below.id))

    def _push(self, rule: MemoRule, pattern: _Pattern) -> None:
        if (rule.name, pattern) not in self._queued:
            self._queued.add((rule.name, pattern))
            place = len(self._queued)
            heapq.heappush(self._waiting, (rule.priority, place, pattern, rule))

    def _is_upper(self, rule: MemoRule, expression: Expression) -> bool:
        """Return whether an expression has all that the pattern asks of it and its inputs."""
        tvr = self._memo.tvr_of(expression.group)
        if tvr is None or expression.dropped or not all(tvr.has(edge) for edge in rule.edges):
            return False
        return not rule.deltas or self._has_deltas(expression)

    def _is_below(self, rule: MemoRule, below: Expression) -> bool:
        """Return whether an expression has all that the pattern asks of the lower operator."""
        if rule.below is None or not isinstance(below.node, rule.below):
            return False
        return not rule.parts or self._roles(rule, below) is not None

    def _roles(self, rule: MemoRule, below: Expression) -> tuple[Role, ...] | None:
        """Return the roles of the inputs of an expression in the TVR of its group, among those that
        the pattern asks for; None if an input has none."""
        tvr = self._memo.tvr_of(below.group)
        if tvr is None:
            return None
        known = self._memo.parts(tvr, rule.parts)
        found = tuple(known.get(self._memo.leader(given.group)) for given in below.inputs)
        return tuple(role for role in found if role is not None) if all(found) else None

    def _has_deltas(self, expression: Expression) -> bool:
        for given in expression.inputs:
            tvr = self._memo.tvr_of(given.group)
            if tvr is None or (tvr.changing and not tvr.has_delta):
                return False
        return True
